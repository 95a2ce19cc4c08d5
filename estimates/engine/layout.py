"""Parallel layout: what the pipeline's bubble and tensor communication take of the MFU where none was measured."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import TRAINING, is_task
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array
from estimates.engine.time import SECONDS_PER_HOUR, paid_accelerator_hours

MEGATRON = (
    "Narayanan et al. 2021 (arXiv:2104.04473): bubble (p − 1) ÷ m; four all-reduces a layer for tensor parallelism"
)
GIGA = 1e9
MACHINE = 8.0
NETWORK_GBS = 50.0
TYPICAL_LOSS = 0.05

training = is_task(*TRAINING)


@quantity("1", "Pipeline bubble", "流水线气泡占比", source=MEGATRON, when=training)
def pipeline_bubble(compute__parallelism__pipeline: Array, compute__parallelism__microbatches: Array) -> Array:
    """(p − 1) ÷ (m + p − 1): stages that wait at the ends of a step."""
    waiting = compute__parallelism__pipeline - 1.0
    return waiting / (compute__parallelism__microbatches + waiting)


@quantity("GB / second / accelerator", "Bandwidth of tensor parallelism", "张量并行带宽", when=training)
def tensor_bandwidth_gbs(interconnect_gbs: Array, compute__parallelism__tensor: Array, network_gbs: float) -> Array:
    """One direction of the link within a machine of eight; the network beyond it."""
    return np.where(compute__parallelism__tensor <= MACHINE, interconnect_gbs / 2.0, network_gbs)


@quantity("GB / second / accelerator", "Network between machines", "机间网络带宽", when=training)
def network_gbs() -> float:
    """400 Gbit/s for each accelerator."""
    return NETWORK_GBS


@quantity("byte / token", "Bytes of tensor communication", "张量并行通信量", source=MEGATRON, when=training)
def tensor_bytes_per_token(
    model__layers: Array, model__hidden_size: Array, compute__parallelism__tensor: Array, tensor_bytes_factor: float
) -> Array:
    """Four all-reduces a layer, each 2 · (t − 1) ÷ t times the activations, in 16 bits."""
    ring = (compute__parallelism__tensor - 1.0) / compute__parallelism__tensor
    return tensor_bytes_factor * model__layers * model__hidden_size * ring


@quantity("byte / token", "Bytes per token, layer and width", "每 token 每层通信字节", source=MEGATRON, when=training)
def tensor_bytes_factor() -> float:
    """4 all-reduces · 2 directions · 2 bytes."""
    return 16.0


@quantity("1", "Communication share", "通信占比", source=MEGATRON, when=training)
def communication_share(
    tensor_bytes_per_token: Array,
    tensor_bandwidth_gbs: Array,
    model__flops_per_parameter_token: Array,
    multiplied_parameters: Array,
    compute__parallelism__tensor: Array,
    peak_flops_per_second: Array,
    typical_kernel_share: float,
) -> Array:
    """Tensor communication per time of a step, nothing overlapped; gradients travel behind the backward pass."""
    talking = tensor_bytes_per_token / (tensor_bandwidth_gbs * GIGA)
    working = model__flops_per_parameter_token * multiplied_parameters / compute__parallelism__tensor
    return talking / (talking + working / (peak_flops_per_second * typical_kernel_share))


@quantity("1", "Speed of large multiplications", "大矩阵乘法效率", when=training)
def typical_kernel_share() -> float:
    """Measured matrix multiplications reach about 0.8 of the dense peak (H100, A100)."""
    return 0.8


@quantity("1", "Effect of the layout", "并行布局影响", source=MEGATRON, when=training)
def layout_factor(pipeline_bubble: Array | float = 0.0, communication_share: Array | float = 0.0) -> Array | float:
    """Against the twentieth that published runs lose to the same."""
    return (1.0 - pipeline_bubble) * (1.0 - communication_share) / (1.0 - TYPICAL_LOSS)


@paid_accelerator_hours.variant(
    when=lambda plan: (
        plan.task in TRAINING
        and any(path.startswith("compute.parallelism.") for path in plan.given)
        and "compute.paid_mfu" not in plan.given
    )
)
def paid_hours_in_layout(
    training_flops: Array, peak_flops_per_second: Array, paid_mfu: Array, layout_factor: Array
) -> Array:
    """What published runs yield, moved by bubble and communication of the planned layout."""
    return training_flops / (peak_flops_per_second * paid_mfu * layout_factor) / SECONDS_PER_HOUR
