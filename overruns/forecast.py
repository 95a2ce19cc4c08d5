"""What a line will have cost at the end of its period. Pure: made from the plan, not from a straight line.

forecast = actual + approved work still to come + charges of assets + the usual spending of the days that remain.

*Still to come* is what each proposal holds and has not used, on the schedule of its frozen estimate; what the schedule
has behind it but is not used yet is late, and comes too. Its range is the estimate's own. *Usual spending* is the cost
that consumed no commitment: medians by weekday over eight weeks of closed days, or, where cost comes in lumps, the
median of four-week blocks. A burst of training that was not planned moves neither.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

from core.months import Month, days_between

ZERO = Decimal(0)
QUANTILES = ("p10", "p50", "p90")
WEEKS = 8
BLOCK = 28
BLOCKS = 6
FEWEST_BLOCKS = 3
WINDOW = timedelta(days=BLOCK * BLOCKS)
"""How far back the usual spending looks."""
Z90 = Decimal("1.2816")
MAD_TO_DEVIATION = Decimal("1.4826")


@dataclass(frozen=True)
class WorkToCome:
    """What a proposal was promised and has used; its schedule by month; its cost at each quantile per unit promised."""

    promised: Decimal
    consumed: Decimal
    schedule: Mapping[Month, Decimal]
    factors: Mapping[str, Decimal]


@dataclass(frozen=True)
class Outlook:
    """The forecast of a line, and the path of its median: (day, money spent by its morning)."""

    p10: Decimal
    p50: Decimal
    p90: Decimal
    to_come: Decimal
    baseline: Decimal
    path: tuple[tuple[date, Decimal], ...]
    charges: Decimal = ZERO
    """Of assets that will be written off until the end; below zero where the line is relieved."""

    @property
    def relief(self) -> Decimal:
        """What others will still pay of the line's assets."""
        return max(ZERO, -self.charges)

    def passes(self, limit: Decimal) -> date | None:
        """The day on which the median passes the limit; None when it never does, or has already."""
        if self.p50 <= limit:
            return None
        for (start, before), (end, after) in pairwise(self.path):
            if before < limit <= after:
                days = (end - start).days
                return start + timedelta(days=int((limit - before) / (after - before) * days))
        return None


def forecast(
    actual: Decimal,
    works: Sequence[WorkToCome],
    rest_by_day: Mapping[date, Decimal],
    *,
    first_day: date,
    known_until: date,
    end: date,
    charges: Mapping[Month, Decimal] | None = None,
) -> Outlook:
    """Cost at `end`, when `actual` covers the days before `known_until` and the line began on `first_day`. `charges`
    are what assets will write off, by month; they are known amounts and widen no range."""
    due_charges = charges or {}
    charged = sum(due_charges.values(), ZERO)
    if known_until >= end:
        at_end = actual + charged
        return Outlook(at_end, at_end, at_end, ZERO, ZERO, ((end, at_end),), charged)
    usual = UsualSpending.of(rest_by_day, first_day=first_day, known_until=known_until)
    edges = [known_until, *(edge for edge in month_edges(known_until, end))]
    path, spent, come = [(known_until, actual)], actual, ZERO
    for start, stop in pairwise(edges):
        part = sum(
            (to_come(work, "p50", known_until, end) * due(work, start, stop, known_until, end) for work in works), ZERO
        )
        come += part
        spent += part + usual.between(start, stop) + charged_between(due_charges, start, stop, edges)
        path.append((stop, spent))
    days = (end - known_until).days
    base = usual.between(known_until, end)
    low = sum((to_come(work, "p10", known_until, end) for work in works), ZERO)
    high = sum((to_come(work, "p90", known_until, end) for work in works), ZERO)
    width = usual.width(days)
    below = root(max(ZERO, come - low) ** 2 + min(width, base) ** 2)
    above = root(max(ZERO, high - come) ** 2 + width**2)
    middle = actual + come + base + charged
    return Outlook(middle - below, middle, middle + above, come, base, tuple(path), charged)


def charged_between(charges: Mapping[Month, Decimal], start: date, stop: date, edges: Sequence[date]) -> Decimal:
    """The charges of months that begin in a part of the remaining days; earlier ones fall in the first part, later ones
    in the last."""
    return sum(
        (
            amount
            for month, amount in charges.items()
            if (month.start < stop or stop == edges[-1]) and (month.start >= start or start == edges[0])
        ),
        ZERO,
    )


def root(square: Decimal) -> Decimal:
    return square.sqrt() if square > 0 else ZERO


def month_edges(start: date, end: date) -> list[date]:
    """The first days of months after `start`, then `end`."""
    edges = []
    month = Month.of(start)
    while month.end < end:
        edges.append(month.end)
        month += 1
    return [*edges, end]


def to_come(work: WorkToCome, quantile: str, known_until: date, end: date) -> Decimal:
    """What of a proposal falls between what is known and the end of the line, at a quantile of its own estimate."""
    rest = max(ZERO, work.promised * work.factors[quantile] - work.consumed)
    inside = scheduled(work.schedule, known_until, end)
    after = scheduled(work.schedule, end, date.max)
    return rest * inside / (inside + after) if inside + after else rest


def due(work: WorkToCome, start: date, stop: date, known_until: date, end: date) -> Decimal:
    """The share of what is to come that falls into a part of the remaining days; evenly where the schedule is over."""
    inside = scheduled(work.schedule, known_until, end)
    if inside:
        return scheduled(work.schedule, start, stop) / inside
    return Decimal((stop - start).days) / Decimal((end - known_until).days)


def scheduled(schedule: Mapping[Month, Decimal], start: date, stop: date) -> Decimal:
    """The weight of the schedule between two days; a month's weight lies evenly on its days."""
    total = ZERO
    for month, weight in schedule.items():
        days = (min(stop, month.end) - max(start, month.start)).days
        if days > 0:
            total += weight * days / month.days
    return total


@dataclass(frozen=True)
class UsualSpending:
    """Spending per day: by weekday (Monday first), how much a day strays from it, and how many days taught it."""

    by_weekday: tuple[Decimal, ...]
    deviation: Decimal
    days: int

    @classmethod
    def of(cls, rest_by_day: Mapping[date, Decimal], *, first_day: date, known_until: date) -> UsualSpending:
        """From the closed days before `known_until`; days without cost count as days of no cost."""
        begin = max(first_day, known_until - timedelta(weeks=WEEKS))
        count = max(0, (known_until - begin).days)
        if not count:
            return cls((ZERO,) * 7, ZERO, 0)
        costs = [rest_by_day.get(day, ZERO) for day in days_between(begin, known_until)]
        if 2 * sum(1 for cost in costs if cost) < count:
            return cls.of_blocks(rest_by_day, first_day=first_day, known_until=known_until)
        whole = statistics.median(costs)
        same_weekday = [costs[(weekday - begin.weekday()) % 7 :: 7] for weekday in range(7)]
        by_weekday = [statistics.median(same) if len(same) >= 3 else whole for same in same_weekday]
        strays = [abs(cost - usual) for same, usual in zip(same_weekday, by_weekday, strict=True) for cost in same]
        return cls(tuple(by_weekday), statistics.median(strays) * MAD_TO_DEVIATION, count)

    @classmethod
    def of_blocks(cls, rest_by_day: Mapping[date, Decimal], *, first_day: date, known_until: date) -> UsualSpending:
        """Where cost comes in lumps: the median of whole four-week blocks, spread over their days."""
        sums = []
        for number in range(BLOCKS):
            stop = known_until - timedelta(days=BLOCK * number)
            start = stop - timedelta(days=BLOCK)
            if start < first_day:
                break
            sums.append(sum((cost for day, cost in rest_by_day.items() if start <= day < stop), ZERO))
        if len(sums) < FEWEST_BLOCKS:
            return cls((ZERO,) * 7, ZERO, 0)
        middle = statistics.median(sums)
        stray = statistics.median([abs(each - middle) for each in sums]) * MAD_TO_DEVIATION
        return cls((middle / BLOCK,) * 7, stray / Decimal(BLOCK).sqrt(), BLOCK * len(sums))

    def between(self, start: date, stop: date) -> Decimal:
        """The usual spending of the days from `start` up to, and without, `stop`."""
        weeks, left = divmod((stop - start).days, 7)
        single = sum((self.by_weekday[(start.weekday() + offset) % 7] for offset in range(left)), ZERO)
        return sum(self.by_weekday, ZERO) * weeks + single

    def width(self, days: int) -> Decimal:
        """Half the P10–P90 range of so many days: each strays, and so does what was learnt about all of them."""
        if not self.days or not self.deviation:
            return ZERO
        return Z90 * self.deviation * (Decimal(days) + Decimal(days) ** 2 / self.days).sqrt()
