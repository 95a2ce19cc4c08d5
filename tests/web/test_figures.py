"""Numbers as people read them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import translation

from web import figures


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Decimal("1240000"), "1,240,000 USD"),
        (Decimal("1240000.50"), "1,240,000 USD"),
        (Decimal("-1180"), "−1,180 USD"),
        (Decimal("18.54371254313"), "18.54 USD"),
        (Decimal("999.5"), "999.50 USD"),
        (Decimal("0"), "0 USD"),
        (Decimal("-0.00"), "0 USD"),
        (Decimal("0.0035"), "0.0035 USD"),
        (None, "–"),
    ],
)
def test_money_has_whole_units_from_a_thousand_on_and_cents_below(amount, text):
    assert figures.money_text(amount, "USD") == text


def test_yen_have_no_cents():
    assert figures.money_text(Decimal("12"), "JPY") == "12 JPY"


@pytest.mark.parametrize(
    ("amount", "english", "chinese"),
    [
        ("1820000", "1.82M", "182 万"),
        ("592000", "592K", "59.2 万"),
        ("640000", "640K", "64 万"),
        ("9999", "9,999", "9,999"),
        ("10000", "10K", "1 万"),
        ("999999", "1M", "100 万"),
        ("99999999", "100M", "1 亿"),
        ("123456789012", "123B", "1235 亿"),
        ("-1500000", "−1.5M", "−150 万"),
    ],
)
def test_the_short_form_has_three_digits_and_the_size_of_the_language(amount, english, chinese):
    with translation.override("en"):
        in_english = figures.compact_text(Decimal(amount))
    with translation.override("zh-hans"):
        in_chinese = figures.compact_text(Decimal(amount))

    assert in_english == english
    assert in_chinese.replace(",", "") == chinese.replace(",", "")


def test_percent_of_a_share_has_a_space_in_english_and_none_in_chinese():
    with translation.override("en"):
        assert figures.percent_text(Decimal("0.7695")) == "77.0 %"
    with translation.override("zh-hans"):
        assert figures.percent_text(Decimal("0.7695")) == "77.0%"
    assert figures.percent_text(Decimal("-0.004"), 0) == "0 %"


def test_exact_sums_keep_every_digit():
    assert figures.exact_text("18.54371254313") == "18.54371254313"
    assert figures.exact_text("-1234567.80") == "−1,234,567.80"
    assert figures.exact_text("") == "–"
