"""What must be computable: a cost is never left out because a figure is missing, the plan is refused instead."""

from __future__ import annotations

from dataclasses import dataclass

from estimates.engine.conditions import BUILDING, every, has_any, has_rows, has_word, is_on, is_task, lacks, owns
from estimates.engine.graph import Condition, Program
from estimates.engine.messages import Phrase, plan_fault
from estimates.engine.plan import Plan, PlanRefused

served = every(is_task("inference"), lacks("inference.unit_cost_per_request"))


def measured_by_tokens(plan: Plan) -> bool:
    """A rung has nothing to be timed by but the throughput of the run that is prepared."""
    silent = any("mfu" not in rung and "accelerator_hours" not in rung for rung in plan.rows("experiments"))
    return silent and "compute.tokens_per_second_per_accelerator" in plan.inputs


@dataclass(frozen=True)
class Need:
    """A quantity that plans of a kind must have, and the keys that would give it, the likeliest first."""

    quantity: str
    when: Condition
    paths: tuple[str, ...]


PEAK = ("compute.peak_tflops",)
NEEDS = (
    Need("ideal_accelerator_hours", is_task(*BUILDING), (*PEAK, "model.parameters", "data.tokens")),
    Need("experiment_accelerator_hours", every(is_task("ablation"), is_on("experiments")), PEAK),
    Need("experiment_accelerator_hours", every(has_rows("experiments"), is_on("experiments")), PEAK),
    Need("achieved_flops_per_second", measured_by_tokens, ("model.parameters", "data.tokens")),
    Need("evaluation_accelerator_hours", has_any("evaluation.tokens"), (*PEAK, "model.parameters")),
    Need("elapsed_hours", is_task(*BUILDING, "ablation", "evaluation"), ("compute.count",)),
    Need("depreciation_rate", owns(), ("compute.own.capital",)),
    Need("energy_rate", owns(), ("compute.own.board_kw", "compute.own.electricity_price")),
    Need("held_accelerator_hours", served, ("compute.accelerator", "model.parameters")),
    Need("kv_bytes_per_token", every(served, has_word("inference.kind", "decoder")), ("inference.kv_bytes_per_token",)),
    Need("step_seconds", every(served, has_word("inference.kind", "decoder")), ("compute.accelerator",)),
    Need("embedding_accelerator_hours", has_any("vectors.embedding_tokens"), ("model.parameters", *PEAK)),
)


def refuse_what_cannot_be_computed(plan: Plan, program: Program, prefix: str = "") -> None:
    """PlanRefused where a quantity that the plan's costs stand on has no way to be computed."""
    known = {item.name for item in program.order}
    missing = {need.quantity: need for need in NEEDS if need.quantity not in known and need.when(plan)}
    paths = dict.fromkeys(path for need in missing.values() for path in need.paths if path not in plan.given)
    if missing:
        lacking = list(paths) or [need.paths[0] for need in missing.values()]
        raise PlanRefused(
            [
                plan_fault(f"{prefix}{path}", None, "missing_for_task", (Phrase("number"),), task=plan.task)
                for path in lacking
            ]
        )
