"""The whole life of a model: member plans with relative starts, evaluated each by itself and added up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

import numpy as np

from core.months import Month
from estimates.engine.breakdown import Breakdown, Part, breakdown_of
from estimates.engine.evaluation import Evaluation, evaluate
from estimates.engine.leaves import Context
from estimates.engine.plan import Member
from estimates.engine.sampling import Array
from estimates.engine.schedule import HOURS_PER_MONTH

ADDITIVE = (
    "training_flops",
    "inference_flops",
    "ideal_accelerator_hours",
    "accelerator_hours",
    "experiment_accelerator_hours",
    "evaluation_accelerator_hours",
    "idle_accelerator_hours",
    "total_accelerator_hours",
    "equivalent_accelerator_hours",
    "energy_kwh",
    "carbon_kg",
    "total_requests",
    "interruptions",
    "total_cost",
    "amortised_total",
)
"""Quantities of a life that are the sums of those of its members."""


ROUNDING = 1e-9
"""A member that ends with a month does not reach into the next because of the last digit."""


@dataclass(frozen=True)
class Stage:
    """A member that was evaluated, and when it begins."""

    member: Member
    evaluation: Evaluation
    costs: Breakdown
    offset: int
    """Months from the start of the life."""


def evaluate_life(context: Context, samples: int) -> list[Stage]:
    """Every member in order; one that follows another begins in the month after the median end of that one."""
    stages: list[Stage] = []
    for member in context.plan.members:
        offset = start_month(member, stages)
        start = context.start if offset == 0 else (Month.of(context.start) + offset).start
        inner = replace(
            context,
            plan=_begun(member, start),
            program=None,
            cache={},
            uses={},
            compared={},
            feasible=True,
            months=240,
            prefix=f"{context.prefix}members.{member.name}.",
        )
        evaluation = evaluate([inner], samples)
        stages.append(Stage(member, evaluation, breakdown_of(evaluation), offset))
    return stages


def start_month(member: Member, before: Sequence[Stage]) -> int:
    """Months from the start of the life."""
    if member.after is None:
        return int(member.start_month)
    earlier = next(stage for stage in before if stage.member.name == member.after)
    return earlier.offset + months_taken(earlier) + int(member.start_month)


def months_taken(stage: Stage) -> int:
    """Calendar months that a member touches from its first day to its median end, at least one.

    A run ends so many hours after it begins; work that is planned in months ends so many calendar months later.
    """
    begun = stage.evaluation.contexts[0].start
    hours = stage.evaluation.median_of("project_hours", 0)
    if not math.isfinite(hours):
        return 1
    if "elapsed_hours" not in stage.evaluation.program.parameters_of("project_hours"):
        gone = (begun.day - 1) / Month.of(begun).days
        return max(1, math.ceil(gone + hours / HOURS_PER_MONTH - ROUNDING))
    last_day = begun + timedelta(days=max(0, math.ceil(hours / 24 - ROUNDING) - 1))
    return Month.of(last_day) - Month.of(begun) + 1


def _begun(member: Member, start: date) -> Any:
    return replace(member.plan, days={**member.plan.days, "start": start})


def life_costs(context: Context, stages: Sequence[Stage]) -> Breakdown:
    """The costs of all members on one calendar."""
    parts = [
        replace(part, name=f"{stage.member.name}.{part.name}", month_share=shares[id(part.month_share)])
        for stage in stages
        for shares in [_moved(stage.costs.parts, stage.offset)]
        for part in stage.costs.parts
    ]
    return Breakdown(tuple(parts), (Month.of(context.start),))


def _moved(parts: Sequence[Part], offset: int) -> dict[int, Array]:
    """Each month share once, moved to the calendar of the life."""
    return {id(part.month_share): np.pad(part.month_share, ((offset, 0), (0, 0), (0, 0))) for part in parts}


def life_quantities(stages: Sequence[Stage]) -> dict[str, tuple[str, Array]]:
    """Sums over the members: unit and samples by name."""
    found: dict[str, tuple[str, Array]] = {}
    for name in ADDITIVE:
        having = [stage.evaluation for stage in stages if name in stage.evaluation.values]
        if having:
            total: Array = np.zeros((1, 1))
            for evaluation in having:
                total = total + evaluation.array_of(name)
            found[name] = (having[0].program.by_name[name].unit, total)
    return found


def hours_to_end(context: Context, stages: Sequence[Stage]) -> Array:
    """From the start of the life to the end of its last training run, in every sample."""
    end: Array = np.zeros(1)
    for stage in stages:
        if "elapsed_hours" in stage.evaluation.values:
            begun = (
                ((Month.of(context.start) + stage.offset).start - context.start).days * 24.0 if stage.offset else 0.0
            )
            end = np.maximum(end, begun + stage.evaluation.samples_of("elapsed_hours", 0))
    return end
