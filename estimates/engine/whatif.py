"""What if: plans at their medians, with some figures set otherwise; all settings of all plans in one evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Array

Setting = Mapping[tuple[str, int], float]
"""Figures by leaf and row; an empty one is the plan as it is."""
Question = Callable[[Evaluation, int], Sequence[Setting]]
"""The settings that one comparison wants to see of one plan."""


@dataclass(frozen=True)
class Outcomes:
    """Quantities under each setting that a comparison asked for."""

    values: Mapping[str, Array]
    """Shape (all settings, 1) or (1, 1)."""
    rows: slice

    def of(self, name: str) -> Array:
        """One number per setting; NaN where the plan has no such quantity."""
        count = self.rows.stop - self.rows.start
        if name not in self.values:
            return np.full(count, np.nan)
        array = np.asarray(self.values[name], dtype=float).reshape(-1)
        return np.broadcast_to(array, (count,)) if array.size == 1 else array[self.rows]


def what_if(
    evaluation: Evaluation, questions: Mapping[str, Question], wanted: Sequence[str]
) -> list[dict[str, Outcomes]]:
    """For each plan the outcomes of each question."""
    asked = [
        {name: question(evaluation, index) for name, question in questions.items()}
        for index in range(len(evaluation.contexts))
    ]
    counts = [sum(len(settings) for settings in of_plan.values()) for of_plan in asked]
    program = evaluation.program.only_for(*(name for name in wanted if name in evaluation.values))
    leaves = {name: _repeated(evaluation.middle_of(name), counts) for name in program.leaves}
    _set(leaves, evaluation, [setting for of_plan in asked for found in of_plan.values() for setting in found])
    values = program.run(leaves)
    found: list[dict[str, Outcomes]] = []
    begin = 0
    for of_plan in asked:
        rows = {}
        for name, settings in of_plan.items():
            rows[name] = Outcomes(values, slice(begin, begin + len(settings)))
            begin += len(settings)
        found.append(rows)
    return found


def _set(leaves: dict[str, Array], evaluation: Evaluation, settings: Sequence[Setting]) -> None:
    """Give each leaf that is set otherwise one row for each setting, and the figures of the settings."""
    places: dict[tuple[str, int], tuple[list[int], list[float]]] = {}
    for position, setting in enumerate(settings):
        for place, value in setting.items():
            positions, values = places.setdefault(place, ([], []))
            positions.append(position)
            values.append(value)
    for (name, row), (positions, values) in places.items():
        if name not in leaves:
            continue
        if leaves[name].shape[-2] != len(settings):
            leaves[name] = np.repeat(leaves[name], len(settings), axis=-2)
        target = leaves[name][row] if evaluation.leaves[name][0].by_row else leaves[name]
        target[positions, 0] = values


def _repeated(array: Array, counts: Sequence[int]) -> Array:
    """A leaf of several plans, as often as each has settings; one that is the same for all stays one."""
    return array if array.shape[-2] == 1 else np.repeat(array, counts, axis=-2)
