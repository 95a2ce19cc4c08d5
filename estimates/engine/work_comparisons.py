"""Comparisons about the run: what another choice of tokens, cards, precision, interval or strategy would change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from estimates.engine.attention import attention_flops_factor, forward_attention_flops_factor
from estimates.engine.baselines import published_paid_mfu
from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING
from estimates.engine.evaluation import Evaluation
from estimates.engine.peaks import peak_of, peak_precision
from estimates.engine.reliability import INFEASIBLE_ABOVE, SHORTEST_INTERVAL_HOURS
from estimates.engine.sampling import quantile
from estimates.engine.summary import figure
from estimates.engine.whatif import Setting

Answer = dict[str, Any]
ONE_POINT = 0.01
COUNTS = (0.25, 0.5, 1.0, 2.0, 4.0)
STRATEGIES = ("full", "lora", "head_only")
INTERVALS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
TOKENS_PER_OPTIMAL_PARAMETER = 20.0
EFFICIENCY_LEAVES = (
    "compute__mfu",
    "compute__tokens_per_second_per_accelerator",
    "compute__tflops_per_accelerator",
    "paid_mfu",
)


def _efficiency_leaf(evaluation: Evaluation) -> str | None:
    return next((name for name in EFFICIENCY_LEAVES if name in evaluation.leaves), None)


def _utilisation(evaluation: Evaluation, index: int) -> float:
    """The MFU that a point is added to: of paid hours where that is what the plan goes by."""
    paid = _efficiency_leaf(evaluation) == "paid_mfu"
    return evaluation.median_of("paid_utilisation" if paid else "mfu", index)


def mfu_point_settings(evaluation: Evaluation, index: int) -> list[Setting]:
    """The plan as it is, and with one point more."""
    leaf, mfu = _efficiency_leaf(evaluation), _utilisation(evaluation, index)
    if leaf is None or not mfu > 0:
        return []
    return [{}, {(leaf, 0): evaluation.median_of(leaf, index) * (mfu + ONE_POINT) / mfu}]


def mfu_point(case: Case) -> Answer | None:
    """What one more point of MFU is worth, and the distance to the upper quarter of published runs."""
    mfu = _utilisation(case.evaluation, case.index)
    if _efficiency_leaf(case.evaluation) is None or case.plan.task not in BUILDING or not mfu > 0:
        return None
    outcome = case.outcomes["mfu_point"]
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


def _counts(evaluation: Evaluation, index: int) -> list[float]:
    if "compute__count" not in evaluation.leaves:
        return []
    planned = evaluation.median_of("compute__count", index)
    return sorted({max(1.0, float(round(planned * factor))) for factor in COUNTS})


def accelerators_settings(evaluation: Evaluation, index: int) -> list[Setting]:
    """Smaller and larger clusters."""
    return [{("compute__count", 0): count} for count in _counts(evaluation, index)]


def accelerators(case: Case) -> Answer | None:
    """Other numbers of cards against deadline, memory, goodput and money."""
    counts = _counts(case.evaluation, case.index)
    if not counts or case.plan.task not in BUILDING:
        return None
    outcome = case.outcomes["accelerators"]
    limit = case.median("hours_to_deadline") / 24.0
    days, loss = (outcome.of(name).tolist() for name in ("elapsed_days", "first_order_loss"))
    goodput, total, fits = (outcome.of(name).tolist() for name in ("goodput", "total_cost", "memory_fits"))
    rows = [
        {
            "count": count,
            "elapsed_days": figure(days[position]),
            "goodput": figure(goodput[position]),
            "total": figure(total[position]),
            "feasible": bool(not loss[position] > INFEASIBLE_ABOVE),
            "meets_deadline": bool(days[position] <= limit) if math.isfinite(limit) else None,
            "memory_fits": _yes(fits[position]),
        }
        for position, count in enumerate(counts)
    ]
    return {"options": rows, "count_for_deadline": figure(case.median("count_for_deadline"))}


def _yes(number: float) -> bool | None:
    return None if math.isnan(number) else bool(number)


def compute_optimal_settings(evaluation: Evaluation, index: int) -> list[Setting]:
    """The plan with the compute-optimal number of tokens."""
    if "data__tokens" not in evaluation.leaves:
        return []
    tokens = evaluation.median_of("compute_optimal_tokens", index) / evaluation.median_of("data__epochs", index)
    return [{("data__tokens", 0): tokens}] if math.isfinite(tokens) else []


def compute_optimal(case: Case) -> Answer | None:
    """Tokens against the compute-optimal number, and the best split of the same operations."""
    if case.plan.task != "pretrain" or not case.has("compute_optimal_tokens"):
        return None
    parameters = math.sqrt(case.median("training_flops") / (6.0 * TOKENS_PER_OPTIMAL_PARAMETER))
    at_optimum = case.outcomes["compute_optimal"].of("total_cost")
    return {
        "tokens": figure(case.median("paid_tokens")),
        "optimal_tokens": figure(case.median("compute_optimal_tokens")),
        "tokens_per_parameter": figure(case.median("tokens_per_parameter")),
        "same_work": {
            "parameters": figure(parameters),
            "tokens": figure(TOKENS_PER_OPTIMAL_PARAMETER * parameters),
        },
        "total_at_optimal_tokens": figure(at_optimum[0]) if at_optimum.size else None,
    }


def checkpoint(case: Case) -> Answer | None:
    """The curve of losses and storage over the interval, which interval binds, and why."""
    if not case.has("checkpoint_optimum_hours") or case.plan.task not in BUILDING:
        return None
    optimum = max(case.median("checkpoint_optimum_hours"), SHORTEST_INTERVAL_HOURS)
    limit = case.plan.number("reliability.acceptable_loss_hours")
    given = case.is_given("reliability.checkpoint_interval_hours")
    binds = "plan" if given else "acceptable_loss" if limit is not None and limit < optimum else "optimum"
    return {
        "binds": binds,
        "interval_hours": figure(case.median("checkpoint_interval_hours")),
        "optimum_hours": figure(optimum),
        "acceptable_loss_hours": limit,
        "curve": _curve(case, [optimum * factor for factor in INTERVALS]),
    }


def _curve(case: Case, intervals: Sequence[float]) -> list[Answer]:
    """The losses at each interval by Daly's run time, in money, and what storing every checkpoint would cost."""
    mtbf, recovery = case.median("cluster_mtbf_hours"), case.median("recovery_hours")
    stall = case.median("reliability__checkpoint_stall_hours")
    hours, elapsed = case.median("productive_accelerator_hours"), case.median("elapsed_hours")
    keeping = case.median("checkpoint_gb") * case.median("mean_kept_months") * case.median("price_hot_storage")
    rate, storage = case.median("hourly_rate"), figure(case.median("checkpoint_storage_cost"))
    with np.errstate(over="ignore"):
        again = mtbf * np.exp(recovery / mtbf)
        walls = [float(again * np.expm1((interval + stall) / mtbf)) for interval in intervals]
    points = []
    for interval, wall in zip(intervals, walls, strict=True):
        lost_hours = hours * (wall / interval - 1.0)
        points.append(
            {
                "interval_hours": figure(interval),
                "goodput": figure(interval / wall),
                "lost_accelerator_hours": figure(lost_hours),
                "lost_money": figure(lost_hours * rate),
                "storage_money": storage,
                "storage_money_if_all_kept": figure(elapsed / interval * keeping),
            }
        )
    return points


def finetune(case: Case) -> Answer | None:
    """Full, LoRA and head only, side by side: operations, hours and the money for computing."""
    if case.plan.task != "finetune" or not case.has("full_training_flops"):
        return None
    chosen = case.plan.text("finetune.strategy") or "full"
    works = {name: case.median(f"{name}_training_flops") for name in STRATEGIES}
    teacher = case.median("teacher_flops") if case.has("teacher_flops") else 0.0
    counted = {name: work + teacher + _tuning_attention(case, name) for name, work in works.items()}
    per_flop = case.median("accelerator_hours") / counted[chosen]
    rows = {
        name: {
            "training_flops": figure(works[name]),
            "accelerator_hours": figure(counted[name] * per_flop),
            "compute_money": figure(counted[name] * per_flop * case.median("hourly_rate")),
        }
        for name in STRATEGIES
    }
    return {"chosen": chosen, "strategies": rows}


def _tuning_attention(case: Case, strategy: str) -> float:
    """Attention of a strategy, where hours stand on it: forward only for a head, as often as its trunk runs."""
    if not case.has("attention_flops") or "paid_mfu" in case.evaluation.leaves:
        return 0.0
    of_head = strategy == "head_only"
    per_pass = case.median("attention_flops_per_token") / case.median("attention_flops_factor")
    factor = forward_attention_flops_factor() if of_head else attention_flops_factor()
    tokens = case.median("trunk_tokens" if of_head else "paid_tokens")
    return per_pass * factor * case.median("attention_counted") * tokens


def precision(case: Case) -> Answer | None:
    """The same MFU at every precision the accelerator knows: an upper bound of what another one gives."""
    spec = case.context.spec
    peak = case.median("peak_tflops")
    if spec is None or case.plan.task not in BUILDING or not np.isfinite(peak):
        return None
    chosen = peak_precision(case.plan)
    at_one, rate = case.median("accelerator_hours") * peak, case.median("hourly_rate")
    rows = {}
    for name in spec.peaks:
        other = peak_of(spec, name)
        if other:
            hours = at_one / other
            rows[name] = {
                "peak_tflops": figure(other),
                "accelerator_hours": figure(hours),
                "compute_money": figure(hours * rate),
            }
    return {"chosen": chosen, "precisions": rows}
