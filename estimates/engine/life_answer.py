"""The answer to a life plan: one whole, and the answer of each member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimates.engine.breakdown import Breakdown
from estimates.engine.case import Case
from estimates.engine.cash import cash_flow
from estimates.engine.composing import baseline_answer, compose_all, heading, money_answer, over_budget, price_answer
from estimates.engine.cost_answer import cost_rows
from estimates.engine.evaluation import find_leaf
from estimates.engine.hours import hours_by_month
from estimates.engine.leaves import Context
from estimates.engine.sampling import Array
from estimates.engine.summary import figure, summaries
from estimates.engine.whole import evaluate_life, hours_to_end, life_costs, life_quantities


def compose_life(context: Context, samples: int) -> dict[str, Any]:
    """The answer for a life plan: one whole, and the answer of each member."""
    stages = evaluate_life(context, samples)
    costs = life_costs(context, stages)
    quantities = life_quantities(stages)
    rows = {name: array for name, (_, array) in quantities.items()}
    figures = summaries(rows | cost_rows(costs, rows["amortised_total"]), 1)[0]
    answers = [compose_all(stage.evaluation)[0] for stage in stages]
    cases = [Case(stage.evaluation, 0, stage.costs) for stage in stages]
    return {
        **heading(context, samples),
        "feasible": all(answer["feasible"] for answer in answers),
        "quantities": {name: {"unit": unit, **figures[name]} for name, (unit, _) in quantities.items()},
        **money_answer(context, costs, 0, figures),
        "cash_flow": cash_flow(cases, [stage.offset for stage in stages]),
        "hours_by_month": hours_by_month(cases),
        "probability": life_probabilities(context, costs, hours_to_end(context, stages), answers),
        "sensitivity": life_sensitivity(answers),
        "comparisons": {},
        "members": [
            {"name": stage.member.name, "start_month": stage.offset, **answer}
            for stage, answer in zip(stages, answers, strict=True)
        ],
        **price_answer([stage.evaluation.contexts[0] for stage in stages]),
        "warnings": [
            {"member": stage.member.name, **warning}
            for stage, answer in zip(stages, answers, strict=True)
            for warning in answer["warnings"]
        ],
        **baseline_answer([stage.evaluation.contexts[0] for stage in stages]),
    }


def life_probabilities(
    context: Context, costs: Breakdown, hours: Array, answers: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """Of the whole: its budget, its deadline, and that any member is infeasible."""
    deadline = find_leaf(context, "hours_to_deadline")
    late = deadline is not None and np.isfinite(hours).all()
    return {
        "over_budget": over_budget(context, costs, 0),
        "misses_deadline": figure(np.mean(hours > deadline.values[0].typical)) if late and deadline else None,
        "infeasible": max(answer["probability"]["infeasible"] or 0.0 for answer in answers),
    }


def life_sensitivity(answers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Inputs of the members by their effect on the whole, which is that on the member; elasticities are the whole's."""
    totals = [answer["cost"]["total"]["p50"] for answer in answers]
    if any(total is None for total in totals):
        return []
    whole = sum(totals)
    found = []
    for answer, total in zip(answers, totals, strict=True):
        for item in answer["sensitivity"]:
            rest = whole - total
            scaled = item["elasticity"] * total / whole if whole else 0.0
            moved = {"low": figure(item["low"] + rest), "high": figure(item["high"] + rest)}
            found.append({**item, **moved, "elasticity": figure(scaled)})
    return sorted(found, key=lambda item: (-abs(item["high"] - item["low"]), -abs(item["elasticity"]), item["input"]))
