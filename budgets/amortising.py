"""How much of an asset is written off at a time, and who carries it. Pure arithmetic.

What is left is always divided over the units (months or tasks) that are left, so that the last unit takes the rest to
the last cent, and what was reversed is charged by the units that come later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from core.money import split
from core.months import Month


@dataclass(frozen=True)
class Use:
    """A project uses the asset from a month on, up to (without) another; `weight` in tasks."""

    project: int
    since: Month
    until: Month | None
    weight: int

    def is_in(self, month: Month) -> bool:
        return self.since <= month and (self.until is None or month < self.until)


def part_of_rest(rest: Decimal, units: int, units_left: int, currency: str) -> Decimal:
    """What some of the units that are left cost."""
    if units >= units_left:
        return rest
    return split(rest, [units, units_left - units], currency)[0]


def uses_of_month(uses: Sequence[Use], month: Month, *, by_tasks: bool) -> list[Use]:
    """A life in months is carried by everyone who uses it in the month, one in tasks by the tasks that begin."""
    return [use for use in uses if (use.since == month if by_tasks else use.is_in(month))]


@dataclass(frozen=True)
class Part:
    """What one month writes off, in units of the asset's life and in money, and what each project carries of it."""

    month: Month
    units: int
    amount: Decimal
    carried: Mapping[int, Decimal]


def parts_of_months(
    rest: Decimal, units_left: int, uses: Sequence[Use], months: Iterable[Month], currency: str, *, by_tasks: bool
) -> Iterator[Part]:
    """What the months write off one after the other, as the uses stand.

    A month without a use passes in a life in months, and not in one in tasks.
    """
    for month in months:
        current = uses_of_month(uses, month, by_tasks=by_tasks)
        if not units_left or (by_tasks and not current):
            continue
        units = min(sum(use.weight for use in current) if by_tasks else 1, units_left)
        amount = part_of_rest(rest, units, units_left, currency)
        yield Part(month, units, amount, carried_by_project(amount, current, currency))
        rest, units_left = rest - amount, units_left - units


def carried_by_project(amount: Decimal, uses: Sequence[Use], currency: str) -> Mapping[int, Decimal]:
    """The amount by project, by the weights of their uses; nothing where nobody uses it."""
    if not uses:
        return {}
    carried: dict[int, Decimal] = {}
    for use, part in zip(uses, split(amount, [use.weight for use in uses], currency), strict=True):
        carried[use.project] = carried.get(use.project, Decimal(0)) + part
    return carried
