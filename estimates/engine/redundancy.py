"""The redundancy of a plan, factor by factor, beside what history says, and whether it was felt or measured."""

from __future__ import annotations

from typing import Any

from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING
from estimates.engine.run_warnings import TYPED_REDUNDANCY
from estimates.engine.sampling import quantile
from estimates.engine.summary import figure

SOURCES = {
    "retry_factor": ("reliability.goodput", "reliability.accelerator_mtbf_hours"),
    "rollback_factor": ("reliability.rollback_share",),
    "experiment_factor": ("experiments.ratio",),
    "rest_factor": (),
}


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
    for path in paths:
        own = case.context.history.own(path)
        known = own or case.context.history.value(path, case.plan)
        if known is None:
            continue
        answer["history"] = {
            "path": path,
            "p50": figure(quantile(known.value, 0.5)),
            "cases": known.cases,
            "period": known.period,
            "source": known.source,
        }
        felt = path in TYPED_REDUNDANCY and case.is_given(path) and own is None
        answer["basis"] = "by feeling" if felt else "history" if own else "published"
        if path in case.plan.given:
            break
    return answer
