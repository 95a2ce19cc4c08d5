from __future__ import annotations

from decimal import Decimal

from budgets.spread import shortfall, spread, spread_new_money


def test_an_amount_is_spread_by_largest_remainder_and_adds_up():
    parts = spread(Decimal("100.00"), {"a": Decimal(1), "b": Decimal(1), "c": Decimal(1)}, "USD")

    assert parts == {"a": Decimal("33.34"), "b": Decimal("33.33"), "c": Decimal("33.33")}


def test_without_weights_the_first_carries_all():
    assert spread(Decimal(10), {"a": Decimal(0), "b": Decimal(0)}, "USD") == {"a": Decimal(10), "b": Decimal(0)}


def test_the_shortfall_is_rounded_up_to_what_can_be_paid():
    assert shortfall(Decimal(100), Decimal("40.001"), "USD") == Decimal("60.00")
    assert shortfall(Decimal(100), Decimal("39.999"), "USD") == Decimal("60.01")
    assert shortfall(Decimal(100), Decimal(100), "USD") == 0
    assert shortfall(Decimal(10), Decimal(-5), "USD") == Decimal(15)


def test_new_money_first_covers_what_each_line_is_short_of():
    given = spread_new_money(
        Decimal(40), {"q1": Decimal(30), "q2": Decimal(60)}, {"q1": Decimal(30), "q2": Decimal(20)}, "USD"
    )

    assert given == {"q1": Decimal(0), "q2": Decimal(40)}


def test_new_money_beyond_the_shortfall_follows_the_amounts():
    given = spread_new_money(
        Decimal(70), {"q1": Decimal(30), "q2": Decimal(60)}, {"q1": Decimal(30), "q2": Decimal(20)}, "USD"
    )

    assert given == {"q1": Decimal(10), "q2": Decimal(60)}
