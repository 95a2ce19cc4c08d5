"""The answer to a plan: everything the page, the API and the command show, as one JSON value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from estimates.engine.baselines import History
from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.composing import compose_all, compose_priced
from estimates.engine.evaluation import Evaluation, evaluate, program_of
from estimates.engine.hardware import refuse_missing_hardware, refuse_unknown_hardware
from estimates.engine.leaves import Context
from estimates.engine.life_answer import compose_life
from estimates.engine.plan import Plan

SAMPLES = 4000
SAMPLES_AT_ONCE = 32_000
"""How many samples of all plans together are evaluated at once: fewer are looked after one by one, more no longer fit
the cache of a processor."""


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
    contexts = _contexts(plans, prices, accelerators, prices_on, baselines or {})
    return _composed(contexts, samples, compose_all)


def priced_again(
    plans: Sequence[Plan],
    *,
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    samples: int = SAMPLES,
    baselines: Mapping[int, History] | None = None,
) -> list[dict[str, Any]]:
    """The same without what lasts (`lasting.split`): for plans of which only prices moved since they were estimated."""
    contexts = _contexts(plans, prices, accelerators, prices_on, baselines or {})
    return _composed(contexts, samples, compose_priced)


def _contexts(
    plans: Sequence[Plan],
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    baselines: Mapping[int, History],
) -> list[Context]:
    for plan in plans:
        refuse = refuse_unknown_hardware if plan.members else refuse_missing_hardware
        refuse(plan, accelerators)
    return [
        Context(plan, prices, accelerators, prices_on, baselines.get(index, History()))
        for index, plan in enumerate(plans)
    ]


def _composed(
    contexts: Sequence[Context], samples: int, compose: Callable[[Evaluation], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    answers = {index: compose_life(context, samples) for index, context in enumerate(contexts) if context.plan.members}
    others = [index for index in range(len(contexts)) if index not in answers]
    for group in grouped(contexts, others, max(1, SAMPLES_AT_ONCE // samples)):
        evaluation = evaluate([contexts[index] for index in group], samples)
        answers.update(zip(group, compose(evaluation), strict=True))
    return [answers[index] for index in range(len(contexts))]


def grouped(contexts: Sequence[Context], indices: Sequence[int], most: int) -> Iterable[list[int]]:
    """Positions of plans that share a program, at most so many at once."""
    groups: dict[int, list[int]] = {}
    for index in indices:
        groups.setdefault(id(program_of(contexts[index])), []).append(index)
    for found in groups.values():
        for begin in range(0, len(found), most):
            yield found[begin : begin + most]
