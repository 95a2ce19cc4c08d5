"""The costs of plans in four breakdowns that add up to one total in every sample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.months import Month
from core.vocabulary import Category
from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Array
from estimates.engine.summary import levels, rounded
from estimates.engine.totals import COST_LINES, behaviour_of

LEVELS = {"p10": 0.10, "p50": 0.50, "p80": 0.80, "p90": 0.90}
"""How sure an ask may be of its total."""


@dataclass(frozen=True)
class Part:
    """One cost of the plans of an evaluation: its samples, where it belongs, and how it falls on the months.

    A side of length 1 stands for "the same everywhere", as in the graph.
    """

    name: str
    cause: Category
    line: Category
    behaviour: str
    subcategory: str
    samples: Array
    """Shape (plans, samples)."""
    month_share: Array
    """Shape (months, plans, samples); adds up to one over the months."""

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """For which plans it is known: shape (plans,)."""
        return np.asarray(np.isfinite(self.samples).all(axis=-1))


@dataclass(frozen=True)
class Breakdown:
    """All parts, and for each plan the month in which the first column falls."""

    parts: tuple[Part, ...]
    first_months: tuple[Month, ...]

    @property
    def plans(self) -> int:
        return len(self.first_months)

    @cached_property
    def total(self) -> Array:
        """Shape (plans, samples)."""
        return total_of(self.parts)

    @cached_property
    def means(self) -> list[float]:
        """The mean of the total of each plan; NaN where a price is missing."""
        return self.of_plans(self.total.mean(axis=-1))

    @cached_property
    def levels(self) -> Array:
        """The total at each of `LEVELS`: shape (plans, levels)."""
        return levels(np.sort(self.total, axis=-1), tuple(LEVELS.values()))

    def levels_of(self, plan: int) -> dict[str, float]:
        """The total of one plan at each of `LEVELS`."""
        return dict(zip(LEVELS, of_plan(self.levels, plan).tolist(), strict=True))

    def of_plans(self, figures: Array) -> list[float]:
        """One figure for each plan."""
        return np.broadcast_to(figures, (self.plans,)).tolist()

    @property
    def months(self) -> int:
        return max((part.month_share.shape[0] for part in self.parts), default=1)

    def spreads(self, parts: Iterable[Part]) -> list[tuple[Array, Array]]:
        """Costs that fall on the months alike, added up: each month share once, with its money."""
        alike: dict[int, list[Part]] = {}
        for part in parts:
            alike.setdefault(id(part.month_share), []).append(part)
        return [(found[0].month_share, total_of(found)) for found in alike.values()]

    @cached_property
    def by_month(self) -> list[Array]:
        """The money of each month until the last that costs any plan anything: shape (plans, samples)."""
        found: list[Array] = [np.zeros((1, 1))] * self.months
        for share, money in self.spreads(self.parts):
            for month in _months_touched(share, money):
                found[month] = found[month] + share[month] * money
        while len(found) > 1 and not found[-1].any():
            found.pop()
        return found

    @cached_property
    def months_shown(self) -> list[int]:
        """For each plan the months until the last that costs it anything, at least one."""
        costly = np.array([np.broadcast_to(money.any(axis=-1), (self.plans,)) for money in self.by_month])
        last = len(costly) - np.argmax(costly[::-1], axis=0)
        return np.where(costly.any(axis=0), last, 1).tolist()

    @cached_property
    def mean_by_line(self) -> Mapping[Category, list[float]]:
        """The mean of each line of each plan; NaN where a price is missing."""
        return {
            line: self.of_plans(total_of(part for part in self.parts if part.line is line).mean(axis=-1))
            for line in COST_LINES
        }

    @cached_property
    def month_lines(self) -> list[list[list[float | None]]]:
        """The mean of each line in each month, rounded: of each plan, month by month."""
        means = self.mean_by_line_and_month.transpose(0, 2, 1)[:, : len(self.by_month)]
        numbers = iter(rounded(means.ravel()))
        return [[[next(numbers) for _line in month] for month in plan] for plan in means]

    @cached_property
    def mean_by_line_and_month(self) -> Array:
        """The mean of each line in each month: shape (plans, lines, months)."""
        whole = np.zeros((self.plans, len(COST_LINES), self.months))
        for row, line in enumerate(COST_LINES):
            for share, money in self.spreads(part for part in self.parts if part.line is line):
                mean = _mean_by_month(share, money)
                whole[:, row, : mean.shape[-1]] += mean
        return whole


def _months_touched(share: Array, money: Array) -> list[int]:
    """The months on which any of the money falls; all of them where it is not known."""
    known = np.isfinite(money).all()
    return np.flatnonzero(share.any(axis=(1, 2))).tolist() if known else list(range(share.shape[0]))


def _mean_by_month(share: Array, money: Array) -> Array:
    """The mean of what falls on each month: shape (plans, months)."""
    if share.shape[-1] == 1 or money.shape[-1] == 1:
        return share.mean(axis=-1).T * money.mean(axis=-1)[:, None]
    return (share.transpose(1, 0, 2) @ money[:, :, None])[:, :, 0] / money.shape[-1]


def breakdown_of(evaluation: Evaluation) -> Breakdown:
    """The costs of the evaluated plans."""
    plan = evaluation.contexts[0].plan
    shares = {item.spread: evaluation.array_of(item.spread) for item in evaluation.program.costs()}
    parts = []
    for item in evaluation.program.costs():
        assert item.cause is not None and item.line is not None
        parts.append(
            Part(
                item.name,
                item.cause,
                item.line,
                behaviour_of(item, plan),
                item.part,
                evaluation.array_of(item.name),
                shares[item.spread],
            )
        )
    return Breakdown(tuple(parts), tuple(Month.of(context.start) for context in evaluation.contexts))


@lru_cache(maxsize=256)
def month_names(first: Month, count: int) -> tuple[str, ...]:
    """So many months from the first, as they are written."""
    return tuple(str(first + month) for month in range(count))


def of_plan(rows: NDArray[Any], plan: int) -> NDArray[Any]:
    """The row of one plan; one row stands for all."""
    return rows[min(plan, rows.shape[0] - 1)]


def total_of(parts: Iterable[Part]) -> Array:
    """The sum of parts in every sample."""
    first, *others = [part.samples for part in parts] or [np.zeros((1, 1))]
    total = first
    for samples in others:
        total = total + samples
    return total
