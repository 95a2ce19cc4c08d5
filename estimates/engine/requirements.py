"""What a plan of each task must say, and which keys say the same thing in different ways."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from estimates.engine.cells import accepted
from estimates.engine.field_tables.goal import TRAINING
from estimates.engine.fields import FIELDS
from estimates.engine.messages import Phrase
from estimates.engine.walking import Draft

TOKENS_PER_SECOND = "compute.tokens_per_second_per_accelerator"
EFFICIENCIES = (
    "compute.mfu",
    TOKENS_PER_SECOND,
    "compute.tflops_per_accelerator",
    "compute.paid_mfu",
)
"""Ways to say how fast an accelerator works; one plan has one."""

ROW_NUMBER = re.compile(r"\.[0-9]+\.")
INSTEAD_OF_FAILURES = "reliability.goodput"
FAILURE_MODEL = (
    "reliability.accelerator_mtbf_hours",
    "reliability.checkpoint_stall_hours",
    "reliability.restart_hours",
    "reliability.detection_hours",
    "reliability.auto_recovery_share",
    "reliability.acceptable_loss_hours",
    "reliability.rollback_share",
)
"""What a known goodput makes superfluous. The checkpoint interval stays: it also says what is stored."""

ONE_KIND = (
    "compute.accelerator",
    "compute.count",
    "compute.peak_tflops",
    "compute.memory_gb",
    "compute.price_per_accelerator_hour",
    "compute.tokens_per_second_per_accelerator",
    "compute.tflops_per_accelerator",
    "compute.paid_mfu",
    "compute.instance",
    "compute.committed",
)
"""What pools of unlike accelerators say for each pool, or what holds for one kind only."""

EXCLUSIVE: Mapping[str, tuple[str, ...]] = {
    INSTEAD_OF_FAILURES: FAILURE_MODEL,
    "compute.pools": ONE_KIND,
    "data.base_tokens": ("data.tokens", "data.epochs"),
    "model.stages": ("data.tokens", "data.base_tokens"),
    "model.training_flops": ("model.flops_per_parameter_token", "model.stages"),
    "inference.unit_cost_per_request": ("inference.tiers",),
    "inference.tiers": ("compute.committed",),
}
"""A key, and what cannot stand beside it."""

TOGETHER: Mapping[str, tuple[str, ...]] = {
    "compute.instance": ("name", "accelerators"),
    "model.attention_window": ("tokens",),
    "acceptance": ("metric",),
    "compute.committed": ("count", "hours"),
}
"""A section that is given must have these keys."""

DATA_DRIVERS = (
    "data.raw_tb",
    "data.clean_tb",
    "data.licence_cost",
    "data.collection_cost",
    "data.annotation_items",
    "data.compliance_cost",
    "people",
)
"""What makes data work cost something."""


def check_exclusive(draft: Draft, prefix: str) -> None:
    """Two ways to say one thing are a fault of the second."""
    given = [path for path in EFFICIENCIES if draft.has(path)]
    for path in given[1:]:
        allowed = (Phrase("one_key_of", {"keys": ", ".join(EFFICIENCIES)}),)
        draft.refuse(prefix + path, draft.seen[path], "exclusive", allowed, other=given[0])
    for first, others in EXCLUSIVE.items():
        if draft.has(first):
            for other in others:
                if draft.has(other):
                    draft.refuse(prefix + other, draft.seen[other], "exclusive", (Phrase("leave_out"),), other=first)
    if draft.has("model.stages") and draft.has(TOKENS_PER_SECOND):
        keys = ", ".join(path for path in EFFICIENCIES if path != TOKENS_PER_SECOND)
        allowed = (Phrase("one_key_of", {"keys": keys}),)
        draft.refuse(prefix + TOKENS_PER_SECOND, draft.seen[TOKENS_PER_SECOND], "speed_of_stages", allowed)


def check_required(draft: Draft, task: str, prefix: str) -> None:
    """Everything the task cannot be estimated without."""
    needed = [(path, "") for path in _needed_for(task, draft)] + list(_needed_beside(draft))
    for path, because in needed:
        if draft.has(path):
            continue
        declared = FIELDS.get(ROW_NUMBER.sub(".*.", path))
        allowed = accepted(declared) if declared else (Phrase("rows", {"path": path}),)
        if because:
            draft.refuse(prefix + path, None, "missing_because", allowed, because=because)
        else:
            draft.refuse(prefix + path, None, "missing_for_task", allowed, task=task)
    if task == "data_work" and not any(draft.has(path) for path in DATA_DRIVERS):
        draft.refuse(prefix + "data", None, "nothing_to_do", (Phrase("one_key_of", {"keys": ", ".join(DATA_DRIVERS)}),))


def _needed_for(task: str, draft: Draft) -> Iterator[str]:
    """What the task itself asks for; a figure that is known already makes others superfluous."""
    if task in TRAINING and not (task == "ablation" and draft.tables.get("experiments")):
        yield from _work(draft, task)
    if task in TRAINING or task == "evaluation":
        yield from _hardware(draft)
    if task == "ablation" and not draft.has("experiments.ratio"):
        yield "experiments"
    if task == "evaluation":
        yield from ("model.parameters", "evaluation.tokens", "evaluation.times")
    if task == "inference":
        yield from _service(draft)
    if task == "vector_store":
        yield "vectors.count"


def _work(draft: Draft, task: str) -> Iterator[str]:
    if draft.has("model.training_flops") or draft.has("model.stages"):
        return
    yield "model.parameters"
    if not (task == "continued_pretrain" and draft.has("data.base_tokens")):
        yield "data.tokens"


def _hardware(draft: Draft) -> Iterator[str]:
    if draft.has("compute.pools"):
        return
    if not (draft.has("compute.peak_tflops") or draft.has("compute.tokens_per_second_per_accelerator")):
        yield "compute.accelerator"
    yield "compute.count"


def _service(draft: Draft) -> Iterator[str]:
    yield "inference.requests_per_day"
    if draft.has("inference.unit_cost_per_request"):
        return
    yield from ("model.parameters", "inference.input_tokens")
    if not (draft.has("compute.pools") or draft.has("compute.peak_tflops")):
        yield "compute.accelerator"


def _needed_beside(draft: Draft) -> Iterator[tuple[str, str]]:
    """What one key asks of others, with the key."""
    words = draft.words
    if words.get("compute.mode") == "mixed":
        yield "compute.mix", "compute.mode: mixed"
    owned = "compute.mix.own" if draft.has("compute.mix.own") else "compute.mode: own"
    if words.get("compute.mode") == "own" or draft.has("compute.mix.own"):
        for path in ("compute.own.life_hours", "compute.own.occupancy", "compute.own.pue"):
            yield path, owned
    pretrains = words.get("task") in ("pretrain", "continued_pretrain") and not draft.has("model.training_flops")
    if pretrains and words.get("model.architecture") == "encoder_decoder":
        yield "model.flops_per_parameter_token", "model.architecture: encoder_decoder"
    if draft.has("data.share_of_base"):
        yield "data.base_tokens", "data.share_of_base"
    strategy = words.get("finetune.strategy", "full")
    if strategy != "full":
        key = "adapter_parameters" if strategy == "lora" else "head_parameters"
        yield f"finetune.{key}", f"finetune.strategy: {strategy}"
    for section, keys in TOGETHER.items():
        if draft.has(section):
            for key in keys:
                yield f"{section}.{key}", section
    yield from _rungs(draft)
    yield from _stages(draft)
    yield from _pools(draft)
    if draft.has("acceptance.metric") and not draft.has("acceptance.at_most"):
        yield "acceptance.at_least", "acceptance.metric"


def _rungs(draft: Draft) -> Iterator[tuple[str, str]]:
    """A rung says how large it is, unless its hours are known or the plan says it for all."""
    for index, rung in enumerate(draft.tables.get("experiments", [])):
        if "accelerator_hours" in rung:
            continue
        for key, path in (("parameters", "model.parameters"), ("tokens", "data.tokens")):
            if key not in rung and not draft.has(path):
                yield f"experiments.{index}.{key}", "experiments"
        if "parameters" not in rung and "tokens" not in rung and draft.has("model.parameters"):
            yield f"experiments.{index}.tokens", "experiments"


def _stages(draft: Draft) -> Iterator[tuple[str, str]]:
    """Either every stage of growth says its shape, or none does."""
    stages = draft.tables.get("model.stages", [])
    shape = ("layers", "hidden_size")
    if not any(key in stage for stage in stages for key in shape):
        return
    for index, stage in enumerate(stages):
        for key in shape:
            if key not in stage:
                yield f"model.stages.{index}.{key}", "model.stages.*.layers, model.stages.*.hidden_size"


def _pools(draft: Draft) -> Iterator[tuple[str, str]]:
    """A pool says what it is made of; either every pool says its share of the work, or none does."""
    pools = draft.tables.get("compute.pools", [])
    for index, pool in enumerate(pools):
        if "count" not in pool:
            yield f"compute.pools.{index}.count", "compute.pools"
        if "accelerator" not in pool and "peak_tflops" not in pool:
            yield f"compute.pools.{index}.accelerator", "compute.pools"
        if "share" not in pool and any("share" in other for other in pools):
            yield f"compute.pools.{index}.share", "compute.pools.*.share"
