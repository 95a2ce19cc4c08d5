"""Work: how many operations a plan asks for, and how many of its tokens teach something."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import TRAINING, every, has_rows, has_word, is_task
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

KAPLAN = "Kaplan et al. 2020 (arXiv:2001.08361), section 2.1; Hoffmann et al. 2022 (arXiv:2203.15556)"
LORA = "Hu et al. 2021 (arXiv:2106.09685): no gradients of frozen weights; checked against NeMo 24.07 tables"
PER_PARAMETER_TOKEN = "FLOP / parameter / token"

training = is_task(*TRAINING)
finetuning = is_task("finetune")


@quantity(PER_PARAMETER_TOKEN, "Forward pass", "前向计算", source=KAPLAN)
def forward_flops_per_parameter_token() -> float:
    """One multiplication and one addition per parameter and token."""
    return 2.0


@quantity(PER_PARAMETER_TOKEN, "Backward pass to the inputs", "反向传播（对输入）", source=KAPLAN)
def input_gradient_flops_per_parameter_token() -> float:
    """Gradients of the activations, as dear as a forward pass."""
    return 2.0


@quantity("parameter", "Active parameters", "激活参数量")
def active_parameters(model__parameters: Array) -> Array:
    """A dense model uses all of its parameters for every token."""
    return model__parameters


@active_parameters.variant()
def active_parameters_given(model__active_parameters: Array) -> Array:
    """A mixture of experts uses a part of its parameters for every token."""
    return model__active_parameters


@quantity("parameter", "Parameters that are multiplied", "参与乘法的参数量", source=KAPLAN)
def multiplied_parameters(active_parameters: Array, model__embedding_parameters: Array) -> Array:
    """Without the input embedding, which is only looked up; the output head counts."""
    return active_parameters - model__embedding_parameters


@quantity("token", "Tokens computed", "计算的 token 总数")
def paid_tokens(data__tokens: Array, data__epochs: Array) -> Array:
    """Every pass over the data is paid."""
    return data__tokens * data__epochs


@paid_tokens.variant(when=has_rows("model.stages"))
def paid_tokens_of_stages(model__stages__tokens: Array) -> Array:
    """Staged growth: those of all stages."""
    return model__stages__tokens.sum(axis=0)


@paid_tokens.variant(when=is_task("continued_pretrain"))
def paid_tokens_of_share(data__base_tokens: Array, share_of_base: Array) -> Array:
    """Continued pretraining as a share of what the base has seen: all passes together."""
    return data__base_tokens * share_of_base


@quantity("FLOP", "Operations of full training", "全量训练计算量", source=KAPLAN, when=training)
def full_training_flops(
    model__flops_per_parameter_token: Array, multiplied_parameters: Array, paid_tokens: Array
) -> Array:
    """6 · N · D unless the plan gives another factor."""
    return model__flops_per_parameter_token * multiplied_parameters * paid_tokens


@full_training_flops.variant(when=every(training, has_rows("model.stages")))
def staged_training_flops(
    model__flops_per_parameter_token: Array, model__stages__parameters: Array, model__stages__tokens: Array
) -> Array:
    """Staged growth: the sum over the stages."""
    return (model__flops_per_parameter_token * model__stages__parameters * model__stages__tokens).sum(axis=0)


@full_training_flops.variant(when=training)
def given_training_flops(model__training_flops: Array) -> Array:
    """Stated by the plan, as for encoder-decoder models."""
    return model__training_flops


@quantity("FLOP", "Operations of LoRA training", "LoRA 微调计算量", source=LORA, when=finetuning)
def lora_training_flops(
    forward_flops_per_parameter_token: float,
    input_gradient_flops_per_parameter_token: float,
    model__flops_per_parameter_token: Array,
    multiplied_parameters: Array,
    finetune__adapter_parameters: Array,
    paid_tokens: Array,
) -> Array:
    """Forward and activation gradients of the trunk, 4 · N; everything for the adapter, 6 · N_adapter."""
    trunk = (forward_flops_per_parameter_token + input_gradient_flops_per_parameter_token) * multiplied_parameters
    return (trunk + model__flops_per_parameter_token * finetune__adapter_parameters) * paid_tokens


@quantity("token", "Tokens through the frozen trunk", "经过冻结主干的 token 数", when=finetuning)
def trunk_tokens(data__tokens: Array, data__epochs: Array, features_cached: Array) -> Array:
    """Cached features are computed once, whatever the number of epochs."""
    return data__tokens * np.where(features_cached > 0, 1.0, data__epochs)


@quantity("FLOP", "Operations of head-only training", "仅训练任务头的计算量", source=KAPLAN, when=finetuning)
def head_only_training_flops(
    forward_flops_per_parameter_token: float,
    model__flops_per_parameter_token: Array,
    multiplied_parameters: Array,
    finetune__head_parameters: Array,
    trunk_tokens: Array,
    paid_tokens: Array,
) -> Array:
    """The trunk forward, 2 · N; everything for the head, 6 · N_head."""
    head = model__flops_per_parameter_token * finetune__head_parameters * paid_tokens
    return forward_flops_per_parameter_token * multiplied_parameters * trunk_tokens + head


@quantity("FLOP", "Operations of the teacher", "教师模型计算量", source=KAPLAN, when=training)
def teacher_flops(
    forward_flops_per_parameter_token: float, model__teacher_parameters: Array, paid_tokens: Array
) -> Array:
    """Distillation runs the teacher forward over every token."""
    return forward_flops_per_parameter_token * model__teacher_parameters * paid_tokens


@quantity("FLOP", "Training operations", "训练计算量", source=KAPLAN, when=training)
def training_flops(full_training_flops: Array, teacher_flops: Array | float = 0.0) -> Array:
    """The run itself and, where there is one, its teacher. Attention is counted apart."""
    return full_training_flops + teacher_flops


@training_flops.variant(when=every(finetuning, has_word("finetune.strategy", "lora")), source=LORA)
def lora_flops(lora_training_flops: Array, teacher_flops: Array | float = 0.0) -> Array:
    """Only an adapter is trained."""
    return lora_training_flops + teacher_flops


@training_flops.variant(when=every(finetuning, has_word("finetune.strategy", "head_only")), source=KAPLAN)
def head_only_flops(head_only_training_flops: Array, teacher_flops: Array | float = 0.0) -> Array:
    """Only a task head is trained."""
    return head_only_training_flops + teacher_flops


@quantity("FLOP", "Counted operations of the main run", "主训练计入的计算量", when=training)
def counted_flops(training_flops: Array, recompute_factor: Array, attention_flops: Array | float = 0.0) -> Array:
    """What the MFU is measured against: with attention and recomputation where its convention counts them."""
    return (training_flops + attention_flops) * recompute_factor


@quantity("token", "Wasted tokens", "浪费的 token 数", when=training)
def wasted_tokens(paid_tokens: Array, data__duplicate_share: Array, data__low_quality_share: Array) -> Array:
    """Duplicates and low quality are computed like everything else, and teach nothing."""
    return paid_tokens * (data__duplicate_share + data__low_quality_share)


@quantity("token", "Teaching tokens", "有效学习 token 数", when=training)
def teaching_tokens(paid_tokens: Array, wasted_tokens: Array, objective__signal_share: Array) -> Array:
    """What is left, as far as it gives a learning signal (masked objectives: the masked share)."""
    return (paid_tokens - wasted_tokens) * objective__signal_share


@quantity("1", "Data efficiency", "数据效率", when=training)
def data_efficiency(teaching_tokens: Array, paid_tokens: Array, data__measured_gain: Array) -> Array:
    """Teaching tokens per paid token, times what better data was measured to gain."""
    return teaching_tokens / paid_tokens * data__measured_gain


@quantity("token / parameter", "Tokens per parameter", "每参数 token 数", when=training)
def tokens_per_parameter(paid_tokens: Array, active_parameters: Array) -> Array:
    """About 20 is compute-optimal; models that will serve a lot are trained far beyond it."""
    return paid_tokens / active_parameters


@quantity(
    "token / parameter",
    "Compute-optimal tokens per parameter",
    "计算最优的每参数 token 数",
    source="Hoffmann et al. 2022 (arXiv:2203.15556), table 3",
    when=training,
)
def optimal_tokens_per_parameter() -> float:
    """The rule of thumb that came out of the three approaches."""
    return 20.0


@quantity("token", "Compute-optimal tokens", "计算最优 token 数", when=training)
def compute_optimal_tokens(optimal_tokens_per_parameter: float, active_parameters: Array) -> Array:
    """The tokens at which a parameter and a token more are worth the same."""
    return optimal_tokens_per_parameter * active_parameters


@quantity("FLOP", "Operations of evaluation", "评测计算量", source=KAPLAN)
def evaluation_flops(
    forward_flops_per_parameter_token: float,
    multiplied_parameters: Array,
    evaluation__tokens: Array,
    evaluation__times: Array,
) -> Array:
    """A forward pass over the evaluation set, each time."""
    return forward_flops_per_parameter_token * multiplied_parameters * evaluation__tokens * evaluation__times
