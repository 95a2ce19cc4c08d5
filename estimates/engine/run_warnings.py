"""Warnings about the run: failures, checkpoints, memory, time and efficiency."""

from __future__ import annotations

import math

from estimates.engine.baselines import published_paid_mfu
from estimates.engine.case import Case
from estimates.engine.findings import Finding, is_building, number, percent, tightest_pool
from estimates.engine.peaks import uses_paid_mfu
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.sampling import quantile

LIKELY = 0.1
FAR_FROM_OPTIMUM = 2.0
CLOSE = 0.01
"""A typed figure this near to history is history's."""
TYPED_REDUNDANCY = ("reliability.goodput", "reliability.rollback_share", "experiments.ratio")


def redundancy_below_history(case: Case) -> Finding | None:
    known = case.context.history.own("redundancy_factor")
    factor = case.median("redundancy_factor")
    if known is None or not factor < quantile(known.value, 0.1):
        return None
    return number(factor, history=f"{quantile(known.value, 0.5):.3g}")


def is_felt(case: Case, path: str) -> bool:
    """Typed in, and borne out by no history: there is none, or the figure lies outside its P10 to P90."""
    if not case.is_given(path):
        return False
    known, value = case.context.history.own(path), case.plan.number(path)
    if known is None or value is None:
        return True
    low, high = quantile(known.value, 0.1), quantile(known.value, 0.9)
    return not low * (1 - CLOSE) <= value <= high * (1 + CLOSE)


def redundancy_by_feeling(case: Case) -> Finding | None:
    typed = [path for path in TYPED_REDUNDANCY if is_felt(case, path)]
    if not is_building(case) or not typed:
        return None
    known = case.context.history.value(typed[0], case.plan)
    if known is None:
        return None
    return number(quantile(known.value, 0.5), paths=", ".join(typed))


def interval_far_from_optimum(case: Case) -> Finding | None:
    optimum = case.median("checkpoint_optimum_hours")
    if not case.is_given("reliability.checkpoint_interval_hours") or not optimum > 0:
        return None
    ratio = case.median("checkpoint_interval_hours") / optimum
    return number(ratio) if not 1 / FAR_FROM_OPTIMUM <= ratio <= FAR_FROM_OPTIMUM else None


def all_checkpoints_kept(case: Case) -> Finding | None:
    written = case.median("checkpoints_written")
    kept = (case.plan.number("storage.keep_last") or 0.0) + case.median("kept_checkpoints")
    return percent(min(kept / written, 1.0)) if written > 20 and kept >= 0.5 * written else None


def too_few_checkpoints(case: Case) -> Finding | None:
    if not is_building(case) or case.plan.is_off("reliability"):
        return None
    kept = case.plan.number("storage.keep_last")
    return number(kept) if kept is not None and kept < 2 else None


def checkpoint_size_unknown(case: Case) -> Finding | None:
    """Stated operations do not say how large the model is: what checkpoints take is then in no cost."""
    if not is_building(case) or case.has("checkpoint_gb"):
        return None
    kept = sum(case.plan.number(f"storage.{key}") or 0.0 for key in ("keep_last", "keep_milestones"))
    return number(kept) if kept or case.is_given("storage.keep_every_hours") else None


def restore_untested(case: Case) -> Finding | None:
    if not is_building(case) or case.plan.is_off("reliability") or case.plan.flag("reliability.restore_tested"):
        return None
    return number(case.median("interruptions")) if case.median("interruptions") >= 1 else None


def needed_gb(case: Case) -> float:
    """Memory that each accelerator needs: for training, or its part of the weights that are served."""
    if case.plan.task != "inference":
        return case.median("memory_needed_gb")
    count = case.median("accelerator_count")
    return case.median("served_weights_gb") / (1.0 if math.isnan(count) else count)


def does_not_fit(case: Case) -> Finding | None:
    if case.median("memory_fits") != 0 or case.has("pool_fits"):
        return None
    return number(needed_gb(case), available=f"{case.median('memory_gb'):.4g}")


def pool_does_not_fit(case: Case) -> Finding | None:
    """The pool with the least memory is named."""
    tightest = tightest_pool(case)
    if case.median("memory_fits") != 0 or tightest is None:
        return None
    name, available = tightest
    return number(needed_gb(case), pool=name, available=f"{available:.4g}")


def misses_deadline(case: Case) -> Finding | None:
    limit = case.median("hours_to_deadline")
    late = case.share_of_samples_above("elapsed_hours", limit) if math.isfinite(limit) else 0.0
    return percent(late) if late >= LIKELY else None


def infeasible(case: Case) -> Finding | None:
    loss = case.median("first_order_loss")
    return Finding(loss, f"{min(loss, 1.0):.0%}") if loss > INFEASIBLE_ABOVE else None


def mfu_far_below_published(case: Case) -> Finding | None:
    if not is_building(case) or (uses_paid_mfu(case.plan) and not case.is_given("compute.paid_mfu")):
        return None
    published = quantile(published_paid_mfu(case.plan).value, 0.1)
    reached = case.median("paid_utilisation")
    return percent(reached, published=f"{published:.0%}") if reached < published else None


def mfu_convention(case: Case) -> Finding | None:
    """An MFU without its attention, where attention matters; achieved TFLOPS without saying what they count."""
    if case.is_given("compute.tflops_per_accelerator"):
        stated = "compute.tflops_per_accelerator.counts" in case.plan.given
        return None if stated else percent(1.0 / 3.0)
    share = case.median("attention_flops_per_token") * case.median("paid_tokens") / case.median("training_flops")
    stated = "compute.mfu.attention" in case.plan.given
    if not case.is_given("compute.mfu") or (stated and case.plan.text("compute.mfu.attention") == "none"):
        return None
    if math.isnan(share) and case.has("full_training_flops"):
        return Finding(None, "?")
    return percent(share) if not stated and share >= 0.05 else None


def above_peak(case: Case) -> Finding | None:
    ideal = case.median("ideal_accelerator_hours") * 3600.0
    ratio = case.median("counted_flops") / (ideal * case.median("peak_flops_per_second"))
    return number(ratio) if ratio > 1.0 + 1e-9 else None
