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
from estimates.engine.breakdown import breakdown_of, cost_answer
from estimates.engine.case import Case
from estimates.engine.comparisons import comparisons_of, four_factors
from estimates.engine.evaluation import Evaluation, evaluate, find_leaf, program_of
from estimates.engine.hardware import refuse_unknown_hardware
from estimates.engine.leaves import Context, PriceUse
from estimates.engine.plan import Plan
from estimates.engine.redundancy import redundancy_of
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.sampling import Array, quantile
from estimates.engine.sensitivity import sensitivity
from estimates.engine.summary import figure, summaries
from estimates.engine.warnings import warnings_of

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
    return compose(evaluate([context], samples), 0)


def compose(evaluation: Evaluation, index: int) -> dict[str, Any]:
    """The answer for one of the evaluated plans."""
    context = evaluation.contexts[index]
    plan = context.plan
    costs = breakdown_of(evaluation, index)
    case = Case(evaluation, index, costs)
    contingency = plan.number("contingency") or 0.0
    cost = cost_answer(costs)
    quantities = quantity_answer(evaluation, index)
    cost["amortised_total"] = {
        key: value for key, value in quantities.get("amortised_total", {**cost["total"]}).items() if key != "unit"
    }
    return {
        "plan": plan.name,
        "task": plan.task,
        "engine_version": version.ENGINE_VERSION,
        "samples": evaluation.samples,
        "currency": plan.currency,
        "prices_on": context.prices_on.isoformat(),
        "start": context.start.isoformat(),
        "feasible": context.feasible,
        "quantities": quantities,
        "cost": cost,
        "contingency": {"share": contingency, "amount": _times(cost["total"]["mean"], contingency)},
        "ask": ask_answer(costs, contingency, plan.currency),
        "probability": probabilities(evaluation, index, costs.total),
        "sensitivity": sensitivity(evaluation, index),
        "comparisons": comparisons_of(case),
        "four_factors": four_factors(case),
        "redundancy": redundancy_of(case),
        "assumptions": assumptions(evaluation, index),
        **price_answer(context),
        "warnings": warnings_of(case),
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


def price_answer(context: Context) -> dict[str, Any]:
    """The price rows used, what had no price, and every question put to the price table."""
    uses = [use for found in context.uses.values() for use in found]
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


def _times(amount: float | None, share: float) -> float | None:
    return None if amount is None else figure(amount * share)


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
    answers: dict[int, dict[str, Any]] = {}
    for group in grouped(contexts, max(1, SAMPLES_AT_ONCE // samples)):
        evaluation = evaluate([contexts[index] for index in group], samples)
        for position, index in enumerate(group):
            answers[index] = compose(evaluation, position)
    return [answers[index] for index in range(len(plans))]


def grouped(contexts: Sequence[Context], most: int) -> Iterable[list[int]]:
    """Positions of plans that share a program, at most so many at once."""
    groups: dict[int, list[int]] = {}
    for index, context in enumerate(contexts):
        groups.setdefault(id(program_of(context)), []).append(index)
    for indices in groups.values():
        for begin in range(0, len(indices), most):
            yield indices[begin : begin + most]
