"""How much of a line goes on to the next period, and which promises go with it. Pure arithmetic."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from core.money import EXACT, quantum

ZERO = Decimal(0)


@dataclass(frozen=True)
class Policy:
    """What a line does with what is left, or overspent, at the end of its period."""

    kind: str = "none"
    share: Decimal | None = None
    amount: Decimal | None = None
    carries_overspend: bool = False


def whole_units(amount: Decimal, currency: str) -> Decimal:
    """In whole smallest units, never more than there is."""
    return amount.quantize(quantum(currency), rounding=decimal.ROUND_FLOOR, context=EXACT)


def carried(policy: Policy, budget: Decimal, actual: Decimal, currency: str) -> Decimal:
    """What goes on to the next period: part of what is left; below zero, what was overspent."""
    left = EXACT.subtract(budget, actual)
    if left <= 0:
        return whole_units(left, currency) if policy.carries_overspend else ZERO
    if policy.kind == "none":
        return ZERO
    caps = [policy.amount] if policy.amount is not None else []
    if policy.share is not None:
        caps.append(EXACT.multiply(policy.share, budget))
    return whole_units(min([left, *caps]), currency)


def promises_carried(remaining: Mapping[str, Decimal], carry: Decimal, currency: str) -> dict[str, Decimal]:
    """Of what proposals still hold, oldest first, the part that the carried money can be promised to again."""
    going, rest = {}, max(ZERO, carry)
    for reference, amount in remaining.items():
        part = whole_units(min(amount, rest), currency)
        if part > 0:
            going[reference] = part
            rest -= part
    return going
