"""Which commitments the metered cost of a line has used up. Pure arithmetic; nothing here is stored.

The cost of a proposal's own work (tagged with its reference) consumes its own commitment and never another's: what it
costs beyond that is an overrun of that proposal. All other cost is one stream, in the order in which it became known.
A commitment is consumed only by the part of the stream that came after it: the cost known when it was made had
been taken from the headroom then, and must not free the same money again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext

from core.money import EXACT

ZERO = Decimal(0)


@dataclass(frozen=True)
class Commitment:
    """What one entry promised to a proposal. `others_spent` is the stream of other cost at that moment."""

    reference: str
    amount: Decimal
    others_spent: Decimal


@dataclass(frozen=True)
class Promise:
    """What a proposal holds on a line: promised, given back, used up; the rest is still committed.

    A closed proposal holds nothing, even where a restatement later lowers what it used up.
    """

    committed: Decimal
    released: Decimal
    consumed: Decimal
    closed: bool = False

    @property
    def remaining(self) -> Decimal:
        if self.closed:
            return ZERO
        return max(ZERO, EXACT.subtract(EXACT.subtract(self.committed, self.released), self.consumed))


def open_parts(commitments: Sequence[Commitment], taken: Mapping[str, Decimal]) -> list[Decimal]:
    """What is left of each commitment when `taken` is subtracted per proposal, from its oldest commitment on."""
    left = {reference: max(ZERO, amount) for reference, amount in taken.items()}
    parts = []
    for commitment in commitments:
        part = min(commitment.amount, left.get(commitment.reference, ZERO))
        left[commitment.reference] = left.get(commitment.reference, ZERO) - part
        parts.append(commitment.amount - part)
    return parts


def stretches(
    commitments: Sequence[Commitment], open_amounts: Sequence[Decimal], others: Decimal
) -> list[tuple[Decimal, Decimal]]:
    """The stretch of the stream of other cost that each open amount was used up by, oldest first, none of it twice."""
    position, found = ZERO, []
    for commitment, amount in zip(commitments, open_amounts, strict=True):
        start = max(position, commitment.others_spent)
        position = start + max(ZERO, min(amount, others - start))
        found.append((start, position))
    return found


def unconsumed_by_day(
    others_by_day: Mapping[date, Decimal], consumed: Sequence[tuple[Decimal, Decimal]], others: Decimal
) -> dict[date, Decimal]:
    """Of the last days of the stream, which ends at `others`, the part of each that consumed no commitment."""
    if not consumed:
        return dict(others_by_day)
    rest, stop = {}, others
    for day in sorted(others_by_day, reverse=True):
        start = stop - others_by_day[day]
        covered = sum((max(ZERO, min(stop, high) - max(start, low)) for low, high in consumed), ZERO)
        rest[day] = others_by_day[day] - covered
        stop = start
    return rest


@dataclass(frozen=True)
class Standing:
    """Per proposal what it holds on the line, and the stretches of other cost that consumed commitments."""

    promises: Mapping[str, Promise]
    consumed: tuple[tuple[Decimal, Decimal], ...] = ()


def standing(
    commitments: Sequence[Commitment],
    released: Mapping[str, Decimal],
    own: Mapping[str, Decimal],
    others: Decimal,
    *,
    others_consume: bool = True,
    closed: Collection[str] = (),
    own_at_closing: Mapping[str, Decimal] | None = None,
) -> Standing:
    """What every proposal holds, to the last digit. Commitments come oldest first; `own` is cost tagged with one.

    What a closed proposal has used up stands as it was when it was closed (`own_at_closing`): its later bills and
    restatements move the headroom, and never what others hold.
    """
    with localcontext(EXACT):
        return _standing(commitments, released, {**own, **(own_at_closing or {})}, others, others_consume, closed)


def _standing(
    commitments: Sequence[Commitment],
    released: Mapping[str, Decimal],
    own: Mapping[str, Decimal],
    others: Decimal,
    others_consume: bool,
    closed: Collection[str],
) -> Standing:
    promised: dict[str, Decimal] = {}
    for commitment in commitments:
        promised[commitment.reference] = promised.get(commitment.reference, ZERO) + commitment.amount
    given_back = {reference: released.get(reference, ZERO) for reference in promised}
    by_own = {
        reference: max(ZERO, min(own.get(reference, ZERO), amount - given_back[reference]))
        for reference, amount in promised.items()
    }
    by_others = dict.fromkeys(promised, ZERO)
    consumed: list[tuple[Decimal, Decimal]] = []
    if others_consume:
        taken = {reference: given_back[reference] + by_own[reference] for reference in promised}
        consumed = stretches(commitments, open_parts(commitments, taken), others)
        for commitment, (start, stop) in zip(commitments, consumed, strict=True):
            by_others[commitment.reference] += stop - start
    return Standing(
        promises={
            reference: Promise(
                committed=amount,
                released=given_back[reference],
                consumed=by_own[reference] + by_others[reference],
                closed=reference in closed,
            )
            for reference, amount in promised.items()
        },
        consumed=tuple(stretch for stretch in consumed if stretch[0] < stretch[1]),
    )
