"""What other choices would cost, as sentences about money; and the strip of the four factors."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from estimates import queries
from estimates.engine.plan import parse_plan
from tests.estimates import factories
from tests.web.test_plans import posted
from web.charts.choices import Choice, Course, choice_bars, course
from web.plan_comparisons import comparisons_of, strip_of

pytestmark = pytest.mark.django_db
TEMPLATES = sorted((Path(settings.BASE_DIR) / "docs" / "plans").glob("*.yaml"))


def answer(**comparisons: dict) -> dict:
    return {"currency": "USD", "cost": {"total": {"p50": 1000.0}}, "comparisons": comparisons}


def told(**comparisons: dict) -> str:
    return comparisons_of(answer(**comparisons))[0].sentence


RENT = {
    "rent_per_hour": 2.0,
    "own_per_busy_hour": 1.0,
    "own_parts": {"depreciation": 0.5},
    "occupancy": 0.5,
    "break_even_occupancy": 0.25,
    "rent_total": 5000.0,
    "own_total": 2500.0,
    "cheaper": "own",
}


def test_rent_or_own_says_the_saving_and_the_use_from_which_owning_pays():
    sentence = told(rent_or_own=RENT)

    assert sentence == (
        "A rented card-hour costs 2.00 USD, an own one 1.00 USD at 50 % use. "
        "Owning would save 2,500 USD, and pays from 25 % use on."
    )


def test_renting_that_is_always_cheaper_is_said_so():
    found = RENT | {"break_even_occupancy": None, "cheaper": "rent", "own_total": 9000.0}

    assert told(rent_or_own=found).endswith("Owning never pays at these prices; renting saves 4,000 USD.")


def test_a_missing_price_is_named_instead_of_a_comparison():
    sentence = told(rent_or_own={"missing": ["price_capital"]})

    assert sentence == "To compare renting with owning, this is missing: the purchase price of a card."


def test_tokens_above_the_optimum_say_what_the_optimum_would_save():
    found = {
        "tokens": 2e12,
        "optimal_tokens": 1.4e11,
        "tokens_per_parameter": 286.0,
        "same_work": {"parameters": 2.6e10, "tokens": 5.3e11},
        "total_at_optimal_tokens": 400.0,
    }

    assert told(compute_optimal=found).endswith("With 140B the plan would cost 400.00 USD, 600.00 USD less.")


def test_the_comparison_with_most_money_comes_first():
    strategies = {
        name: {"compute_money": amount} for name, amount in (("full", 9e4), ("lora", 6e4), ("head_only", 1e4))
    }

    found = comparisons_of(answer(rent_or_own=RENT, finetune={"chosen": "lora", "strategies": strategies}))

    # 90,000 − 10,000 is at stake between the strategies, 2,500 between renting and owning
    assert [(one.key, one.money) for one in found] == [("finetune", 80_000.0), ("rent_or_own", 2_500.0)]


def test_members_of_a_life_are_compared_by_name():
    whole = {"currency": "USD", "comparisons": {}, "members": [{"name": "base", **answer(rent_or_own=RENT)}]}

    assert [(one.key, one.member) for one in comparisons_of(whole)] == [("rent_or_own", "base")]


def test_the_strip_multiplies_from_what_is_paid_for_to_what_teaches():
    strip = strip_of(
        {
            "four_factors": {
                "scale_flops": 1e20,
                "mfu": 0.4,
                "goodput": 0.9,
                "data_efficiency": 0.5,
                "useful_flops": 1.8e19,
            }
        }
    )

    assert [factor.value for factor in strip.factors] == ["1.0 × 10²⁰", "40.0 %", "90.0 %", "50.0 %"]
    assert (strip.useful, strip.share) == ("1.8 × 10¹⁹", "18.0 %")


def test_a_plan_that_trains_nothing_has_no_strip():
    assert strip_of({"four_factors": None}) is None


@pytest.mark.parametrize("priced", [True, False])
@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.stem)
def test_every_template_is_compared_with_prices_and_without(file, priced):
    for slug in ("h100-sxm-80gb", "a100-sxm-80gb", "a100-sxm-40gb", "v100-sxm-32gb", "h800-sxm-80gb", "tpu-v3", "l40s"):
        factories.accelerator(slug=slug)
        if priced:
            factories.price(item=slug, amount="2")
    try:
        found = comparisons_of(
            queries.answer_for(parse_plan(file.read_bytes()), prices_on=date(2027, 1, 1), samples=200)
        )
    except Exception as refused:
        if type(refused).__name__ == "PlanRefused":
            pytest.skip("names an accelerator that is not in this catalogue")
        raise

    assert all(one.title and one.sentence for one in found)
    assert "None" not in " ".join(one.sentence for one in found)


def test_the_form_answers_comparisons_when_they_are_asked_for(client, stage):
    factories.accelerator()
    factories.price(amount="2")
    client.force_login(stage.alice)
    plain = posted(factories.plan())

    closed = client.post(reverse("plan-preview"), plain).content.decode()
    opened = client.post(reverse("plan-compare"), plain).content.decode()
    plain["compared"] = "yes"
    following = client.post(reverse("plan-preview"), plain).content.decode()

    assert "More or fewer cards" not in closed
    assert "More or fewer cards" in opened
    assert "More or fewer cards" in following


def test_bars_share_one_scale_and_the_chosen_one_is_marked():
    bars = choice_bars([Choice("full", 100.0, "100"), Choice("LoRA", 50.0, "50", is_chosen=True)])

    assert bars.rows[0].width == pytest.approx(2 * bars.rows[1].width, abs=0.2)
    assert [row.is_chosen for row in bars.rows] == [False, True]
    assert bars.label == "Side by side: full: 100; LoRA: 50"


def test_a_course_runs_from_zero_to_a_round_value():
    drawn = course(Course(("1 h", "2 h", "4 h"), (("lost", (90.0, 30.0, 60.0)),), "USD"))

    # 0 to 90 in steps of 40: up to 120; 90 stands at 120 − 110 · 90/120 = 37.5 from the top
    assert drawn.lines[0].d == "M44 37.5L183 92.5L322 65"
    assert [tick.label for tick in drawn.columns] == ["1 h", "4 h"]
