"""Comparisons, sensitivity, the four factors and the explanation of an answer."""

from __future__ import annotations

import math
from datetime import date

import pytest

from estimates.engine.books import PriceBook
from estimates.engine.explain import UnknownQuantity, explain
from estimates.engine.plan import parse_plan
from tests.engine.makers import CATALOGUE, PRICES, TODAY, estimated, p50, pretrain, price

OWN = {"capital": 40_000, "life_hours": 40_000, "occupancy": 0.5, "pue": 1.0, "electricity_price": 0.0}


def comparison(name: str, **changes: object) -> dict:
    return estimated(pretrain(**changes))["comparisons"][name]


def test_own_hardware_breaks_even_at_the_occupancy_where_both_hours_cost_the_same() -> None:
    # an own hour is 40,000 ÷ 40,000 = 1.00 busy all the time, rent is 2.00: even at one half
    found = comparison("rent_or_own", compute__own=OWN)

    assert found["break_even_occupancy"] == pytest.approx(0.5)
    assert found["own_per_busy_hour"] == pytest.approx(2.0)


def test_a_comparison_that_lacks_a_price_says_which() -> None:
    found = estimated(pretrain(currency="EUR", compute__price_per_accelerator_hour=2))["comparisons"]["rent_or_own"]

    assert found == {"missing": ["price_capital", "price_electricity"]}


def test_prices_that_only_comparisons_ask_for_are_among_the_questions_of_the_answer() -> None:
    dearer = price("purchase", "h100-sxm-80gb", "90000", valid_from=date(2026, 7, 1))
    rented, dear = (estimated(pretrain(), prices=PriceBook([*PRICES.rows, *more])) for more in ((), (dearer,)))

    keys = [tuple(key) for key in rented["price_keys"]]
    assert ("purchase", "h100-sxm-80gb", "", "", "", "USD") in keys
    assert ("electricity", "industrial", "", "", "", "USD") in keys
    assert len(keys) == len(set(keys))
    assert not {"purchase", "electricity"} & {use["kind"] for use in rented["price_missing"]}
    assert dear["cost"] == rented["cost"]
    assert dear["comparisons"]["rent_or_own"] != rented["comparisons"]["rent_or_own"]


def test_one_more_point_of_mfu_is_worth_the_hours_it_saves() -> None:
    found = comparison("mfu_point", storage={"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0})

    hours = 10_000 / 3 - 6e21 / 5.1e14 / 3600
    assert found["accelerator_hours"] == pytest.approx(hours)
    assert found["worth"] == pytest.approx(hours * 2)
    assert found["published_upper_quartile"] > 0.2


def test_other_numbers_of_cards_are_held_against_the_deadline() -> None:
    # 3,333.33 h: 32 cards 4.34 days, 64 cards 2.17, 128 cards 1.09
    found = comparison("accelerators", deadline="2027-01-04")

    days = {option["count"]: option["elapsed_days"] for option in found["options"]}
    assert days[32.0] == pytest.approx(10_000 / 3 / 32 / 24)
    assert {option["count"]: option["meets_deadline"] for option in found["options"]} == {
        16.0: False,
        32.0: False,
        64.0: True,
        128.0: True,
        256.0: True,
    }
    assert found["count_for_deadline"] == math.ceil(10_000 / 3 / 72)


def test_the_same_operations_are_split_best_at_twenty_tokens_a_parameter() -> None:
    found = comparison("compute_optimal")

    assert found["optimal_tokens"] == 2e10
    same = found["same_work"]
    assert same["tokens"] == pytest.approx(20 * same["parameters"])
    assert 6 * same["parameters"] * same["tokens"] == pytest.approx(6e21)


def test_the_curve_of_checkpoints_is_lowest_at_the_optimum() -> None:
    curve = comparison("checkpoint", reliability={"accelerator_mtbf_hours": 6400})["curve"]

    losses = [point["lost_money"] for point in curve]
    assert min(losses) == losses[3]
    stored = [point["storage_money_if_all_kept"] for point in curve]
    assert stored == sorted(stored, reverse=True)


def test_a_cut_pays_only_where_rework_is_unlikely() -> None:
    first = comparison("cut")["options"][0]

    # a tenth of 6,666.67 saved; rework repeats it and a tenth of the run
    assert first["saved"] == pytest.approx(666.667, rel=1e-5)
    assert first["break_even_probability"] == pytest.approx(0.5)


def test_a_cut_of_own_accelerators_saves_their_loss_of_value_too() -> None:
    first = comparison("cut", compute__mode="own", compute__own=OWN)["options"][0]

    # 3,333.33 hours at 40,000 ÷ 40,000 = 1.00, a tenth of them saved
    assert first["saved"] == pytest.approx(333.333, rel=1e-5)


def test_reuse_breaks_even_after_as_many_tasks_as_the_savings_need() -> None:
    answered = estimated(pretrain())
    found = answered["comparisons"]["reuse_or_pretrain"]

    saving = 10_000 / 3 * 2 * 0.01 * 4 / 6
    assert found["saving_per_task"] == pytest.approx(saving)
    assert found["break_even_tasks"] == math.ceil(answered["cost"]["total"]["mean"] / saving)


def test_a_task_saves_the_loss_of_value_of_own_accelerators_too() -> None:
    found = comparison("reuse_or_pretrain", compute__mode="own", compute__own=OWN)

    # 3,333.33 hours at 40,000 ÷ 40,000 = 1.00; four sixths of a hundredth
    assert found["saving_per_task"] == pytest.approx(22.2222, rel=1e-5)


def test_a_tiny_cluster_is_held_against_each_other_number_of_cards_once() -> None:
    options = comparison("accelerators", compute__count=1)["options"]

    assert [option["count"] for option in options] == [1, 2, 4]


def test_a_service_with_a_long_peak_keeps_an_own_base_and_rents_the_rest() -> None:
    # an own card for twelve months costs 8,766; rented it costs 2 an hour, 1,461 a month
    document = pretrain(compute__own={**OWN, "occupancy": 1.0})
    found = estimated(document)["comparisons"]["burst"]

    # 3,333.33 h within one month are 4.56 cards: renting them costs 6,666.67, owning five 43,830
    assert found["all_rented"] == pytest.approx(20_000 / 3)
    assert found["all_owned"] == pytest.approx(5 * 8_766)
    assert found["best_base"] == 0


def test_the_same_money_is_compared_on_compute_data_and_platform() -> None:
    people = [{"role": "research engineer", "fte": 1, "months": 1}]
    found = comparison(
        "allocation", people=people, data__duplicate_share=0.3, data__raw_tb=10, data__processing_cost_per_tb=10
    )

    assert found["best"] == "data"
    assert set(found["gain_in_teaching_tokens"]) == {"compute", "data", "platform"}


def test_every_precision_of_the_card_is_compared_at_the_same_mfu() -> None:
    cards = {"accelerator": "h100-sxm-80gb", "count": 64, "mfu": {"value": 0.4, "attention": "none"}}
    rows = comparison("precision", compute=cards)["precisions"]

    assert rows["fp8"]["accelerator_hours"] == pytest.approx(rows["bf16"]["accelerator_hours"] * 989 / 1979)


def test_the_four_factors_multiply_to_the_operations_that_teach() -> None:
    found = estimated(pretrain(data__duplicate_share=0.2, reliability={"goodput": 0.9}))["four_factors"]

    assert found["mfu"] == pytest.approx(0.5)
    assert found["goodput"] == pytest.approx(0.9)
    assert found["useful_flops"] == pytest.approx(6e21 * 0.8)


def test_inputs_are_ranked_by_what_they_do_to_the_total() -> None:
    mfu = {"low": 0.4, "mode": 0.5, "high": 0.6, "attention": "none"}
    none = {"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}
    found = estimated(pretrain(compute__mfu=mfu, data__compliance_cost=100, storage=none))["sensitivity"]

    assert found[0]["input"] == "compute.mfu"
    assert found[0]["low"] > found[0]["high"]
    by_input = {item["input"]: item for item in found}
    computing = 20_000 / 3
    assert by_input["data.tokens"]["elasticity"] == pytest.approx(computing / (computing + 100), rel=1e-3)
    assert by_input["data.compliance_cost"]["elasticity"] == pytest.approx(100 / (computing + 100), rel=1e-3)


def test_the_explanation_leads_from_the_total_to_what_was_typed_in() -> None:
    tree = explain(
        parse_plan(pretrain()), "compute_cost", prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=10
    )

    names = {node["name"]: node for node in walk(tree)}
    assert tree["value"]["p50"] == pytest.approx(20_000 / 3)
    assert names["training_flops"]["source"].startswith("Kaplan")
    assert names["data.tokens"]["origin"] == "plan"
    assert names["price_on_demand"]["origin"] == "price"
    assert names["ideal_accelerator_hours"]["formula"].startswith(
        "counted_flops ÷ (peak_flops_per_second · compute.mfu)"
    )
    assert all(node["label"]["en"] and node["label"]["zh"] for node in names.values())


def walk(node: dict) -> list[dict]:
    return [node, *(below for inner in node["inputs"] for below in walk(inner))]


def test_an_unknown_quantity_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownQuantity, match="training_flops"):
        explain(parse_plan(pretrain()), "nonsense", prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY)


def test_the_probability_of_passing_the_budget_is_the_share_of_samples_above_it() -> None:
    ranged = pretrain(compute__price_per_accelerator_hour={"low": 1, "mode": 2, "high": 3})
    middle = p50(estimated(ranged), "total_cost")

    answered = estimated({**ranged, "budget": middle})

    assert answered["probability"]["over_budget"] == pytest.approx(0.5, abs=0.001)
    assert estimated({**ranged, "budget": 1e9})["probability"]["over_budget"] == 0
    assert estimated(ranged)["probability"]["over_budget"] is None


def test_the_ask_is_the_mean_with_contingency_and_its_lines_add_up() -> None:
    ranged = pretrain(compute__price_per_accelerator_hour={"low": 1, "mode": 2, "high": 6}, contingency=0.1)

    asked = estimated(ranged)["ask"]

    assert asked["level"] == "mean"
    assert round(sum(asked["by_line"].values()), 2) == asked["total"] == asked["levels"]["mean"]["total"]
    assert asked["by_line"]["contingency"] == pytest.approx(asked["total"] / 11, abs=0.01)
    assert asked["levels"]["p80"]["total"] > asked["levels"]["p50"]["total"]


def test_no_number_of_accelerators_is_offered_twice() -> None:
    options = comparison("accelerators", compute__count=1)["options"]

    assert [option["count"] for option in options] == [1, 2, 4]


@pytest.mark.parametrize(("load", "hourly"), [({}, 0.05), ({"load": 0.5}, 0.025), ({"load": 0}, 0)])
def test_the_electricity_of_an_own_hour_follows_the_load(load: dict, hourly: float) -> None:
    own = {**OWN, "board_kw": 0.5, "electricity_price": 0.1, **load}

    assert comparison("rent_or_own", compute__own=own)["own_parts"]["electricity"] == pytest.approx(hourly)


def test_a_run_without_failures_costs_the_same_on_any_number_of_accelerators() -> None:
    storage = {"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}
    turned = [row["input"] for row in estimated(pretrain(compute__count=8, storage=storage))["sensitivity"]]

    assert "data.tokens" in turned
    assert "compute.count" not in turned
