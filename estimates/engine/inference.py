"""Inference: what a request takes of the accelerators that hold the model.

A replica is the group of accelerators that holds the model once. Tiers of service stand in rows; a service without
tiers has one.
"""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import every, has_word, is_task
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

POPE = "Pope et al. 2022 (arXiv:2211.05102): decoding is bound by reading weights and KV-cache"
GIGA = 1e9

serving = is_task("inference")
decoding = every(serving, has_word("inference.kind", "decoder"))
encoding = every(serving, has_word("inference.kind", "encoder"))
TIER = {"axis": "row"}


@quantity("GB", "Weights in memory", "权重显存占用", when=serving)
def served_weights_gb(model__parameters: Array, weight_bytes: Array) -> Array:
    """All parameters at the precision of the service."""
    return model__parameters * weight_bytes / GIGA


@quantity("byte / token", "KV-cache per token", "每 token KV 缓存", source=POPE, when=decoding)
def kv_bytes_per_token(model__layers: Array, attention_width: Array, cache_bytes: Array) -> Array:
    """A key and a value in each layer; fewer key-value heads, or a latent, make it smaller: give the figure then."""
    return 2.0 * model__layers * attention_width * cache_bytes


@kv_bytes_per_token.variant(when=decoding)
def given_kv_bytes(inference__kv_bytes_per_token: Array) -> Array:
    """Given by the plan."""
    return inference__kv_bytes_per_token


@quantity("token / request", "Mean length of the cache", "平均缓存长度", when=decoding)
def mean_context(inference__input_tokens: Array, inference__output_tokens: Array) -> Array:
    """The prompt, and on average half of the answer."""
    return inference__input_tokens + inference__output_tokens / 2.0


@mean_context.variant(when=decoding)
def windowed_mean_context(
    inference__input_tokens: Array,
    inference__output_tokens: Array,
    model__attention_window__tokens: Array,
    model__attention_window__share_of_layers: Array,
    one_request: float,
) -> Array:
    """Layers with a sliding window keep no more than the window."""
    whole = inference__input_tokens + inference__output_tokens / 2.0
    window = np.minimum(model__attention_window__tokens / one_request, whole)
    share = model__attention_window__share_of_layers
    return share * window + (1.0 - share) * whole


@quantity("request", "Requests served together", "有效批大小", when=serving, **TIER)
def effective_batch(tier_batch: Array) -> Array:
    """The batch of the tier, or of the plan."""
    return tier_batch


@effective_batch.variant(when=serving)
def batch_within_concurrency(tier_batch: Array, inference__concurrency: Array) -> Array:
    """No more than are there at the same time."""
    return np.minimum(tier_batch, inference__concurrency)


@quantity("GB", "KV-cache of a batch", "单批 KV 缓存", source=POPE, when=decoding, **TIER)
def batch_cache_gb(kv_bytes_per_token: Array, mean_context: Array, effective_batch: Array) -> Array:
    """Every request of a batch has its own."""
    return kv_bytes_per_token * mean_context * effective_batch / GIGA


@quantity("1", "Usable share of memory", "可用显存比例", when=serving)
def usable_memory_share() -> float:
    """Our assumption: a tenth for activations and the runtime."""
    return 0.9


@quantity("accelerator", "Accelerators of a replica", "单副本卡数", when=serving, **TIER)
def replica_accelerators(tier_share: Array, accelerator_count: Array) -> Array:
    """As planned, where the memory of the accelerator is not known."""
    return accelerator_count * tier_share**0


@replica_accelerators.variant(when=serving)
def replica_by_memory(
    served_weights_gb: Array,
    memory_gb: Array,
    usable_memory_share: float,
    tier_share: Array,
    batch_cache_gb: Array | None = None,
) -> Array:
    """As many as weights and cache need."""
    per_card = memory_gb * usable_memory_share
    needed = served_weights_gb if batch_cache_gb is None else served_weights_gb + batch_cache_gb
    return np.ceil(needed / per_card) * tier_share**0


@quantity("second / request", "Prefill of a request", "单请求预填充时间", source=POPE, when=serving, **TIER)
def prefill_seconds(
    forward_flops_per_parameter_token: float,
    multiplied_parameters: Array,
    inference__input_tokens: Array,
    peak_flops_per_second: Array,
    forward_mfu: Array,
    replica_accelerators: Array,
) -> Array:
    """One forward pass over the input; all that an encoder does."""
    work = forward_flops_per_parameter_token * multiplied_parameters * inference__input_tokens
    return work / (peak_flops_per_second * forward_mfu * replica_accelerators)


@quantity("token / request", "Tokens of a request in one step", "每步每请求 token 数", when=decoding)
def token_each_step() -> float:
    """Decoding writes one token of every request of the batch."""
    return 1.0


@quantity("GB", "Weights read in a step", "每步读取权重", source=POPE, when=decoding, **TIER)
def weights_read_gb(
    active_parameters: Array, model__parameters: Array, effective_batch: Array, one_request: float, weight_bytes: Array
) -> Array:
    """Those of the experts that the batch touches: at most all."""
    touched = np.minimum(model__parameters, active_parameters * np.maximum(effective_batch / one_request, 1.0))
    return touched * weight_bytes / GIGA


@quantity("request", "One request", "一个请求", when=serving)
def one_request() -> float:
    """The unit."""
    return 1.0


@quantity("second", "Step of decoding, bound by memory", "解码步时间（带宽受限）", source=POPE, when=decoding, **TIER)
def memory_step_seconds(
    weights_read_gb: Array,
    batch_cache_gb: Array,
    bandwidth_gbs: Array,
    bandwidth_share: Array,
    replica_accelerators: Array,
) -> Array:
    """Weights and cache are read once for every step of the batch."""
    return (weights_read_gb + batch_cache_gb) / (bandwidth_gbs * bandwidth_share * replica_accelerators)


@quantity(
    "second", "Step of decoding, bound by arithmetic", "解码步时间（算力受限）", source=POPE, when=decoding, **TIER
)
def compute_step_seconds(
    forward_flops_per_parameter_token: float,
    multiplied_parameters: Array,
    effective_batch: Array,
    token_each_step: float,
    peak_flops_per_second: Array,
    forward_mfu: Array,
    replica_accelerators: Array,
) -> Array:
    """One token of each request of the batch."""
    work = forward_flops_per_parameter_token * multiplied_parameters * effective_batch * token_each_step
    return work / (peak_flops_per_second * forward_mfu * replica_accelerators)


@quantity("second", "Step of decoding", "解码步时间", source=POPE, when=decoding, **TIER)
def step_seconds(memory_step_seconds: Array, compute_step_seconds: Array) -> Array:
    """Whichever binds."""
    return np.maximum(memory_step_seconds, compute_step_seconds)


@quantity("1", "Steps of an answer", "单次回答解码步数", when=decoding)
def answer_steps(inference__output_tokens: Array, token_each_step: float) -> Array:
    """One for each token."""
    return inference__output_tokens / token_each_step


@quantity("second / request", "Replica time of a request", "单请求占用副本时间", when=encoding, **TIER)
def replica_seconds_per_request(prefill_seconds: Array) -> Array:
    """An encoder only reads."""
    return prefill_seconds


@replica_seconds_per_request.variant(when=decoding)
def replica_seconds_with_decoding(
    prefill_seconds: Array, answer_steps: Array, step_seconds: Array, effective_batch: Array
) -> Array:
    """Prefill, and the request's part of every step of its batch."""
    return prefill_seconds + answer_steps * step_seconds / effective_batch


@quantity("second", "Latency of a request without queueing", "单请求时延（不含排队）", when=encoding)
def request_latency_seconds(prefill_seconds: Array, one_request: float) -> Array:
    """The forward pass; the slowest tier."""
    return (prefill_seconds * one_request).max(axis=0)


@request_latency_seconds.variant(when=decoding)
def latency_with_decoding(
    prefill_seconds: Array, answer_steps: Array, step_seconds: Array, one_request: float
) -> Array:
    """Prefill, then one step for every token of the answer; the slowest tier."""
    return (prefill_seconds * one_request + answer_steps * step_seconds).max(axis=0)


@quantity("FLOP", "Operations of inference", "推理计算量", when=serving)
def inference_flops(
    forward_flops_per_parameter_token: float,
    multiplied_parameters: Array,
    inference__input_tokens: Array,
    inference__output_tokens: Array,
    total_requests: Array,
    inference__cache_hit: Array,
) -> Array:
    """2 · N for every token read or written."""
    tokens = (inference__input_tokens + inference__output_tokens) * total_requests * (1.0 - inference__cache_hit)
    return forward_flops_per_parameter_token * multiplied_parameters * tokens
