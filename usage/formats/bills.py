"""What the bills of all vendors have in common: columns found by name, and texts, numbers, times and months in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

from core.money import EXACT, exact_text
from core.months import Month

from ..delivery import Settings
from ..reading.faults import RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import CANONICAL, MOST_DIGITS, NULLS, NumberReader
from ..reading.times import Instant, TimeReader, instant

Names = Mapping[str, tuple[str, ...]]
"""Our name of a column, and what the files of a vendor call it; the first that a file has is read."""

MONTH = re.compile(r"([0-9]{4})(?:[-/.年]([0-9]{1,2})|([0-9]{2}))(?:[-/.月].*)?")


def clock(settings: Settings, usual: str) -> ZoneInfo:
    """The clock of a source: as its settings say, else the usual one of its format."""
    return settings.timezone if settings.given.get("timezone") else ZoneInfo(usual)


def blank(text: str) -> str:
    """A text without blanks around it; "" for a word that stands for nothing."""
    cleaned = text.strip()
    return "" if cleaned in NULLS else cleaned


class Columns:
    """The columns of one file by our names: those that differ from row to row, and those that many rows share."""

    def __init__(
        self,
        header: Header,
        names: Names,
        *,
        of_row: Iterable[str],
        shared: Callable[[str], bool] = lambda name: False,
        clean: Callable[[str], str] = blank,
    ) -> None:
        self.at = {ours: at for ours, theirs in names.items() if (at := header.at(*theirs)) is not None}
        self.clean = clean
        self._of_row = frozenset(of_row)
        keyed = [ours for ours in self.at if ours not in self._of_row]
        unused = header.rest(self.at.values())
        beside = [(at, name) for at, name in unused if shared(name)]
        self._rest = [(at, name) for at, name in unused if not shared(name)]
        self._keyed, self._beside = keyed, [name for _at, name in beside]
        places = [*[self.at[ours] for ours in keyed], *[at for at, _name in beside]]
        self._key: Callable[[list[str]], Any] = itemgetter(*places) if places else lambda fields: ()

    def text(self, fields: list[str], name: str) -> str:
        """The cleaned text of a column, "" where the file has none or the cell says nothing."""
        at = self.at.get(name)
        return "" if at is None else self.clean(fields[at])

    def key(self, fields: list[str]) -> Any:
        """What the row shares with others, as it stands in the file."""
        return self._key(fields)

    def shared(self, key: Any) -> tuple[dict[str, str], dict[str, str]]:
        """A key's texts by our names, and the further columns it holds by theirs; empty ones left out of both."""
        texts = [self.clean(text) for text in (key if isinstance(key, tuple) else (key,))]
        ours = dict(zip(self._keyed, texts, strict=False))
        beside = zip(self._beside, texts[len(self._keyed) :], strict=True)
        return {name: text for name, text in ours.items() if text}, {name: text for name, text in beside if text}

    def extra(self, fields: list[str], more: Mapping[str, str] | None = None) -> str | None:
        """JSON of the cells that are neither mapped nor shared."""
        kept = {name: text for at, name in self._rest if (text := self.clean(fields[at]))}
        kept |= more or {}
        return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None

    def places(self, *names: str) -> frozenset[int]:
        """Where amounts, times and ids stand."""
        return frozenset(self.at[name] for name in names if name in self.at)


class Cells:
    """Numbers and times of a file's columns."""

    def __init__(self, columns: Columns, header: Header, *, numbers: NumberReader, times: TimeReader) -> None:
        self._columns = columns
        self._names = header.names
        self._numbers, self._times = numbers, times

    def number(self, fields: list[str], name: str) -> str | None:
        """Canonical text, None for an empty cell or a column the file lacks."""
        at = self._columns.at.get(name)
        if at is None:
            return None
        text = fields[at]
        if CANONICAL(text) and len(text) <= MOST_DIGITS:
            return text
        return self._numbers(self._columns.clean(text), self._names[at])

    def cost(self, fields: list[str], name: str) -> str:
        """As `number`, but empty is a fault: in a cost, empty is not zero."""
        found = self.number(fields, name)
        if found is None:
            place = self._columns.at.get(name)
            column = name if place is None else self._names[place]
            reason = "is not in the file" if place is None else "is empty; a cost must be a number (zero is written 0)"
            raise RowFault(column, "" if place is None else fields[place], reason)
        return found

    def time(self, fields: list[str], name: str) -> Instant:
        at = self._columns.at[name]
        return self._times(self._columns.clean(fields[at]), self._names[at])

    def label(self, name: str) -> str:
        """What the file calls a column."""
        at = self._columns.at.get(name)
        return name if at is None else self._names[at]


def after(start: Instant, end: Instant, column: str) -> Instant:
    """The end, which must lie after the start."""
    if end.at <= start.at:
        raise RowFault(column, end.text, f"is not after the start {start.text}")
    return end


def exclusive(end: Instant, zone: ZoneInfo) -> Instant:
    """An end that is printed as the last second of its hour is the first of the next."""
    if end.at.minute == 59 and end.at.second == 59:
        return instant(end.at + timedelta(seconds=1), zone)
    return end


def month_of(text: str, column: str) -> date:
    """`2025-02`, `202502`, `2025年02月` or a day of it as the first of the month."""
    match = MONTH.fullmatch(text.strip())
    if not match:
        raise RowFault(column, text, "is not a month such as 2025-02")
    try:
        return Month(int(match[1]), int(match[2] or match[3])).start
    except ValueError as error:
        raise RowFault(column, text, str(error)) from None


def billing_month(text: str, column: str, start: Instant, settings: Settings, notes: Notes) -> date:
    """The month of the bill: the row's own, else the delivery's setting, else (said once) the month of use."""
    if text:
        return month_of(text, column)
    if settings.billing_period:
        return settings.billing_period.start
    notes.warn_once("billing_month_from_usage")
    return start.month


def added(*amounts: str | None) -> str:
    """The exact sum of canonical numbers; None counts as nothing."""
    total = Decimal(0)
    for amount in amounts:
        if amount is not None:
            total = EXACT.add(total, Decimal(amount))
    return exact_text(total)


def negated(amount: str | None) -> str | None:
    """The number with the other sign."""
    return None if amount is None else exact_text(-Decimal(amount))


def multiplied(left: str | None, right: str | None) -> str | None:
    """The exact product; None where one is not known."""
    if left is None or right is None:
        return None
    return exact_text(EXACT.multiply(Decimal(left), Decimal(right)))
