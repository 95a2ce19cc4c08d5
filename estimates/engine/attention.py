"""Attention: operations that grow with the context, beside those of the parameters.

They count as far as the convention of the MFU has them: in full, half where tokens see only those before them, or not.
"""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import TRAINING, every, has_rows, has_word, is_task, lacks_rows
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

GROWS_AS = "Kaplan et al. 2020, section 2.1: N = 12 · layers · width², so layers · width grows as N^(2/3)"
PALM = "Chowdhery et al. 2022 (arXiv:2204.02311), appendix B"

training = is_task(*TRAINING)
finetuning = is_task("finetune")
staged_training = every(training, has_rows("model.stages"))


@quantity("FLOP / token**2", "Attention, per layer, width and context", "注意力计算系数", source=PALM)
def attention_flops_factor() -> float:
    """Forward 4, backward 8, of the products of queries with keys and of weights with values, counted in full."""
    return 12.0


@attention_flops_factor.variant(when=every(finetuning, has_word("finetune.strategy", "head_only")), source=PALM)
def forward_attention_flops_factor() -> float:
    """Forward only: a frozen trunk has no backward pass."""
    return 4.0


@quantity("1", "Attention width", "注意力宽度")
def attention_width(model__hidden_size: Array) -> Array:
    """The hidden size, where heads × head dimension is not given."""
    return model__hidden_size


@attention_width.variant()
def attention_width_given(model__attention_width: Array) -> Array:
    """Heads × head dimension, of queries and values on average."""
    return model__attention_width


@quantity("token", "Tokens a token attends to", "注意力上下文长度")
def attention_context(model__sequence_length: Array) -> Array:
    """The whole sequence, counted in full."""
    return model__sequence_length


@attention_context.variant()
def windowed_attention_context(
    model__sequence_length: Array,
    model__attention_window__tokens: Array,
    model__attention_window__share_of_layers: Array,
) -> Array:
    """Layers with a sliding window see at most the window."""
    window = np.minimum(model__attention_window__tokens, model__sequence_length)
    share = model__attention_window__share_of_layers
    return share * window + (1 - share) * model__sequence_length


@quantity("FLOP / token", "Attention operations per token", "每 token 的注意力计算量", source=PALM)
def attention_flops_per_token(
    attention_flops_factor: float, model__layers: Array, attention_width: Array, attention_context: Array
) -> Array:
    """12 · layers · width · context, full convention."""
    return attention_flops_factor * model__layers * attention_width * attention_context


@quantity("FLOP", "Attention operations", "注意力计算量", source=PALM, when=every(training, lacks_rows("model.stages")))
def attention_flops(attention_flops_per_token: Array, attention_counted: Array, paid_tokens: Array) -> Array:
    """As far as the convention of the MFU counts them: full, half where causal, none."""
    return attention_flops_per_token * attention_counted * paid_tokens


def smaller_attention(attention_flops_per_token: Array, size: Array) -> Array:
    """Of a model of the same proportions with this share of the parameters."""
    return attention_flops_per_token * size ** (2.0 / 3.0)


@quantity(
    "FLOP / token",
    "Attention operations per token of each stage",
    "各阶段每 token 的注意力计算量",
    source=GROWS_AS,
    when=staged_training,
    axis="row",
)
def stage_attention_per_token(
    attention_flops_per_token: Array, model__stages__parameters: Array, active_parameters: Array
) -> Array:
    """That of the model, smaller as a stage has fewer parameters."""
    return smaller_attention(attention_flops_per_token, model__stages__parameters / active_parameters)


@stage_attention_per_token.variant(when=staged_training, source=PALM)
def stage_attention_as_given(
    attention_flops_factor: float,
    model__stages__layers: Array,
    model__stages__hidden_size: Array,
    attention_context: Array,
) -> Array:
    """12 · layers · width · context of the stage."""
    return attention_flops_factor * model__stages__layers * model__stages__hidden_size * attention_context


@attention_flops.variant(when=staged_training)
def staged_attention_flops(
    stage_attention_per_token: Array, attention_counted: Array, model__stages__tokens: Array
) -> Array:
    """Staged growth: the sum over the stages."""
    return (stage_attention_per_token * model__stages__tokens).sum(axis=0) * attention_counted


@attention_flops.variant(when=every(finetuning, has_word("finetune.strategy", "head_only")))
def trunk_attention_flops(attention_flops_per_token: Array, attention_counted: Array, trunk_tokens: Array) -> Array:
    """The trunk's attention, as often as the trunk runs."""
    return attention_flops_per_token * attention_counted * trunk_tokens
