"""Accelerator-hours of a plan by month and kind of card: what it asks of clusters, reservations and the rental market.

Hours fall on the months as the main run does; experiments and evaluation are booked along with it. Pools are held until
the slowest of them ends, so that each takes hours by the number of its cards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from estimates.engine.case import Case
from estimates.engine.plan import Plan
from estimates.engine.price_leaves import acquisition_modes
from estimates.engine.sampling import Array
from estimates.engine.summary import figure

RENTED = ("on_demand", "spot")
RESERVED = ("committed",)
LEAST_HOURS = 1e-6


def hours_by_month(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Mean hours by month and accelerator, of several cases added up; `rented` and `reserved` are parts of `hours`."""
    sums: dict[tuple[str, str], Array] = {}
    for case in cases:
        for key, hours in _of_case(case):
            sums[key] = sums.get(key, np.zeros(3)) + hours
    names = ("hours", "rented", "reserved")
    return [
        {"month": month, "accelerator": accelerator} | dict(zip(names, map(figure, hours), strict=True))
        for (month, accelerator), hours in sorted(sums.items())
    ]


def _of_case(case: Case) -> Iterator[tuple[tuple[str, str], Array]]:
    """Each month and accelerator with its hours, those rented by the hour and those reserved."""
    if not (case.has("total_accelerator_hours") and case.has("run_month_share")):
        return
    evaluation, first = case.evaluation, case.costs.first_months[case.index]
    share = evaluation.samples_of("run_month_share", case.index)
    monthly = (share * evaluation.samples_of("total_accelerator_hours", case.index)).mean(axis=-1)
    parts = np.array([1.0, _share_of_modes(case, RENTED), _share_of_modes(case, RESERVED)])
    for month, hours in enumerate(monthly):
        if math.isfinite(hours) and hours > LEAST_HOURS:
            for accelerator, weight in cards_of(case.plan).items():
                yield (str(first + month), accelerator), hours * weight * parts


def cards_of(plan: Plan) -> Mapping[str, float]:
    """The kinds of card a plan holds, each with its part of the hours."""
    pools = plan.rows("compute.pools")
    if not pools:
        return {plan.text("compute.accelerator") or "": 1.0}
    counts = [plan.number(f"compute.pools.{index}.count") or 0.0 for index in range(len(pools))]
    found: dict[str, float] = {}
    for row, count in zip(pools, counts, strict=True):
        accelerator = str(row.get("accelerator") or "")
        found[accelerator] = found.get(accelerator, 0.0) + count / sum(counts)
    return found


def _share_of_modes(case: Case, modes: Sequence[str]) -> float:
    """Which part of the hours is acquired in one of these modes; tiers of a service may each have their own."""
    plan, named = case.plan, acquisition_modes(case.context)
    of_plan = 1.0 if len(named) == 1 and named[0] in modes else 0.0
    if len(named) > 1:
        of_plan = sum(plan.number(f"compute.mix.{mode}") or 0.0 for mode in modes)
    tiers = plan.rows("inference.tiers")
    if not tiers or not case.has("held_accelerator_hours"):
        return of_plan
    held = case.evaluation.samples_of("held_accelerator_hours", case.index).mean(axis=-1).sum(axis=-1)
    in_modes = [(str(row["mode"]) in modes) * 1.0 if row.get("mode") else of_plan for row in tiers]
    whole = float(held.sum())
    return float((held * np.array(in_modes)).sum()) / whole if whole > 0 else of_plan
