"""What a plan takes over from history: figures that change which way hours are computed, and those of a predecessor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from estimates.engine.baselines import History, Known
from estimates.engine.peaks import MEASURED_SPEED
from estimates.engine.plan import Plan
from estimates.engine.requirements import FAILURE_MODEL
from estimates.engine.values import Baseline

GOODPUT = "reliability.goodput"
OF_A_PREDECESSOR = ("reliability.accelerator_mtbf_hours", "reliability.rollback_share")
"""Figures with a constant default, which those of a named predecessor replace."""


def with_history(plan: Plan, history: History) -> tuple[Plan, Mapping[str, Known]]:
    """The plan with what it takes over, and that by path."""
    if plan.members:
        return plan, {}
    found = {**_measured_mfu(plan, history), **_of_the_predecessor(plan, history)}
    if not found:
        return plan, found
    gone = set(FAILURE_MODEL) if GOODPUT in found else set()
    inputs = {path: value for path, value in plan.inputs.items() if path not in gone}
    inputs |= {path: known.value for path, known in found.items()}
    return replace(plan, inputs=inputs, given=plan.given - found.keys()), found


def _measured_mfu(plan: Plan, history: History) -> dict[str, Known]:
    """An MFU of running steps, where no utilisation of paid hours is known that says more."""
    left = isinstance(plan.inputs.get("compute.mfu"), Baseline) and not any(
        path in plan.inputs for path in MEASURED_SPEED
    )
    if not left or "compute.paid_mfu" in plan.inputs or history.own("compute.paid_mfu"):
        return {}
    known = history.own("compute.mfu")
    return {"compute.mfu": known} if known else {}


def _of_the_predecessor(plan: Plan, history: History) -> dict[str, Known]:
    """What the plan neither gives nor leaves open, as the predecessor had it; its goodput stands for all failures."""
    if not plan.text("predecessor") or plan.is_off("reliability") or GOODPUT in plan.inputs:
        return {}
    figures = {path: known for path in (GOODPUT, *OF_A_PREDECESSOR) if (known := history.own(path))}
    theirs = {path: known for path, known in figures.items() if known.scope == "predecessor" and path not in plan.given}
    if GOODPUT in theirs and not plan.given.intersection(FAILURE_MODEL):
        return {GOODPUT: theirs[GOODPUT]}
    return {path: known for path, known in theirs.items() if path != GOODPUT and path in plan.inputs}
