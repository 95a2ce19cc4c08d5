"""From evaluated plans to their answers. Figures of all plans of one evaluation are summed up together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from estimates.engine import version
from estimates.engine.ask import ask_answer
from estimates.engine.baselines import Known
from estimates.engine.breakdown import Breakdown, breakdown_of, of_plan
from estimates.engine.case import Case
from estimates.engine.cash import cash_flow
from estimates.engine.comparisons import comparisons_of, four_factors, ladder_of, memory_of, outcomes_of
from estimates.engine.cost_answer import cost_answer, cost_rows
from estimates.engine.evaluation import Evaluation, find_leaf
from estimates.engine.graph import Quantity
from estimates.engine.hours import hours_by_month
from estimates.engine.lasting import is_lasting, joined
from estimates.engine.leaves import Context, PriceUse
from estimates.engine.redundancy import redundancy_of
from estimates.engine.reliability import INFEASIBLE_ABOVE
from estimates.engine.sampling import Range, quantile
from estimates.engine.sensitivity import sensitivity
from estimates.engine.summary import Figures, figure, summaries
from estimates.engine.warnings import warnings_of

SHOWN = ("price_variance", "redundancy_factor")
"""Figures of past runs that are shown beside the estimate, and go into none of its numbers."""


def compose_all(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The whole answers for all evaluated plans."""
    pairs = zip(compose_priced(evaluation), compose_lasting(evaluation), strict=True)
    return [joined(priced, lasting) for priced, lasting in pairs]


def compose_priced(evaluation: Evaluation) -> list[dict[str, Any]]:
    """For all evaluated plans what prices move."""
    costs = breakdown_of(evaluation)
    priced = [item for item in _shown(evaluation) if not is_lasting(item.unit)]
    rows = {item.name: evaluation.array_of(item.name) for item in priced}
    figures = summaries(rows | cost_rows(costs, rows.get("amortised_total", costs.total)), costs.plans)
    outcomes = outcomes_of(evaluation)
    cases = [Case(evaluation, index, costs, outcomes[index]) for index in range(costs.plans)]
    return [_priced(case, priced, figures[case.index]) for case in cases]


def _shown(evaluation: Evaluation) -> list[Quantity]:
    return [item for item in evaluation.program.order if not item.axis]


def _figures_of(quantities: Iterable[Quantity], figures: Mapping[str, Figures]) -> dict[str, dict[str, Any]]:
    return {item.name: {"unit": item.unit, **figures[item.name]} for item in quantities}


def _priced(case: Case, quantities: Sequence[Quantity], figures: Mapping[str, Figures]) -> dict[str, Any]:
    evaluation, index, context = case.evaluation, case.index, case.context
    return {
        **heading(context, evaluation.samples),
        "feasible": context.feasible,
        "quantities": _figures_of(quantities, figures),
        **money_answer(context, case.costs, index, figures),
        "cash_flow": cash_flow([case], [0]),
        "probability": probabilities(evaluation, index, case.costs),
        "sensitivity": sensitivity(evaluation, index, case.outcomes["sensitivity"]),
        "comparisons": comparisons_of(case),
        "ladder": ladder_of(case),
        "redundancy": redundancy_of(case),
        **price_answer([context]),
        "warnings": warnings_of(case),
        **baseline_answer([context]),
    }


def compose_lasting(evaluation: Evaluation) -> list[dict[str, Any]]:
    """For all evaluated plans what no price moves."""
    costs = breakdown_of(evaluation)
    lasting = [item for item in _shown(evaluation) if is_lasting(item.unit)]
    figures = summaries({item.name: evaluation.array_of(item.name) for item in lasting}, costs.plans)
    return [_lasting(Case(evaluation, index, costs), lasting, figures[index]) for index in range(costs.plans)]


def _lasting(case: Case, quantities: Sequence[Quantity], figures: Mapping[str, Figures]) -> dict[str, Any]:
    return {
        "quantities": _figures_of(quantities, figures),
        "four_factors": four_factors(case),
        "memory": memory_of(case),
        "hours_by_month": hours_by_month([case]),
        "assumptions": assumptions(case.evaluation, case.index),
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


def money_answer(context: Context, costs: Breakdown, plan: int, figures: Mapping[str, Figures]) -> dict[str, Any]:
    """`cost`, `contingency` and `ask`."""
    share = context.plan.number("contingency") or 0.0
    cost = cost_answer(costs, plan, figures)
    mean = cost["total"]["mean"]
    return {
        "cost": cost,
        "contingency": {"share": share, "amount": None if mean is None else figure(mean * share)},
        "ask": ask_answer(costs, plan, share, context.plan.currency),
    }


def assumptions(evaluation: Evaluation, index: int) -> list[dict[str, Any]]:
    """Every figure that came from history, published tables or a convention, with its source."""
    found = []
    for name, leaves in evaluation.leaves.items():
        leaf = leaves[index]
        if leaf.origin in ("baseline", "convention", "catalogue") and leaf.detail and leaf.fixed is None:
            levels = dict(zip(("p10", "p50", "p90"), levels_of(leaf.values[0]), strict=True))
            found.append({"input": name.replace("__", "."), "origin": leaf.origin, **levels, "source": leaf.detail})
    return found


@lru_cache(maxsize=4096)
def levels_of(value: Range) -> tuple[float | None, ...]:
    """P10, P50 and P90 of an input as they are shown."""
    return tuple(figure(quantile(value, share)) for share in (0.1, 0.5, 0.9))


def probabilities(evaluation: Evaluation, index: int, costs: Breakdown) -> dict[str, float | None]:
    """How likely the budget is passed, the deadline missed, the run infeasible; None where nothing was asked."""
    context = evaluation.contexts[index]
    deadline = find_leaf(context, "hours_to_deadline")
    late = infeasible = None
    if deadline is not None and "elapsed_hours" in evaluation.values:
        elapsed = evaluation.samples_of("elapsed_hours", index)
        late = figure(np.mean(elapsed > deadline.values[0].typical)) if np.isfinite(elapsed).all() else None
    if "first_order_loss" in evaluation.values:
        infeasible = figure(np.mean(evaluation.samples_of("first_order_loss", index) > INFEASIBLE_ABOVE))
    return {
        "over_budget": over_budget(context, costs, index),
        "misses_deadline": late,
        "infeasible": infeasible if infeasible is not None else 0.0,
    }


def over_budget(context: Context, costs: Breakdown, index: int) -> float | None:
    """How likely the total passes the budget; None without a budget, or where the total is not known."""
    budget = context.plan.number("budget")
    total = of_plan(costs.total, index)
    return figure(np.mean(total > budget)) if budget is not None and np.isfinite(total).all() else None


def baseline_answer(contexts: Iterable[Context]) -> dict[str, Any]:
    """The figures of past runs that were used or shown, and every path that one was looked for under."""
    used: dict[tuple[str, tuple[int, ...]], Known] = {}
    asked: set[str] = set()
    for context in contexts:
        used |= {
            (path, known.ids): known
            for path in (*sorted(context.history.asked), *SHOWN)
            if (known := context.history.own(path))
        }
        asked |= context.history.asked
    return {
        "baselines": [_baseline(path, known) for (path, _ids), known in used.items()],
        "baseline_keys": sorted(asked),
    }


def _baseline(path: str, known: Known) -> dict[str, Any]:
    levels = {f"p{share}": figure(quantile(known.value, share / 100)) for share in (10, 50, 90)}
    facts = {"scope": known.scope, "runs": known.cases, "period": known.period, "source": known.source}
    return {"what": path, **levels, **facts, "ids": list(known.ids)}


def price_answer(contexts: Iterable[Context]) -> dict[str, Any]:
    """The price rows used, those only comparisons used, what had no price, and every question to the price table."""
    contexts = list(contexts)
    uses = _different(use for context in contexts for found in context.uses.values() for use in found)
    compared = _different(use for context in contexts for use in context.compared.values())
    return {
        "prices": [_price(use) for use in uses.values() if use.row is not None],
        "prices_compared": [
            _price(use) for asked, use in compared.items() if use.row is not None and asked not in uses
        ],
        "price_missing": [_missing(use) for use in uses.values() if use.row is None],
        "price_keys": [key.as_list() for key in dict.fromkeys(use.key for use in (*uses.values(), *compared.values()))],
    }


def _different(uses: Iterable[PriceUse]) -> dict[tuple[Any, ...], PriceUse]:
    """Each question and its row once."""
    return {(use.key, use.row and use.row.id): use for use in uses}


def _price(use: PriceUse) -> dict[str, Any]:
    row = use.row
    assert row is not None
    return {
        "what": use.what,
        "kind": row.kind,
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
