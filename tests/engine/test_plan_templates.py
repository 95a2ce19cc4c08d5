"""The plans shipped in docs/plans: every scenario, and published runs that say what was published."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from estimates.engine.document import to_yaml
from estimates.engine.fields import TASK_NAMES
from estimates.engine.plan import Plan, parse_plan
from tests.shared import shared

PLANS = Path(__file__).resolve().parents[2] / "docs" / "plans"
TEMPLATES = sorted(PLANS.glob("template-*.yaml"))
PUBLISHED = sorted(PLANS.glob("published-*.yaml"))


def read(path: Path) -> Plan:
    return parse_plan(path.read_bytes())


@pytest.mark.parametrize("path", [*TEMPLATES, *PUBLISHED], ids=lambda path: path.stem)
def test_a_shipped_plan_can_be_read_and_says_what_it_is(path: Path) -> None:
    plan = read(path)

    assert path.read_text(encoding="utf-8").startswith("# ")
    assert plan.name
    assert parse_plan(to_yaml(plan.document)) == plan


def test_there_is_a_template_for_every_task() -> None:
    assert {read(path).task for path in TEMPLATES} == set(TASK_NAMES)


def test_at_least_ten_published_runs_are_shipped_with_their_source() -> None:
    assert len(PUBLISHED) >= 10
    for path in PUBLISHED:
        text = path.read_text(encoding="utf-8")
        assert "# Published: " in text, path.name
        assert "# Source: " in text, path.name


def test_published_runs_hold_the_figures_of_rows_that_were_read() -> None:
    with shared("truth/training_runs.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["name"].lower(): row for row in csv.DictReader(lines)}

    for path in PUBLISHED:
        plan = read(path)
        row = rows[plan.name]
        active = plan.number("model.active_parameters") or plan.number("model.parameters")
        assert row["read_or_recalled"] == "READ", plan.name
        assert active is None or active == float(row["params_active"]), plan.name
        assert plan.number("data.tokens") == pytest.approx(float(row["tokens"]), rel=0.02), plan.name
