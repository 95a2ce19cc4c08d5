"""Splits by weight and by usage, re-assignment by hand, and who answers for what nobody owns."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from core.errors import DomainError
from core.months import Month
from teams import notifications
from teams.models import Activity, ClosedMonth, Notification
from tests.usage import factories
from tests.usage.factories import deliver, focus
from tests.usage.test_pages import rule_fields
from usage import queries, reassignments, restatements, rules
from usage.models import AllocationRule, KeySet, Placement, Reassignment
from usage.pipeline.swap import known_now
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

APRIL = {
    "BillingPeriodStart": "2026-04-01T00:00:00Z",
    "BillingPeriodEnd": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-04-02T00:00:00Z",
    "ChargePeriodEnd": "2026-04-03T00:00:00Z",
}
GPU = {"SkuPriceDetails": '{"GpuCount": 1}'}
SHARED = {"ResourceId": "switch", "ServiceCategory": "Networking", "EffectiveCost": "90", "BilledCost": "90"}
COLUMNS = [*factories.ROW, "SkuPriceDetails"]


def of_resource(*names: str) -> list[dict]:
    return [{"field": "resource", "operator": "equals", "values": list(names)}]


def by_project(**question) -> dict[str | None, Decimal]:
    _whole, groups = usage_totals(Question(by=["project"], **question))
    return {group.key["project"]: group.totals["USD"] for group in groups}


def two_projects_and_a_switch(stage) -> None:
    rules.add_rule(by=stage.operator, name="One", conditions=of_resource("node-1"), project=stage.project)
    rules.add_rule(by=stage.operator, name="Two", conditions=of_resource("node-2"), project=stage.other_project)


def test_shared_cost_is_split_by_the_accelerator_hours_of_its_month(stage):
    two_projects_and_a_switch(stage)
    rules.add_rule(by=stage.operator, name="Switch", conditions=of_resource("switch"), split="usage")
    rows = [
        {**GPU, "ConsumedQuantity": "20"},
        {**GPU, "ResourceId": "node-2", "ConsumedQuantity": "10"},
        SHARED,
        {**APRIL, **GPU, "ConsumedQuantity": "5"},
        {**APRIL, **SHARED},
    ]
    deliver(factories.source(), focus(*rows, columns=COLUMNS))

    rules.apply_rules(by=stage.operator)

    march = by_project(start=date(2026, 3, 1), end=date(2026, 4, 1))
    assert sum(march.values()) == 110
    assert march[stage.project.slug].quantize(Decimal("0.000001")) == 70
    assert march[stage.other_project.slug].quantize(Decimal("0.000001")) == 40
    assert by_project(start=date(2026, 4, 1), end=date(2026, 5, 1)) == {stage.project.slug: 100}
    assert all(each.holds for each in queries.conservation())
    assert rules.preview().key_sets == 0


def test_a_month_without_use_leaves_a_split_by_usage_shared(stage):
    rules.add_rule(by=stage.operator, name="Switch", conditions=of_resource("switch"), split="usage")
    deliver(factories.source(), focus(SHARED))

    (conserved,) = queries.conservation()

    assert (conserved.shared, conserved.projects) == (90, 0)


def share_fields(*pairs) -> dict[str, str]:
    empty = {f"shares-{number}-{name}": "" for number in range(12) for name in ("project", "weight")}
    given = {}
    for number, (project, weight) in enumerate(pairs):
        given |= {f"shares-{number}-project": str(project.pk), f"shares-{number}-weight": weight}
    return {**empty, "shares-TOTAL_FORMS": "12", "shares-INITIAL_FORMS": "0", **given}


def test_the_form_of_a_rule_keeps_and_changes_its_shares(stage, client):
    shares = [(stage.project, Decimal(1)), (stage.other_project, Decimal(3))]
    rule = rules.add_rule(by=stage.operator, name="Split", conditions=[], shares=shares)
    client.force_login(stage.operator)
    page = client.get(reverse("rule", args=[rule.pk])).content.decode()
    assert f'<option value="{stage.other_project.pk}" selected>' in page

    fields = rule_fields(stage.project, target="split-weight", name="Split again")
    answer = client.post(
        reverse("rule", args=[rule.pk]), {**fields, **share_fields((stage.project, "1"), (stage.other_project, "4"))}
    )

    assert answer.status_code == 302
    kept = AllocationRule.objects.get(pk=rule.pk)
    assert (kept.name, kept.split) == ("Split again", "weight")
    assert dict(kept.shares.values_list("project_id", "weight")) == {stage.project.pk: 1, stage.other_project.pk: 4}


def test_the_preview_of_a_split_shows_both_parts(stage, client):
    deliver(factories.source(), focus({"EffectiveCost": "40"}))
    client.force_login(stage.operator)
    fields = rule_fields(stage.project, target="split-weight")

    page = client.post(
        reverse("rule-new-preview"), {**fields, **share_fields((stage.project, "1"), (stage.other_project, "3"))}
    ).content.decode()

    assert "+10.00 USD" in page and "+30.00 USD" in page and "−40.00 USD" in page


def test_a_split_without_a_weight_is_refused(stage):
    with pytest.raises(DomainError) as refused:
        rules.add_rule(by=stage.operator, name="Split", conditions=[], split="weight")

    assert "weight" in str(refused.value.faults[0].message)


def draft(teams, **more) -> Reassignment:
    return Reassignment(
        **{"project": teams.other_project, "starts_on": date(2026, 3, 1), "reason": "It was theirs.", **more}
    )


def test_a_re_assignment_wins_over_the_rules_and_later_deliveries_follow_it(stage):
    two_projects_and_a_switch(stage)
    source = factories.source()
    deliver(source, focus({}, {"ResourceId": "node-3"}))
    key_set = KeySet.objects.get(resource="node-1")

    made = reassignments.reassign(draft(stage, category="data"), [key_set.pk], by=stage.operator)
    deliver(source, focus({"EffectiveCost": "12", "BilledCost": "12"}, {"ResourceId": "node-3"}))

    assert by_project() == {stage.other_project.slug: 12, None: 10}
    place = Placement.objects.filter(key_set=key_set, known_until=None, reassignment=made)
    assert place.get().category == "data"
    rules.apply_rules(by=stage.operator)
    assert by_project() == {stage.other_project.slug: 12, None: 10}
    assert Activity.objects.filter(verb="usage.reassigned", by=stage.operator).exists()


def test_what_a_re_assignment_leaves_empty_stays_as_the_rules_say(stage):
    two_projects_and_a_switch(stage)
    deliver(factories.source(), focus({}))

    reassignments.reassign(
        draft(stage, project=None, stage="checkpointing"), [KeySet.objects.get().pk], by=stage.operator
    )

    place = Placement.objects.get(known_until=None, stage="checkpointing")
    assert (place.project, place.rule.name) == (stage.project, "One")


def test_a_reversed_re_assignment_goes_back_to_the_rules(stage):
    two_projects_and_a_switch(stage)
    deliver(factories.source(), focus({}))
    made = reassignments.reassign(draft(stage), [KeySet.objects.get().pk], by=stage.operator)

    reassignments.reverse_reassignment(made, by=stage.finance, reason="A mistake.", now=timezone.now())

    assert by_project() == {stage.project.slug: 10}
    with pytest.raises(DomainError):
        reassignments.reverse_reassignment(made, by=stage.finance, reason="Again.", now=timezone.now())


def test_a_re_assignment_leaves_days_before_it_and_closed_months_alone(stage):
    deliver(factories.source(), focus({}, APRIL))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    key_set = KeySet.objects.get().pk

    reassignments.reassign(draft(stage), [key_set], by=stage.operator)

    assert by_project(start=date(2026, 3, 1), end=date(2026, 4, 1)) == {None: 10}
    assert by_project(start=date(2026, 4, 1), end=date(2026, 5, 1)) == {stage.other_project.slug: 10}
    assert restatements.since_closing() == []


def test_a_closed_month_is_re_assigned_as_a_restatement_where_that_is_said(stage):
    deliver(factories.source(), focus({}))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)

    made = reassignments.reassign(draft(stage, restates=True), [KeySet.objects.get().pk], by=stage.operator)

    assert {(row.project, row.delta) for row in restatements.since_closing()} == {
        (stage.other_project, Decimal(10)),
        (None, Decimal(-10)),
    }
    rules.apply_rules(by=stage.operator)
    assert by_project() == {stage.other_project.slug: 10}
    reassignments.reverse_reassignment(made, by=stage.operator, reason="No.", now=timezone.now())
    assert restatements.since_closing() == []


def told(kind: str) -> list[str]:
    return sorted(Notification.objects.filter(kind=kind).values_list("user__email", flat=True))


def test_who_is_concerned_hears_of_a_closed_month_that_is_re_assigned_and_of_its_reversal(stage):
    deliver(factories.source(), focus({}, APRIL))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    concerned = [person.email for person in (stage.finance, stage.operator, stage.other_manager)]

    made = reassignments.reassign(draft(stage, restates=True), [KeySet.objects.get().pk], by=stage.operator)
    first = told("month_reassigned")
    reassignments.reverse_reassignment(made, by=stage.operator, reason="No.", now=timezone.now())

    word = Notification.objects.filter(kind="month_reassigned").latest("pk")
    assert first == sorted(concerned) and told("month_reassigned") == sorted(concerned * 2)
    assert word.facts == {"who": stage.operator.name, "reason": "No.", "months": "2026-03"}
    assert notifications.headline(word) == "Closed months were re-assigned by Operator: 2026-03"


def test_nobody_hears_of_a_re_assignment_that_leaves_closed_months_alone(stage):
    deliver(factories.source(), focus({}, APRIL))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)

    reassignments.reassign(draft(stage), [KeySet.objects.get().pk], by=stage.operator)

    assert told("month_reassigned") == []


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"reason": " "}, "reason"),
        ({"project": None}, "target"),
        ({"ends_on": date(2026, 2, 1)}, "ends_on"),
    ],
)
def test_a_re_assignment_that_says_too_little_is_refused(stage, more, path):
    deliver(factories.source(), focus({}))

    with pytest.raises(DomainError) as refused:
        reassignments.reassign(draft(stage, **more), [KeySet.objects.get().pk], by=stage.operator)

    assert [fault.path for fault in refused.value.faults] == [path]
    assert not Reassignment.objects.exists()


def test_only_operators_and_finance_re_assign(stage, client):
    deliver(factories.source(), focus({}))
    with pytest.raises(DomainError):
        reassignments.reassign(draft(stage), [KeySet.objects.get().pk], by=stage.manager)

    for person in (stage.charlie, stage.manager):
        client.force_login(person)
        assert client.get(reverse("reassign")).status_code == 403
        assert client.get(reverse("reassignment-list")).status_code == 403


def test_usage_is_picked_tried_out_moved_and_taken_back_on_the_pages(stage, client, no_worker):
    deliver(factories.source(), focus({"ResourceId": "lonely", "EffectiveCost": "30"}, {"ResourceId": "other"}))
    client.force_login(stage.operator)
    key_set = KeySet.objects.get(resource="lonely")
    page = client.get(reverse("reassign"), {"word": "lonely", "place": "unallocated"}).content.decode()
    assert f'value="{key_set.pk}"' in page and "other</label>" not in page
    fields = {
        "key_sets": [str(key_set.pk)],
        "target": str(stage.project.pk),
        "category": "",
        "task_type": "",
        "starts_on": "2026-03-01",
        "reason": "Asked by mail.",
    }

    tried = client.post(reverse("reassign-preview"), fields).content.decode()
    restating = client.post(reverse("reassign-preview"), {**fields, "restates": "on"}).content.decode()
    assert "+30.00 USD" in tried and not Reassignment.objects.exists()
    assert "Closed months stay" in tried and "Closed months are restated" in restating
    assert client.post(reverse("reassign"), fields).status_code == 302
    listed = client.get(reverse("reassignment-list")).content.decode()
    assert "Asked by mail." in listed and "in force" in listed
    client.post(reverse("reassignment-reverse", args=[Reassignment.objects.get().pk]), {"reason": "Wrong."})

    assert "Wrong." in client.get(reverse("reassignment-list")).content.decode()
    assert by_project() == {None: 20}


def test_unallocated_cost_has_a_trend_and_an_owner(stage, client):
    two_projects_and_a_switch(stage)
    deliver(factories.source(), focus({"EffectiveCost": "30"}, {"ResourceId": "x", "EffectiveCost": "10"}, APRIL))

    found = reassignments.trend(Month(2026, 4))
    assert [(each.month, each.unallocated_share) for each in found] == [
        (date(2026, 3, 1), Decimal("0.25")),
        (date(2026, 4, 1), Decimal(0)),
    ]
    assert reassignments.owners() == [stage.operator]
    reassignments.name_owner(stage.finance, by=stage.operator)
    client.force_login(stage.auditor)
    assert "Finance" in client.get(reverse("usage")).content.decode()
    with pytest.raises(DomainError):
        reassignments.name_owner(stage.bob, by=stage.operator)
