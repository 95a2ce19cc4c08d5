"""The number parser: what people write, exactly; and what is refused, with the reason."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimates.engine.numbers import NotANumber, parse_number, plain


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("1e12", "1000000000000"),
        ("1_000_000", "1000000"),
        ("2T", "2000000000000"),
        ("7B", "7000000000"),
        ("1.5M", "1500000"),
        ("3k", "3000"),
        ("3K", "3000"),
        ("6.7b", "6700000000"),
        ("40%", "0.4"),
        ("40 %", "0.4"),
        ("0.1", "0.1"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+5", "5"),
        ("-3", "-3"),
        ("  12  ", "12"),
        ("1E-3", "0.001"),
        ("0e999999999", "0"),
        (7, "7"),
        (0.1, "0.1"),
        (Decimal("2.50"), "2.50"),
    ],
)
def test_numbers_are_read_exactly(written: object, amount: str) -> None:
    assert parse_number(written).amount == Decimal(amount)


def test_the_suffix_is_remembered() -> None:
    assert parse_number("40%").suffix == "%"
    assert parse_number("7b").suffix == "B"
    assert parse_number("7e9").suffix == ""


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("", "wrong_type_number"),
        ("abc", "wrong_type_number"),
        ("1__000", "wrong_type_number"),
        ("_1", "wrong_type_number"),
        ("٣", "wrong_type_number"),
        ("½", "wrong_type_number"),
        ("1:30", "wrong_type_number"),
        ("5%%", "wrong_type_number"),
        ("T", "wrong_type_number"),
        (True, "wrong_type_number"),
        (None, "wrong_type_number"),
        ([1], "wrong_type_number"),
        ("1,000", "comma"),
        ("1.000,5", "comma"),
        ("0x1F", "not_decimal"),
        ("-0XFF_00", "not_decimal"),
        ("0o17", "not_decimal"),
        ("0b101", "not_decimal"),
        ("0b2", "with_unit"),
        ("0 bytes", "with_unit"),
        ("80 GB", "with_unit"),
        ("80GB", "with_unit"),
        ("5m", "with_unit"),
        ("3 days", "with_unit"),
        ("NaN", "not_finite"),
        (".inf", "not_finite"),
        ("-Infinity", "not_finite"),
        (float("nan"), "not_finite"),
        (float("inf"), "not_finite"),
        (Decimal("NaN"), "not_finite"),
        (Decimal("sNaN"), "not_finite"),
        ("1e400", "too_large_to_read"),
        ("1e999999999999", "too_large_to_read"),
        (10**400, "too_large_to_read"),
        (Decimal("1e400"), "too_large_to_read"),
        ("1e-400", "too_small_to_read"),
        ("1" * 41, "too_many_digits"),
        ("0." + "1" * 41, "too_many_digits"),
    ],
)
def test_what_is_no_number_is_refused_with_the_reason(written: object, code: str) -> None:
    with pytest.raises(NotANumber) as refused:
        parse_number(written)

    assert refused.value.code == code


def test_ten_to_the_power_of_400_written_out_costs_nothing() -> None:
    began = time.perf_counter()

    for hostile in ("1" + "0" * 400, "9" * 100_000, "1e" + "9" * 100_000, "1_" * 50_000):
        with pytest.raises(NotANumber):
            parse_number(hostile)

    assert time.perf_counter() - began < 1


def test_whole_numbers_are_written_as_whole_numbers_and_others_with_the_same_digits() -> None:
    assert plain(Decimal("7E+9")) == 7_000_000_000
    assert isinstance(plain(Decimal("7E+9")), int)
    assert repr(plain(Decimal("0.4"))) == "0.4"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e35, max_value=1e35))
def test_every_float_that_is_not_tiny_comes_back_as_it_was(number: float) -> None:
    if number == 0 or abs(number) > 1e-30:
        assert float(parse_number(repr(number)).amount) == number
        assert float(parse_number(number).amount) == number


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    try:
        number = parse_number(text)
    except NotANumber:
        return
    assert number.amount.is_finite()
