"""Differences between versions, in one line."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.utils import translation

from budgets.models import ProposalVersion
from budgets.versions import CauseChange, InputChange, VersionDifference
from web.version_words import headline, movement


def difference(before, after, *causes):
    return VersionDifference(
        ProposalVersion(ask_total=Decimal(before)), ProposalVersion(ask_total=Decimal(after)), causes
    )


def test_money_share_and_what_moved_it_stand_in_one_line_the_costliest_first():
    found = difference(
        1_550_000,
        1_643_000,
        CauseChange("price", Decimal(-87_000), (InputChange("compute.price_per_accelerator_hour", 2.5, 2.2),)),
        CauseChange("volume", Decimal(200_000), (InputChange("data.tokens", "1T", 1_410_000_000_000),)),
        CauseChange("rest", Decimal(-20_000)),
    )

    said = headline(found, "USD")

    assert said.startswith("+93,000 USD, +6.0 %: ")
    tokens, price, rest = said.partition(": ")[2].split(", ", 2)
    assert tokens.endswith("+41 %") and price.endswith("−12 %")
    assert rest == "Contingency, level and later figures −20,000 USD"
    with translation.override("zh-hans"):
        assert "+41%" in headline(found, "USD")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"low": 0.3, "mode": 0.4, "high": 0.5}, 0.42, "+5.0 %"),
        ("40%", 0.3, "−25 %"),
        (None, 5, "changed"),
        (0, 5, "changed"),
        ("on_demand", "spot", "changed"),
    ],
)
def test_an_input_moves_by_its_share_or_has_changed(before, after, said):
    assert movement(InputChange("compute.mfu", before, after)).endswith(said)


def test_of_many_inputs_the_rest_are_counted():
    inputs = tuple(InputChange(f"data.{number}", 1, 2) for number in range(7))

    assert headline(difference(10, 20, CauseChange("volume", Decimal(10), inputs)), "USD").endswith(", 2 more")
