"""A case: one evaluated plan with the questions that warnings and comparisons ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

import numpy as np

from estimates.engine.breakdown import Breakdown
from estimates.engine.evaluation import Evaluation
from estimates.engine.leaves import Context
from estimates.engine.plan import Plan
from estimates.engine.values import Baseline
from estimates.engine.whatif import Outcomes


@dataclass
class Case:
    """One plan, evaluated."""

    evaluation: Evaluation
    index: int
    costs: Breakdown
    outcomes: Mapping[str, Outcomes] = field(default_factory=dict)
    """What the questions of the comparisons came to."""
    hourly: tuple[Mapping[str, float], float | None, list[str]] | None = None
    """An own accelerator-hour in parts, a rented one, and what is missing to know them, once they were asked."""

    @cached_property
    def context(self) -> Context:
        return self.evaluation.contexts[self.index]

    @cached_property
    def plan(self) -> Plan:
        return self.context.plan

    @property
    def start(self) -> date:
        return self.context.start

    def has(self, name: str) -> bool:
        """Whether the plan has a quantity."""
        return name in self.evaluation.values

    def median(self, name: str) -> float:
        """A quantity at the medians of all inputs; NaN where the plan has none of this name."""
        return self.evaluation.median_of(name, self.index)

    def mean(self, name: str) -> float:
        """The mean over the samples; NaN where the plan has none of this name."""
        return self.evaluation.mean_of(name, self.index)

    def share_of_samples_above(self, name: str, limit: float) -> float:
        return float(np.mean(self.evaluation.samples_of(name, self.index) > limit)) if self.has(name) else 0.0

    @property
    def total(self) -> float:
        """The mean of the total; NaN where a price is missing."""
        return self.costs.means[self.index]

    def is_given(self, path: str) -> bool:
        """Whether the plan itself gives a figure: neither a default nor left to history."""
        value = self.plan.inputs.get(path)
        return path in self.plan.given and value is not None and not isinstance(value, Baseline)
