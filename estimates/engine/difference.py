"""The difference of two plans by cause: scope, volume, efficiency and price, adding up exactly.

The second plan is reached from the first in four steps, each of which takes over one group of inputs. The difference
that a step makes is what that group costs. All means are taken over the same samples.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from core.money import round_money
from estimates.engine.baselines import History
from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.breakdown import breakdown_of
from estimates.engine.evaluation import evaluate
from estimates.engine.findings import percent
from estimates.engine.hardware import refuse_unknown_hardware
from estimates.engine.leaves import Context
from estimates.engine.plan import Plan, PlanRefused
from estimates.engine.plan_warnings import PROTECTED
from estimates.engine.summary import figure
from estimates.engine.warnings import said
from estimates.engine.whole import evaluate_life, life_costs

CAUSES = ("scope", "volume", "efficiency", "price")
"""In the order in which they are taken over."""

EFFICIENCY = (
    "compute.mfu",
    "compute.tokens_per_second_per_accelerator",
    "compute.tflops_per_accelerator",
    "compute.paid_mfu",
    "compute.precision",
    "compute.peak_tflops",
    "compute.memory_gb",
    "compute.accelerator",
    "compute.count",
    "compute.pools",
    "compute.parallelism",
    "compute.spot.preemptions_per_1000_hours",
    "reliability",
    "experiments",
    "model_error",
    "inference.batch",
    "inference.cache_hit",
    "inference.elastic",
    "inference.minimum_replicas",
    "operations.automation",
    "operations.hours_per_interruption",
    "storage",
)
PRICE = (
    "compute.price_per_accelerator_hour",
    "compute.mode",
    "compute.mix",
    "compute.committed",
    "compute.own",
    "compute.provider",
    "compute.region",
    "compute.instance",
    "data.licence_cost",
    "data.processing_cost_per_tb",
    "data.annotation_price",
    "inference.unit_cost_per_request",
    "inference.tiers",
    "operations.platform_fee_per_month",
    "people.monthly_rate",
    "start",
)
VOLUME = ("model", "data", "objective", "evaluation", "inference", "vectors", "network", "finetune")


def cause_of(path: str) -> str:
    """Which step takes an input over: the most fitting group, and scope for everything else."""
    groups = (("efficiency", EFFICIENCY), ("price", PRICE), ("volume", VOLUME))
    fitting = [(len(start), name) for name, starts in groups for start in starts if _lies_under(path, start)]
    return max(fitting)[1] if fitting else "scope"


def _lies_under(path: str, start: str) -> bool:
    return path == start or path.startswith(f"{start}.")


def stepped(first: Plan, second: Plan, taken: set[str]) -> Plan:
    """The first plan with the inputs of some causes taken from the second. The task is part of the scope."""

    def chosen(one: Any, other: Any) -> dict[str, Any]:
        kept = {path: value for path, value in one.items() if cause_of(path) not in taken}
        return kept | {path: value for path, value in other.items() if cause_of(path) in taken}

    given = {path for path in first.given if cause_of(path) not in taken}
    given |= {path for path in second.given if cause_of(path) in taken}
    off = {part for part in first.switched_off if cause_of(part) not in taken}
    off |= {part for part in second.switched_off if cause_of(part) in taken}
    return replace(
        first,
        task=second.task if "scope" in taken else first.task,
        inputs=chosen(first.inputs, second.inputs),
        words=chosen(first.words, second.words),
        flags=chosen(first.flags, second.flags),
        days=chosen(first.days, second.days),
        tables=chosen(first.tables, second.tables),
        profiles=chosen(first.profiles, second.profiles),
        given=frozenset(given),
        switched_off=frozenset(off),
    )


def difference(
    first: Plan,
    second: Plan,
    *,
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    samples: int = 4000,
    baseline: History | None = None,
    prices_before: PriceBook | None = None,
    prices_on_before: date | None = None,
) -> dict[str, Any]:
    """From the first plan to the second: the mean totals, their difference, and what each cause adds to it.

    A version at older prices is compared by giving the book or the day it was estimated with. Two plans in different
    currencies have no difference: it is None, and so is every cause.
    """
    for plan in (first, second):
        refuse_unknown_hardware(plan, accelerators)
    known = baseline or History()
    before = Context(first, prices_before or prices, accelerators, prices_on_before or prices_on, known)
    after = Context(second, prices, accelerators, prices_on, known)
    totals: list[Decimal | None] = [mean_total(before, samples)]
    if first.currency != second.currency:
        totals += [None] * len(CAUSES)
    elif first.members or second.members or first.task != second.task:
        last = mean_total(after, samples)
        totals += [last] * len(CAUSES)
    else:
        for position, cause in enumerate(CAUSES, start=1):
            plan = stepped(first, second, set(CAUSES[:position]))
            source = after if cause == "price" else before
            step = replace(source, plan=plan, program=None, cache={}, uses={}, compared={}, feasible=True, months=240)
            totals.append(_total_or(step, samples, totals[-1]))
        totals = _bridged(totals)
    return {
        "plans": [first.name, second.name],
        "currency": second.currency,
        "from": _number(totals[0]),
        "to": _number(totals[-1]),
        "difference": _number(_less(totals[-1], totals[0])),
        "causes": [
            {"cause": cause, "amount": _number(_less(totals[position + 1], totals[position]))}
            for position, cause in enumerate(CAUSES)
        ],
        "warnings": protected_cut(first, second),
    }


def mean_total(context: Context, samples: int) -> Decimal | None:
    """The mean of the total in smallest units; None where a price is missing or the run infeasible."""
    if context.plan.members:
        mean = figure(life_costs(context, evaluate_life(context, samples)).total.mean())
    else:
        mean = figure(breakdown_of(evaluate([context], samples)).means[0])
    return None if mean is None else round_money(Decimal(repr(mean)), context.plan.currency)


def _total_or(step: Context, samples: int, before: Decimal | None) -> Decimal | None:
    """The total of a step; where it mixes two plans into one that makes no sense, the next step counts for both."""
    try:
        return mean_total(step, samples)
    except PlanRefused:
        return before


def _bridged(totals: list[Decimal | None]) -> list[Decimal | None]:
    """A step on the way whose total nobody knows, as a price of that mixture is missing, counts with the next."""
    if totals[0] is None or totals[-1] is None:
        return totals
    bridged = totals[:1]
    for total in totals[1:]:
        bridged.append(bridged[-1] if total is None else total)
    return bridged


def _less(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return None if one is None or other is None else one - other


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def protected_cut(first: Plan, second: Plan) -> list[dict[str, Any]]:
    """A warning where data assets, compliance or spares lose money from one plan to the other."""
    cut = {}
    for path in PROTECTED:
        before, after = first.number(path) or 0.0, second.number(path) or 0.0
        if after < before:
            cut[path] = 1.0 - after / before
    return [said("protected_cost_cut", percent(max(cut.values()), paths=", ".join(cut)))] if cut else []
