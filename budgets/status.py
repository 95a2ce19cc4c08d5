"""What stands on a budget line: the identity headroom = budget − actual − committed, from entries and metered cost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from core.money import EXACT, exact_sum
from core.months import Month
from teams.rates import RateTable

from .consumption import Commitment, Promise, standing

ZERO = Decimal(0)
OWN_WORK = re.compile(r"P-[0-9]+")


def is_own_work(reference: str) -> bool:
    """Is this cost tagged as the work of a proposal?"""
    return OWN_WORK.fullmatch(reference) is not None


@dataclass(frozen=True)
class LedgerFacts:
    """What the entries of a line say. Commitments come oldest first."""

    budget: Decimal = ZERO
    amortised: Decimal = ZERO
    commitments: Sequence[Commitment] = ()
    released: Mapping[str, Decimal] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    own_at_closing: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Spent:
    """Metered cost of a line in its own currency: of proposals' own work, and all the rest.

    A rate that is not stored leaves its cost out and is named.
    """

    own: Mapping[str, Decimal] = field(default_factory=dict)
    others: Decimal = ZERO
    rates_missing: tuple[tuple[Month, str], ...] = ()

    @property
    def total(self) -> Decimal:
        return exact_sum([*self.own.values(), self.others])


@dataclass(frozen=True)
class LineStatus:
    """The figures of a line at one moment, all in its currency."""

    currency: str
    budget: Decimal
    actual: Decimal
    committed: Decimal
    others_spent: Decimal
    promises: Mapping[str, Promise]
    consumed: tuple[tuple[Decimal, Decimal], ...]
    rates_missing: tuple[tuple[Month, str], ...]
    held: Decimal = ZERO
    own: Mapping[str, Decimal] = field(default_factory=dict)
    """By proposal what its own work has cost."""
    restated: Mapping[int, Decimal] = field(default_factory=dict)
    """Of the actual, by closing: what became known of earlier periods since they were closed."""

    @property
    def headroom(self) -> Decimal:
        return EXACT.subtract(EXACT.subtract(self.budget, self.actual), self.committed)

    @property
    def free(self) -> Decimal:
        """What may still be promised: headroom less what is held for jobs that are about to start."""
        return EXACT.subtract(self.headroom, self.held)

    @property
    def execution_rate(self) -> Decimal | None:
        """Actual ÷ line; nothing where there is no budget."""
        return self.actual / self.budget if self.budget > 0 else None


def convert(amounts: Iterable[tuple[str, str, date, Decimal]], currency: str, rates: RateTable) -> Spent:
    """Amounts of (reference, currency, first day of a month) in one currency, own work apart from the rest."""
    own: dict[str, Decimal] = {}
    others = ZERO
    missing: set[tuple[Month, str]] = set()
    for reference, paid_in, month, amount in amounts:
        worth = amount if paid_in == currency else worth_in(currency, paid_in, month, amount, rates)
        if worth is None:
            if amount:
                missing.add((Month.of(month), paid_in))
            continue
        if is_own_work(reference):
            own[reference] = EXACT.add(own.get(reference, ZERO), worth)
        else:
            others = EXACT.add(others, worth)
    return Spent(own, others, tuple(sorted(missing)))


def worth_in(currency: str, paid_in: str, month: date, amount: Decimal, rates: RateTable) -> Decimal | None:
    """An amount in another currency; None where no rate of its month is stored."""
    rate = rates.rate(paid_in, currency, Month.of(month))
    return None if rate is None else EXACT.multiply(amount, rate)


def status_of(
    currency: str,
    ledger: LedgerFacts,
    spent: Spent,
    *,
    others_consume: bool,
    held: Decimal = ZERO,
    restated: Mapping[int, Decimal] | None = None,
) -> LineStatus:
    """The status of a line from what its ledger and its meters say."""
    holdings = standing(
        ledger.commitments,
        ledger.released,
        spent.own,
        spent.others,
        others_consume=others_consume,
        closed=ledger.closed,
        own_at_closing=ledger.own_at_closing,
    )
    return LineStatus(
        currency=currency,
        budget=ledger.budget,
        actual=EXACT.add(spent.total, ledger.amortised),
        committed=exact_sum([promise.remaining for promise in holdings.promises.values()]),
        others_spent=spent.others,
        promises=holdings.promises,
        consumed=holdings.consumed,
        rates_missing=spent.rates_missing,
        held=held,
        own=spent.own,
        restated=restated or {},
    )
