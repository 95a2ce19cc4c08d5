"""The cost of a plan in four breakdowns that add up to one total in every sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.months import Month
from core.vocabulary import Category
from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Array
from estimates.engine.totals import COST_LINES, behaviour_of


@dataclass(frozen=True)
class Part:
    """One cost of one plan: its samples, where it belongs, and how it falls on the months."""

    name: str
    cause: Category
    line: Category
    behaviour: str
    subcategory: str
    samples: Array
    """Shape (1,) or (samples,)."""
    month_share: Array
    """Shape (months, 1 or samples); adds up to one over the months."""

    @property
    def is_known(self) -> bool:
        return bool(np.isfinite(self.samples).all())


@dataclass(frozen=True)
class Breakdown:
    """All parts of a plan, and the month in which the first column falls."""

    parts: tuple[Part, ...]
    first_month: Month

    @property
    def total(self) -> Array:
        return total_of(self.parts)

    @property
    def months(self) -> int:
        return max((part.month_share.shape[0] for part in self.parts), default=1)

    def spreads(self, parts: Iterable[Part]) -> list[tuple[Array, Array]]:
        """Costs that fall on the months alike, added up: each month share once, with its money."""
        found: dict[int, tuple[Array, Array]] = {}
        for part in parts:
            share, so_far = found.get(id(part.month_share), (part.month_share, np.zeros(1)))
            found[id(part.month_share)] = (share, so_far + part.samples)
        return list(found.values())

    @cached_property
    def mean_by_line_and_month(self) -> Array:
        """The mean of each line in each month: shape (lines, months)."""
        whole = np.zeros((len(COST_LINES), self.months))
        for row, line in enumerate(COST_LINES):
            for share, money in self.spreads(part for part in self.parts if part.line is line):
                if share.shape[1] == 1 or money.shape[0] == 1:
                    mean = share.mean(axis=1) * money.mean()
                else:
                    mean = share @ money / money.shape[0]
                whole[row, : mean.shape[0]] += mean
        return whole

    def by_month(self, parts: Sequence[Part]) -> Array:
        """Money of each month in every sample: shape (months, 1 or samples)."""
        whole: Array = np.zeros((self.months, 1))
        for share, money in self.spreads(parts):
            monthly = share * money
            missing = self.months - monthly.shape[0]
            whole = whole + (np.pad(monthly, ((0, missing), (0, 0))) if missing else monthly)
        return whole


def breakdown_of(evaluation: Evaluation, plan: int) -> Breakdown:
    """The costs of one of the evaluated plans."""
    context = evaluation.contexts[plan]
    shares: dict[str, Array] = {}
    parts = []
    for item in evaluation.program.costs():
        if item.spread not in shares:
            shares[item.spread] = evaluation.samples_of(item.spread, plan)
        assert item.cause is not None and item.line is not None
        parts.append(
            Part(
                item.name,
                item.cause,
                item.line,
                behaviour_of(item, context.plan),
                item.part,
                evaluation.samples_of(item.name, plan),
                shares[item.spread],
            )
        )
    return Breakdown(tuple(parts), Month.of(context.start))


def total_of(parts: Iterable[Part]) -> Array:
    """The sum of parts in every sample."""
    total: Array = np.zeros(1)
    for part in parts:
        total = total + part.samples
    return total


def mean_by_line(costs: Breakdown) -> dict[Category, float]:
    """The mean of each line; NaN where a price is missing."""
    return {line: float(total_of(part for part in costs.parts if part.line is line).mean()) for line in COST_LINES}
