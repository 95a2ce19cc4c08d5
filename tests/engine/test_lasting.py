"""What of an answer no price moves, and what a price change computes again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from estimates.engine.answer import estimate, priced_again
from estimates.engine.books import PriceBook
from estimates.engine.facts import FACTS
from estimates.engine.graph import Quantity
from estimates.engine.lasting import is_lasting, joined, split
from estimates.engine.plan import parse_plan
from estimates.engine.price_leaves import COURSE
from estimates.engine.price_leaves import PRICES as ASKED
from estimates.engine.quantities import QUANTITIES
from tests.engine.makers import PRICES, TODAY
from tests.engine.test_together import SAMPLES, TEMPLATES, catalogue_for

RATES = {name for name, fact in FACTS.items() if "money" in fact.unit or name.endswith(COURSE)}
DOUBLE = PriceBook([replace(row, amount=2 * row.amount) for row in PRICES.rows])


def ways_of(item: Quantity) -> Iterator[Quantity]:
    yield item
    yield from item.variants


def moved_by_prices() -> set[str]:
    """Every quantity that some way to it leads to from a price."""
    moved = {name for price in ASKED for name in (price, f"{price}{COURSE}")} | RATES
    known = 0
    while len(moved) > known:
        known = len(moved)
        moved |= {
            name
            for name, item in QUANTITIES.items()
            if item.gathers is not None or any(moved & set(way.parameters) for way in ways_of(item))
        }
    return moved


def test_no_quantity_that_lasts_depends_on_a_price_in_any_of_its_ways() -> None:
    moved = moved_by_prices()

    lasting = {name for name, item in QUANTITIES.items() if is_lasting(item.unit) and not item.axis}

    assert len(lasting) > 90
    assert "total_cost" in moved
    assert lasting & moved == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_what_lasts_and_what_is_priced_again_make_the_whole_answer_at_the_new_prices(path: Path) -> None:
    plan = parse_plan(path.read_bytes())
    books = {"accelerators": catalogue_for(plan), "prices_on": TODAY, "samples": SAMPLES}
    _, lasting = split(estimate(plan, prices=PRICES, **books))

    priced = priced_again([plan], prices=DOUBLE, **books)[0]

    assert joined(priced, lasting) == estimate(plan, prices=DOUBLE, **books)


def test_an_answer_that_was_taken_apart_is_whole_again() -> None:
    plan = parse_plan(TEMPLATES[0].read_bytes())
    answer = estimate(plan, prices=PRICES, accelerators=catalogue_for(plan), prices_on=TODAY, samples=SAMPLES)

    priced, lasting = split(answer)

    assert joined(priced, lasting) == answer
    assert not set(priced["quantities"]) & set(lasting["quantities"])
