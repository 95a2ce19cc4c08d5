"""Allocations of OpenCost and Kubecost as their API answers them: one object per window, one entry per name in it.

The cost repeats what the cloud bill holds: make the source `part_of` the bill's. `__idle__` and its kind are resources
of their own, or the totals would not match; idle may be negative after reconciliation.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from core.money import EXACT
from core.vocabulary import Category

from ..delivery import Settings
from ..reading.durations import hours_held
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.json_items import JsonCursor, JsonRecords
from ..reading.notes import Notes
from ..reading.numbers import number_reader, required_number
from ..reading.times import time_reader
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .opencost import insist_on_currency
from .tags import as_text, reference_of

MARKS = ('"cpuCost"', '"gpuCost"', '"ramCost"', '"totalCost"', '"cpuCoreHours"', '"gpuHours"')
PARTS = (
    "cpuCost",
    "cpuCostAdjustment",
    "gpuCost",
    "gpuCostAdjustment",
    "ramCost",
    "ramCostAdjustment",
    "pvCost",
    "pvCostAdjustment",
    "networkCost",
    "networkCostAdjustment",
    "loadBalancerCost",
    "loadBalancerCostAdjustment",
    "sharedCost",
    "externalCost",
    "ramByteHours",
    "pvByteHours",
)
HOUR = 3600
MEASURE = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,30})?(?:[eE]-[0-9]{1,2})?")
PROPERTIES = ("cluster", "node", "namespace", "controllerKind", "controller", "pod", "container", "providerID")


def recognise(sample: Sample) -> Recognition | None:
    if not sample.text.lstrip("\ufeff \r\n\t").startswith("{") or sum(mark in sample.text for mark in MARKS) < 3:
        if '"data"' in sample.text[:400] and sample.text.replace(" ", "").rstrip().endswith(
            ('"data":[null]}', "[{}]}")
        ):
            return Recognition(60, _("the JSON is an answer of the allocation API for an empty window"))
        return None
    return Recognition(90, _("the JSON holds allocations with cpuCost, ramCost and totalCost"))


def allocations(cursor: JsonCursor) -> Iterator[bytes]:
    """Every allocation of `{"data": [{name: allocation}]}`, or of a bare `{name: allocation}`."""
    for key in cursor.fields():
        first = cursor.peek()
        if key == "data" and first == b"[":
            for _place in cursor.places():
                yield from _window(cursor)
        elif key == "data" and first == b"{":
            yield from _window(cursor)
        elif key == "code":
            if str(code := cursor.loads()) != "200":
                raise FileRefused(_("The answer is an error of the allocation API: code %(code)s.") % {"code": code})
        elif first == b"{" and b'"properties"' in (raw := cursor.value()):
            yield raw
        elif first != b"{":
            cursor.value()


def _window(cursor: JsonCursor) -> Iterator[bytes]:
    """The allocations of one window; null for a window without any."""
    if cursor.peek() != b"{":
        cursor.value()
        return
    for _name in cursor.fields():
        yield cursor.value()


def records(stream: io.BufferedReader, settings: Settings, notes: Notes) -> JsonRecords:
    return JsonRecords(stream, allocations)


class AllocationKey(NamedTuple):
    name: str
    properties: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]


class AllocationReader:
    """Reads one allocation."""

    exact_places: frozenset[int] = frozenset()

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._time = time_reader(settings.timezone)
        self._number = number_reader(native=True)
        self._cost = required_number(self._number)
        self._currency = currency_of("", settings, "currency")

    def row(self, fields: Any) -> Row:
        if not isinstance(fields, dict):
            raise RowFault("", as_text(fields)[:100], "is no allocation")
        window = _object(fields, "window")
        start = self._time(_text(fields.get("start") or window.get("start")), "start")
        end = self._time(_text(fields.get("end") or window.get("end")), "end")
        if end.at <= start.at:
            raise RowFault("end", end.text, f"is not after start {start.text}")
        key = self._key(fields)
        covered = "/".join(_text(window.get(side)) for side in ("start", "end")) if window else start.text
        cost = self._cost(_text(fields.get("totalCost")), "totalCost")
        held = self._card_hours(fields)
        return Row(
            key=key,
            scope=ScopeKey(key.properties[0] or self._settings.cluster, "", start.month, covered),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=start.month,
            currency=self._currency,
            billed=cost,
            effective=cost,
            accelerator_hours=held,
            cpu_core_hours=self._number(_text(fields.get("cpuCoreHours")), "cpuCoreHours"),
            extra=self._extra(fields, held),
        )

    def _key(self, fields: dict[str, Any]) -> AllocationKey:
        properties = _object(fields, "properties")
        return AllocationKey(
            _text(fields.get("name")),
            tuple(_text(properties.get(name)) for name in PROPERTIES),
            tuple(sorted((str(name), as_text(value)) for name, value in _object(properties, "labels").items())),
        )

    def _card_hours(self, fields: dict[str, Any]) -> str | None:
        """Hours of cards. A time slice of a card that several hold is requested as a whole one, and is a part of it."""
        hours = self._number(_text(fields.get("gpuHours")), "gpuHours")
        if hours in (None, "0") or not _is_shared(fields):
            return hours
        if self._settings.shares_per_card is None:
            self._notes.warn("shares_of_a_card_unknown", detail=_text(fields.get("name")))
            return None
        return hours_held(EXACT.divide(Decimal(hours or 0), Decimal(self._settings.shares_per_card)), HOUR)

    def _measured(self, fields: dict[str, Any], held: str) -> dict[str, str]:
        """Accelerator-hours asked for, and busy: averages of the window, in cards and of the time of a held card."""
        of_cards = _object(fields, "gpuAllocation")
        requested = _average(of_cards.get("gpuRequestAverage"))
        minutes = _average(fields.get("minutes"))
        busy = _average(of_cards.get("gpuUsageAverage"))
        if busy is None:
            busy = _average(fields.get("gpuEfficiency")) or None
        found = {}
        if requested is not None and minutes is not None:
            shares = self._settings.shares_per_card if _is_shared(fields) else 1
            found["requested_hours"] = hours_held(EXACT.divide(requested, Decimal(shares or 1)), minutes * 60)
        if busy is not None and busy <= 1:
            found["utilised_hours"] = hours_held(EXACT.multiply(Decimal(held), busy), HOUR)
        return found

    def _extra(self, fields: dict[str, Any], held: str | None) -> str | None:
        kept = {name: text for name in PARTS if (text := _text(fields.get(name))) not in ("", "0")}
        if held not in (None, "0"):
            kept |= self._measured(fields, held)
        return json.dumps(kept, sort_keys=True) if kept else None

    def describe(self, key: AllocationKey) -> Keys:
        cluster, node, namespace, kind, controller, pod, container, provider_id = key.properties
        tags = dict(key.labels)
        extra = {"node": node, "container": container, "providerID": provider_id}
        return Keys(
            provider="Kubernetes",
            payer=cluster or self._settings.cluster,
            account=namespace or key.name,
            service="Kubernetes",
            resource=key.name,
            resource_name=controller or pod or key.name,
            resource_type=kind,
            cluster=cluster or self._settings.cluster,
            namespace=namespace,
            pod=pod,
            category=Category.COMPUTE,
            reference=reference_of(tags),
            tags=tags,
            extra={name: text for name, text in extra.items() if text},
        )


def _is_shared(fields: dict[str, Any]) -> bool:
    return _object(fields, "gpuAllocation").get("isGPUShared") is True


def _average(value: Any) -> Decimal | None:
    """A measure that bears no money: what is no plain number is not known, and refuses nothing."""
    text = _text(value)
    return Decimal(text) if MEASURE.fullmatch(text) else None


def _object(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """JSON's scalars as text; null is empty. A cost of null was not a number when it was written."""
    return value if isinstance(value, str) else "" if value is None else as_text(value)


def open_allocations(header: Header, settings: Settings, notes: Notes) -> AllocationReader:
    insist_on_currency(settings)
    return AllocationReader(settings, notes)


FORMAT = Format(
    slug="kubecost",
    name="Kubecost / OpenCost allocation JSON",
    recognise=recognise,
    open=open_allocations,
    records=records,
    version=2,
)
