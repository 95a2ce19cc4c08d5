"""The cost of a plan in four breakdowns that add up to one total in every sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.months import Month
from core.vocabulary import CAUSES, Category
from estimates.engine.evaluation import Evaluation
from estimates.engine.sampling import Array
from estimates.engine.summary import rounded, summaries
from estimates.engine.totals import BEHAVIOURS, COST_LINES, behaviour_of

LINE_NAMES = tuple(str(line) for line in COST_LINES)


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

    def mean_by_month(self, parts: Iterable[Part]) -> Array:
        """The mean of each month: shape (months,)."""
        whole = np.zeros(self.months)
        for share, money in self.spreads(parts):
            if share.shape[1] == 1 or money.shape[0] == 1:
                mean = share.mean(axis=1) * money.mean()
            else:
                mean = share @ money / money.shape[0]
            whole[: mean.shape[0]] += mean
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


def cost_answer(costs: Breakdown) -> dict[str, Any]:
    """`cost` of the answer: total, and the same by cause, line, behaviour, subcategory and month."""
    groups = {
        "by_cause": _grouped(costs, [str(cause) for cause in CAUSES], lambda part: str(part.cause)),
        "by_line": _grouped(costs, [str(line) for line in COST_LINES], lambda part: str(part.line)),
        "by_behaviour": _grouped(costs, list(BEHAVIOURS), lambda part: part.behaviour),
        "by_subcategory": _grouped(costs, [], lambda part: f"{part.cause}.{part.subcategory or part.name}"),
    }
    named = {"total": costs.total} | {
        f"{group}/{key}": samples for group, found in groups.items() for key, samples in found.items()
    }
    figures = summaries(named)
    answer: dict[str, Any] = {"total": figures["total"]}
    for group, found in groups.items():
        answer[group] = {key: figures[f"{group}/{key}"] for key in found}
    answer["by_month"] = month_answer(costs)
    unknown = [part.name for part in costs.parts if not part.is_known]
    if unknown:
        answer["incomplete"] = unknown
        answer["known_part"] = summaries({"it": total_of(part for part in costs.parts if part.is_known)})["it"]
    return answer


def _grouped(costs: Breakdown, always: list[str], key_of: Callable[[Part], str]) -> dict[str, Array]:
    found: dict[str, Array] = {key: np.zeros(1) for key in always}
    for part in costs.parts:
        key = key_of(part)
        found[key] = found.get(key, np.zeros(1)) + part.samples
    return found


def month_answer(costs: Breakdown) -> list[dict[str, Any]]:
    """The months from the first to the last that costs anything, each with its mean by line."""
    whole = costs.by_month(costs.parts)
    means = np.array([costs.mean_by_month(part for part in costs.parts if part.line is line) for line in COST_LINES])
    costly = np.flatnonzero(np.any(whole != 0, axis=-1))
    shown = int(costly[-1]) + 1 if costly.size else 1
    figures = summaries({str(index): row for index, row in enumerate(whole[:shown])})
    by_line = rounded(means[:, :shown].T.ravel())
    width = len(COST_LINES)
    return [
        {
            "month": str(costs.first_month + index),
            **figures[str(index)],
            "by_line": dict(zip(LINE_NAMES, by_line[index * width : (index + 1) * width], strict=True)),
        }
        for index in range(shown)
    ]


def mean_by_line(costs: Breakdown) -> dict[Category, float]:
    """The mean of each line; NaN where a price is missing."""
    return {line: float(total_of(part for part in costs.parts if part.line is line).mean()) for line in COST_LINES}
