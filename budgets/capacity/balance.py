"""Months in which more cards are wanted than are available. Pure arithmetic.

Supply is what clusters give without maintenance and without cards that are kept for somebody, and what plans have
reserved beyond the reserved clusters of the register. What is wanted beyond the supply is short. Of that, hours that
plans rent by the hour anyway are paid for in their own estimates; the rest has to be rented on top, ordered, or moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from core.months import Month
from estimates.hours import CardHours

from .demand import STATES, Demand

ZERO = Decimal(0)


@dataclass(frozen=True)
class Supply:
    """What the register gives of one kind of card in one month, in accelerator-hours.

    `free` is capacity less maintenance and less what is `kept` for somebody; `reserved` is the part of it on clusters
    that are rented for a term.
    """

    capacity: Decimal = ZERO
    maintenance: Decimal = ZERO
    kept: Decimal = ZERO
    free: Decimal = ZERO
    reserved: Decimal = ZERO

    def __add__(self, other: Supply) -> Supply:
        return Supply(
            self.capacity + other.capacity,
            self.maintenance + other.maintenance,
            self.kept + other.kept,
            self.free + other.free,
            self.reserved + other.reserved,
        )


@dataclass(frozen=True)
class CardMonth:
    """One kind of card in one month, in its own accelerator-hours."""

    accelerator: str
    month: Month
    supply: Supply = field(default_factory=Supply)
    wanted: Mapping[str, CardHours] = field(default_factory=dict)
    """By state; one that wants nothing is absent."""
    of_projects: Mapping[int, Decimal] = field(default_factory=dict)

    def of_state(self, state: str) -> Decimal:
        return self.wanted[state].hours if state in self.wanted else ZERO

    @property
    def total(self) -> CardHours:
        return sum(self.wanted.values(), CardHours())

    @property
    def reserved_by_plans(self) -> Decimal:
        """What the plans counted here have reserved, beyond the reserved clusters: those may be the same cards."""
        return max(ZERO, self.total.reserved - self.supply.reserved)

    @property
    def available(self) -> Decimal:
        """Hours that can be had without renting more."""
        return self.supply.free + self.reserved_by_plans

    @property
    def load(self) -> Decimal | None:
        """What is wanted against what is available; None where nothing is."""
        return self.total.hours / self.available if self.available else None

    @property
    def short(self) -> Decimal:
        return max(ZERO, self.total.hours - self.available)

    @property
    def rented(self) -> Decimal:
        """Of what is short, what plans rent by the hour anyway."""
        return min(self.short, self.total.rented)

    @property
    def open(self) -> Decimal:
        """Of what is short, what nobody has planned to rent."""
        return self.short - self.rented


def card_months(demands: Iterable[Demand], supply: Mapping[tuple[str, Month], Supply]) -> list[CardMonth]:
    """Every kind of card in every month in which some are available or wanted, in order."""
    wanted: dict[tuple[str, Month], dict[str, CardHours]] = defaultdict(dict)
    projects: dict[tuple[str, Month], dict[int, Decimal]] = defaultdict(dict)
    for each in demands:
        key = each.accelerator, each.month
        wanted[key][each.state] = wanted[key].get(each.state, CardHours()) + each.hours
        projects[key][each.project] = projects[key].get(each.project, ZERO) + each.hours.hours
    return [
        CardMonth(*key, supply.get(key, Supply()), wanted.get(key, {}), projects.get(key, {}))
        for key in sorted(wanted.keys() | supply.keys())
    ]


@dataclass
class Totals:
    """One month over all kinds of card, in hours of the reference card."""

    month: Month
    available: Decimal = ZERO
    wanted: dict[str, Decimal] = field(default_factory=lambda: dict.fromkeys(STATES, ZERO))
    of_projects: dict[int, Decimal] = field(default_factory=dict)

    @property
    def total(self) -> Decimal:
        return sum(self.wanted.values(), ZERO)


def in_equivalents(months: Iterable[CardMonth], factors: Mapping[str, Decimal]) -> list[Totals]:
    """By month, each card by its factor; those without one are left out (`without_factor` names them)."""
    found: dict[Month, Totals] = {}
    for each in months:
        factor = factors.get(each.accelerator)
        totals = found.setdefault(each.month, Totals(each.month))
        if factor is None:
            continue
        totals.available += each.available * factor
        for state in STATES:
            totals.wanted[state] += each.of_state(state) * factor
        for project, hours in each.of_projects.items():
            totals.of_projects[project] = totals.of_projects.get(project, ZERO) + hours * factor
    return [found[month] for month in sorted(found)]


def without_factor(months: Iterable[CardMonth], factors: Mapping[str, Decimal]) -> list[str]:
    """Cards whose dense peak nobody knows."""
    return sorted({each.accelerator or "?" for each in months if each.accelerator not in factors})
