"""The redundancy of a plan, factor by factor, beside what history says, and whether it was felt or measured."""

from __future__ import annotations

from typing import Any

from estimates.engine.baselines import Known
from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING
from estimates.engine.run_warnings import TYPED_REDUNDANCY, is_felt
from estimates.engine.sampling import quantile
from estimates.engine.summary import figure

SOURCES = {
    "retry_factor": ("retry_factor", "reliability.goodput", "reliability.accelerator_mtbf_hours"),
    "rollback_factor": ("rollback_factor", "reliability.rollback_share"),
    "experiment_factor": ("experiment_factor", "experiments.ratio"),
    "rest_factor": ("rest_factor",),
}


TYPED_HERE = (*TYPED_REDUNDANCY, "reliability.accelerator_mtbf_hours")


def redundancy_of(case: Case) -> dict[str, Any] | None:
    """retries × rollback × experiments × rest, each with its number of cases and period of history."""
    if case.plan.task not in BUILDING:
        return None
    return {
        "factor": figure(case.median("redundancy_factor")),
        "factors": {name: _factor(case, name, paths) for name, paths in SOURCES.items()},
    }


def _factor(case: Case, name: str, paths: tuple[str, ...]) -> dict[str, Any]:
    answer: dict[str, Any] = {"value": figure(case.median(name)), "basis": "model"}
    path, known = _history_of(case, paths)
    if known is None:
        return answer
    answer["history"] = {
        "path": path,
        "p50": figure(quantile(known.value, 0.5)),
        "cases": known.cases,
        "period": known.period,
        "source": known.source,
    }
    answer["basis"] = _basis(case, name, paths, known)
    return answer


def _basis(case: Case, name: str, paths: tuple[str, ...], known: Known) -> str:
    """What a figure of the plan stands on: a ladder is counted; what no history bears out is felt."""
    if name == "experiment_factor" and case.plan.rows("experiments"):
        return "model"
    switched_off = any(case.plan.is_off(path.partition(".")[0]) for path in paths)
    if switched_off or any(is_felt(case, path) for path in paths if path in TYPED_HERE):
        return "by feeling"
    return "history" if known.scope else "published"


def _history_of(case: Case, paths: tuple[str, ...]) -> tuple[str, Known | None]:
    """The first figure of one's own; else the published one of what the plan gives, else of what it assumes."""
    for path in paths:
        if own := case.context.history.own(path):
            return path, own
    published = {path: known for path in paths if (known := case.context.history.value(path, case.plan))}
    given = [path for path in published if path in case.plan.given]
    chosen = (given or list(published) or [""])[-1]
    return chosen, published.get(chosen)
