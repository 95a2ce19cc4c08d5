"""Sensitivity: what one input does to the total while all others stay at their medians."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Range, quantile
from estimates.engine.summary import rounded
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
    totals = outcomes.of("total_cost")
    if not np.isfinite(evaluation.samples_of("total_cost", index)).all():
        return []
    base, turned = float(totals[0]), totals[1:].reshape(-1, 4)
    elasticities = (turned[:, 3] - turned[:, 2]) / (2.0 * STEP * base) if base else turned[:, 0] * 0.0
    turns = list(_turns(evaluation, index))
    ends = np.array([[turn.low, turn.middle, turn.high] for turn in turns])
    figures = np.column_stack([turned[:, :2], elasticities, ends]) if turns else np.zeros((0, 6))
    plain = iter(rounded(figures.ravel()))
    found = []
    for turn, row in zip(turns, figures, strict=True):
        low, high, elasticity, at_low, at_middle, at_high = (next(plain) for _ in range(6))
        if not np.isfinite(row).all():
            continue
        if abs(row[1] - row[0]) <= LEAST_EFFECT * abs(base) and abs(row[2]) <= LEAST_EFFECT:
            continue
        at = {"low": at_low, "middle": at_middle, "high": at_high}
        found.append({"input": turn.label, "low": low, "high": high, "elasticity": elasticity, "at": at})
    return sorted(found, key=_rank)


def _rank(item: dict[str, Any]) -> tuple[float, float, str]:
    return -abs(item["high"] - item["low"]), -abs(item["elasticity"]), item["input"]


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
