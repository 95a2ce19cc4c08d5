"""Rules place usage, by order and date; what was known stays known; parts add up."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from core.errors import DomainError
from teams.models import ClosedMonth
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import queries, rules
from usage.models import AllocationRule, DailyUsage, Import, Placement
from usage.pipeline.placement import exact_shares
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

APRIL = {
    "BillingPeriodStart": "2026-04-01T00:00:00Z",
    "BillingPeriodEnd": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-04-02T00:00:00Z",
    "ChargePeriodEnd": "2026-04-03T00:00:00Z",
}


def where(field: str, operator: str, *values: str, tag: str = "") -> list[dict]:
    return [{"field": field, "operator": operator, "values": list(values)} | ({"tag": tag} if tag else {})]


def by_project(**question) -> dict[str | None, Decimal]:
    _whole, groups = usage_totals(Question(by=["project"], **question))
    return {group.key["project"]: group.totals["USD"] for group in groups}


@pytest.mark.parametrize(
    "conditions",
    [
        where("account", "equals", "acct-9", "acct-1"),
        where("account", "prefix", "acct-"),
        where("resource", "glob", "node-?"),
        where("tag", "equals", "foundation", tag="team"),
        where("tag", "present", tag="team"),
        where("tag", "absent", tag="nothing"),
        where("service", "list", "Virtual Machines"),
        [],
    ],
)
def test_a_condition_places_what_it_matches(stage, conditions):
    rules.add_rule(by=stage.operator, name="One", conditions=conditions, project=stage.project)

    deliver(factories.source(), focus({}))

    assert by_project() == {stage.project.slug: 10}


@pytest.mark.parametrize(
    "conditions",
    [
        where("account", "equals", "acct-10"),
        where("account", "prefix", "cct"),
        where("resource", "glob", "node"),
        where("tag", "equals", "search", tag="team"),
        where("tag", "absent", tag="team"),
    ],
)
def test_a_condition_leaves_what_it_does_not_match(stage, conditions):
    rules.add_rule(by=stage.operator, name="One", conditions=conditions, project=stage.project)

    deliver(factories.source(), focus({}))

    assert by_project() == {None: 10}


def test_the_first_rule_that_matches_wins(stage):
    rules.add_rule(
        by=stage.operator, name="Node", conditions=where("resource", "equals", "node-1"), project=stage.other_project
    )
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)

    deliver(factories.source(), focus({}, {"ResourceId": "node-2"}))

    assert by_project() == {stage.other_project.slug: 10, stage.project.slug: 10}
    assert set(Placement.objects.values_list("rule__name", flat=True)) == {"Node", "All"}


def test_rules_are_dated(stage):
    rules.add_rule(by=stage.operator, name="Till March", conditions=[], project=stage.project, ends_on=date(2026, 4, 1))
    rules.add_rule(
        by=stage.operator, name="Then", conditions=[], project=stage.other_project, starts_on=date(2026, 4, 1)
    )

    deliver(factories.source(), focus({}, APRIL))

    assert by_project() == {stage.project.slug: 10, stage.other_project.slug: 10}


def test_a_split_gives_balanced_parts(stage):
    shares = [(stage.project, Decimal(1)), (stage.other_project, Decimal(2))]
    rules.add_rule(by=stage.operator, name="Split", conditions=[], shares=shares)

    deliver(factories.source(), focus({"BilledCost": "0.1", "EffectiveCost": "0.1"}))

    found = by_project()
    assert sum(found.values()) == Decimal("0.1")
    assert found[stage.other_project.slug] > found[stage.project.slug] > 0
    assert sum(DailyUsage.objects.values_list("rows", flat=True)) == 1
    assert all(each.holds for each in queries.conservation())


def test_shares_add_up_to_one_exactly():
    assert sum(exact_shares([Decimal(1)] * 7)) == 1
    assert exact_shares([Decimal(1), Decimal(3)]) == [Decimal("0.25"), Decimal("0.75")]


def test_a_rule_sets_category_task_type_and_proposal(stage):
    rules.add_rule(
        by=stage.operator, name="One", conditions=[], project=stage.project, category="data", reference="P-9"
    )

    deliver(factories.source(), focus({}))

    march = {"start": date(2026, 3, 1), "end": date(2026, 4, 1), "basis": "effective"}
    assert queries.line_actual(stage.project.pk, "data", **march) == {"USD": 10}
    assert queries.line_actual(stage.project.pk, "compute", **march) == {}
    assert queries.actual_by_reference(stage.project.pk, "data", **march) == {"P-9": {"USD": 10}}
    assert queries.line_actual(stage.project.pk, "data", task_type=stage.project.task_type, **march) == {"USD": 10}
    assert queries.line_actual(stage.project.pk, "data", task_type="inference", **march) == {}


def test_the_tag_of_a_proposal_is_its_reference(stage):
    rules.add_rule(by=stage.operator, name="One", conditions=[], project=stage.project)

    deliver(factories.source(), focus({"Tags": '{"headroom-proposal": "P-3"}'}))

    march = {"start": date(2026, 3, 1), "end": date(2026, 4, 1), "basis": "billed"}
    assert queries.actual_by_reference(stage.project.pk, "compute", **march) == {"P-3": {"USD": 10}}


def test_applying_rules_moves_what_is_stored_and_keeps_what_was_known(stage):
    deliver(factories.source(), focus({}, {"Tags": ""}))
    before = datetime.now(UTC)

    rules.add_rule(by=stage.operator, name="Tag", conditions=where("tag", "present", tag="team"), project=stage.project)
    assert by_project() == {None: 20}
    moved = rules.apply_rules(by=stage.operator)

    assert moved == 1
    assert by_project() == {stage.project.slug: 10, None: 10}
    assert by_project(known_at=before) == {None: 20}
    march = {"start": date(2026, 3, 1), "end": date(2026, 4, 1), "basis": "effective"}
    assert queries.line_actual(stage.project.pk, "compute", **march) == {"USD": 10}
    assert queries.line_actual(stage.project.pk, "compute", known_at=before, **march) == {}
    assert rules.apply_rules(by=stage.operator) == 0


def test_what_lies_in_a_closed_month_stays_where_it_is(stage):
    deliver(factories.source(), focus({}, APRIL))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=datetime(2026, 4, 5, tzinfo=UTC), by=stage.finance)
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)

    rules.apply_rules(by=stage.operator)

    _whole, groups = usage_totals(Question(by=["project", "month"]))
    assert {tuple(group.key.values()): group.totals["USD"] for group in groups} == {
        (None, "2026-03"): 10,
        (stage.project.slug, "2026-04"): 10,
    }


def test_a_preview_says_what_would_move_and_moves_nothing(stage):
    deliver(factories.source(), focus({}, {"Tags": ""}))
    draft = AllocationRule(name="Tag", conditions=where("tag", "present", tag="team"), project=stage.project)

    found = rules.preview(draft)

    assert found.key_sets == 1
    assert {(shift.project, shift.amount) for shift in found.shifts} == {(stage.project, 10), (None, -10)}
    assert by_project() == {None: 20}


@pytest.mark.parametrize("person", ["alice", "manager", "director", "keeper", "auditor", "charlie"])
def test_who_may_not_allocate_is_refused(stage, person):
    with pytest.raises(DomainError):
        rules.add_rule(by=getattr(stage, person), name="One", conditions=[], project=stage.project)
    with pytest.raises(DomainError):
        rules.apply_rules(by=getattr(stage, person))


@pytest.mark.parametrize(
    "values",
    [
        {"conditions": [{"field": "weather", "operator": "equals", "values": ["x"]}]},
        {"conditions": [{"field": "account", "operator": "like", "values": ["x"]}]},
        {"conditions": [{"field": "account", "operator": "equals", "values": []}]},
        {"conditions": [{"field": "tag", "operator": "present"}]},
        {"conditions": [], "name": " "},
        {"conditions": [], "starts_on": date(2026, 3, 1), "ends_on": date(2026, 3, 1)},
        {"conditions": [], "is_shared": True},
    ],
)
def test_a_broken_rule_is_refused_with_its_faults(stage, values):
    with pytest.raises(DomainError) as refused:
        rules.add_rule(by=stage.operator, **{"name": "One", "project": stage.project, **values})

    assert refused.value.faults
    assert not AllocationRule.objects.exists()


def test_known_now_and_the_rollup_agree(stage):
    rules.add_rule(by=stage.operator, name="One", conditions=[], project=stage.project)
    deliver(
        factories.source(),
        focus({"ChargePeriodStart": "2026-03-30T12:00:00Z", "ChargePeriodEnd": "2026-04-02T06:00:00Z"}, APRIL),
    )
    later = Import.objects.get().live_at

    for start, end in [(date(2026, 3, 1), date(2026, 4, 1)), (date(2026, 4, 1), date(2026, 5, 1))]:
        for basis in ("effective", "billed"):
            span = {"start": start, "end": end, "basis": basis}
            now = queries.daily_actual(stage.project.pk, "compute", **span)
            then = queries.daily_actual(stage.project.pk, "compute", known_at=later, **span)
            assert now == then != []


def test_a_part_of_another_source_adds_no_money_to_a_sum_of_all(stage):
    deliver(factories.source("nodes"), focus({}))
    deliver(factories.source("jobs", part_of="nodes"), focus({"BilledCost": "4", "EffectiveCost": "4"}))

    whole, groups = usage_totals(Question(by=["source"]))
    part, _groups = usage_totals(Question(source="jobs"))

    assert whole.totals == {"USD": 10}
    assert {group.key["source"]: group.totals for group in groups} == {"nodes": {"USD": 10}, "jobs": {}}
    assert part.totals == {"USD": 4}
    assert [each.sources for each in queries.conservation()] == [10]
