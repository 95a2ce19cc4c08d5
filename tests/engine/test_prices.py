"""Which price row is picked, what a missing one does, and how a run is priced month by month."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from estimates.engine.books import PriceBook, PriceKey
from tests.engine.makers import PRICES, STORAGE, estimated, pretrain, price

KEY = PriceKey("accelerator", "h100-sxm-80gb", "", "", "on_demand", "USD")


def rent(amount: str, **facts: object) -> object:
    return price("accelerator", "h100-sxm-80gb", amount, mode="on_demand", **facts)


def amount_on(rows: list, day: date, key: PriceKey = KEY) -> Decimal | None:
    found = PriceBook(rows).on(key, day)
    return found and found.amount


def test_the_price_on_a_day_is_the_latest_row_that_starts_on_or_before_it() -> None:
    rows = [rent("3", valid_from=date(2026, 1, 1)), rent("2", valid_from=date(2026, 7, 1))]

    assert amount_on(rows, date(2025, 12, 31)) is None
    assert amount_on(rows, date(2026, 6, 30)) == 3
    assert amount_on(rows, date(2026, 7, 1)) == 2


def test_of_two_rows_with_one_start_the_one_entered_last_holds() -> None:
    rows = [rent("3", sequence=2), rent("4", sequence=1)]

    assert amount_on(rows, date(2026, 12, 1)) == 3


def test_a_withdrawn_offer_has_no_price_and_leaves_the_others() -> None:
    gone = rent("1", provider="a", valid_from=date(2026, 8, 1), withdrawn=True)
    rows = [rent("1", provider="a"), gone, rent("5", provider="b")]

    assert amount_on(rows, date(2026, 7, 1)) == 1
    assert amount_on(rows, date(2026, 9, 1)) == 5


def test_an_offer_withdrawn_before_the_plan_starts_is_missing_and_one_withdrawn_later_is_not() -> None:
    gone = rent("1", valid_from=date(2026, 12, 15), withdrawn=True)
    book = PriceBook([*STORAGE, rent("1"), gone])

    before = estimated(pretrain(start="2026-12-01", compute__count=2), prices=book)
    after = estimated(pretrain(start="2027-01-01"), prices=book)

    # 3,333.33 hours on two cards last beyond December, at the price at which they were begun
    assert before["quantities"]["on_demand_rate"]["p50"] == 1
    assert after["cost"]["total"]["mean"] is None
    assert [gap["item"] for gap in after["price_missing"]] == ["h100-sxm-80gb"]


def test_a_verified_offer_wins_over_cheaper_ones_that_nobody_verified() -> None:
    rows = [rent("1", provider="a", verified=False), rent("5", provider="b")]

    assert amount_on(rows, date(2026, 12, 1)) == 5


def test_of_several_offers_the_middle_one_is_taken_the_lower_of_two() -> None:
    three = [rent(amount, provider=amount) for amount in ("9", "1", "4")]

    assert amount_on(three, date(2026, 12, 1)) == 4
    assert amount_on(three[:2], date(2026, 12, 1)) == 1


def test_a_named_provider_is_insisted_on_for_accelerators() -> None:
    book = PriceBook([*STORAGE, rent("2", provider="a")])

    named = estimated(pretrain(compute__provider="b"), prices=book)

    assert named["price_missing"][0]["provider"] == "b"
    assert named["cost"]["total"]["mean"] is None


def test_what_stands_around_accelerators_is_asked_of_anybody_where_nobody_has_a_price() -> None:
    answer = estimated(pretrain(compute__provider="nebius", compute__price_per_accelerator_hour=2), prices=PriceBook())

    assert {tuple(key) for key in answer["price_keys"] if key[0] == "storage"} >= {
        ("storage", "hot", "", "", "", "USD")
    }


def test_only_prices_in_the_currency_of_the_plan_count() -> None:
    answered = estimated(pretrain(currency="EUR"))

    assert {missing["currency"] for missing in answered["price_missing"]} == {"EUR"}
    assert answered["cost"]["total"]["p50"] is None


def test_a_missing_price_leaves_the_total_unknown_and_the_rest_told() -> None:
    answered = estimated(pretrain(data__licence_cost=500), prices=PriceBook(STORAGE))

    assert answered["cost"]["total"] == {"p10": None, "p50": None, "p90": None, "mean": None}
    assert answered["cost"]["by_cause"]["compute"]["mean"] is None
    assert answered["cost"]["by_cause"]["data"]["mean"] == 500
    assert "compute_cost" in answered["cost"]["incomplete"]
    assert answered["cost"]["known_part"]["mean"] > 500
    assert answered["ask"]["total"] is None
    assert [missing["what"] for missing in answered["price_missing"]] == ["Price on demand"]
    assert ["accelerator", "h100-sxm-80gb", "", "", "on_demand", "USD"] in answered["price_keys"]
    assert "price_missing" in {warning["code"] for warning in answered["warnings"]}


def test_the_price_of_what_nobody_buys_is_not_asked_for() -> None:
    answered = estimated(pretrain(compute__price_per_accelerator_hour=2), prices=PriceBook(STORAGE))

    assert answered["price_missing"] == []
    assert answered["cost"]["total"]["mean"] > 0
    asked_by_comparisons = {"purchase", "electricity"}
    assert {key[0] for key in answered["price_keys"]} - asked_by_comparisons == {"storage"}


def test_the_figure_of_the_plan_wins_over_the_table() -> None:
    answered = estimated(pretrain(compute__price_per_accelerator_hour=3))

    assert answered["quantities"]["compute_cost"]["p50"] == pytest.approx(10_000)


def test_an_instance_is_priced_by_its_accelerators_and_its_spare_cards_are_idle() -> None:
    book = PriceBook([*STORAGE, price("instance", "box-8", "16", mode="on_demand")])
    document = pretrain(compute__count=60, compute__instance={"name": "box-8", "accelerators": 8})

    answered = estimated(document, prices=book)

    assert answered["quantities"]["rent_rate"]["p50"] == 2
    # 60 cards take 8 instances of 8: 4 of 64 wait
    assert answered["quantities"]["idle_cost"]["p50"] == pytest.approx(10_000 / 3 * 4 / 60 * 2)


def test_each_hour_of_a_run_is_paid_at_the_price_of_its_month() -> None:
    rows = [rent("2", valid_from=date(2026, 1, 1)), rent("5", valid_from=date(2027, 2, 1))]
    # 3,333.33 h on 4 cards take 833.33 h: from 1 January, 744 h of them in January
    document = pretrain(compute__count=4)

    answered = estimated(document, prices=PriceBook([*STORAGE, *rows]))

    cards = 10_000 / 3
    by_hand = cards * (744 / (cards / 4) * 2 + (1 - 744 / (cards / 4)) * 5)
    assert answered["quantities"]["compute_cost"]["p50"] == pytest.approx(by_hand)
    assert {row["amount"] for row in answered["prices"]} >= {2.0, 5.0}
    months = [month["by_line"]["compute"] for month in answered["cost"]["by_month"][:2]]
    assert months == pytest.approx([744 * 4 * 2, (cards - 744 * 4) * 5])


def test_a_price_that_begins_when_the_run_is_over_has_no_part_in_it_and_stays_asked_for() -> None:
    rows = [rent("2", valid_from=date(2026, 1, 1)), rent("5", valid_from=date(2027, 2, 1), verified=False)]

    # 3,333.33 h on 64 cards end on 3 January
    answered = estimated(pretrain(), prices=PriceBook([*STORAGE, *rows]))

    assert {row["amount"] for row in answered["prices"] if row["kind"] == "accelerator"} == {2.0}
    assert "price_unverified" not in {warning["code"] for warning in answered["warnings"]}
    assert ["accelerator", "h100-sxm-80gb", "", "", "on_demand", "USD"] in answered["price_keys"]


def test_a_past_run_names_the_row_of_the_day_that_stands_in_for_its_months() -> None:
    rows = [rent("2", valid_from=date(2026, 6, 1)), rent("3", valid_from=date(2026, 9, 1))]

    answered = estimated(pretrain(start="2025-03-01"), prices=PriceBook([*STORAGE, *rows]))

    assert answered["quantities"]["rent_rate"]["p50"] == 3
    assert 3.0 in {row["amount"] for row in answered["prices"]}


def test_a_month_before_the_first_row_is_paid_at_the_price_of_the_day() -> None:
    document = pretrain(start="2025-03-01")

    answered = estimated(document, prices=PriceBook([*STORAGE, rent("2")]), prices_on=date(2026, 11, 30))

    assert answered["quantities"]["rent_rate"]["p50"] == 2


def test_modes_count_by_their_share() -> None:
    document = pretrain(compute__mix={"on_demand": 0.5, "committed": 0.25, "spot": 0.25})

    answered = estimated(document)

    assert answered["quantities"]["rent_rate"]["p50"] == pytest.approx(0.5 * 2 + 0.25 * 1.2 + 0.25 * 0.8)


def test_the_unused_part_of_a_reservation_is_idle_money() -> None:
    document = pretrain(compute__mode="committed", compute__committed={"count": 64, "hours": 100, "price": 1.5})

    answered = estimated(document)

    # due: 64 · 100 · 1.5 = 9,600; used: 3,333.33 · 1.5 = 5,000
    assert answered["quantities"]["committed_unused_cost"]["p50"] == pytest.approx(4_600)
    assert answered["cost"]["by_line"]["compute"]["mean"] == pytest.approx(9_600)
    assert answered["cost"]["by_subcategory"]["hidden.idle"]["mean"] == pytest.approx(4_600)


def test_a_reservation_that_is_used_up_costs_its_hours() -> None:
    document = pretrain(compute__mode="committed", compute__committed={"count": 8, "hours": 100, "price": 1.5})

    answered = estimated(document)

    assert answered["quantities"]["committed_unused_cost"]["p50"] == 0
    assert answered["cost"]["by_line"]["compute"]["mean"] == pytest.approx(5_000)


def test_scaling_every_price_scales_money_and_nothing_else() -> None:
    double = PriceBook([price(row.kind, row.item, str(row.amount * 2), mode=row.mode) for row in PRICES.rows])

    one, two = estimated(pretrain()), estimated(pretrain(), prices=double)

    for name, figures in one["quantities"].items():
        factor = 2 if "money" in figures["unit"] else 1
        if figures["mean"] is not None and name not in ("contingency_cost",):
            assert two["quantities"][name]["mean"] == pytest.approx(figures["mean"] * factor), name
