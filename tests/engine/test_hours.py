"""Hours of a plan by month and kind of card."""

from __future__ import annotations

from typing import Any

import pytest

from estimates.engine.answer import estimate
from estimates.engine.plan import parse_plan
from tests.engine.makers import CATALOGUE, PRICES, TODAY, pretrain
from tests.engine.test_together import SAMPLES, TEMPLATES, catalogue_for


def hours(document: dict[str, Any]) -> list[dict[str, Any]]:
    plan = parse_plan(document)
    found = estimate(plan, prices=PRICES, accelerators=CATALOGUE, prices_on=TODAY, samples=20)
    return found["hours_by_month"]


def test_a_run_that_passes_the_end_of_a_month_asks_hours_of_both() -> None:
    # 3,333.33 hours on 4 cards last 833.33 h; January has 744 of them, 4 cards · 744 h = 2,976
    january, february = hours(pretrain(compute__count=4))

    assert (january["month"], february["month"]) == ("2027-01", "2027-02")
    assert january["hours"] == pytest.approx(2976)
    assert february["hours"] == pytest.approx(357.333333)


def test_hours_say_which_part_is_rented_by_the_hour_and_which_is_reserved() -> None:
    mixed = pretrain(compute__mode="mixed", compute__mix={"on_demand": 0.25, "spot": 0.25, "committed": 0.5})

    (found,) = hours(mixed)

    assert found["hours"] == pytest.approx(3333.33333)
    assert found["rented"] == pytest.approx(3333.33333 / 2)
    assert found["reserved"] == pytest.approx(3333.33333 / 2)


def test_own_cards_are_neither_rented_nor_reserved() -> None:
    own = {"capital": 30000, "residual": 0, "life_hours": 30000, "occupancy": 1, "board_kw": 1, "pue": 1.2}

    (found,) = hours(pretrain(compute__mode="own", compute__own=own))

    assert (found["rented"], found["reserved"]) == (0, 0)


def test_pools_take_hours_by_their_cards_because_all_wait_for_the_slowest() -> None:
    pools = [
        {"accelerator": "h100-sxm-80gb", "count": 48, "mfu": 0.5},
        {"accelerator": "a100-sxm-80gb", "count": 16, "mfu": 0.5},
    ]

    document = pretrain()
    document["compute"] = {"pools": pools}

    rows = {row["accelerator"]: row["hours"] for row in hours(document)}

    assert rows["h100-sxm-80gb"] == pytest.approx(3 * rows["a100-sxm-80gb"])


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_the_hours_of_the_months_add_up_to_all_hours(path: Any) -> None:
    plan = parse_plan(path.read_bytes())

    found = estimate(plan, prices=PRICES, accelerators=catalogue_for(plan), prices_on=TODAY, samples=SAMPLES)

    whole = (found["quantities"].get("total_accelerator_hours") or {"mean": 0})["mean"]
    assert sum(row["hours"] for row in found["hours_by_month"]) == pytest.approx(whole)
    assert all(0 <= row["rented"] + row["reserved"] <= row["hours"] * 1.000001 for row in found["hours_by_month"])
