"""Plans that are computed together: each answer is the one that its plan gets alone."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import date
from pathlib import Path

import pytest

from estimates.engine.answer import estimate, estimate_many
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceKey
from estimates.engine.plan import Plan, parse_plan
from tests.engine.makers import CATALOGUE, PRICES, TODAY, pretrain, price

PLANS = Path(__file__).resolve().parents[2] / "docs" / "plans"
TEMPLATES = sorted(PLANS.glob("template-*.yaml"))
SAMPLES = 200
A_CARD = CATALOGUE.specs[0]


def sizes_of(plan: Plan) -> list[Plan]:
    """The plan, and the same with other shares for contingency and another start: one structure, other figures."""
    found = [plan]
    for share, start in (("0.2", "2026-12-15"), ("0.3", "2027-01-20")):
        document = deepcopy(dict(plan.document))
        found.append(parse_plan(document | {"contingency": share, "start": start}))
    return found


def catalogue_for(plan: Plan) -> AcceleratorBook:
    """The cards of the tests under the names that a plan uses."""
    parts = [plan, *(member.plan for member in plan.members)]
    named = {part.text("compute.accelerator") for part in parts}
    named |= {str(row.get("accelerator")) for part in parts for row in part.rows("compute.pools")}
    return AcceleratorBook([_card(slug) for slug in sorted(filter(None, named))])


def _card(slug: str) -> AcceleratorSpec:
    peaks = dict.fromkeys(("fp32", "tf32", "bf16", "fp16", "fp8", "int8"), 989.0)
    return AcceleratorSpec(
        slug, slug, A_CARD.vendor, A_CARD.memory_gb, A_CARD.bandwidth_gbs, peaks, A_CARD.board_w, 900
    )


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_plans_computed_together_get_the_answers_that_each_gets_alone(path: Path) -> None:
    plans = sizes_of(parse_plan(path.read_bytes()))
    books = {"prices": PRICES, "accelerators": catalogue_for(plans[0]), "prices_on": TODAY, "samples": SAMPLES}

    together = estimate_many(plans, **books)

    assert together == [estimate(plan, **books) for plan in plans]


@pytest.mark.parametrize("prices", [PRICES, PriceBook()], ids=["priced", "no prices"])
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_no_answer_holds_a_number_that_json_has_no_word_for(path: Path, prices: PriceBook) -> None:
    plan = parse_plan(path.read_bytes())

    answer = estimate(plan, prices=prices, accelerators=catalogue_for(plan), prices_on=TODAY, samples=SAMPLES)

    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


def test_a_plan_with_a_missing_price_keeps_what_is_known_beside_one_without() -> None:
    labour = [{"role": "research engineer", "fte": 1, "months": 2}]
    known, missing = (
        parse_plan(pretrain(people=[{**labour[0], "role": role}])) for role in ("research engineer", "alchemist")
    )

    one, other = estimate_many(
        [known, missing], prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=SAMPLES
    )

    assert "incomplete" not in one["cost"]
    assert "people_cost" in other["cost"]["incomplete"]
    assert other["cost"]["total"]["mean"] is None
    unknown = sum(one["quantities"][name]["mean"] for name in other["cost"]["incomplete"])
    assert unknown >= 40_000
    assert one["cost"]["total"]["mean"] == pytest.approx(other["cost"]["known_part"]["mean"] + unknown)


def test_months_are_shown_until_the_last_that_costs_the_plan_itself_anything() -> None:
    short, long = (
        parse_plan(pretrain(people=[{"role": "research engineer", "fte": 1, "months": months}])) for months in (2, 30)
    )

    one, other = estimate_many([short, long], prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=SAMPLES)

    assert other["cost"]["by_month"][-1]["month"] == "2029-07"
    assert one["cost"]["by_month"][-1]["month"] < "2029-07"


def test_a_price_is_answered_from_the_rows_of_its_day_however_often_it_is_asked() -> None:
    later = price("electricity", "industrial", "0.20", valid_from=date(2026, 9, 1))
    book = PriceBook([*PRICES.rows, later])
    asked = PriceKey("electricity", "industrial", "", "", "", "USD")

    found = [book.on(asked, day) for day in (date(2026, 7, 1), date(2026, 10, 1)) * 2]

    assert [row and str(row.amount) for row in found] == ["0.10", "0.20", "0.10", "0.20"]
