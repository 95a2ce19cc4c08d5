"""The ask: which amount a proposal asks for, line by line, so that the lines add up to the whole."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np

from core.money import round_money, split
from core.vocabulary import Category
from estimates.engine.breakdown import Breakdown, mean_by_line
from estimates.engine.summary import figure, level

LEVELS = {"p10": 0.10, "p50": 0.50, "p80": 0.80, "p90": 0.90}


def ask_answer(costs: Breakdown, contingency: float, currency: str) -> dict[str, Any]:
    """`ask` of the answer: the mean plus contingency, and what every other level would be."""
    levels = {"mean": float(costs.total.mean())} | _quantiles(costs)
    lines = mean_by_line(costs)
    asked = {name: ask_at(amount, lines, contingency, currency) for name, amount in levels.items()}
    return {"level": "mean", **asked["mean"], "levels": asked}


def _quantiles(costs: Breakdown) -> dict[str, float]:
    rising = np.sort(costs.total)
    return {name: float(level(rising, share)) for name, share in LEVELS.items()}


def ask_at(amount: float, lines: dict[Category, float], contingency: float, currency: str) -> dict[str, Any]:
    """One level: the lines in the proportion of their means, in smallest units, by largest remainder."""
    if not math.isfinite(amount):
        return {"total": None, "by_line": dict.fromkeys([*map(str, lines), str(Category.CONTINGENCY)])}
    whole = figure(amount * (1.0 + contingency))
    total = round_money(Decimal(repr(whole)), currency)
    weights = {str(line): Decimal(repr(figure(mean) or 0.0)) for line, mean in lines.items()}
    weights[str(Category.CONTINGENCY)] = sum(weights.values(), Decimal(0)) * Decimal(repr(contingency))
    if not any(weights.values()):
        return {"total": float(total), "by_line": dict.fromkeys(weights, 0.0)}
    parts = split(total, list(weights.values()), currency)
    return {"total": float(total), "by_line": {line: float(part) for line, part in zip(weights, parts, strict=True)}}
