"""The periods a budget line may have. Pure calendar arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from core.months import Month, Period


def calendar_period(kind: str, month: Month, *, fiscal_year_starts_in: int = 1) -> Period:
    """The month, the quarter or the (fiscal) year that contains a month."""
    since_start = (month.number - fiscal_year_starts_in) % 12
    year_start = month + -since_start
    if kind == "month":
        return Period(month.start, month.end)
    if kind == "quarter":
        first = year_start + since_start // 3 * 3
        return Period(first.start, (first + 3).start)
    if kind == "year":
        return Period(year_start.start, (year_start + 12).start)
    raise ValueError(f"{kind!r} is not a period of the calendar")


def project_period(months: Iterable[Month], starts_on: date | None, ends_on: date | None) -> Period:
    """The life of a project, long enough for all the months."""
    ordered = sorted(months)
    start = min(filter(None, [starts_on, ordered[0].start if ordered else None]))
    end = max(filter(None, [ends_on, ordered[-1].end if ordered else None]))
    return Period(start, end)


def free_part(wanted: Period, taken: Iterable[Period], month: Month) -> Period:
    """What of a period around a month no other period has taken."""
    start, end = wanted.start, wanted.end
    for period in taken:
        if period.end <= month.start:
            start = max(start, period.end)
        elif period.start >= month.end:
            end = min(end, period.start)
    return Period(max(start, wanted.start), end)
