"""How many accelerator-hours a cluster has on a day, in maintenance, reserved, and free. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from core.months import days_between, midnight

SECONDS_OF_AN_HOUR = Decimal(3600)


@dataclass(frozen=True)
class Lot:
    """Cards of one kind from a day on, up to and without another."""

    accelerator: str
    cards: int
    starts_on: date
    ends_on: date | None = None

    def is_there(self, day: date) -> bool:
        return self.starts_on <= day and (self.ends_on is None or day < self.ends_on)


@dataclass(frozen=True)
class Window:
    """A maintenance, or a reservation, of some cards (None: all) of one kind (empty: every kind)."""

    starts_at: datetime
    ends_at: datetime
    accelerator: str = ""
    cards: int | None = None
    is_reservation: bool = False

    def hours(self, accelerator: str, cards: int, begins: datetime, ends: datetime) -> Decimal:
        """Accelerator-hours that it takes of one kind within a day."""
        if self.accelerator and self.accelerator != accelerator:
            return Decimal(0)
        start, end = max(self.starts_at, begins), min(self.ends_at, ends)
        still = cards if self.cards is None else min(self.cards, cards)
        return still * hours_between(start, end) if start < end else Decimal(0)


@dataclass(frozen=True)
class CardDay:
    """One kind of card on one day, in accelerator-hours."""

    day: date
    accelerator: str
    capacity: Decimal
    maintenance: Decimal
    allocated: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    """Of what is not in maintenance: kept for somebody. A job may hold it, and until one does it is idle."""

    @property
    def free(self) -> Decimal:
        """What can be promised to anybody: neither in maintenance nor reserved."""
        return self.capacity - self.maintenance - self.reserved

    @property
    def idle(self) -> Decimal:
        """What could have been held and was not."""
        return max(self.capacity - self.maintenance - self.allocated, Decimal(0))

    @property
    def beyond(self) -> Decimal:
        """Held although the register knows no such cards, or knows them in maintenance."""
        return max(self.allocated - (self.capacity - self.maintenance), Decimal(0))


def hours_between(start: datetime, end: datetime) -> Decimal:
    return Decimal(str((end - start).total_seconds())) / SECONDS_OF_AN_HOUR


def card_days(
    lots: Sequence[Lot], windows: Sequence[Window], start: date, end: date, zone: ZoneInfo
) -> Iterator[CardDay]:
    """Every kind of card on each of the half-open days on which there are some. A day has 23, 24 or 25 hours."""
    for day in days_between(start, end):
        begins, ends = (midnight(each, zone).astimezone(UTC) for each in (day, day + timedelta(days=1)))
        there = [lot for lot in lots if lot.is_there(day)]
        for accelerator in sorted({lot.accelerator for lot in there}):
            cards = sum(lot.cards for lot in there if lot.accelerator == accelerator)
            capacity = cards * hours_between(begins, ends)
            apart = [(each.is_reservation, each.hours(accelerator, cards, begins, ends)) for each in windows]
            still = min(sum((hours for kept, hours in apart if not kept), Decimal(0)), capacity)
            reserved = min(sum((hours for kept, hours in apart if kept), Decimal(0)), capacity - still)
            yield CardDay(day, accelerator, capacity, still, reserved=reserved)
