"""Own hardware: the worked table of docs/engine.md, part by part, each in one place."""

from __future__ import annotations

import pytest

from tests.engine.makers import estimated, p50, pretrain

OWN = {
    "capital": 30_000,
    "residual": 3_000,
    "life_hours": 45_000,
    "occupancy": 0.8,
    "board_kw": 0.7,
    "pue": 1.25,
    "electricity_price": 0.08,
    "fixed_power_per_month": 36.525,
    "space": 36.525,
    "operations": 73.05,
}
HOURS = 10_000 / 3


def own_plan(**changes: object) -> dict:
    """3,333.33 productive hours at a goodput of 0.8: 4,166.67 hours, of which 833.33 are lost."""
    return pretrain(compute__mode="own", compute__own=OWN, reliability={"goodput": 0.8}, **changes)


def test_the_rates_of_an_own_accelerator_hour_are_those_of_the_table() -> None:
    answered = estimated(own_plan())

    assert p50(answered, "depreciation_rate") == pytest.approx(0.60)
    assert p50(answered, "energy_rate") == pytest.approx(0.07)
    assert p50(answered, "facility_rate") == pytest.approx(0.10)
    assert p50(answered, "operations_rate") == pytest.approx(0.10)
    assert p50(answered, "own_rate") == pytest.approx(0.87)
    assert p50(answered, "idle_per_busy_hour") == pytest.approx(0.25)
    assert p50(answered, "rent_rate") == 0


def test_each_part_of_the_cost_lies_where_the_table_says() -> None:
    answered = estimated(own_plan())

    assert p50(answered, "compute_cost") == pytest.approx(HOURS * 0.10)
    assert p50(answered, "depreciation_cost") == pytest.approx(HOURS * 0.60)
    assert p50(answered, "electricity_cost") == pytest.approx(HOURS * 0.07)
    assert p50(answered, "facility_cost") == pytest.approx(HOURS * 0.10)
    assert p50(answered, "retries_cost") == pytest.approx(HOURS / 4 * 0.70)
    assert p50(answered, "retries_power_cost") == pytest.approx(HOURS / 4 * 0.17)
    assert p50(answered, "unoccupied_cost") == pytest.approx(HOURS * 1.25 * 0.25 * 0.70)
    assert p50(answered, "unoccupied_power_cost") == pytest.approx(HOURS * 1.25 * 0.25 * 0.17)


def test_causes_and_lines_add_up_to_the_full_cost_over_the_occupancy() -> None:
    cost = estimated(own_plan(storage={"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}))["cost"]

    assert cost["total"]["mean"] == pytest.approx(HOURS / 0.8 * 0.87 / 0.8)
    assert cost["by_cause"]["compute"]["mean"] == pytest.approx(HOURS * 0.10)
    assert cost["by_cause"]["power_facility"]["mean"] == pytest.approx(HOURS * 0.17)
    assert cost["by_cause"]["hidden"]["mean"] == pytest.approx(4531.25 - HOURS * 0.27)
    assert cost["by_line"]["compute"]["mean"] == pytest.approx(HOURS / 0.8 / 0.8 * 0.70)
    assert cost["by_line"]["power_facility"]["mean"] == pytest.approx(HOURS / 0.8 / 0.8 * 0.17)
    assert cost["by_subcategory"]["hidden.depreciation"]["mean"] == pytest.approx(2_000)


def test_half_own_and_half_rented_cost_half_of_each() -> None:
    document = pretrain(compute__mode="mixed", compute__mix={"own": 0.5, "on_demand": 0.5}, compute__own=OWN)

    answered = estimated(document)

    assert p50(answered, "compute_cost") == pytest.approx(HOURS * (0.5 * 2 + 0.5 * 0.10))
    assert p50(answered, "depreciation_cost") == pytest.approx(HOURS * 0.5 * 0.60)
    assert p50(answered, "unoccupied_cost") == pytest.approx(HOURS * 0.5 * 0.25 * 0.70)


def test_the_purchase_price_and_the_tariff_come_from_the_table_where_the_plan_is_silent() -> None:
    silent = {key: value for key, value in OWN.items() if key not in ("capital", "electricity_price", "board_kw")}

    answered = estimated(pretrain(compute__mode="own", compute__own=silent))

    assert p50(answered, "depreciation_rate") == pytest.approx(27_000 / 45_000)
    assert p50(answered, "energy_rate") == pytest.approx(0.7 * 1.25 * 0.10)
    assert {key[0] for key in answered["price_keys"]} >= {"purchase", "electricity"}


def test_the_cash_flow_shows_the_purchase_at_the_start_and_no_depreciation() -> None:
    flow = estimated(own_plan())["cash_flow"]

    assert flow[0]["capital"] == pytest.approx(64 * 30_000)
    assert sum(month["capital"] for month in flow) == pytest.approx(64 * 30_000)
    # without the depreciation of 4,166.67 hours and of a quarter of them idle
    assert sum(month["running"] for month in flow) == pytest.approx(
        estimated(own_plan())["cost"]["total"]["mean"] - HOURS / 0.8 / 0.8 * 0.60
    )


def test_spares_and_the_rest_of_the_last_machine_are_bought_too() -> None:
    spares = own_plan()
    spares["reliability"] = {"goodput": 0.8, "spare_count": 2}
    spares["compute"] = {**spares["compute"], "instance": {"name": "eight cards", "accelerators": 8}}

    # 64 cards and 2 spares stand in 9 machines of 8
    assert estimated(spares)["cash_flow"][0]["capital"] == pytest.approx(72 * 30_000)


def test_wasted_tokens_cost_the_full_own_hour() -> None:
    answered = estimated(own_plan(data__duplicate_share=0.1))

    assert p50(answered, "wasted_cost") == pytest.approx(HOURS / 0.8 * 0.87 * 0.1)


def test_the_interconnect_within_own_accelerators_is_a_share_of_what_they_cost() -> None:
    answered = estimated(own_plan(compute__count=100))

    # a hundred cards: 8 % of what they cost, without their power
    assert p50(answered, "interconnect_within_compute") == pytest.approx(HOURS / 0.8 * 0.70 * 0.08)
