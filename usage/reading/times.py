"""Times of bills, as instants. Nothing rolls over: hour 24 and 29 February 2025 do not exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from .faults import RowFault
from .numbers import NULLS

ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"\s*([Zz]|UTC|(?:UTC|GMT)?[+-][0-9]{2}(?::?[0-9]{2})?(?: UTC)?)?"
)
SLASHED = re.compile(
    r"([0-9]{1,4})[/.-]([0-9]{1,2})[/.-]([0-9]{1,4})(?:[T ]+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?)?\s*(Z|UTC)?"
)
OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?")
DATE_ORDERS = {
    "ymd": "ymd",
    "iso": "ymd",
    "y/m/d": "ymd",
    "mdy": "mdy",
    "month-first": "mdy",
    "m/d/y": "mdy",
    "m/d/yy": "mdy",
    "m/d/yyyy": "mdy",
    "mm/dd/yyyy": "mdy",
    "dmy": "dmy",
    "day-first": "dmy",
    "d/m/y": "dmy",
    "d/m/yy": "dmy",
    "d/m/yyyy": "dmy",
    "dd/mm/yyyy": "dmy",
}
"""Spellings of the setting `date_order` and what each means."""

MEMORY = 50_000
FARTHEST_OFFSET = 14
"""Hours: islands of the Pacific are that far ahead."""
FIRST_YEAR, LAST_YEAR = 1970, 2200
"""Beyond them no bill lies, and the arithmetic of days and zones runs off the calendar."""


class Instant(NamedTuple):
    """A moment: as PostgreSQL reads it, as Python compares it, and the month it lies in by the source's clock."""

    text: str
    at: datetime
    month: date


def instant(moment: datetime, zone: ZoneInfo) -> Instant:
    """An aware datetime as an `Instant`; the month is the one of the zone's calendar."""
    utc = moment.astimezone(UTC)
    return Instant(utc.isoformat(), utc, moment.astimezone(zone).date().replace(day=1))


def later(start: Instant, span: timedelta, zone: ZoneInfo, column: str) -> Instant:
    """The instant a span after another; beyond the calendar is a `RowFault`."""
    try:
        return instant(start.at + span, zone)
    except OverflowError:
        raise RowFault(column, start.text, "lies at the end of the calendar") from None


class TimeReader:
    """Answers (text, column) with an `Instant` or raises `RowFault`. Texts seen before cost nothing: `seen` has them.

    A text without a zone is on the source's clock. `5/1/25` is a date only where `date_order` fixes the order.
    `on_offset` is told of an offset other than Z.
    """

    def __init__(self, zone: ZoneInfo, date_order: str | None, on_offset: Callable[[], None] | None) -> None:
        self._zone, self._date_order, self._on_offset = zone, date_order, on_offset
        self.seen: dict[str, Instant] = {}

    def __call__(self, text: str, column: str) -> Instant:
        found = self.seen.get(text)
        if found is None:
            if len(self.seen) > MEMORY:
                self.seen.clear()
            moment = parse_time(text, column, self._zone, self._date_order, self._on_offset)
            found = self.seen[text] = instant(moment, self._zone)
        return found


def time_reader(
    zone: ZoneInfo, *, date_order: str | None = None, on_offset: Callable[[], None] | None = None
) -> TimeReader:
    """A reader of the times of one file."""
    return TimeReader(zone, date_order, on_offset)


def parse_time(
    text: str, column: str, zone: ZoneInfo, date_order: str | None, on_offset: Callable[[], None] | None = None
) -> datetime:
    """One text as an aware datetime, or `RowFault`."""
    cleaned = text.strip()
    if cleaned in NULLS:
        raise RowFault(column, text, "is empty; a time such as 2025-01-31T00:00:00Z is needed")
    try:
        if match := ISO.fullmatch(cleaned):
            return _within(_iso(match, zone, on_offset))
        if date_order and (match := SLASHED.fullmatch(cleaned)):
            return _within(_slashed(match, date_order, zone))
    except (ValueError, OverflowError) as error:
        raise RowFault(column, text, f"is not a time that exists: {error}") from None
    raise RowFault(column, text, "is not a time such as 2025-01-31T00:00:00Z")


def _within(moment: datetime) -> datetime:
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"the year {moment.year} is none of a bill")
    return moment


def _iso(match: re.Match[str], zone: ZoneInfo, on_offset: Callable[[], None] | None) -> datetime:
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    if fraction:
        moment = moment.replace(microsecond=int(fraction[:6].ljust(6, "0")))
    if offset is None:
        return moment.replace(tzinfo=zone)
    if (found := OFFSET.search(offset)) is None:
        return moment.replace(tzinfo=UTC)
    sign, hours, minutes = found.groups()
    if int(hours) > FARTHEST_OFFSET or int(minutes or 0) > 59:
        raise ValueError(f"no clock is {found[0]} from UTC")
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    if shift and on_offset:
        on_offset()
    return (moment - shift).replace(tzinfo=UTC)


def _slashed(match: re.Match[str], order: str, zone: ZoneInfo) -> datetime:
    first, second, third, hour, minute, seconds, utc = match.groups()
    year, month, day = {
        "ymd": (first, second, third),
        "mdy": (third, first, second),
        "dmy": (third, second, first),
    }[order]
    if len(year) not in (2, 4):
        raise ValueError(f"year {year}")
    full_year = int(year) + 2000 if len(year) == 2 else int(year)
    moment = datetime(full_year, int(month), int(day), int(hour or 0), int(minute or 0), int(seconds or 0))
    return moment.replace(tzinfo=UTC if utc else zone)
