from __future__ import annotations

from decimal import Decimal

import pytest

from core.months import Month
from teams.models import ExchangeRate
from teams.rates import conversion_rate

JANUARY, MARCH, MAY = Month(2027, 1), Month(2027, 3), Month(2027, 5)


def rate(base, quote, month, worth):
    return ExchangeRate.objects.create(base=base, quote=quote, month=month.start, rate=Decimal(worth))


@pytest.fixture(autouse=True)
def unrelated(db):
    rate("EUR", "GBP", JANUARY, "0.85")


def test_the_rate_of_the_month_is_used():
    rate("USD", "CNY", JANUARY, "7.2")
    rate("USD", "CNY", MARCH, "7.1")

    assert conversion_rate("USD", "CNY", JANUARY, this_month=MAY) == Decimal("7.2")


def test_of_two_rates_of_a_month_the_last_entered_counts():
    rate("USD", "CNY", JANUARY, "7.2")
    rate("USD", "CNY", JANUARY, "7.3")

    assert conversion_rate("USD", "CNY", JANUARY, this_month=MAY) == Decimal("7.3")


def test_a_missing_rate_of_a_past_month_is_not_guessed():
    rate("USD", "CNY", JANUARY, "7.2")

    assert conversion_rate("USD", "CNY", MARCH, this_month=MAY) is None


def test_this_and_future_months_use_the_newest_rate():
    rate("USD", "CNY", JANUARY, "7.2")
    rate("USD", "CNY", MARCH, "7.1")

    assert conversion_rate("USD", "CNY", MAY, this_month=MAY) == Decimal("7.1")
    assert conversion_rate("USD", "CNY", MAY + 4, this_month=MAY) == Decimal("7.1")


def test_the_other_direction_is_the_inverse():
    rate("USD", "CNY", JANUARY, "8")

    assert conversion_rate("CNY", "USD", JANUARY, this_month=MAY) == Decimal("0.125")


def test_a_currency_is_worth_itself():
    assert conversion_rate("USD", "USD", JANUARY, this_month=MAY) == 1


def test_of_both_directions_the_newer_rate_is_the_one_of_the_future():
    rate("USD", "CNY", JANUARY, "8")
    rate("CNY", "USD", MARCH, "0.1")

    assert conversion_rate("USD", "CNY", MAY + 4, this_month=MAY) == 10
    assert conversion_rate("CNY", "USD", MAY + 4, this_month=MAY) == Decimal("0.1")
    assert conversion_rate("USD", "CNY", JANUARY, this_month=MAY) == 8
