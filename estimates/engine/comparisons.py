"""All comparisons of an answer, and the strip of the four factors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from estimates.engine import money_comparisons, sensitivity, work_comparisons
from estimates.engine.case import Case
from estimates.engine.evaluation import Evaluation
from estimates.engine.findings import tightest_pool
from estimates.engine.summary import figure
from estimates.engine.whatif import Outcomes, Question, what_if

COMPARISONS: Mapping[str, Callable[[Case], dict[str, Any] | None]] = {
    comparison.__name__: comparison
    for comparison in (
        money_comparisons.rent_or_own,
        money_comparisons.reuse_or_pretrain,
        work_comparisons.mfu_point,
        work_comparisons.accelerators,
        work_comparisons.compute_optimal,
        work_comparisons.checkpoint,
        work_comparisons.finetune,
        work_comparisons.precision,
        money_comparisons.burst,
        money_comparisons.allocation,
        money_comparisons.cut,
    )
}


QUESTIONS: Mapping[str, Question] = {
    "sensitivity": sensitivity.settings,
    "mfu_point": work_comparisons.mfu_point_settings,
    "accelerators": work_comparisons.accelerators_settings,
    "compute_optimal": work_comparisons.compute_optimal_settings,
}
WANTED = ("total_cost", "total_accelerator_hours", "elapsed_days", "goodput", "first_order_loss", "memory_fits")


def outcomes_of(evaluation: Evaluation) -> list[dict[str, Outcomes]]:
    """What every question about every evaluated plan comes to."""
    return what_if(evaluation, QUESTIONS, WANTED)


def comparisons_of(case: Case) -> dict[str, Any]:
    """Those that make sense for the plan."""
    found = {name: comparison(case) for name, comparison in COMPARISONS.items()}
    return {name: answer for name, answer in found.items() if answer is not None}


def four_factors(case: Case) -> dict[str, Any] | None:
    """Scale × MFU × goodput × data efficiency: the operations that teach."""
    capacity = case.median("accelerator_hours") * 3600.0 * case.median("peak_flops_per_second")
    factors = {name: case.median(name) for name in ("mfu", "goodput", "data_efficiency")}
    if not math.isfinite(capacity) or not all(map(math.isfinite, factors.values())):
        return None
    return {
        "scale_flops": figure(capacity),
        **{name: figure(factor) for name, factor in factors.items()},
        "useful_flops": figure(capacity * math.prod(factors.values())),
    }


LAYOUTS = ("replicated", "planned", "sharded")


def memory_of(case: Case) -> dict[str, Any] | None:
    """Which layout fits the memory of a card; what is not known is None."""
    if not case.has("memory_needed_gb"):
        return None
    tightest = tightest_pool(case)
    available = tightest[1] if tightest else case.median("memory_gb")
    needed = {layout: case.median(f"memory_{layout}_gb") for layout in LAYOUTS}
    return {
        "available_gb": figure(available),
        "state_gb": figure(case.median("model_state_gb")),
        "layouts": [
            {"layout": layout, "needed_gb": figure(gb), "fits": bool(gb <= available) if available > 0 else None}
            for layout, gb in needed.items()
        ],
    }


def ladder_of(case: Case) -> list[dict[str, Any]] | None:
    """The rungs of a ladder with their hours and money, and the running total against the run they prepare."""
    if not case.has("rung_accelerator_hours"):
        return None
    hours = case.evaluation.samples_of("rung_accelerator_hours", case.index).mean(axis=-1)
    rate = case.mean("hourly_rate")
    main = case.mean("accelerator_hours")
    rungs = zip(case.plan.rows("experiments"), hours, np.cumsum(hours), strict=True)
    return [
        {
            "name": row.get("name") or f"{position}",
            "accelerator_hours": figure(own),
            "money": figure(own * rate),
            "running_share_of_main_run": figure(so_far / main),
        }
        for position, (row, own, so_far) in enumerate(rungs, start=1)
    ]
