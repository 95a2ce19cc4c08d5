"""Pools of a cluster and tiers of a service at the price of each month, worked out by hand."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from estimates.engine.books import PriceBook, PriceRow
from tests.engine.makers import STORAGE, estimated, p50, pretrain, price

FEBRUARY = date(2027, 2, 1)
JANUARY_HOURS = 744


def rent(slug: str, amount: str, mode: str = "on_demand", **more: Any) -> PriceRow:
    return price("accelerator", slug, amount, mode=mode, **more)


H100, A100 = "h100-sxm-80gb", "a100-sxm-80gb"
RISING = PriceBook([*STORAGE, rent(H100, "2"), rent(A100, "1"), rent(H100, "3", valid_from=FEBRUARY)])


def pools(**first: Any) -> list[dict[str, Any]]:
    """Half of 6e21 FLOP each: the slow pool takes 3,333.33 hours of cards, 833.33 of the clock, the fast one half."""
    return [
        {"accelerator": H100, "peak_tflops": 1000, "count": 4, "mfu": 0.5, "share": 0.5, **first},
        {"accelerator": A100, "peak_tflops": 500, "count": 4, "mfu": 0.5, "share": 0.5},
    ]


SLOW = 10_000 / 3
FAST = SLOW / 2
ELAPSED = SLOW / 4
OF_JANUARY = JANUARY_HOURS / ELAPSED


def by_month(answered: dict[str, Any], line: str = "compute") -> list[float]:
    return [month["by_line"][line] for month in answered["cost"]["by_month"]]


def test_each_pool_is_paid_at_the_price_of_each_month() -> None:
    answered = estimated(pretrain(compute={"pools": pools()}), prices=RISING)

    dear = 2 * OF_JANUARY + 3 * (1 - OF_JANUARY)
    assert p50(answered, "compute_cost") == pytest.approx(SLOW * 1 + FAST * dear)
    assert p50(answered, "idle_cost") == pytest.approx(FAST * dear)
    assert by_month(answered)[:2] == pytest.approx(
        [JANUARY_HOURS * 4 * (1 + 2), (ELAPSED - JANUARY_HOURS) * 4 * (1 + 3)]
    )
    assert sum(by_month(answered)) == pytest.approx(answered["cost"]["by_line"]["compute"]["mean"])
    assert {(row["item"], row["amount"]) for row in answered["prices"]} >= {(H100, 2.0), (H100, 3.0), (A100, 1.0)}
    assert ["accelerator", H100, "", "", "on_demand", "USD"] in answered["price_keys"]


def test_spares_are_paid_at_what_busy_cards_cost_in_their_month() -> None:
    answered = estimated(
        pretrain(compute={"pools": pools()}, reliability={"spare_count": 2, "goodput": 1}), prices=RISING
    )

    busy = {"January": (SLOW * 1 + FAST * 2) / (SLOW + FAST), "February": (SLOW * 1 + FAST * 3) / (SLOW + FAST)}
    assert by_month(answered)[:2] == pytest.approx(
        [
            JANUARY_HOURS * (4 * (1 + 2) + 2 * busy["January"]),
            (ELAPSED - JANUARY_HOURS) * (4 * (1 + 3) + 2 * busy["February"]),
        ]
    )


def test_a_typed_price_of_a_pool_stays_while_that_of_its_neighbour_rises() -> None:
    falling = PriceBook([*STORAGE, rent(A100, "1"), rent(A100, "0.5", valid_from=FEBRUARY)])
    typed = pools(price_per_accelerator_hour={"low": 1, "mode": 2, "high": 3})

    answered = estimated(pretrain(compute={"pools": typed}), prices=falling)

    cheap = 1 * OF_JANUARY + 0.5 * (1 - OF_JANUARY)
    # the mean of the range is 2
    assert answered["quantities"]["compute_cost"]["mean"] == pytest.approx(SLOW * cheap + FAST * 2)
    assert by_month(answered)[:2] == pytest.approx(
        [JANUARY_HOURS * 4 * (2 + 1), (ELAPSED - JANUARY_HOURS) * 4 * (2 + 0.5)]
    )


def test_what_is_half_own_pays_half_the_price_of_each_month() -> None:
    own = {"capital": 9_000, "life_hours": 9_000, "occupancy": 1, "board_kw": 1, "pue": 1, "electricity_price": 0.5}
    compute = {
        "pools": pools(),
        "mode": "mixed",
        "mix": {"own": 0.5, "on_demand": 0.5},
        "own": own,
    }

    answered = estimated(pretrain(compute=compute), prices=RISING)

    # an own hour is 1 of depreciation on the compute line
    assert by_month(answered)[:2] == pytest.approx(
        [JANUARY_HOURS * 4 * (0.5 * (1 + 2) + 1), (ELAPSED - JANUARY_HOURS) * 4 * (0.5 * (1 + 3) + 1)]
    )


def test_own_pools_ask_for_no_rent() -> None:
    own = {"capital": 9_000, "life_hours": 9_000, "occupancy": 1, "board_kw": 1, "pue": 1, "electricity_price": 0.5}

    answered = estimated(pretrain(compute={"pools": pools(), "mode": "own", "own": own}), prices=PriceBook(STORAGE))

    assert answered["price_missing"] == []
    assert by_month(answered)[0] == pytest.approx(JANUARY_HOURS * 8 * 1)


def test_a_price_that_rises_is_still_ranked_among_what_moves_the_total() -> None:
    of_one_kind = estimated(pretrain(compute__count=4), prices=RISING)
    of_pools = estimated(pretrain(compute={"pools": pools()}), prices=RISING)

    elasticity = {item["input"]: item["elasticity"] for item in (*of_one_kind["sensitivity"], *of_pools["sensitivity"])}
    # all of the rent moves with the price, and storage is a trifle beside it
    assert elasticity["price_on_demand"] == pytest.approx(1, abs=0.01)
    dear = (2 * OF_JANUARY + 3 * (1 - OF_JANUARY)) * SLOW
    assert elasticity["compute.pools.0.price_per_accelerator_hour"] == pytest.approx(dear / (dear + SLOW), abs=0.01)


def test_the_rise_of_two_modes_falls_on_its_own_months() -> None:
    rows = [rent(H100, "2"), rent(H100, "1", mode="spot")]
    later = [rent(H100, "3", valid_from=FEBRUARY), rent(H100, "2", mode="spot", valid_from=FEBRUARY)]
    document = pretrain(compute__count=4, compute__mix={"on_demand": 0.5, "spot": 0.5})

    answered = estimated(document, prices=PriceBook([*STORAGE, *rows, *later]))

    assert by_month(answered)[:2] == pytest.approx([JANUARY_HOURS * 4 * 1.5, (ELAPSED - JANUARY_HOURS) * 4 * 2.5])


def test_what_begins_for_nothing_is_paid_when_it_costs() -> None:
    free = PriceBook([*STORAGE, rent(H100, "0"), rent(H100, "3", valid_from=FEBRUARY)])

    answered = estimated(pretrain(compute__count=4), prices=free)

    assert by_month(answered)[:2] == pytest.approx([0, (ELAPSED - JANUARY_HOURS) * 4 * 3])


def service(**more: Any) -> dict[str, Any]:
    """An encoder on cards of 100 TFLOPS at 36 %: 300 requests a second of 120 tokens take one card."""
    tiers = [{"name": "first", "share": 0.5}, {"name": "rest", "share": 0.5, "mode": "spot", "peak_cover": 0.5}]
    inference = {
        "kind": "encoder",
        "requests_per_day": 4 * 25_920_000,
        "input_tokens": 120,
        "months": 2,
        "peak_factor": 2,
    }
    return {
        "task": "inference",
        "start": "2027-01-01",
        "storage": {"log_gb_per_day": 0},
        "model": {"architecture": "encoder", "parameters": 0.5e9},
        "compute": {"accelerator": H100, "peak_tflops": 100, "memory_gb": 80, "mfu": 0.36},
        "inference": {**inference, "elastic": False, "tiers": tiers, **more},
    }


SERVED = PriceBook(
    [
        *STORAGE,
        rent(H100, "2"),
        rent(H100, "1", mode="spot"),
        rent(H100, "3", valid_from=FEBRUARY),
        rent(H100, "0.5", mode="spot", valid_from=FEBRUARY),
    ]
)


def test_each_tier_is_paid_at_the_price_of_each_month() -> None:
    answered = estimated(service(), prices=SERVED)

    # each tier works 2 cards; the first holds 4 for the peak, the other half of that
    assert by_month(answered)[:2] == pytest.approx([730.5 * (4 * 2 + 2 * 1), 730.5 * (4 * 3 + 2 * 0.5)])
    assert p50(answered, "compute_cost") == pytest.approx(730.5 * 2 * (2 + 1 + 3 + 0.5))
    assert p50(answered, "idle_cost") == pytest.approx(730.5 * 2 * (2 + 3))
    assert answered["cost"]["total"]["mean"] == pytest.approx(730.5 * (10 + 13))
    assert len([row for row in answered["prices"] if row["item"] == H100]) == 4


def test_tiers_that_grow_apart_fall_on_the_months_they_are_held_in() -> None:
    level = PriceBook([*STORAGE, rent(H100, "2"), rent(H100, "1", mode="spot")])

    answered = estimated(service(growth_per_month=0.2), prices=level)

    # 2.4 cards are worked in February: the first tier holds 5 for the peak, the other 3
    assert by_month(answered)[:2] == pytest.approx([730.5 * (4 * 2 + 2 * 1), 730.5 * (5 * 2 + 3 * 1)])


def test_tiers_with_prices_of_their_own_ask_the_table_for_none() -> None:
    tiers = [{"name": "only", "share": 1, "price_per_accelerator_hour": 2}]

    answered = estimated(service(tiers=tiers), prices=PriceBook(STORAGE))

    assert answered["price_missing"] == []
    assert answered["cost"]["total"]["mean"] == pytest.approx(730.5 * 2 * 8 * 2)


def test_months_add_up_to_the_total_where_every_figure_is_a_range() -> None:
    document = service(
        requests_per_day={"p10": 5e7, "p50": 1e8, "p90": 3e8}, growth_per_month={"low": 0, "mode": 0.1, "high": 0.4}
    )
    document["inference"]["months"] = 7

    answered = estimated(document, prices=SERVED)

    assert sum(month["mean"] for month in answered["cost"]["by_month"]) == pytest.approx(
        answered["cost"]["total"]["mean"], rel=1e-8
    )
