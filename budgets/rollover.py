"""How much of a line goes on to the next period, and which promises go with it. Pure arithmetic, of money and of
accelerator-hours; `smallest` is the unit in which people decide on them."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from core.money import EXACT

ZERO = Decimal(0)


@dataclass(frozen=True)
class Policy:
    """What a line does with what is left, or overspent, at the end of its period."""

    kind: str = "none"
    share: Decimal | None = None
    amount: Decimal | None = None
    carries_overspend: bool = False


def whole_units(amount: Decimal, smallest: Decimal) -> Decimal:
    """In whole smallest units, never more than there is."""
    return amount.quantize(smallest, rounding=decimal.ROUND_FLOOR, context=EXACT)


def carried(policy: Policy, budget: Decimal, actual: Decimal, smallest: Decimal) -> Decimal:
    """What goes on to the next period: part of what is left; below zero, what was overspent. Where it is capped and no
    cap is stated, nothing."""
    left = EXACT.subtract(budget, actual)
    if left <= 0:
        return whole_units(left, smallest) if policy.carries_overspend else ZERO
    caps = [policy.amount] if policy.amount is not None else []
    if policy.share is not None:
        caps.append(EXACT.multiply(policy.share, budget))
    if policy.kind == "none" or (policy.kind == "capped" and not caps):
        return ZERO
    return whole_units(min([left, *caps]), smallest)


def promises_carried(remaining: Mapping[str, Decimal], carry: Decimal, smallest: Decimal) -> dict[str, Decimal]:
    """Of what proposals still hold, oldest first, the part that the carried money can be promised to again."""
    going, rest = {}, max(ZERO, carry)
    for reference, amount in remaining.items():
        part = whole_units(min(amount, rest), smallest)
        if part > 0:
            going[reference] = part
            rest -= part
    return going
