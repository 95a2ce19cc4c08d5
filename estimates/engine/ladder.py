"""Experiments: as a ratio of the main run, or as a ladder of smaller runs, rung by rung."""

from __future__ import annotations

import numpy as np

from estimates.engine.attention import GROWS_AS, PALM, smaller_attention
from estimates.engine.conditions import TRAINING, every, gives, has_rows, has_word, is_off, is_on, is_task
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array
from estimates.engine.time import HOURS, SECONDS_PER_HOUR, TERA
from estimates.engine.work import KAPLAN

training = is_task(*TRAINING)
tunes_in_part = every(is_task("finetune"), has_word("finetune.strategy", "lora", "head_only"))
with_ladder = every(training, has_rows("experiments"), is_on("experiments"))


@quantity("token", "Tokens of a rung", "各级实验 token 数", when=with_ladder, axis="row")
def rung_tokens(experiments__tokens: Array, experiments__epochs: Array, experiments__runs: Array) -> Array:
    """All passes, as often as it runs."""
    return experiments__tokens * experiments__epochs * experiments__runs


@quantity("FLOP", "Operations of a rung", "各级实验计算量", source=KAPLAN, when=with_ladder, axis="row")
def rung_training_flops(
    model__flops_per_parameter_token: Array,
    experiments__active_parameters: Array,
    rung_tokens: Array,
    forward_flops_per_parameter_token: float,
    model__teacher_parameters: Array | float = 0.0,
) -> Array:
    """6 · N · D of each rung, and its teacher where the run has one."""
    own = model__flops_per_parameter_token * experiments__active_parameters
    return (own + forward_flops_per_parameter_token * model__teacher_parameters) * rung_tokens


@rung_training_flops.variant(when=every(with_ladder, tunes_in_part))
def rung_tuning_flops(
    rung_tokens: Array,
    experiments__active_parameters: Array,
    active_parameters: Array,
    training_flops: Array,
    paid_tokens: Array,
) -> Array:
    """As much a token as the fine-tuning it prepares, by the size of the rung."""
    return training_flops / paid_tokens * (experiments__active_parameters / active_parameters) * rung_tokens


@quantity(
    "FLOP / token",
    "Attention operations per token of a rung",
    "各级实验每 token 的注意力计算量",
    source=GROWS_AS,
    when=with_ladder,
    axis="row",
)
def rung_attention_per_token(
    attention_flops_per_token: Array, experiments__active_parameters: Array, active_parameters: Array
) -> Array:
    """That of the model, smaller as a rung has fewer parameters."""
    return smaller_attention(attention_flops_per_token, experiments__active_parameters / active_parameters)


@rung_attention_per_token.variant(when=with_ladder, source=f"{PALM}; {GROWS_AS}")
def rung_attention_as_given(
    attention_flops_factor: float,
    experiments__layers: Array,
    experiments__hidden_size: Array,
    experiments__sequence_length: Array,
    attention_flops_per_token: Array,
    experiments__active_parameters: Array,
    active_parameters: Array,
) -> Array:
    """12 · layers · width · sequence of rungs that say how they are built; of others as above."""
    given = attention_flops_factor * experiments__layers * experiments__hidden_size * experiments__sequence_length
    smaller = smaller_attention(attention_flops_per_token, experiments__active_parameters / active_parameters)
    return np.where(np.isfinite(given), given, smaller)


@rung_attention_per_token.variant(when=with_ladder, source=PALM)
def rung_attention_of_some(
    attention_flops_factor: float,
    experiments__layers: Array,
    experiments__hidden_size: Array,
    experiments__sequence_length: Array,
) -> Array:
    """Where the model does not say how it is built, rungs that do not either have none."""
    given = attention_flops_factor * experiments__layers * experiments__hidden_size * experiments__sequence_length
    return np.nan_to_num(given)


@quantity("FLOP", "Attention operations of a rung", "各级实验注意力计算量", source=PALM, when=with_ladder, axis="row")
def rung_attention_flops(rung_attention_per_token: Array, attention_counted: Array, rung_tokens: Array) -> Array:
    """In the convention of the MFU."""
    return rung_attention_per_token * attention_counted * rung_tokens


@quantity(
    "FLOP / second / accelerator",
    "Measured speed of an accelerator",
    "单卡实测算力",
    when=every(with_ladder, gives("compute.tflops_per_accelerator")),
)
def achieved_flops_per_second(compute__tflops_per_accelerator: Array) -> Array:
    """Counted operations a second, as measured on the main run."""
    return compute__tflops_per_accelerator * TERA


@achieved_flops_per_second.variant(when=with_ladder)
def achieved_from_throughput(
    compute__tokens_per_second_per_accelerator: Array, counted_flops: Array, paid_tokens: Array
) -> Array:
    """Tokens a second times the operations of a token of the main run."""
    return compute__tokens_per_second_per_accelerator * counted_flops / paid_tokens


@quantity("FLOP / second / accelerator", "Speed of a rung", "各级实验单卡有效算力", when=with_ladder, axis="row")
def rung_speed(peak_flops_per_second: Array, rung_mfu: Array) -> Array:
    """Peak · MFU of the rung, or of the plan."""
    return peak_flops_per_second * rung_mfu


@rung_speed.variant(when=with_ladder)
def rung_speed_as_measured(peak_flops_per_second: Array, rung_mfu: Array, achieved_flops_per_second: Array) -> Array:
    """At its own MFU; a rung without one does as many operations a second as the main run, not as many tokens."""
    return np.where(np.isfinite(rung_mfu), peak_flops_per_second * rung_mfu, achieved_flops_per_second)


@quantity(HOURS, "Accelerator-hours of a rung", "各级实验卡时", when=with_ladder, axis="row")
def rung_accelerator_hours(
    rung_training_flops: Array,
    rung_speed: Array,
    recompute_factor: Array,
    rung_attention_flops: Array | float = 0.0,
) -> Array:
    """Its operations at its speed, in the plan's convention."""
    return (rung_training_flops + rung_attention_flops) * recompute_factor / rung_speed / SECONDS_PER_HOUR


@rung_accelerator_hours.variant(when=with_ladder)
def rung_hours_where_known(
    experiments__accelerator_hours: Array,
    experiments__runs: Array,
    rung_training_flops: Array,
    rung_speed: Array,
    recompute_factor: Array,
    rung_attention_flops: Array | float = 0.0,
) -> Array:
    """Hours of a run where they are known, else from operations."""
    counted = (rung_training_flops + rung_attention_flops) * recompute_factor
    known = experiments__accelerator_hours * experiments__runs
    return np.where(np.isfinite(known), known, counted / rung_speed / SECONDS_PER_HOUR)


@rung_accelerator_hours.variant(when=with_ladder)
def rung_hours_all_known(experiments__accelerator_hours: Array, experiments__runs: Array) -> Array:
    """Hours of a run as known."""
    return experiments__accelerator_hours * experiments__runs


@quantity("FLOP", "Operations of experiments", "实验计算量", when=training)
def experiment_flops(training_flops: Array, experiments__ratio: Array) -> Array:
    """Small runs before the main one, as a ratio of it."""
    return experiments__ratio * training_flops


@experiment_flops.variant(when=every(training, is_off("experiments")))
def no_experiment_flops() -> float:
    """The plan says there are none."""
    return 0.0


@experiment_flops.variant(when=with_ladder)
def ladder_flops_of_known_hours(
    experiments__accelerator_hours: Array,
    experiments__runs: Array,
    rung_speed: Array,
    recompute_factor: Array,
    rung_training_flops: Array,
) -> Array:
    """The sum over the rungs; where the hours of a rung are known, what they do at its speed."""
    done = experiments__accelerator_hours * experiments__runs * SECONDS_PER_HOUR * rung_speed / recompute_factor
    return np.where(np.isfinite(experiments__accelerator_hours), done, rung_training_flops).sum(axis=0)


@experiment_flops.variant(when=with_ladder)
def ladder_flops(rung_training_flops: Array) -> Array:
    """The sum over the rungs."""
    return rung_training_flops.sum(axis=0)


@quantity(HOURS, "Accelerator-hours of experiments", "实验卡时", when=training)
def experiment_accelerator_hours(accelerator_hours: Array, experiments__ratio: Array) -> Array:
    """As a ratio of the main run, at its efficiency."""
    return experiments__ratio * accelerator_hours


@experiment_accelerator_hours.variant(when=every(training, is_off("experiments")))
def no_experiment_hours() -> float:
    """The plan says there are none."""
    return 0.0


@experiment_accelerator_hours.variant(when=with_ladder)
def ladder_hours(rung_accelerator_hours: Array) -> Array:
    """The sum over the rungs."""
    return rung_accelerator_hours.sum(axis=0)


@quantity("1", "Experiments so far, of the main run", "实验累计占正式训练比例", when=with_ladder, axis="row")
def ladder_running_share(rung_accelerator_hours: Array, accelerator_hours: Array) -> Array:
    """The running total after each rung against the run they prepare."""
    return np.cumsum(rung_accelerator_hours, axis=0) / accelerator_hours
