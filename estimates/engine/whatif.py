"""What if: a plan at its medians, with some figures set otherwise; many settings in one evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Array

Setting = Mapping[tuple[str, int], float]
"""Figures by leaf and row."""


@dataclass(frozen=True)
class Outcomes:
    """Quantities under each setting."""

    values: Mapping[str, Array]
    settings: int

    def of(self, name: str) -> Array:
        """One number per setting; NaN where the plan has no such quantity."""
        if name not in self.values:
            return np.full(self.settings, np.nan)
        array = np.asarray(self.values[name], dtype=float)
        return np.broadcast_to(array.reshape(-1), (self.settings,)) if array.size == 1 else array.reshape(self.settings)


def what_if(evaluation: Evaluation, index: int, settings: Sequence[Setting], *wanted: str) -> Outcomes:
    """The wanted quantities of one plan under several settings of its leaves, everything else at the medians."""
    leaves = {name: evaluation.middle_of(name, index) for name in evaluation.leaves}
    for position, setting in enumerate(settings):
        for (name, row), value in setting.items():
            if leaves[name].shape[-2] == 1:
                leaves[name] = np.repeat(leaves[name], len(settings), axis=-2)
            target = leaves[name][row] if evaluation.leaves[name][index].by_row else leaves[name]
            target[position, 0] = value
    program = evaluation.program.only_for(*(name for name in wanted if name in evaluation.values))
    return Outcomes(program.run(leaves), len(settings))
