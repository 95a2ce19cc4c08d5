"""What holds for every plan: parts add up in every sample, more never costs less, quantiles are in order."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.vocabulary import CAUSES
from estimates.engine.answer import estimate_many
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook
from estimates.engine.breakdown import breakdown_of
from estimates.engine.evaluation import evaluate
from estimates.engine.fields import FIELDS
from estimates.engine.leaves import Context
from estimates.engine.plan import parse_plan
from tests.engine.makers import CATALOGUE, PRICES, TODAY, changed, estimated, pretrain

OWN = {"capital": 30_000, "life_hours": 45_000, "occupancy": 0.8, "pue": 1.2, "electricity_price": 0.1}
MODEL = {"parameters": 7e9, "layers": 32, "hidden_size": 4096, "sequence_length": 4096}
PEOPLE = [{"role": "research engineer", "fte": 2, "months": 5}]


TASKS = (
    "pretrain",
    "continued_pretrain",
    "ablation",
    "finetune",
    "inference",
    "vector_store",
    "evaluation",
    "data_work",
)
RUNGS = [{"parameters": 1e8, "tokens": 2e9}, {"parameters": 1e9, "tokens": 2e10, "runs": 2}]


def spread(number: float) -> dict[str, float]:
    return {"low": number * 0.8, "mode": number, "high": number * 1.5}


def number(draw: Any, low: float, high: float) -> float:
    """A number between two others, in steps of a thousandth."""
    return low + (high - low) * draw(st.integers(0, 1000)) / 1000


@st.composite
def documents(draw: Any) -> dict[str, Any]:
    """Plans of every task, with ranges, people, own and mixed hardware."""
    task = draw(st.sampled_from(TASKS))
    document = changed(
        pretrain(model=MODEL, task=task),
        data__tokens=spread(number(draw, 1e9, 1e12)),
        data__raw_tb=number(draw, 0, 100),
        data__compliance_cost=number(draw, 0, 1e5),
        compute__count=draw(st.integers(1, 4096)),
        compute__mfu={**spread(number(draw, 0.1, 0.5)), "attention": "full"},
        network__egress_gb=number(draw, 0, 1e5),
        contingency=number(draw, 0, 0.5),
    )
    for part in ("reliability", "experiments", "model_error"):
        if draw(st.booleans()):
            del document[part]
    if draw(st.booleans()):
        document["people"] = PEOPLE
    mode = draw(st.sampled_from(["rent", "own", "mixed", "committed"]))
    if mode != "rent":
        document["compute"]["mode"] = mode
    if mode in ("own", "mixed"):
        document["compute"]["own"] = OWN
    if mode == "mixed":
        document["compute"]["mix"] = {"own": 0.6, "on_demand": 0.4}
    if mode == "committed":
        document["compute"]["committed"] = {"count": 8, "hours": 2000, "price": 1.5}
    if task == "ablation":
        document["experiments"] = RUNGS
    if task == "inference":
        document["inference"] = {
            "requests_per_day": number(draw, 1, 1e7),
            "input_tokens": 200,
            "output_tokens": spread(100),
            "batch": 8,
            "elastic": draw(st.booleans()),
            "growth_per_month": number(draw, -0.1, 0.3),
        }
    if task == "vector_store":
        document["vectors"] = {"count": number(draw, 1, 1e9), "hot_share": 0.3, "embedding_tokens": 1e9}
    if task == "evaluation":
        document["evaluation"] = {"tokens": 1e9, "times": 3}
    if task == "finetune":
        document["finetune"] = {"strategy": "lora", "adapter_parameters": 1e7}
    return document


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=1e-12, atol=1e-6))


@settings(max_examples=60, deadline=None)
@given(documents())
def test_all_four_breakdowns_add_up_to_the_total_in_every_sample(document: dict[str, Any]) -> None:
    evaluation = evaluate([Context(parse_plan(document), PRICES, CATALOGUE, TODAY)], 50)
    costs = breakdown_of(evaluation)

    total = evaluation.samples_of("total_cost", 0)

    if not np.isfinite(total).all():
        return
    for key in ("cause", "line", "behaviour"):
        groups: dict[Any, np.ndarray] = {}
        for part in costs.parts:
            groups[getattr(part, key)] = groups.get(getattr(part, key), np.zeros(1)) + part.samples
        assert same(sum(groups.values()), total), key
    assert same(sum(costs.by_month), total)
    assert {part.cause for part in costs.parts} <= set(CAUSES)
    assert all((part.samples >= -1e-9).all() for part in costs.parts)


@settings(max_examples=40, deadline=None)
@given(documents())
def test_quantiles_are_in_order_and_means_of_parts_add_up(document: dict[str, Any]) -> None:
    answered = estimated(document, samples=200)

    for figures in answered["quantities"].values():
        if figures["mean"] is not None:
            assert figures["p10"] <= figures["p50"] <= figures["p90"]
    mean = answered["cost"]["total"]["mean"]
    if mean is not None:
        for group in ("by_cause", "by_line", "by_behaviour"):
            assert sum(part["mean"] for part in answered["cost"][group].values()) == pytest.approx(mean, rel=1e-7)
        assert sum(month["mean"] for month in answered["cost"]["by_month"]) == pytest.approx(mean, rel=1e-7)
        asked = answered["ask"]
        assert sum(asked["by_line"].values()) == pytest.approx(asked["total"], abs=1e-6 * max(1, asked["total"]))
        assert asked["total"] == pytest.approx(mean * (1 + answered["contingency"]["share"]), rel=1e-8, abs=0.006)


@settings(max_examples=40, deadline=None)
@given(documents(), st.floats(1.0, 3.0))
def test_more_tokens_never_cost_less(document: dict[str, Any], factor: float) -> None:
    more = changed(document, data__tokens={key: value * factor for key, value in document["data"]["tokens"].items()})

    assert mean(more) >= mean(document) * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(documents(), st.floats(1.0, 3.0))
def test_a_higher_price_never_costs_less(document: dict[str, Any], factor: float) -> None:
    dear, cheap = (changed(document, compute__price_per_accelerator_hour=price) for price in (2 * factor, 2))

    assert mean(dear) >= mean(cheap) * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(documents(), st.floats(0.3, 1.0))
def test_a_lower_mfu_never_costs_less(document: dict[str, Any], factor: float) -> None:
    mfu = document["compute"]["mfu"]
    slow = {key: value * factor if key != "attention" else value for key, value in mfu.items()}

    assert mean(changed(document, compute__mfu=slow)) >= mean(document) * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(documents(), st.sampled_from([0.5, 7.0, 150.0]))
def test_another_scale_of_the_currency_scales_money_and_nothing_else(document: dict[str, Any], factor: float) -> None:
    rows = [replace(row, amount=row.amount * Decimal(factor)) for row in PRICES.rows]

    one = estimated(document, samples=50)
    other = estimated(in_other_money(document, factor), samples=50, prices=PriceBook(rows))

    for name, figures in one["quantities"].items():
        by = factor if "money" in figures["unit"] else 1.0
        for level in ("p10", "p50", "p90", "mean"):
            assert other["quantities"][name][level] == times(figures[level], by), name
    for level, amount in one["cost"]["total"].items():
        assert other["cost"]["total"][level] == times(amount, factor)
    assert other["probability"] == one["probability"]
    assert other["feasible"] == one["feasible"]


def times(number: float | None, factor: float) -> Any:
    return None if number is None else pytest.approx(number * factor, rel=1e-7, abs=1e-6)


def in_other_money(node: Any, factor: float, path: str = "") -> Any:
    """A document with every amount of money in it multiplied."""
    if isinstance(node, list):
        return [in_other_money(row, factor, f"{path}.*") for row in node]
    if isinstance(node, dict):
        return {key: in_other_money(value, factor, f"{path}.{key}".lstrip(".")) for key, value in node.items()}
    field = FIELDS.get(path)
    return node * factor if field is not None and field.unit.startswith("money") else node


def mean(document: dict[str, Any]) -> float:
    found = estimated(document, samples=100)["cost"]["total"]["mean"]
    return float("inf") if found is None else found


@settings(max_examples=20, deadline=None)
@given(documents())
def test_a_plan_among_many_has_the_answer_it_has_alone(document: dict[str, Any]) -> None:
    others = [pretrain(), pretrain(compute__count=128), changed(document, contingency=0.2)]
    plans = [parse_plan(other) for other in (document, *others, document)]

    together = estimate_many(plans, prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=50)

    alone = estimated(document, samples=50)
    assert together[0]["cost"]["total"] == together[4]["cost"]["total"]
    for key, value in alone["cost"]["total"].items():
        assert together[0]["cost"]["total"][key] == pytest.approx(value, rel=1e-8)


def test_cards_of_which_the_catalogue_knows_more_or_less_are_estimated_side_by_side() -> None:
    bare = AcceleratorSpec("bare", "Bare", "", None, None, {"bf16": 989.0, "fp8": 1979.0})
    catalogue = AcceleratorBook([*CATALOGUE.specs, bare])
    cards = (
        {"accelerator": slug, "count": 8, "mfu": 0.4, "price_per_accelerator_hour": 2}
        for slug in ("bare", "h100-sxm-80gb")
    )
    plans = [parse_plan(pretrain(compute=card)) for card in cards]

    one, other = estimate_many(plans, prices=PRICES, accelerators=catalogue, prices_on=TODAY, samples=10)

    assert one["cost"]["total"] == other["cost"]["total"]
    assert "memory_fits" not in one["quantities"]
    assert other["quantities"]["memory_fits"]["p50"] == 1
