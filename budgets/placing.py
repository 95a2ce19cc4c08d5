"""Which line carries what is asked for in a category and month, and which lines are missing for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from core.months import Month, Period

from .periods import calendar_period, free_part


@dataclass(frozen=True)
class LinePlace:
    """What decides whether a line carries an amount."""

    key: int
    task_type: str
    period_kind: str
    period: Period
    subcategory: str = ""

    @property
    def is_wide(self) -> bool:
        """Takes whatever no closer line takes."""
        return not self.task_type and not self.subcategory


@dataclass(frozen=True)
class MissingLine:
    """A line that has to be opened."""

    period_kind: str
    period: Period
    months: tuple[Month, ...]


def carries(place: LinePlace, month: Month) -> bool:
    """A line carries a month when the two have days in common."""
    return place.period.overlaps(Period(month.start, month.end))


def line_for(places: Sequence[LinePlace], task_type: str, month: Month, subcategory: str = "") -> LinePlace | None:
    """The line of the subcategory and of the task type before the wider ones; of several the one that covers the
    month's first day, else the earliest."""
    fitting = [
        place
        for place in places
        if place.task_type in ("", task_type) and place.subcategory in ("", subcategory) and carries(place, month)
    ]
    fitting.sort(
        key=lambda place: (
            place.subcategory == "",
            place.task_type == "",
            month.start not in place.period,
            place.period.start,
        )
    )
    return fitting[0] if fitting else None


def weights_by_line(
    places: Sequence[LinePlace], task_type: str, amounts: Mapping[Month, Decimal], subcategory: str = ""
) -> tuple[dict[int, Decimal], tuple[Month, ...]]:
    """What of the amounts each line carries, and the months that no line carries."""
    weights: dict[int, Decimal] = {}
    homeless = []
    for month, amount in sorted(amounts.items()):
        place = line_for(places, task_type, month, subcategory)
        if place is None:
            homeless.append(month)
        else:
            weights[place.key] = weights.get(place.key, Decimal(0)) + amount
    return weights, tuple(homeless)


def missing_lines(
    places: Sequence[LinePlace],
    months: Sequence[Month],
    *,
    life: Period,
    fiscal_year_starts_in: int = 1,
) -> list[MissingLine]:
    """The lines to open so that every month is carried: like the latest line there is, else for the project's life."""
    kind = max(places, key=lambda place: place.period.end).period_kind if places else "project"
    taken = [place.period for place in places]
    missing: list[MissingLine] = []
    for month in sorted(months):
        if any(opened.period.overlaps(Period(month.start, month.end)) for opened in missing):
            continue
        if kind == "project":
            wanted = life
        else:
            wanted = calendar_period(kind, month, fiscal_year_starts_in=fiscal_year_starts_in)
        period = free_part(wanted, taken, month)
        carried = tuple(each for each in months if period.overlaps(Period(each.start, each.end)))
        missing.append(MissingLine(kind, period, carried))
        taken.append(period)
    return missing
