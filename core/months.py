"""Calendar months and half-open periods. Month arithmetic goes by the calendar, never by 30 days."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

FIRST_YEAR, LAST_YEAR = 1900, 2999
"""Of months that are read: the months around them are dates too."""


@dataclass(frozen=True, order=True)
class Month:
    """One calendar month, ordered in time, written `2027-01`."""

    year: int
    number: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= 12:
            raise ValueError(f"month {self.number} is not between 1 and 12")

    @classmethod
    def of(cls, day: date) -> Month:
        return cls(day.year, day.month)

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read `2027-01`; anything else is a ValueError."""
        year, dash, number = text.partition("-")
        if not (
            dash and len(year) == 4 and len(number) == 2 and (year + number).isascii() and (year + number).isdigit()
        ):
            raise ValueError(f"{text!r} is not a month such as 2027-01")
        if not FIRST_YEAR <= int(year) <= LAST_YEAR:
            raise ValueError(f"{text!r} is not between {FIRST_YEAR} and {LAST_YEAR}")
        return cls(int(year), int(number))

    @property
    def start(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def end(self) -> date:
        """The first day after the month."""
        return (self + 1).start

    @property
    def days(self) -> int:
        return (self.end - self.start).days

    def __add__(self, months: int) -> Month:
        index = self.year * 12 + self.number - 1 + months
        return Month(index // 12, index % 12 + 1)

    def __sub__(self, other: Month) -> int:
        """How many months lie from `other` to this one."""
        return (self.year - other.year) * 12 + self.number - other.number

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"


@dataclass(frozen=True)
class Period:
    """Days from `start` up to, and without, `end`."""

    start: date
    end: date

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(f"a period must end after it starts, got {self.start} to {self.end}")

    def __contains__(self, day: date) -> bool:
        return self.start <= day < self.end

    def months(self) -> Iterator[Month]:
        """Every month the period touches, in order."""
        month = Month.of(self.start)
        while month.start < self.end:
            yield month
            month += 1

    def overlaps(self, other: Period) -> bool:
        return self.start < other.end and other.start < self.end


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The instant at which `day` begins in `zone`."""
    return datetime.combine(day, clock_time.min, tzinfo=zone)


def end_of_day(day: date, zone: ZoneInfo) -> datetime:
    """The instant at which `day` is over in `zone`; of a day after `LAST_YEAR`, that at which that year is."""
    return midnight(min(day, date(LAST_YEAR, 12, 31)) + timedelta(days=1), zone)


def days_between(start: date, end: date) -> Iterator[date]:
    """Every day of the half-open range."""
    return map(date.fromordinal, range(start.toordinal(), end.toordinal()))
