"""The ask: which amount a proposal asks for, line by line, so that the lines add up to the whole."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from core.money import round_money, split
from core.vocabulary import Category
from estimates.engine.breakdown import Breakdown
from estimates.engine.summary import figure

WEIGHT_STEPS = 1_000_000
"""Lines are weighed by their means in millionths: whole numbers divide exactly and fast."""


def ask_answer(costs: Breakdown, plan: int, contingency: float, currency: str) -> dict[str, Any]:
    """`ask` of the answer: the mean plus contingency line by line, and the total at every other level."""
    mean = costs.means[plan]
    amounts = {"mean": mean, **costs.levels_of(plan)}
    totals = {name: {"total": asked_total(amount, contingency, currency)} for name, amount in amounts.items()}
    lines = {line: means[plan] for line, means in costs.mean_by_line.items()}
    return {"level": "mean", **ask_at(mean, lines, contingency, currency), "levels": totals}


def asked_total(amount: float, contingency: float, currency: str) -> float | None:
    """An amount with its contingency, in smallest units."""
    whole = figure(amount * (1.0 + contingency))
    return None if whole is None else float(round_money(Decimal(repr(whole)), currency))


def ask_at(amount: float, lines: dict[Category, float], contingency: float, currency: str) -> dict[str, Any]:
    """One level: the lines in the proportion of their means, in smallest units, by largest remainder."""
    if not math.isfinite(amount):
        return {"total": None, "by_line": dict.fromkeys([*map(str, lines), str(Category.CONTINGENCY)])}
    whole = figure(amount * (1.0 + contingency))
    total = round_money(Decimal(repr(whole)), currency)
    weights = {str(line): round(mean * WEIGHT_STEPS) for line, mean in lines.items()}
    weights[str(Category.CONTINGENCY)] = round(sum(weights.values()) * contingency)
    if not any(weights.values()):
        return {"total": float(total), "by_line": dict.fromkeys(weights, 0.0)}
    parts = split(total, list(weights.values()), currency)
    return {"total": float(total), "by_line": {line: float(part) for line, part in zip(weights, parts, strict=True)}}
