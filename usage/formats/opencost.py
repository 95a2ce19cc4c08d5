"""OpenCost's CSV export: one row per container and UTC day. https://opencost.io/docs/integrations/opencost-export

The exporter appends days and never restates them, so every day is a scope of its own.
"""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

from django.utils.translation import gettext as _

from core.money import EXACT, exact_text
from core.vocabulary import Category

from ..delivery import Settings
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import number_reader
from ..reading.times import later, time_reader
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import read_tags, reference_of

PARTS = ("CPUCost", "RAMCost", "NetworkCost", "PVCost", "GPUCost")
NAMES = ("Namespace", "ControllerKind", "ControllerName", "Pod", "Container", "Labels")
OTHERS = ("Date", "GPUs", "CPUCoreRequestAverage", "TotalCost")
LABEL = "label_"
HOURS_OF_A_DAY = Decimal(24)


def recognise(sample: Sample) -> Recognition | None:
    if not sample.header.has("Date", "Namespace", "Pod", "CPUCost", "RAMCost"):
        return None
    return Recognition(90, _("the columns Namespace, Pod, CPUCost and RAMCost are OpenCost's export"))


class ContainerKey(NamedTuple):
    names: tuple[str, ...]
    labels: tuple[str, ...]


class OpenCostReader:
    """Reads one container's day."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._time = time_reader(settings.timezone, date_order=settings.date_order or None)
        self._number = number_reader(money_text=settings.money_text, native=True)
        self._at = {name: header.at(name) for name in (*OTHERS, *PARTS, *NAMES)}
        self._labels = [
            (at, name[len(LABEL) :]) for at, name in header.rest(self._at.values()) if name.casefold().startswith(LABEL)
        ]
        used = [*self._at.values(), *(at for at, _name in self._labels)]
        self._rest = header.rest(used)
        self._currency = currency_of("", settings, "currency")
        exact = (*OTHERS, *PARTS, "Namespace", "Pod", "Container")
        self.exact_places = frozenset(at for name in exact if (at := self._at[name]) is not None)

    def row(self, fields: list[str]) -> Row:
        start = self._time(self._text(fields, "Date"), "Date")
        end = later(start, timedelta(days=1), self._settings.timezone, "Date")
        cost = self._cost(fields)
        cluster = self._settings.cluster
        return Row(
            key=ContainerKey(
                tuple(self._text(fields, name) for name in NAMES), tuple(fields[at] for at, _name in self._labels)
            ),
            scope=ScopeKey(cluster, "", start.month, start.text[:10]),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=start.month,
            currency=self._currency,
            billed=cost,
            effective=cost,
            accelerator_hours=self._day_of(fields, "GPUs"),
            cpu_core_hours=self._day_of(fields, "CPUCoreRequestAverage"),
            extra=self._extra(fields),
        )

    def _text(self, fields: list[str], name: str) -> str:
        at = self._at[name]
        return fields[at].strip() if at is not None else ""

    def _cost(self, fields: list[str]) -> str:
        """TotalCost as it stands; where it is empty (the export grew a column), the sum of its parts."""
        total = self._number(self._text(fields, "TotalCost"), "TotalCost")
        if total is not None:
            return total
        parts = [part for name in PARTS if (part := self._number(self._text(fields, name), name)) is not None]
        if not parts:
            raise RowFault("TotalCost", "", "is empty, and so are its parts; a cost must be a number")
        self._notes.warn("total_from_parts")
        total_of_parts = Decimal(0)
        for part in parts:
            total_of_parts = EXACT.add(total_of_parts, Decimal(part))
        return exact_text(total_of_parts)

    def _day_of(self, fields: list[str], name: str) -> str | None:
        """A day's average, in hours."""
        average = self._number(self._text(fields, name), name)
        return None if average is None else exact_text(EXACT.multiply(Decimal(average), HOURS_OF_A_DAY))

    def _extra(self, fields: list[str]) -> str | None:
        kept = {name: fields[at] for at, name in self._rest if fields[at]}
        kept |= {name: text for name in PARTS if (text := self._text(fields, name))}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None

    def describe(self, key: ContainerKey) -> Keys:
        namespace, kind, controller, pod, container, labels = key.names
        tags = read_tags(labels, self._notes)
        tags |= {name: text for (_at, name), text in zip(self._labels, key.labels, strict=True) if text}
        return Keys(
            provider="Kubernetes",
            payer=self._settings.cluster,
            account=namespace,
            service="Kubernetes",
            resource="/".join(part for part in (namespace, pod, container) if part),
            resource_name=controller or pod,
            resource_type=kind,
            cluster=self._settings.cluster,
            namespace=namespace,
            pod=pod,
            category=Category.COMPUTE,
            reference=reference_of(tags),
            tags=tags,
        )


def open_opencost(header: Header, settings: Settings, notes: Notes) -> OpenCostReader:
    """The export names no currency: the source must."""
    columns = (*OTHERS, *PARTS, *NAMES)
    header.refuse_twins({name: (name,) for name in columns})
    header.insist({name: (name,) for name in ("Date", "Namespace", "Pod", "TotalCost")})
    insist_on_currency(settings)
    return OpenCostReader(header, settings, notes)


def insist_on_currency(settings: Settings) -> None:
    """Refuse a file that names no currency where the source does not either."""
    if not settings.currency:
        raise FileRefused(
            _("The file names no currency. Give the source one, or this delivery: currency=USD."),
            column="currency",
            value="",
        )


FORMAT = Format(slug="opencost", name="OpenCost CSV export", recognise=recognise, open=open_opencost)
