"""The convention of an efficiency figure, and the dense peak it is held against."""

from __future__ import annotations

from estimates.engine.books import AcceleratorSpec
from estimates.engine.plan import Plan
from estimates.engine.values import Baseline

MEASURED_SPEED = ("compute.tokens_per_second_per_accelerator", "compute.tflops_per_accelerator")
SAME_SPEED = {"bf16": "fp16", "fp16": "bf16"}


def convention_path(plan: Plan) -> str:
    """Where the plan says what its efficiency figure counts."""
    for path in ("compute.tflops_per_accelerator", "compute.mfu"):
        if path in plan.inputs and not isinstance(plan.inputs[path], Baseline):
            return path
    return "compute.mfu"


def uses_paid_mfu(plan: Plan) -> bool:
    """Whether hours come from a utilisation of paid hours: the plan's own, or that of published runs."""
    inputs = plan.inputs
    if plan.rows("compute.pools"):
        return False
    if "compute.paid_mfu" in inputs:
        return True
    return isinstance(inputs.get("compute.mfu"), Baseline) and not any(path in inputs for path in MEASURED_SPEED)


def convention(plan: Plan, key: str, otherwise: str) -> str:
    """One word of the convention: attention, counts or peak_precision."""
    if uses_paid_mfu(plan):
        word = plan.text(f"compute.paid_mfu.{key}")
        return word or {"attention": "none", "counts": "model"}.get(key, otherwise)
    path = convention_path(plan)
    return plan.text(f"{path}.{key}") or plan.text(f"compute.mfu.{key}") or otherwise


def peak_precision(plan: Plan) -> str:
    """The precision against whose peak the efficiency is quoted."""
    return convention(plan, "peak_precision", plan.text("compute.precision") or "bf16")


def peak_of(spec: AcceleratorSpec, precision: str) -> float | None:
    """The dense peak; bf16 and fp16 run at one speed where only one of them is listed."""
    return spec.peaks.get(precision) or spec.peaks.get(SAME_SPEED.get(precision, ""))
