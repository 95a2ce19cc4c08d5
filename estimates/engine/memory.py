"""Memory: whether the state of the model and its activations fit the accelerators, and in which layout."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import TRAINING, every, has_rows, has_word, is_task, lacks, lacks_rows
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

ZERO = "Rajbhandari et al. 2020 (arXiv:1910.02054): 16 bytes a parameter for mixed-precision Adam"
KORTHIKANTI = "Korthikanti et al. 2022 (arXiv:2205.05198): 34 · s · b · h bytes a layer, selective recomputation"
GIGA = 1e9

training = is_task(*TRAINING)
finetuning = is_task("finetune")


@quantity("GB", "State of the model", "模型状态显存", source=ZERO, when=training)
def model_state_gb(
    model__parameters: Array,
    state_bytes_per_parameter: Array,
    weight_bytes: Array,
    model__teacher_parameters: Array | float = 0.0,
) -> Array:
    """Weights, gradients and the optimiser's figures, of all cards together; of a teacher its weights."""
    return (model__parameters * state_bytes_per_parameter + model__teacher_parameters * weight_bytes) / GIGA


@model_state_gb.variant(when=every(finetuning, has_word("finetune.strategy", "lora")))
def state_with_adapter(
    model__parameters: Array,
    finetune__adapter_parameters: Array,
    weight_bytes: Array,
    state_bytes_per_parameter: Array,
    model__teacher_parameters: Array | float = 0.0,
) -> Array:
    """Frozen weights, of a teacher too, and the state of the adapter."""
    frozen = (model__parameters + model__teacher_parameters) * weight_bytes
    return (frozen + finetune__adapter_parameters * state_bytes_per_parameter) / GIGA


@model_state_gb.variant(when=every(finetuning, has_word("finetune.strategy", "head_only")))
def state_with_head(
    model__parameters: Array,
    finetune__head_parameters: Array,
    weight_bytes: Array,
    state_bytes_per_parameter: Array,
    model__teacher_parameters: Array | float = 0.0,
) -> Array:
    """Frozen weights, of a teacher too, and the state of the head."""
    frozen = (model__parameters + model__teacher_parameters) * weight_bytes
    return (frozen + finetune__head_parameters * state_bytes_per_parameter) / GIGA


@model_state_gb.variant(when=every(training, has_rows("model.stages"), lacks("model.parameters")))
def state_of_the_last_stage(
    model__stages__parameters: Array,
    state_bytes_per_parameter: Array,
    weight_bytes: Array,
    model__teacher_parameters: Array | float = 0.0,
) -> Array:
    """Of a model that grows: as large as it becomes."""
    own = model__stages__parameters.max(axis=0) * state_bytes_per_parameter
    return (own + model__teacher_parameters * weight_bytes) / GIGA


@quantity("byte / token", "Activations per token, layer and width", "激活显存系数", source=KORTHIKANTI, when=training)
def activation_bytes_factor() -> float:
    """With selective recomputation, in 16 bits."""
    return 34.0


@quantity("GB", "Activations of one sequence", "单序列激活显存", source=KORTHIKANTI, when=training)
def activation_gb(
    activation_bytes_factor: float, model__sequence_length: Array, model__hidden_size: Array, model__layers: Array
) -> Array:
    """All layers; a pipeline holds as many micro-batches as it has stages, so that it saves none."""
    return activation_bytes_factor * model__sequence_length * model__hidden_size * model__layers / GIGA


@quantity("GB / accelerator", "Memory needed, state in full on each card", "单卡所需显存（不切分）", when=training)
def memory_replicated_gb(model_state_gb: Array, one_accelerator: float, activation_gb: Array | float = 0.0) -> Array:
    """Plain data parallelism."""
    return (model_state_gb + activation_gb) / one_accelerator


@quantity("accelerator", "One accelerator", "一张卡")
def one_accelerator() -> float:
    """The unit."""
    return 1.0


@quantity(
    "GB / accelerator",
    "Memory needed, state divided over all cards",
    "单卡所需显存（ZeRO 切分）",
    source=ZERO,
    when=training,
)
def memory_sharded_gb(
    model_state_gb: Array, accelerator_count: Array, one_accelerator: float, activation_gb: Array | float = 0.0
) -> Array:
    """ZeRO stage 3, or its like."""
    return model_state_gb / accelerator_count + activation_gb / one_accelerator


@quantity(
    "GB / accelerator", "Memory needed in the planned layout", "单卡所需显存（计划布局）", source=ZERO, when=training
)
def memory_planned_gb(
    model_state_gb: Array,
    one_accelerator: float,
    compute__parallelism__tensor: Array | float = 1.0,
    compute__parallelism__pipeline: Array | float = 1.0,
    activation_gb: Array | float = 0.0,
) -> Array:
    """State divided by tensor · pipeline; activations by tensor."""
    state = model_state_gb / (compute__parallelism__tensor * compute__parallelism__pipeline)
    return (state + activation_gb / compute__parallelism__tensor) / one_accelerator


@quantity("GB / accelerator", "Least memory needed", "单卡最低所需显存", when=training)
def memory_needed_gb(memory_sharded_gb: Array, memory_planned_gb: Array) -> Array:
    """In the planned layout, or with the state divided over all cards."""
    return np.minimum(memory_sharded_gb, memory_planned_gb)


@quantity("1", "Memory fits", "显存是否够用", when=training)
def memory_fits(memory_needed_gb: Array, memory_gb: Array) -> Array:
    """1 where it does."""
    return (memory_needed_gb <= memory_gb) * 1.0


@memory_fits.variant(when=every(is_task("inference"), lacks_rows("compute.pools")))
def service_fits(replica_accelerators: Array, accelerator_count: Array) -> Array:
    """1 where a replica needs no more than the accelerators planned."""
    return (replica_accelerators.max(axis=0) <= accelerator_count) * 1.0
