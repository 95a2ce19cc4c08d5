"""What the estimate says beside single fields of a plan."""

from __future__ import annotations

from estimates.engine.plan import parse_plan
from tests.engine.makers import estimated, pretrain
from web.plan_hints import Said, hints_of

PLACE = "data.processing_cost_per_tb"
NOTHING_STORED = {"keep_last": 0, "keep_milestones": 0, "log_gb_per_day": 0}


def said_beside_data(**changes: object) -> Said | None:
    """6e21 operations are 3,333.33 hours at 2.00."""
    document = pretrain(storage=NOTHING_STORED, **changes)
    return hints_of(parse_plan(document), estimated(document)).get(PLACE)


def test_continued_pretraining_says_how_much_of_the_money_is_data() -> None:
    # 6,666.67 for computing and 2,222.22 for data
    said = said_beside_data(task="continued_pretrain", data__licence_cost=20_000 / 9)

    assert said is not None
    assert said.text.split()[:3] == ["data", "is", "25"]
    assert said.kind == "hint"


def test_continued_pretraining_without_any_money_for_data_is_noticed() -> None:
    said = said_beside_data(task="continued_pretrain")

    assert said is not None
    assert said.kind == "warn"


def test_pretraining_has_no_share_to_compare_with() -> None:
    assert said_beside_data(data__licence_cost=20_000 / 9) is None
