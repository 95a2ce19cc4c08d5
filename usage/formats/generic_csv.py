"""Any table, by a mapping of our fields to its columns: `columns=start=Date,cost=Amount,tag:team=Team`.

A field that starts with `tag:` becomes a tag of that name. What stands in no column and is the same in every row is a
constant: `constants=unit=Hours`. What is not mapped is kept, and rejects nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from core.errors import Fault
from core.vocabulary import Category, ChargeCategory

from ..delivery import Settings
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import NULLS, number_reader, required_number
from ..reading.times import Instant, later, time_reader
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import read_tags, reference_of

NUMBERS = ("cost", "effective", "list", "contracted", "quantity", "accelerator_hours", "cpu_core_hours")
TIMES = ("start", "end", "billing_month")
TEXTS = (
    "provider",
    "payer",
    "account",
    "account_name",
    "service",
    "sku",
    "region",
    "accelerator",
    "state",
    "charge_category",
    "unit",
    "resource",
    "resource_name",
    "resource_type",
    "user",
    "partition",
    "cluster",
    "namespace",
    "pod",
    "category",
    "reference",
    "tags",
)
ROW_TEXTS = ("currency", "key", "job")
FIELDS = (*TIMES, *NUMBERS, *TEXTS, *ROW_TEXTS)
TAG = "tag:"
CHARGES = {str(charge).casefold(): str(charge) for charge in ChargeCategory}
CATEGORIES = {str(category) for category in Category if category not in (Category.HIDDEN, Category.CONTINGENCY)}


def is_mapping(columns: Mapping[str, str]) -> bool:
    """Whether a source's `columns` are a mapping of our fields."""
    return "start" in columns and any(name in columns for name in NUMBERS)


def recognise(sample: Sample) -> Recognition | None:
    columns = sample.settings.columns
    if not is_mapping(columns) or not all(name in sample.header for name in columns.values()):
        return None
    return Recognition(95, _("the source maps its columns: %(columns)s") % {"columns": ", ".join(columns.values())})


class MappedKey(NamedTuple):
    texts: tuple[str, ...]
    tags: tuple[str, ...]


class MappedReader:
    """Reads rows by the source's mapping."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        columns = settings.columns
        self._at = {name: header.at(columns[name]) if name in columns else None for name in FIELDS}
        self._tags = [
            (name[len(TAG) :], at)
            for name, column in columns.items()
            if name.startswith(TAG) and (at := header.at(column)) is not None
        ]
        self._constants = {name: text for name, text in settings.constants.items() if self._at[name] is None}
        self._texts = [name for name in TEXTS if self._at[name] is not None or name in self._constants]
        self._time = time_reader(settings.timezone, date_order=settings.date_order or None)
        self._number = number_reader(money_text=settings.money_text, native=True)
        self._cost = required_number(self._number)
        self._rest = header.rest([*self._at.values(), *(at for _name, at in self._tags)])
        exact = (*TIMES, *NUMBERS, "currency", "key", "account", "payer", "resource")
        self.exact_places = frozenset(at for name in exact if (at := self._at[name]) is not None)

    def row(self, fields: list[str]) -> Row:
        try:
            return self._row(fields)
        except RowFault as fault:
            raise self._of_the_file(fault) from None

    def _of_the_file(self, fault: RowFault) -> RowFault:
        """The fault with the column as the file names it."""
        column = self._settings.columns.get(fault.column, fault.column)
        return RowFault(column, fault.value, fault.reason)

    def _row(self, fields: list[str]) -> Row:
        start = self._time(self._text(fields, "start"), "start")
        end = self._end(fields, start)
        billed = self._cost(self._text(fields, "cost"), "cost") if self._has("cost") else None
        effective = self._optional(fields, "effective") if self._has("effective") else billed
        has_cost = billed is not None or effective is not None
        month = self._month(fields, start)
        key = MappedKey(
            tuple(self._text(fields, name) for name in self._texts), tuple(fields[at] for _name, at in self._tags)
        )
        return Row(
            key=key,
            scope=ScopeKey(self._text(fields, "payer") or self._text(fields, "account"), "", month),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=month,
            currency=currency_of(self._text(fields, "currency"), self._settings, "currency") if has_cost else "",
            billed=billed,
            effective=effective,
            list_cost=self._optional(fields, "list"),
            contracted=self._optional(fields, "contracted"),
            quantity=self._optional(fields, "quantity"),
            accelerator_hours=self._optional(fields, "accelerator_hours"),
            cpu_core_hours=self._optional(fields, "cpu_core_hours"),
            extra=self._extra(fields),
            row_key=self._row_key(fields),
            job=self._text(fields, "job"),
        )

    def _has(self, name: str) -> bool:
        return self._at[name] is not None

    def _text(self, fields: list[str], name: str) -> str:
        at = self._at[name]
        text = fields[at].strip() if at is not None else self._constants.get(name, "")
        return "" if text in NULLS else text

    def _optional(self, fields: list[str], name: str) -> str | None:
        return self._number(self._text(fields, name), name)

    def _end(self, fields: list[str], start: Instant) -> Instant:
        """The mapped end; without one a row is a day."""
        if not self._has("end"):
            return later(start, timedelta(days=1), self._settings.timezone, "start")
        end = self._time(self._text(fields, "end"), "end")
        if end.at <= start.at:
            raise RowFault("end", self._text(fields, "end"), "is not after start")
        return end

    def _month(self, fields: list[str], start: Instant) -> date:
        text = self._text(fields, "billing_month")
        if text:
            return self._time(f"{text}-01" if len(text) == 7 else text, "billing_month").month
        return self._settings.billing_period.start if self._settings.billing_period else start.month

    def _row_key(self, fields: list[str]) -> str | None:
        if not self._has("key"):
            return None
        text = self._text(fields, "key")
        if not text:
            raise RowFault("key", "", "is empty; rows of a log need one")
        return text

    def _extra(self, fields: list[str]) -> str | None:
        kept = {name: fields[at] for at, name in self._rest if fields[at] not in NULLS}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None

    def describe(self, key: MappedKey) -> Keys:
        try:
            return self._keys(key)
        except RowFault as fault:
            raise self._of_the_file(fault) from None

    def _keys(self, key: MappedKey) -> Keys:
        values = dict(zip(self._texts, key.texts, strict=True))
        tags = read_tags(values.pop("tags", ""), self._notes)
        tags |= {name: text for (name, _at), text in zip(self._tags, key.tags, strict=True) if text not in NULLS}
        charge = values.pop("charge_category", "") or str(ChargeCategory.USAGE)
        if charge.casefold() not in CHARGES:
            raise RowFault("charge_category", charge, f"is not one of {', '.join(CHARGES.values())}")
        category = values.pop("category", "") or str(Category.COMPUTE)
        if category not in CATEGORIES:
            raise RowFault("category", category, f"is not one of {', '.join(sorted(CATEGORIES))}")
        reference = values.pop("reference", "") or reference_of(tags)
        shared: dict[str, Any] = dict(values)
        return Keys(
            **shared, charge_category=CHARGES[charge.casefold()], category=category, reference=reference, tags=tags
        )


def open_mapped(header: Header, settings: Settings, notes: Notes) -> MappedReader:
    """Check the mapping: known fields only, every column there, a start, and something to count."""
    columns = settings.columns
    unknown = [name for name in columns if name not in FIELDS and not name.startswith(TAG)]
    if unknown:
        raise FileRefused(
            _("The mapping names fields that do not exist: %(names)s.") % {"names": ", ".join(unknown)},
            faults=[Fault("columns", name, _("is no field"), f"{', '.join(FIELDS)}, tag:NAME") for name in unknown],
        )
    fixed = [name for name in settings.constants if name not in TEXTS]
    if fixed:
        raise FileRefused(
            _("These fields cannot be the same in every row: %(names)s.") % {"names": ", ".join(fixed)},
            faults=[Fault("constants", name, _("cannot be a constant"), ", ".join(TEXTS)) for name in fixed],
        )
    if not is_mapping(columns):
        raise FileRefused(
            _("Map the columns: start and one of %(numbers)s are needed.") % {"numbers": ", ".join(NUMBERS)},
            column="columns",
            value=", ".join(f"{name}={column}" for name, column in columns.items()),
        )
    header.insist({column: (column,) for column in columns.values()})
    header.refuse_twins({column: (column,) for column in columns.values()})
    return MappedReader(header, settings, notes)


FORMAT = Format(slug="generic-csv", name="Generic CSV", recognise=recognise, open=open_mapped, version=2)
