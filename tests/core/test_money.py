from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.money import exact_sum, exact_text, parse_amount, quantum, round_money, split


def test_split_gives_the_odd_cent_to_the_largest_remainder():
    assert split(Decimal("100.00"), [1, 1, 1], "USD") == [Decimal("33.34"), Decimal("33.33"), Decimal("33.33")]


def test_split_of_a_currency_without_cents_uses_whole_units():
    assert split(Decimal("10"), [1, 2], "JPY") == [Decimal(3), Decimal(7)]


def test_split_of_a_refund_keeps_the_sign():
    assert split(Decimal("-0.05"), [1, 1], "USD") == [Decimal("-0.03"), Decimal("-0.02")]


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_split_refuses_weights_that_mean_nothing(weights):
    with pytest.raises(ValueError, match="weights"):
        split(Decimal(1), weights, "USD")


@given(
    st.decimals(min_value=-(10**9), max_value=10**9, places=4),
    st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any),
)
def test_parts_add_up_to_the_rounded_whole(total, weights):
    parts = split(total, weights, "USD")

    assert sum(parts) == round_money(total, "USD")


def test_rounding_goes_to_even():
    assert round_money(Decimal("0.125"), "USD") == Decimal("0.12")
    assert round_money(Decimal("0.135"), "USD") == Decimal("0.14")


def test_a_sum_keeps_more_than_28_digits():
    huge = Decimal("10000000000000000000000000")

    assert exact_sum([huge, Decimal("0.5827499865274349353"), -huge]) == Decimal("0.5827499865274349353")


@pytest.mark.parametrize(
    ("amount", "text"),
    [("18.54371254313", "18.54371254313"), ("1E+3", "1000"), ("-0", "0"), ("13.00", "13"), ("1E-10", "0.0000000001")],
)
def test_exact_text_has_no_exponent_and_no_padding(amount, text):
    assert exact_text(Decimal(amount)) == text


@pytest.mark.parametrize("text", ["+5", "1e3", "1,000", "NaN", "1_000", "１２", "", "$5", "Infinity"])
def test_only_plain_decimals_are_amounts(text):
    with pytest.raises(ValueError, match="amount"):
        parse_amount(text)


def test_quantum_follows_the_currency():
    assert (quantum("USD"), quantum("JPY"), quantum("KWD")) == (Decimal("0.01"), Decimal(1), Decimal("0.001"))
