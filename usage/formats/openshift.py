"""OpenShift metering as the Cost Management operator writes it: pods' cores, and accelerators by pod and MIG slice.

Intervals end on their last second. MIG slices of one card share its UUID: the card's hours are split among them by
slice, so that the rows of an hour add up to the card and never to more.
"""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from core.money import EXACT
from core.vocabulary import Category

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.durations import hours_held
from ..reading.faults import RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import number_reader
from ..reading.records import Batch
from ..reading.table import Table
from ..reading.times import Instant, later, time_reader
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .tags import read_tags, reference_of

PLACE = ("interval_start", "interval_end", "node", "namespace", "pod")
CORES = "pod_request_cpu_core_seconds"
UPTIME, CARD, SLICE, PROFILE = "gpu_pod_uptime", "gpu_uuid", "mig_instance_id", "mig_profile"
MODEL = "gpu_model_name"
CARD_SECONDS = "card seconds held"
"""A column of ours: the seconds of a whole card that a row holds, as a fraction."""
KEY_COLUMNS = ("node", "namespace", "pod", "resource_id", "pod_labels", MODEL, CARD, PROFILE, SLICE)
PROFILE_SLICES = re.compile(r"([0-9]+)g\.")
WHOLE_CARD = 7
"""Compute slices of a card that can be cut; a pod that has the card alone holds all of them."""
HOUR = 3600


def recognise(sample: Sample) -> Recognition | None:
    header = sample.header
    if not header.has("interval_start", "interval_end", "namespace", "pod"):
        return None
    if CARD in header and UPTIME in header:
        return Recognition(90, _("the columns gpu_uuid and gpu_pod_uptime are OpenShift metering of accelerators"))
    if CORES in header:
        return Recognition(90, _("the columns interval_start and pod_request_cpu_core_seconds are OpenShift metering"))
    return None


class Held(NamedTuple):
    """What the rows of one card and interval say together."""

    weight: Fraction = Fraction(0)
    """Σ uptime × slices."""
    uptime: Fraction = Fraction(0)
    """Σ uptime of pods that had the card alone; of slices the longest."""


class MeteringRecords(Table):
    """The rows of one file. Those of accelerators are read twice: first how much of each card all rows hold."""

    def __init__(self, stream: io.BufferedReader, settings: Settings, notes: Notes) -> None:
        super().__init__(stream, delimiter=settings.delimiter or ",", encoding=settings.encoding)
        self._width = len(self.header)
        self._places = [self.header.at(name) for name in ("interval_start", CARD, UPTIME, PROFILE)]
        self._of_cards = None not in self._places[:3]
        self._shares: dict[tuple[str, str], Held] = {}
        if self._of_cards:
            self.header = Header([*self.header.names, CARD_SECONDS])

    def batches(self, size: int) -> Iterator[Batch]:
        if not self._of_cards:
            yield from super().batches(size)
            return
        with tempfile.TemporaryFile() as kept:
            ends_open = False
            for batch in super().batches(size):
                ends_open = batch.ends_open
                for fields in super().split(batch):
                    self._count(fields)
                for line, record in zip(batch.lines, batch.records, strict=True):
                    kept.write(b"%d %d\n" % (line, len(record)) + record)
            kept.seek(0)
            yield from _stored_batches(kept, size, ends_open)

    def _count(self, fields: Any) -> None:
        found = self._held(fields)
        if found is None:
            return
        key, uptime, slices, is_slice = found
        before = self._shares.get(key, Held())
        together = max(before.uptime, uptime) if is_slice else before.uptime + uptime
        self._shares[key] = Held(before.weight + uptime * slices, together)

    def _held(self, fields: Any) -> tuple[tuple[str, str], Fraction, int, bool] | None:
        """Card and interval, seconds, slices of the card; None of a row that says no such thing."""
        if type(fields) is str or len(fields) != self._width:
            return None
        start, card, uptime, profile = (fields[at].strip() if at is not None else "" for at in self._places)
        if not card or not re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,20})?", uptime):
            return None
        cut = PROFILE_SLICES.match(profile)
        return (start, card), Fraction(uptime), int(cut.group(1)) if cut else WHOLE_CARD, bool(cut)

    def split(self, batch: Batch) -> list[Any]:
        """Fields with one more: the seconds of a whole card that the row holds."""
        rows = super().split(batch)
        if not self._of_cards:
            return rows
        return [self._with_share(fields) for fields in rows]

    def _with_share(self, fields: Any) -> Any:
        """The row and its share. A shorter row stays short; a longer one must not give its last field for the share."""
        if type(fields) is str or len(fields) < self._width:
            return fields
        if len(fields) > self._width:
            return f"it has {len(fields)} fields, the header has {self._width}"
        found = self._held(fields)
        return [*fields, self._seconds(*found) if found else ""]

    def _seconds(self, key: tuple[str, str], uptime: Fraction, slices: int, is_slice: bool) -> str:
        together = self._shares[key]
        if not together.weight:
            return "0"
        seconds = min(together.uptime, Fraction(HOUR)) * uptime * slices / together.weight
        return f"{seconds.numerator}/{seconds.denominator}"


def _stored_batches(kept: Any, size: int, ends_open: bool) -> Iterator[Batch]:
    batch = Batch([], [])
    while head := kept.readline():
        line, length = head.split()
        batch.lines.append(int(line))
        batch.records.append(kept.read(int(length)))
        if len(batch.records) >= size:
            yield batch
            batch = Batch([], [])
    if batch.records:
        batch.ends_open = ends_open
        yield batch


class PodKey(NamedTuple):
    values: tuple[str, ...]


class MeteringReader:
    """Reads one pod's interval."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._time = time_reader(settings.timezone)
        self._number = number_reader(native=True)
        self._at = {
            name: header.at(name) for name in (*PLACE, *KEY_COLUMNS, CORES, UPTIME, CARD_SECONDS, "report_period_start")
        }
        self._rest = header.rest(self._at.values())
        self._of_cards = CARD in header
        words = ("pod_labels", MODEL)
        self.exact_places = frozenset(at for name, at in self._at.items() if at is not None and name not in words)

    def row(self, fields: list[str]) -> Row:
        start = self._time(self._text(fields, "interval_start"), "interval_start")
        end = self._end(self._text(fields, "interval_end"), start)
        key = PodKey(tuple(self._text(fields, name) for name in KEY_COLUMNS))
        period = self._text(fields, "report_period_start")
        kind = "accelerators" if self._of_cards else "pods"
        return Row(
            key=key,
            scope=ScopeKey(self._settings.cluster, "", None, kind),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=self._time(period, "report_period_start").month if period else start.month,
            currency="",
            billed=None,
            effective=None,
            accelerator_hours=self._card_hours(fields) if self._of_cards else None,
            cpu_core_hours=None if self._of_cards else self._core_hours(fields),
            extra=self._extra(fields),
            row_key="|".join((self._settings.cluster, kind, start.text, *key.values[:3], *key.values[6:])),
        )

    def _text(self, fields: list[str], name: str) -> str:
        at = self._at[name]
        return fields[at].strip() if at is not None else ""

    def _end(self, text: str, start: Instant) -> Instant:
        """`00:59:59` is the last second of the hour: the interval ends with the next."""
        end = self._time(text, "interval_end")
        if end.at.second == 59:
            end = later(end, timedelta(seconds=1), self._settings.timezone, "interval_end")
        if end.at <= start.at:
            raise RowFault("interval_end", text, f"is not after interval_start {start.text}")
        return end

    def _card_hours(self, fields: list[str]) -> str:
        text = self._text(fields, CARD_SECONDS)
        if not text:
            raise RowFault(UPTIME, self._text(fields, UPTIME), "is not a number of seconds, or the card has no UUID")
        seconds = Fraction(text)
        return hours_held(1, EXACT.divide(Decimal(seconds.numerator), Decimal(seconds.denominator)))

    def _core_hours(self, fields: list[str]) -> str | None:
        """Cores as requested: what the pod kept others from using."""
        seconds = self._number(self._text(fields, CORES), CORES)
        return None if seconds is None else hours_held(1, Decimal(seconds))

    def _extra(self, fields: list[str]) -> str | None:
        kept = {name: fields[at] for at, name in self._rest if fields[at]}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None

    def describe(self, key: PodKey) -> Keys:
        node, namespace, pod, resource_id, labels, model, card, profile, slice_id = key.values
        tags = {name.removeprefix("label_"): value for name, value in read_tags(labels, self._notes).items()}
        extra = {"node": node, CARD: card, PROFILE: profile, SLICE: slice_id}
        return Keys(
            provider="OpenShift",
            account=namespace,
            service="OpenShift",
            sku=f"{model} {profile}".strip(),
            accelerator=f"{model}-{profile}" if profile else model,
            resource=card or resource_id or pod,
            resource_name=pod,
            cluster=self._settings.cluster,
            namespace=namespace,
            pod=pod,
            category=Category.COMPUTE,
            reference=reference_of(tags),
            tags=tags,
            extra={name: text for name, text in extra.items() if text},
        )


def open_metering(header: Header, settings: Settings, notes: Notes) -> MeteringReader:
    header.refuse_twins({name: (name,) for name in (*PLACE, *KEY_COLUMNS, CORES, UPTIME)})
    header.insist({name: (name,) for name in PLACE if name != "node"})
    return MeteringReader(header, settings, notes)


FORMAT = Format(
    slug="openshift",
    name="OpenShift metering",
    recognise=recognise,
    open=open_metering,
    meaning=Meaning.LOG,
    money=Money.RATE_CARD,
    records=MeteringRecords,
)
