"""Dividing an amount over months and lines so that the parts add up. Pure arithmetic."""

from __future__ import annotations

import decimal
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import TypeVar

from core.money import quantum, split

Key = TypeVar("Key", bound=Hashable)
ZERO = Decimal(0)


def spread(total: Decimal, weights: Mapping[Key, Decimal], currency: str) -> dict[Key, Decimal]:
    """The total over the keys in proportion to their weights, by largest remainder. No weight at all: on the first."""
    keys = list(weights)
    if not any(weights.values()):
        return {key: (total if index == 0 else ZERO) for index, key in enumerate(keys)}
    return dict(zip(keys, split(total, list(weights.values()), currency), strict=True))


def shortfall(amount: Decimal, headroom: Decimal, currency: str) -> Decimal:
    """The new money a line needs before `amount` can be committed, in whole smallest units, never too little."""
    missing = amount - headroom
    return max(ZERO, missing.quantize(quantum(currency), rounding=decimal.ROUND_CEILING))


def spread_new_money(
    new_money: Decimal, amounts: Mapping[Key, Decimal], headrooms: Mapping[Key, Decimal], currency: str
) -> dict[Key, Decimal]:
    """New money over lines: first what each is short of, in order; what is left in proportion to the amounts."""
    given = dict.fromkeys(amounts, ZERO)
    rest = new_money
    for key, amount in amounts.items():
        part = min(rest, shortfall(amount, headrooms[key], currency))
        given[key] += part
        rest -= part
    if rest:
        for key, part in spread(rest, amounts, currency).items():
            given[key] += part
    return given
