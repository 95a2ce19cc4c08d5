"""What finished runs taught: recorded figures, and which of them speak for a plan.

The closest rows speak alone: those of the predecessor a plan names, else those of its team, else those of the
organisation; of these, rows for its task before rows for every task, rows for its accelerators before rows for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from estimates.engine.plan import Plan
from estimates.engine.sampling import Range, quantile
from estimates.engine.values import Pert, Point

SCOPES = ("predecessor", "team", "organisation")
"""Whose figures they are, the closest first."""


@dataclass(frozen=True)
class Recorded:
    """A figure that finished runs taught, with its range where more than one value was seen."""

    id: int
    path: str
    low: float
    mode: float
    high: float
    runs: int
    since: str
    until: str
    source: str
    project: str = ""
    """The project that taught it, by its short name."""
    task: str = ""
    """The task it holds for; every task where empty."""
    family: str = ""
    """The accelerators it holds for; all where empty."""
    scope: str = "team"


def family(slug: str) -> str:
    """The generation of an accelerator, by its name; the first word of a name that is no known generation."""
    if slug.startswith(("a100", "a800")):
        return "ampere"
    if slug.startswith(("h100", "h800", "h200", "gh200")):
        return "hopper"
    return "tpu" if slug.startswith("tpu") else slug.partition("-")[0]


def speaking_for(plan: Plan, rows: Iterable[Recorded]) -> dict[str, list[Recorded]]:
    """By path the rows that are closest to a plan; nothing for a path that no row speaks of."""
    closest: dict[str, tuple[tuple[int, bool, bool], list[Recorded]]] = {}
    for row in rows:
        rank = _distance(row, plan)
        if rank is None:
            continue
        best, found = closest.setdefault(row.path, (rank, []))
        if rank < best:
            closest[row.path] = (rank, [row])
        elif rank == best:
            found.append(row)
    return {path: found for path, (_rank, found) in closest.items()}


def _distance(row: Recorded, plan: Plan) -> tuple[int, bool, bool] | None:
    """How far a row is from a plan; None where it does not speak for it."""
    hardware = family(plan.text("compute.accelerator") or "")
    is_predecessor = bool(row.project) and row.project == plan.text("predecessor")
    if row.family not in ("", hardware):
        return None
    if not is_predecessor and row.task not in ("", plan.task):
        return None
    scope = "predecessor" if is_predecessor else row.scope
    return SCOPES.index(scope), row.task != plan.task, not row.family


def pooled(rows: Sequence[Recorded], published: Range | None) -> Range:
    """One range of several figures: from the lowest to the highest, about the median of their runs.

    One value says where, not how wide: it is given the width of the published figure.
    """
    middle = weighted_median([(row.mode, row.runs) for row in rows])
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    if low < high:
        return Pert(low, middle, high)
    if published is None or middle <= 0:
        return Point(middle)
    return Pert(*(moved(quantile(published, share), published, middle) for share in (0.1, 0.5, 0.9)))


def moved(value: float, published: Range, middle: float) -> float:
    """A published quantile, moved so that the published median lies at `middle`; shares keep below one."""
    median = quantile(published, 0.5)
    if 0 < middle < 1 and quantile(published, 0.9) < 1:
        factor = odds(middle) / odds(median)
        return 1.0 - 1.0 / (1.0 + odds(value) * factor)
    return value * middle / median if median else middle


def odds(share: float) -> float:
    return share / (1.0 - share)


def weighted_median(values: Sequence[tuple[float, int]]) -> float:
    """The value with half of the weight on each side; the mean of two where it falls between them."""
    half = sum(weight for _value, weight in values) / 2.0
    passed = 0.0
    ordered = sorted(values)
    for position, (value, weight) in enumerate(ordered):
        passed += weight
        if math.isclose(passed, half) and position + 1 < len(ordered):
            return (value + ordered[position + 1][0]) / 2.0
        if passed >= half:
            return value
    raise ValueError("a median needs at least one value")
