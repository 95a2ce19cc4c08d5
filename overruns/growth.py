"""Is a day's cost out of the ordinary? Pure, and robust: medians by weekday, and the median of how far days stray.

A day is held against the closed days of the eight weeks before it. It is out of the ordinary when it exceeds the median
of its weekday by four usual deviations, by a quarter, and by an amount that is worth a person's time. The usual
deviation is the median absolute deviation from the weekdays' medians, times 1.4826 (so that it estimates the standard
deviation of a normal distribution; Rousseeuw and Croux 1993, https://doi.org/10.1080/01621459.1993.10476408).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

ZERO = Decimal(0)
WINDOW = timedelta(weeks=8)
FEWEST_DAYS = 14
DEVIATIONS = 4
LEAST_SHARE = Decimal("0.25")
MAD_TO_DEVIATION = Decimal("1.4826")


@dataclass(frozen=True)
class Excess:
    """A day out of the ordinary: what it came to, and what its weekday usually comes to."""

    day: date
    value: Decimal
    expected: Decimal

    @property
    def amount(self) -> Decimal:
        return self.value - self.expected


def excess_of(by_day: Mapping[date, Decimal], day: date, *, first_day: date, minimum: Decimal) -> Excess | None:
    """The day's excess, if it is out of the ordinary; a series that began on `first_day` counts empty days as zero."""
    begin = max(first_day, day - WINDOW)
    days = [begin + timedelta(days=offset) for offset in range((day - begin).days)]
    if len(days) < FEWEST_DAYS:
        return None
    value, usual = by_day.get(day, ZERO), medians(by_day, days)
    expected = usual[day.weekday()]
    strays = [abs(by_day.get(each, ZERO) - usual[each.weekday()]) for each in days]
    deviation = statistics.median(strays) * MAD_TO_DEVIATION
    found = Excess(day, value, expected)
    if found.amount < minimum or found.amount <= DEVIATIONS * deviation or found.amount <= LEAST_SHARE * expected:
        return None
    return found


def medians(by_day: Mapping[date, Decimal], days: list[date]) -> list[Decimal]:
    """The median of each weekday, Monday first; of all days where a weekday was seen less than three times."""
    whole = statistics.median([by_day.get(day, ZERO) for day in days])
    found = []
    for weekday in range(7):
        same = [by_day.get(day, ZERO) for day in days if day.weekday() == weekday]
        found.append(statistics.median(same) if len(same) >= 3 else whole)
    return found


def excesses(by_day: Mapping[date, Decimal], *, known_until: date, look_back: int, minimum: Decimal) -> list[Excess]:
    """The days out of the ordinary among the last closed ones."""
    if not by_day:
        return []
    first_day = min(by_day)
    days = (known_until - timedelta(days=back) for back in range(look_back, 0, -1))
    found = (excess_of(by_day, day, first_day=first_day, minimum=minimum) for day in days)
    return [each for each in found if each is not None]
