"""What a plan of each task must say, and which keys say the same thing in different ways."""

from __future__ import annotations

from collections.abc import Iterable

from estimates.engine.cells import accepted
from estimates.engine.fields import FIELDS
from estimates.engine.messages import Phrase
from estimates.engine.walking import Draft

EFFICIENCIES = (
    "compute.mfu",
    "compute.tokens_per_second_per_accelerator",
    "compute.tflops_per_accelerator",
    "compute.paid_mfu",
)
"""Ways to say how fast an accelerator works; one plan has one."""

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
)
"""What pools of unlike accelerators say for each pool."""

EXCLUSIVE: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    ((INSTEAD_OF_FAILURES,), FAILURE_MODEL),
    (("compute.pools",), ONE_KIND),
    (("model.stages",), ("data.tokens",)),
    (("model.training_flops",), ("model.flops_per_parameter_token", "model.stages")),
    (("inference.unit_cost_per_request",), ("inference.tiers",)),
    (("experiments.ratio",), ("experiments",)),
)

WORKING = ("pretrain", "continued_pretrain", "finetune", "evaluation")
DATA_DRIVERS = (
    "data.raw_tb",
    "data.clean_tb",
    "data.licence_cost",
    "data.collection_cost",
    "data.annotation_items",
    "data.compliance_cost",
    "people",
)


def check_exclusive(draft: Draft, prefix: str) -> None:
    """Two ways to say one thing are a fault of the second."""
    given = [path for path in EFFICIENCIES if draft.has(path)]
    for path in given[1:]:
        draft.refuse(
            prefix + path, None, "exclusive", (Phrase("one_key_of", {"keys": ", ".join(EFFICIENCIES)}),), other=given[0]
        )
    for firsts, others in EXCLUSIVE:
        for first in firsts:
            for other in others:
                if draft.has(first) and draft.has(other) and first != other and not _is_ladder_alone(first, draft):
                    draft.refuse(prefix + other, None, "exclusive", (Phrase("leave_out"),), other=first)


def _is_ladder_alone(first: str, draft: Draft) -> bool:
    """`experiments` is seen as a section too; only a list of rungs stands against the ratio."""
    return first == "experiments.ratio" and "experiments" not in draft.tables


def check_required(draft: Draft, task: str, prefix: str) -> None:
    """Everything the task cannot be estimated without."""
    for path in required_paths(draft, task):
        if not draft.has(path):
            allowed = accepted(FIELDS[path]) if path in FIELDS else (Phrase("list", {"rows": 100}),)
            draft.refuse(prefix + path, None, "missing_for_task", allowed, task=task)
    if task == "data_work" and not any(draft.has(path) for path in DATA_DRIVERS):
        draft.refuse(prefix + "data", None, "nothing_to_do", (Phrase("one_key_of", {"keys": ", ".join(DATA_DRIVERS)}),))


def required_paths(draft: Draft, task: str) -> Iterable[str]:
    """The paths that must be given, which depends on what else is given."""
    if task in WORKING or (task == "ablation" and not draft.tables.get("experiments")):
        yield from _work(draft, task)
    if task in WORKING or task == "ablation":
        yield from _hardware(draft)
    if task == "ablation" and not draft.has("experiments.ratio"):
        yield "experiments"
    if task == "evaluation":
        yield from ("evaluation.tokens", "evaluation.times")
    if task == "finetune":
        yield from {"lora": ["finetune.adapter_parameters"], "head_only": ["finetune.head_parameters"]}.get(
            draft.words.get("finetune.strategy", "full"), []
        )
    if task == "inference":
        yield from _service(draft)
    if task == "vector_store":
        yield "vectors.count"
    if draft.words.get("compute.mode") == "mixed":
        yield "compute.mix"
    if draft.words.get("compute.mode") == "own" or draft.has("compute.mix.own"):
        yield from ("compute.own.life_hours", "compute.own.occupancy", "compute.own.pue")
    if draft.has("compute.instance"):
        yield from ("compute.instance.name", "compute.instance.accelerators")
    if draft.has("acceptance") and not draft.has("acceptance.at_most"):
        yield from ("acceptance.metric", "acceptance.at_least")
    if draft.has("model.attention_window"):
        yield "model.attention_window.tokens"


def _work(draft: Draft, task: str) -> Iterable[str]:
    if draft.has("model.training_flops") and task != "evaluation":
        return
    if not draft.has("model.stages"):
        yield "model.parameters"
        if task != "evaluation":
            yield "data.tokens"
    if draft.words.get("model.architecture") == "encoder_decoder" and task in ("pretrain", "continued_pretrain"):
        yield "model.flops_per_parameter_token"


def _hardware(draft: Draft) -> Iterable[str]:
    if draft.has("compute.pools"):
        return
    if not (draft.has("compute.peak_tflops") or draft.has("compute.tokens_per_second_per_accelerator")):
        yield "compute.accelerator"
    yield "compute.count"


def _service(draft: Draft) -> Iterable[str]:
    yield "inference.requests_per_day"
    if draft.has("inference.unit_cost_per_request"):
        return
    yield "model.parameters"
    yield "inference.input_tokens"
    if not (draft.has("compute.pools") or draft.has("compute.peak_tflops")):
        yield "compute.accelerator"
