"""The answer to a plan: everything the page, the API and the command show, as one JSON value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np

from estimates.engine import version
from estimates.engine.ask import ask_answer
from estimates.engine.baselines import History
from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.breakdown import Breakdown, breakdown_of, cost_answer
from estimates.engine.case import Case
from estimates.engine.cash import cash_flow
from estimates.engine.comparisons import comparisons_of, four_factors, ladder_of, memory_of, outcomes_of
from estimates.engine.evaluation import Evaluation, evaluate, find_leaf, program_of
from estimates.engine.hardware import refuse_unknown_hardware
from estimates.engine.leaves import Context, PriceUse
from estimates.engine.plan import Plan
from estimates.engine.redundancy import redundancy_of
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.sampling import Array, quantile
from estimates.engine.sensitivity import sensitivity
from estimates.engine.summary import figure, summaries, summary
from estimates.engine.warnings import warnings_of
from estimates.engine.whole import evaluate_life, hours_to_end, life_costs, life_quantities

SAMPLES = 4000
SAMPLES_AT_ONCE = 16_000
"""How many samples of all plans together are evaluated at once: more no longer fit the cache of a processor."""


def estimate(
    plan: Plan,
    *,
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    samples: int = SAMPLES,
    baseline: History | None = None,
) -> dict[str, Any]:
    """The answer for one plan at the prices of a day. Raises PlanRefused where the catalogue lacks what it names."""
    refuse_unknown_hardware(plan, accelerators)
    context = Context(plan, prices, accelerators, prices_on, baseline or History())
    if plan.members:
        return compose_life(context, samples)
    return compose_all(evaluate([context], samples))[0]


def compose_all(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The answers for all evaluated plans."""
    outcomes = outcomes_of(evaluation)
    return [
        compose(Case(evaluation, index, breakdown_of(evaluation, index), outcomes[index]))
        for index in range(len(evaluation.contexts))
    ]


def compose(case: Case) -> dict[str, Any]:
    """The answer for one evaluated plan."""
    evaluation, index, context, costs = case.evaluation, case.index, case.context, case.costs
    amortised = evaluation.samples_of("amortised_total", index) if case.has("amortised_total") else costs.total
    return {
        **heading(context, evaluation.samples),
        "feasible": context.feasible,
        "quantities": quantity_answer(evaluation, index),
        **money_answer(context, costs, amortised),
        "cash_flow": cash_flow([case], [0]),
        "probability": probabilities(evaluation, index, costs.total),
        "sensitivity": sensitivity(evaluation, index, case.outcomes["sensitivity"]),
        "comparisons": comparisons_of(case),
        "four_factors": four_factors(case),
        "memory": memory_of(case),
        "ladder": ladder_of(case),
        "redundancy": redundancy_of(case),
        "assumptions": assumptions(evaluation, index),
        **price_answer([context]),
        "warnings": warnings_of(case),
    }


def heading(context: Context, samples: int) -> dict[str, Any]:
    """What was asked, and of which engine."""
    return {
        "plan": context.plan.name,
        "task": context.plan.task,
        "engine_version": version.ENGINE_VERSION,
        "samples": samples,
        "currency": context.plan.currency,
        "prices_on": context.prices_on.isoformat(),
        "start": context.start.isoformat(),
    }


def money_answer(context: Context, costs: Breakdown, amortised: Array) -> dict[str, Any]:
    """`cost`, `contingency` and `ask`."""
    share = context.plan.number("contingency") or 0.0
    cost = cost_answer(costs)
    cost["amortised_total"] = summary(amortised)
    mean = cost["total"]["mean"]
    return {
        "cost": cost,
        "contingency": {"share": share, "amount": None if mean is None else figure(mean * share)},
        "ask": ask_answer(costs, share, context.plan.currency),
    }


def assumptions(evaluation: Evaluation, index: int) -> list[dict[str, Any]]:
    """Every figure that came from history, published tables or a convention, with its source."""
    found = []
    for name, leaves in evaluation.leaves.items():
        leaf = leaves[index]
        if leaf.origin in ("baseline", "convention", "catalogue") and leaf.detail and leaf.fixed is None:
            levels = {f"p{share}": figure(quantile(leaf.values[0], share / 100)) for share in (10, 50, 90)}
            found.append({"input": name.replace("__", "."), "origin": leaf.origin, **levels, "source": leaf.detail})
    return found


def quantity_answer(evaluation: Evaluation, index: int) -> dict[str, dict[str, Any]]:
    """Every quantity that is one figure, with its unit."""
    shown = [item for item in evaluation.program.order if not item.axis]
    figures = summaries({item.name: evaluation.samples_of(item.name, index) for item in shown})
    return {item.name: {"unit": item.unit, **figures[item.name]} for item in shown}


def probabilities(evaluation: Evaluation, index: int, total: Array) -> dict[str, float | None]:
    """How likely the budget is passed, the deadline missed, the run infeasible; None where nothing was asked."""
    context = evaluation.contexts[index]
    budget = context.plan.number("budget")
    deadline = find_leaf(context, "hours_to_deadline")
    late = over = infeasible = None
    if budget is not None and np.isfinite(total).all():
        over = figure(np.mean(total > budget))
    if deadline is not None and "elapsed_hours" in evaluation.values:
        elapsed = evaluation.samples_of("elapsed_hours", index)
        late = figure(np.mean(elapsed > deadline.values[0].typical)) if np.isfinite(elapsed).all() else None
    if "first_order_loss" in evaluation.values:
        infeasible = figure(np.mean(evaluation.samples_of("first_order_loss", index) > INFEASIBLE_ABOVE))
    return {"over_budget": over, "misses_deadline": late, "infeasible": infeasible if infeasible is not None else 0.0}


def price_answer(contexts: Iterable[Context]) -> dict[str, Any]:
    """The price rows used, what had no price, and every question put to the price table."""
    uses = [use for context in contexts for found in context.uses.values() for use in found]
    uses = list({(use.key, use.row and use.row.id): use for use in uses}.values())
    return {
        "prices": [_price(use) for use in uses if use.row is not None],
        "price_missing": [_missing(use) for use in uses if use.row is None],
        "price_keys": [list(key) for key in dict.fromkeys(tuple(use.key.as_list()) for use in uses)],
    }


def _price(use: PriceUse) -> dict[str, Any]:
    row = use.row
    assert row is not None
    return {
        "what": use.what,
        "item": row.item,
        "provider": row.provider,
        "region": row.region,
        "mode": row.mode,
        "amount": float(row.amount),
        "unit": row.unit,
        "currency": row.currency,
        "valid_from": row.valid_from.isoformat(),
        "source": row.source,
        "verified": row.verified,
        "id": row.id,
    }


def _missing(use: PriceUse) -> dict[str, Any]:
    key = use.key
    return {
        "what": use.what,
        "kind": key.kind,
        "item": key.item,
        "provider": key.provider,
        "region": key.region,
        "mode": key.mode,
        "currency": key.currency,
        "unit": use.unit,
    }


def estimate_many(
    plans: Sequence[Plan],
    *,
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    samples: int = SAMPLES,
    baselines: Mapping[int, History] | None = None,
) -> list[dict[str, Any]]:
    """Answers in the order of the plans; plans of one structure are evaluated together."""
    contexts = [
        Context(plan, prices, accelerators, prices_on, (baselines or {}).get(index, History()))
        for index, plan in enumerate(plans)
    ]
    for plan in plans:
        refuse_unknown_hardware(plan, accelerators)
    lives = {index: compose_life(context, samples) for index, context in enumerate(contexts) if context.plan.members}
    answers: dict[int, dict[str, Any]] = dict(lives)
    others = [index for index in range(len(plans)) if index not in lives]
    for group in grouped(contexts, others, max(1, SAMPLES_AT_ONCE // samples)):
        evaluation = evaluate([contexts[index] for index in group], samples)
        answers.update(zip(group, compose_all(evaluation), strict=True))
    return [answers[index] for index in range(len(plans))]


def grouped(contexts: Sequence[Context], indices: Sequence[int], most: int) -> Iterable[list[int]]:
    """Positions of plans that share a program, at most so many at once."""
    groups: dict[int, list[int]] = {}
    for index in indices:
        groups.setdefault(id(program_of(contexts[index])), []).append(index)
    for found in groups.values():
        for begin in range(0, len(found), most):
            yield found[begin : begin + most]


def compose_life(context: Context, samples: int) -> dict[str, Any]:
    """The answer for a life plan: one whole, and the answer of each member."""
    stages = evaluate_life(context, samples)
    costs = life_costs(context, stages)
    quantities = life_quantities(stages)
    figures = summaries({name: array for name, (_, array) in quantities.items()})
    answers = [compose_all(stage.evaluation)[0] for stage in stages]
    return {
        **heading(context, samples),
        "feasible": all(answer["feasible"] for answer in answers),
        "quantities": {name: {"unit": unit, **figures[name]} for name, (unit, _) in quantities.items()},
        **money_answer(context, costs, quantities["amortised_total"][1]),
        "cash_flow": cash_flow(
            [Case(stage.evaluation, 0, stage.costs) for stage in stages], [stage.offset for stage in stages]
        ),
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
    }


def life_probabilities(
    context: Context, costs: Breakdown, hours: Array, answers: Sequence[Mapping[str, Any]]
) -> dict[str, float | None]:
    """Of the whole: its budget, its deadline, and that any member is infeasible."""
    budget, deadline = context.plan.number("budget"), find_leaf(context, "hours_to_deadline")
    known = np.isfinite(costs.total).all()
    late = deadline is not None and np.isfinite(hours).all()
    return {
        "over_budget": figure(np.mean(costs.total > budget)) if budget is not None and known else None,
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
