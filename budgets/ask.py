"""What a version asks for: the estimate's means per line and month, scaled to the chosen level. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from core.months import Month
from core.vocabulary import Category

from .spread import spread

Parts = Mapping[tuple[Category, Month], Decimal]


def level_total(answer: Mapping[str, Any], level: str) -> Decimal:
    """The whole ask at a level, contingency included, as the engine's answer states it."""
    return Decimal(repr(answer["ask"]["levels"][level]["total"]))


def ask_at_level(
    parts: Parts, answer: Mapping[str, Any], level: str, currency: str
) -> dict[tuple[Category, Month], Decimal]:
    """Every line and month scaled so that together they are the ask at the level, by largest remainder."""
    kept = {key: amount for key, amount in parts.items() if amount > 0}
    total = sum(kept.values(), Decimal(0)) if level == "mean" else level_total(answer, level)
    scaled = spread(total, kept, currency) if kept else {}
    return {key: amount for key, amount in scaled.items() if amount > 0}
