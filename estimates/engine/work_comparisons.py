"""Comparisons about the run: what another choice of tokens, cards, precision, interval or strategy would change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from estimates.engine.baselines import published_paid_mfu
from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING
from estimates.engine.peaks import peak_of, peak_precision
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.sampling import quantile
from estimates.engine.summary import figure
from estimates.engine.whatif import Setting, what_if

Answer = dict[str, Any]
ONE_POINT = 0.01
COUNTS = (0.25, 0.5, 1.0, 2.0, 4.0)
INTERVALS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TOKENS_PER_OPTIMAL_PARAMETER = 20.0
EFFICIENCY_LEAVES = (
    "compute__mfu",
    "compute__tokens_per_second_per_accelerator",
    "compute__tflops_per_accelerator",
    "paid_mfu",
)


def mfu_point(case: Case) -> Answer | None:
    """What one more point of MFU is worth, and the distance to the upper quarter of published runs."""
    leaf = next((name for name in EFFICIENCY_LEAVES if name in case.evaluation.leaves), None)
    mfu = case.median("paid_utilisation") if leaf == "paid_mfu" else case.median("mfu")
    if leaf is None or case.plan.task not in BUILDING or not mfu > 0:
        return None
    now = case.median(leaf)
    better = now * (mfu + ONE_POINT) / mfu
    wanted = ("total_cost", "total_accelerator_hours")
    outcome = what_if(case.evaluation, case.index, [{}, {(leaf, 0): better}], *wanted)
    total, hours = outcome.of("total_cost"), outcome.of("total_accelerator_hours")
    known = published_paid_mfu(case.plan)
    upper = quantile(known.value, 0.75)
    return {
        "mfu": figure(mfu),
        "worth": figure(total[0] - total[1]),
        "accelerator_hours": figure(hours[0] - hours[1]),
        "paid_utilisation": figure(case.median("paid_utilisation")),
        "published_upper_quartile": figure(upper),
        "gap": figure(upper - case.median("paid_utilisation")),
        "source": known.source,
    }


def accelerators(case: Case) -> Answer | None:
    """Other numbers of cards against deadline, memory, goodput and money."""
    if "compute__count" not in case.evaluation.leaves or case.plan.task not in BUILDING:
        return None
    counts = [max(1.0, round(case.median("compute__count") * factor)) for factor in COUNTS]
    settings: list[Setting] = [{("compute__count", 0): count} for count in counts]
    wanted = ("elapsed_days", "goodput", "total_cost", "first_order_loss", "memory_fits")
    outcome = what_if(case.evaluation, case.index, settings, *wanted)
    limit = case.median("hours_to_deadline") / 24.0
    rows = []
    for position, count in enumerate(counts):
        days, loss = outcome.of("elapsed_days")[position], outcome.of("first_order_loss")[position]
        rows.append(
            {
                "count": count,
                "elapsed_days": figure(days),
                "goodput": figure(outcome.of("goodput")[position]),
                "total": figure(outcome.of("total_cost")[position]),
                "feasible": bool(not loss > INFEASIBLE_ABOVE),
                "meets_deadline": bool(days <= limit) if math.isfinite(limit) else None,
                "memory_fits": _yes(outcome.of("memory_fits")[position]),
            }
        )
    return {"options": rows, "count_for_deadline": figure(case.median("count_for_deadline"))}


def _yes(number: float) -> bool | None:
    return None if math.isnan(number) else bool(number)


def compute_optimal(case: Case) -> Answer | None:
    """Tokens against the compute-optimal number, and the best split of the same operations."""
    if case.plan.task != "pretrain" or not case.has("compute_optimal_tokens"):
        return None
    work = case.median("training_flops")
    parameters = math.sqrt(work / (6.0 * TOKENS_PER_OPTIMAL_PARAMETER))
    answer: Answer = {
        "tokens": figure(case.median("paid_tokens")),
        "optimal_tokens": figure(case.median("compute_optimal_tokens")),
        "tokens_per_parameter": figure(case.median("tokens_per_parameter")),
        "same_work": {
            "parameters": figure(parameters),
            "tokens": figure(TOKENS_PER_OPTIMAL_PARAMETER * parameters),
        },
    }
    if "data__tokens" in case.evaluation.leaves:
        tokens = case.median("compute_optimal_tokens") / case.median("data__epochs")
        outcome = what_if(case.evaluation, case.index, [{}, {("data__tokens", 0): tokens}], "total_cost")
        answer["total_at_optimal_tokens"] = figure(outcome.of("total_cost")[1])
    return answer


def checkpoint(case: Case) -> Answer | None:
    """The curve of losses and storage over the interval, which interval binds, and why."""
    if not case.has("checkpoint_optimum_hours") or case.plan.task not in BUILDING:
        return None
    optimum = case.median("checkpoint_optimum_hours")
    limit = case.plan.number("reliability.acceptable_loss_hours")
    given = case.is_given("reliability.checkpoint_interval_hours")
    binds = "plan" if given else "acceptable_loss" if limit is not None and limit < optimum else "optimum"
    return {
        "binds": binds,
        "interval_hours": figure(case.median("checkpoint_interval_hours")),
        "optimum_hours": figure(optimum),
        "acceptable_loss_hours": limit,
        "curve": [_point_of_curve(case, optimum * factor) for factor in INTERVALS],
    }


def _point_of_curve(case: Case, interval: float) -> Answer:
    """The losses at one interval by Daly's run time, in money, and what storing every checkpoint would cost."""
    mtbf, recovery = case.median("cluster_mtbf_hours"), case.median("recovery_hours")
    stall = case.median("reliability__checkpoint_stall_hours")
    with np.errstate(over="ignore"):
        wall = float(mtbf * np.exp(recovery / mtbf) * np.expm1((interval + stall) / mtbf))
    lost_hours = case.median("productive_accelerator_hours") * (wall / interval - 1.0)
    elapsed = case.median("elapsed_hours")
    keeping = case.median("checkpoint_gb") * case.median("mean_kept_months") * case.median("price_hot_storage")
    return {
        "interval_hours": figure(interval),
        "goodput": figure(interval / wall),
        "lost_accelerator_hours": figure(lost_hours),
        "lost_money": figure(lost_hours * case.median("hourly_rate")),
        "storage_money": figure(case.median("checkpoint_storage_cost")),
        "storage_money_if_all_kept": figure(elapsed / interval * keeping),
    }


def finetune(case: Case) -> Answer | None:
    """Full, LoRA and head only, side by side: operations, hours and the money for computing."""
    if case.plan.task != "finetune" or not case.has("full_training_flops"):
        return None
    per_flop = case.median("accelerator_hours") / case.median("training_flops")
    rows = {}
    for strategy in ("full", "lora", "head_only"):
        work = case.median(f"{strategy}_training_flops")
        rows[strategy] = {
            "training_flops": figure(work),
            "accelerator_hours": figure(work * per_flop),
            "compute_money": figure(work * per_flop * case.median("hourly_rate")),
        }
    return {"chosen": case.plan.text("finetune.strategy"), "strategies": rows}


def precision(case: Case) -> Answer | None:
    """The same MFU at every precision the accelerator knows: an upper bound of what another one gives."""
    spec = case.context.spec
    peak = case.median("peak_tflops")
    if spec is None or case.plan.task not in BUILDING or not np.isfinite(peak):
        return None
    chosen = peak_precision(case.plan)
    rows = {}
    for name in spec.peaks:
        other = peak_of(spec, name)
        if other:
            hours = case.median("accelerator_hours") * peak / other
            rows[name] = {
                "peak_tflops": figure(other),
                "accelerator_hours": figure(hours),
                "compute_money": figure(hours * case.median("hourly_rate")),
            }
    return {"chosen": chosen, "precisions": rows}
