"""Time: from operations to accelerator-hours and to days on the calendar."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import BUILDING, TRAINING, every, is_off, is_on, is_task, lacks_rows
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array
from estimates.engine.work import KAPLAN

SECONDS_PER_HOUR = 3600.0
TERA = 1e12
MFU_DEFINITION = "Chowdhery et al. 2022 (arXiv:2204.02311), appendix B; Korthikanti et al. 2022 (arXiv:2205.05198)"
HOURS = "accelerator * hour"

training = is_task(*TRAINING)


@quantity("FLOP / second / accelerator", "Dense peak of one accelerator", "单卡稠密峰值算力")
def peak_flops_per_second(peak_tflops: Array) -> Array:
    """The dense figure at the precision the MFU is quoted against."""
    return peak_tflops * TERA


@quantity(HOURS, "Ideal accelerator-hours", "理想卡时", source=MFU_DEFINITION, when=training)
def ideal_accelerator_hours(counted_flops: Array, peak_flops_per_second: Array, compute__mfu: Array) -> Array:
    """What the run would take if every hour were a running step."""
    return counted_flops / (peak_flops_per_second * compute__mfu) / SECONDS_PER_HOUR


@ideal_accelerator_hours.variant(
    when=every(training, lacks_rows("model.stages")),
    source="Measured throughput; reproduces published hours within 1 %",
)
def ideal_hours_from_throughput(paid_tokens: Array, compute__tokens_per_second_per_accelerator: Array) -> Array:
    """Tokens at the measured speed. Nothing has to be assumed about attention or recomputation."""
    return paid_tokens / compute__tokens_per_second_per_accelerator / SECONDS_PER_HOUR


@ideal_accelerator_hours.variant(when=training, source=MFU_DEFINITION)
def ideal_hours_from_achieved(counted_flops: Array, compute__tflops_per_accelerator: Array) -> Array:
    """Operations at the achieved speed, in the convention in which it was measured."""
    return counted_flops / (compute__tflops_per_accelerator * TERA) / SECONDS_PER_HOUR


@ideal_accelerator_hours.variant(when=training, source="Published runs: 6 · N · D over paid hours and dense peak")
def ideal_hours_from_paid(paid_accelerator_hours: Array, goodput: Array) -> Array:
    """What remains of paid hours when the lost ones are taken out."""
    return paid_accelerator_hours * goodput


@quantity(HOURS, "Paid accelerator-hours", "付费卡时（按付费利用率）", when=training)
def paid_accelerator_hours(training_flops: Array, peak_flops_per_second: Array, paid_mfu: Array) -> Array:
    """Operations without attention over what paid hours were seen to yield: stalls and restarts are in the figure."""
    return training_flops / (peak_flops_per_second * paid_mfu) / SECONDS_PER_HOUR


@quantity("1", "Model error", "模型误差", when=every(training, is_off("model_error")))
def model_error() -> float:
    """Switched off by the plan."""
    return 1.0


@model_error.variant(when=every(training, is_on("model_error")))
def sampled_model_error(residual: Array) -> Array:
    """How far published hours lie from what this way of estimating says: lognormal around 1."""
    return residual


@quantity("1", "MFU of running steps", "运行步的算力利用率（MFU）", source=MFU_DEFINITION, when=training)
def mfu(
    training_flops: Array,
    ideal_accelerator_hours: Array,
    peak_flops_per_second: Array,
    attention_flops: Array | float = 0.0,
) -> Array:
    """Model operations per peak operation while steps run; recomputation never counts."""
    return (training_flops + attention_flops) / (ideal_accelerator_hours * SECONDS_PER_HOUR * peak_flops_per_second)


@quantity("1", "Utilisation of paid hours", "付费卡时的算力利用率", when=training)
def paid_utilisation(training_flops: Array, accelerator_hours: Array, peak_flops_per_second: Array) -> Array:
    """6 · N · D over paid hours and peak: the figure that published totals allow one to compare."""
    return training_flops / (accelerator_hours * SECONDS_PER_HOUR * peak_flops_per_second)


@quantity("token / second / accelerator", "Tokens per second and accelerator", "单卡每秒 token 数", when=training)
def tokens_per_second_per_accelerator(paid_tokens: Array, ideal_accelerator_hours: Array) -> Array:
    """The speed of running steps: the figure a log shows."""
    return paid_tokens / (ideal_accelerator_hours * SECONDS_PER_HOUR)


@quantity(HOURS, "Productive accelerator-hours", "有效卡时", when=training)
def productive_accelerator_hours(ideal_accelerator_hours: Array, model_error: Array) -> Array:
    """Hours in which steps run that are kept."""
    return ideal_accelerator_hours * model_error


@quantity(HOURS, "Accelerator-hours of the main run", "主训练卡时", when=training)
def accelerator_hours(productive_accelerator_hours: Array, goodput: Array) -> Array:
    """Productive hours and everything lost to failures, stalls and rollback."""
    return productive_accelerator_hours / goodput


@quantity(HOURS, "Accelerator-hours of evaluation", "评测卡时", source=KAPLAN)
def evaluation_accelerator_hours(evaluation_flops: Array, peak_flops_per_second: Array, forward_mfu: Array) -> Array:
    """Forward passes, at the MFU of forward passes."""
    return evaluation_flops / (peak_flops_per_second * forward_mfu) / SECONDS_PER_HOUR


@evaluation_accelerator_hours.variant(when=is_task(*BUILDING))
def evaluation_hours_of_training(evaluation_flops: Array, peak_flops_per_second: Array, mfu: Array) -> Array:
    """At the MFU of the main run."""
    return evaluation_flops / (peak_flops_per_second * mfu) / SECONDS_PER_HOUR


@quantity("accelerator", "Accelerators", "加速卡数量")
def accelerator_count(compute__count: Array) -> Array:
    """The cards that work at the same time."""
    return compute__count


@quantity("hour", "Elapsed hours", "历时（小时）", when=is_task(*BUILDING))
def elapsed_hours(accelerator_hours: Array, accelerator_count: Array) -> Array:
    """Wall-clock time of the main run, from the first step to the last."""
    return accelerator_hours / accelerator_count


@elapsed_hours.variant(when=is_task("ablation"))
def elapsed_hours_of_experiments(experiment_accelerator_hours: Array, accelerator_count: Array) -> Array:
    """All rungs, one after another."""
    return experiment_accelerator_hours / accelerator_count


@elapsed_hours.variant(when=is_task("evaluation"))
def elapsed_hours_of_evaluation(evaluation_accelerator_hours: Array, accelerator_count: Array) -> Array:
    """All evaluations, one after another."""
    return evaluation_accelerator_hours / accelerator_count


@quantity("day", "Elapsed days", "历时（天）")
def elapsed_days(elapsed_hours: Array) -> Array:
    """The same in days."""
    return elapsed_hours / 24.0


@quantity(HOURS, "Accelerator-hours of spares and part-filled instances", "备用卡与实例余数卡时")
def idle_accelerator_hours(elapsed_hours: Array, idle_accelerators: Array) -> Array:
    """Cards that are paid for while the run lasts and compute nothing."""
    return elapsed_hours * idle_accelerators


@quantity("accelerator", "Idle accelerators held", "持有的空闲卡数")
def idle_accelerators(accelerator_count: Array, reliability__spare_count: Array | float = 0.0) -> Array:
    """Spares."""
    return accelerator_count * 0.0 + reliability__spare_count


@idle_accelerators.variant()
def idle_accelerators_in_instances(
    accelerator_count: Array,
    compute__instance__accelerators: Array,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """Spares, and the cards of the last instance that the run does not use."""
    held = accelerator_count + reliability__spare_count
    return np.ceil(held / compute__instance__accelerators) * compute__instance__accelerators - accelerator_count


@quantity(HOURS, "Total accelerator-hours", "总卡时", when=is_task(*BUILDING))
def total_accelerator_hours(
    accelerator_hours: Array,
    experiment_accelerator_hours: Array,
    idle_accelerator_hours: Array,
    evaluation_accelerator_hours: Array | float = 0.0,
) -> Array:
    """Everything that is billed."""
    return accelerator_hours + experiment_accelerator_hours + evaluation_accelerator_hours + idle_accelerator_hours


@total_accelerator_hours.variant(when=is_task("ablation"))
def total_hours_of_ablation(experiment_accelerator_hours: Array, idle_accelerator_hours: Array) -> Array:
    """Experiments only: the run they prepare is another plan."""
    return experiment_accelerator_hours + idle_accelerator_hours


@total_accelerator_hours.variant(when=is_task("evaluation"))
def total_hours_of_evaluation(evaluation_accelerator_hours: Array, idle_accelerator_hours: Array) -> Array:
    """Evaluation only."""
    return evaluation_accelerator_hours + idle_accelerator_hours


@quantity(HOURS, "Equivalent accelerator-hours", "等效卡时")
def equivalent_accelerator_hours(
    total_accelerator_hours: Array, peak_flops_per_second: Array, reference_peak_tflops: Array
) -> Array:
    """In units of the reference card, by dense peak."""
    return total_accelerator_hours * peak_flops_per_second / (reference_peak_tflops * TERA)


@quantity("accelerator", "Accelerators to meet the deadline", "满足期限所需卡数", when=training)
def count_for_deadline(accelerator_hours: Array, hours_to_deadline: Array) -> Array:
    """At the efficiency of the planned size; no number meets a deadline that has passed."""
    return np.where(hours_to_deadline > hours_to_deadline * 0.0, np.ceil(accelerator_hours / hours_to_deadline), np.nan)
