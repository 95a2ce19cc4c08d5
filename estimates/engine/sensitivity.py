"""Sensitivity: what one input does to the total while all others stay at their medians."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Range, quantile
from estimates.engine.summary import figure
from estimates.engine.values import Point
from estimates.engine.whatif import Outcomes, Setting

STEP = 0.01
WITHOUT_CHOICE = ("calendar", "convention")
LEAST_EFFECT = 1e-9


@dataclass(frozen=True)
class Turn:
    """One figure that is turned; several leaves may hold it."""

    label: str
    places: tuple[tuple[str, int], ...]
    low: float
    middle: float
    high: float


def settings(evaluation: Evaluation, index: int) -> list[Setting]:
    """The plan as it is; then each input at P10, at P90, a step below and a step above its median."""
    found: list[Setting] = [{}]
    for turn in _turns(evaluation, index):
        levels = (turn.low, turn.high, turn.middle * (1 - STEP), turn.middle * (1 + STEP))
        found += [dict.fromkeys(turn.places, level) for level in levels]
    return found


def sensitivity(evaluation: Evaluation, index: int, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Inputs by their effect on the total, the largest first: the total at their P10 and P90, and the elasticity.

    Elasticity: by how many per cent the total moves when the input moves by one per cent.
    """
    base, *totals = outcomes.of("total_cost").tolist()
    if not np.isfinite(evaluation.samples_of("total_cost", index)).all():
        return []
    found = []
    for position, turn in enumerate(_turns(evaluation, index)):
        low, high, down, up = totals[4 * position : 4 * position + 4]
        elasticity = (up - down) / (2.0 * STEP * base) if base else 0.0
        if abs(high - low) <= LEAST_EFFECT * abs(base) and abs(elasticity) <= LEAST_EFFECT:
            continue
        found.append(
            {
                "input": turn.label,
                "low": figure(low),
                "high": figure(high),
                "elasticity": figure(elasticity),
                "at": {"low": figure(turn.low), "middle": figure(turn.middle), "high": figure(turn.high)},
            }
        )
    return sorted(found, key=lambda item: (-abs(item["high"] - item["low"]), -abs(item["elasticity"]), item["input"]))


def _turns(evaluation: Evaluation, index: int) -> Iterator[Turn]:
    places: dict[str, list[tuple[str, int]]] = {}
    values: dict[str, Range] = {}
    for name, leaves in evaluation.leaves.items():
        leaf = leaves[index]
        if leaf.origin in WITHOUT_CHOICE or leaf.fixed is not None:
            continue
        for row, value in enumerate(leaf.values):
            label = leaf.streams[row] or name
            places.setdefault(label, []).append((name, row))
            values[label] = value
    for label, value in values.items():
        if isinstance(value, Point):
            if np.isfinite(value.value) and value.value != 0:
                yield Turn(label, tuple(places[label]), value.value, value.value, value.value)
            continue
        middle = quantile(value, 0.5)
        if np.isfinite(middle):
            yield Turn(label, tuple(places[label]), quantile(value, 0.1), middle, quantile(value, 0.9))
