"""Sensitivity: what one input does to the total while all others stay at their medians."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Range, quantile
from estimates.engine.summary import rounded
from estimates.engine.values import Point
from estimates.engine.whatif import Outcomes, Setting

STEP = 0.01
WITHOUT_CHOICE = ("calendar", "convention")
LEAST_EFFECT = 1e-9


class Turn(NamedTuple):
    """One figure that is turned; several leaves may hold it."""

    label: str
    places: tuple[tuple[str, int], ...]
    low: float
    middle: float
    high: float

    @property
    def levels(self) -> tuple[float, ...]:
        """What it is set to: a step below and above the median, and the ends of a range."""
        steps = (self.middle * (1 - STEP), self.middle * (1 + STEP))
        return steps if self.low == self.high else (*steps, self.low, self.high)


def settings(evaluation: Evaluation, index: int) -> list[Setting]:
    """The plan as it is; then each input a step below and above its median, and where it is a range at P10 and P90."""
    found: list[Setting] = [{}]
    for turn in turns_of(evaluation, index):
        found += [dict.fromkeys(turn.places, level) for level in turn.levels]
    return found


def sensitivity(evaluation: Evaluation, index: int, outcomes: Outcomes) -> list[dict[str, Any]]:
    """Inputs by their effect on the total, the largest first: the total at their P10 and P90, and the elasticity.

    Elasticity: by how many per cent the total moves when the input moves by one per cent.
    """
    if not math.isfinite(evaluation.mean_of("total_cost", index)):
        return []
    totals = iter(outcomes.of("total_cost").tolist())
    base = next(totals)
    effects = [_effect(turn, totals, base) for turn in turns_of(evaluation, index)]
    kept = [effect for effect in effects if _is_felt(effect, base)]
    plain = iter(rounded(np.array([figure for effect in kept for figure in effect[1:]])))
    found = []
    for label, *_figures in kept:
        low, high, elasticity, at_low, at_middle, at_high = islice(plain, 6)
        at = {"low": at_low, "middle": at_middle, "high": at_high}
        found.append({"input": label, "low": low, "high": high, "elasticity": elasticity, "at": at})
    return sorted(found, key=_rank)


Effect = tuple[str, float, float, float, float, float, float]


def _effect(turn: Turn, totals: Iterator[float], base: float) -> Effect:
    """The total at both ends and the elasticity, from the totals at the levels of a turn; and the ends."""
    label, _places, at_low, at_middle, at_high = turn
    lower, higher = next(totals), next(totals)
    low, high = (base, base) if at_low == at_high else (next(totals), next(totals))
    elasticity = (higher - lower) / (2.0 * STEP * base) if base else 0.0
    return label, low, high, elasticity, at_low, at_middle, at_high


def _is_felt(effect: Effect, base: float) -> bool:
    """Whether the total is known at both ends, and moves."""
    _label, low, high, elasticity, *_ends = effect
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(elasticity)):
        return False
    return abs(high - low) > LEAST_EFFECT * abs(base) or abs(elasticity) > LEAST_EFFECT


def _rank(item: dict[str, Any]) -> tuple[float, float, str]:
    return -abs(item["high"] - item["low"]), -abs(item["elasticity"]), item["input"]


def turns_of(evaluation: Evaluation, index: int) -> list[Turn]:
    """What of a plan is turned: every figure on which the total depends."""
    if index not in evaluation.turns:
        evaluation.turns[index] = list(_turns(evaluation, index))
    return evaluation.turns[index]


def _turns(evaluation: Evaluation, index: int) -> Iterator[Turn]:
    places: dict[str, list[tuple[str, int]]] = {}
    values: dict[str, Range] = {}
    for name in evaluation.program.only_for("total_cost").leaves:
        leaf = evaluation.leaves[name][index]
        if leaf.origin in WITHOUT_CHOICE or leaf.fixed is not None:
            continue
        for row, value in enumerate(leaf.values):
            label = leaf.streams[row] or name
            places.setdefault(label, []).append((name, row))
            values[label] = value
    for label, value in values.items():
        if isinstance(value, Point):
            if math.isfinite(value.value) and value.value != 0:
                yield Turn(label, tuple(places[label]), value.value, value.value, value.value)
            continue
        middle = quantile(value, 0.5)
        if math.isfinite(middle):
            yield Turn(label, tuple(places[label]), quantile(value, 0.1), middle, quantile(value, 0.9))
