"""Which commitments the metered cost of a line has used up. Pure arithmetic; nothing here is stored.

The cost of a proposal's own work (tagged with its reference) consumes its own commitment and never another's: what it
costs beyond that is an overrun of that proposal. All other cost is one stream, in the order in which it became known.
A commitment is consumed only by the part of the stream that came after it: the cost known when it was made had
been taken from the headroom then, and must not free the same money again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

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
        return max(ZERO, self.committed - self.released - self.consumed)


def open_parts(commitments: Sequence[Commitment], taken: Mapping[str, Decimal]) -> list[Decimal]:
    """What is left of each commitment when `taken` is subtracted per proposal, from its oldest commitment on."""
    left = {reference: max(ZERO, amount) for reference, amount in taken.items()}
    parts = []
    for commitment in commitments:
        part = min(commitment.amount, left.get(commitment.reference, ZERO))
        left[commitment.reference] = left.get(commitment.reference, ZERO) - part
        parts.append(commitment.amount - part)
    return parts


def consumed_by_others(
    commitments: Sequence[Commitment], open_amounts: Sequence[Decimal], others: Decimal
) -> list[Decimal]:
    """How much of each open amount the stream of other cost has used, oldest first, none of it twice."""
    position, used = ZERO, []
    for commitment, amount in zip(commitments, open_amounts, strict=True):
        start = max(position, commitment.others_spent)
        part = max(ZERO, min(amount, others - start))
        position = start + part
        used.append(part)
    return used


def promises(
    commitments: Sequence[Commitment],
    released: Mapping[str, Decimal],
    own: Mapping[str, Decimal],
    others: Decimal,
    *,
    others_consume: bool = True,
    closed: Collection[str] = (),
) -> dict[str, Promise]:
    """Per proposal what it holds on the line. Commitments come oldest first; `own` is cost tagged with a reference."""
    references = dict.fromkeys(commitment.reference for commitment in commitments)
    promised = {
        reference: sum((each.amount for each in commitments if each.reference == reference), ZERO)
        for reference in references
    }
    by_own = {
        reference: min(max(ZERO, own.get(reference, ZERO)), promised[reference] - released.get(reference, ZERO))
        for reference in references
    }
    by_others = dict.fromkeys(references, ZERO)
    if others_consume:
        taken = {reference: released.get(reference, ZERO) + by_own[reference] for reference in references}
        used = consumed_by_others(commitments, open_parts(commitments, taken), others)
        for commitment, part in zip(commitments, used, strict=True):
            by_others[commitment.reference] += part
    return {
        reference: Promise(
            committed=promised[reference],
            released=released.get(reference, ZERO),
            consumed=by_own[reference] + by_others[reference],
            closed=reference in closed,
        )
        for reference in references
    }
