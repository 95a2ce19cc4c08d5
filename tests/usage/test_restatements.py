"""What later deliveries and rules changed in what was known: old, new, difference, and from which files."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from core.months import Month
from core.vocabulary import Basis
from teams.models import ClosedMonth, Notification
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import changes, overview, queries, restatements, rules
from usage.bookings.facts import COLUMNS
from usage.bookings.services import book_line
from usage.models import Import
from usage.pipeline.swap import known_now
from usage.restatements import Between, restated

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

APRIL = {
    "BillingPeriodStart": "2026-04-01T00:00:00Z",
    "BillingPeriodEnd": "2026-05-01T00:00:00Z",
    "ChargePeriodStart": "2026-04-02T00:00:00Z",
    "ChargePeriodEnd": "2026-04-03T00:00:00Z",
}
TAGGED = [{"field": "tag", "operator": "equals", "values": ["foundation"], "tag": "team"}]


def cells(rows) -> dict[tuple, tuple]:
    return {
        (str(Month.of(row.month)), row.project.slug if row.project else None): (row.old, row.new, row.delta)
        for row in rows
    }


def test_a_changed_statement_shows_old_new_and_difference_of_its_month_alone(stage):
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}, {"EffectiveCost": "7", "Tags": ""}, {**APRIL, "EffectiveCost": "5"}))
    then = known_now()
    again = deliver(source, focus({"EffectiveCost": "12.5"}, {"EffectiveCost": "7", "Tags": ""}), "corrected.csv")

    found = restated(Between(then))

    assert cells(found) == {("2026-03", stage.project.slug): (Decimal(10), Decimal("12.5"), Decimal("2.5"))}
    assert [each.pk for each in found[0].imports] == [again["import"]]
    assert found[0].was_known and not found[0].by_placement


def test_two_past_times_are_compared_whatever_came_later(stage):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}))
    first = known_now()
    deliver(source, focus({"EffectiveCost": "11"}))
    second = known_now()
    deliver(source, focus({"EffectiveCost": "20"}))

    found = restated(Between(first, second))

    assert cells(found) == {("2026-03", None): (Decimal(10), Decimal(11), Decimal(1))}


def test_a_row_that_came_and_went_between_two_times_is_no_difference(stage):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}))
    then = known_now()
    deliver(source, focus({"EffectiveCost": "11"}))
    deliver(source, focus({"EffectiveCost": "10"}, newline="\r\n"))

    assert restated(Between(then)) == []


def test_rules_that_move_cost_restate_both_places(stage):
    deliver(factories.source(), focus({"EffectiveCost": "30"}, {"EffectiveCost": "4", "Tags": ""}))
    then = known_now()
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    rules.apply_rules(by=stage.operator)

    found = restated(Between(then))

    assert cells(found) == {
        ("2026-03", stage.project.slug): (Decimal(0), Decimal(30), Decimal(30)),
        ("2026-03", None): (Decimal(34), Decimal(4), Decimal(-30)),
    }
    assert all(row.by_placement and not row.imports for row in found)


def test_a_month_that_was_not_known_before_is_news(stage):
    source = factories.source()
    deliver(source, focus({}))
    then = known_now()
    deliver(source, focus(APRIL))

    assert [(row.was_known, row.old) for row in restated(Between(then))] == [(False, 0)]


def test_billed_cost_stands_in_its_billing_month(stage):
    source = factories.source()
    late = {**APRIL, "ChargePeriodStart": "2026-03-05T00:00:00Z", "ChargePeriodEnd": "2026-03-06T00:00:00Z"}
    deliver(source, focus({}))
    then = known_now()
    deliver(source, focus({**late, "BilledCost": "-3", "EffectiveCost": "-3"}))

    assert {Month.of(row.month) for row in restated(Between(then, basis=Basis.BILLED))} == {Month(2026, 4)}
    assert {Month.of(row.month) for row in restated(Between(then))} == {Month(2026, 3)}


def test_a_closed_month_is_compared_with_what_was_known_at_its_closing(stage):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}, {**APRIL, "EffectiveCost": "5"}))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    deliver(source, focus({"EffectiveCost": "13"}, {**APRIL, "EffectiveCost": "6"}))

    assert cells(restatements.since_closing()) == {("2026-03", None): (Decimal(10), Decimal(13), Decimal(3))}
    assert restatements.since_closing(months=[Month(2026, 4)]) == []


def test_finance_is_told_of_a_closed_month_that_was_restated(stage):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=timezone.now(), by=stage.finance)
    assert not Notification.objects.exists()

    deliver(source, focus({"EffectiveCost": "13"}))

    told = Notification.objects.filter(kind="month_restated")
    assert set(told.values_list("user__email", flat=True)) == {stage.finance.email, stage.operator.email}
    assert told[0].url == reverse("restatement-list") + "?month=2026-03"


def test_managers_hear_of_a_closed_month_of_their_projects_alone(stage):
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    source = factories.source()
    deliver(source, focus({}, APRIL))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=timezone.now(), by=stage.finance)

    deliver(source, focus({"EffectiveCost": "11"}, APRIL))

    told = set(Notification.objects.filter(kind="month_restated").values_list("user__email", flat=True))
    assert told == {stage.finance.email, stage.operator.email, stage.manager.email}


def test_a_booking_in_a_closed_month_is_told_too(stage):
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=timezone.now(), by=stage.finance)
    line = {"project": stage.project.slug, "category": "data", "amount": "40", "currency": "USD"}

    book_line({**dict.fromkeys(COLUMNS, ""), **line, "first_day": "2026-03-10"}, by=stage.finance)
    book_line({**dict.fromkeys(COLUMNS, ""), **line, "first_day": "2026-04-10"}, by=stage.finance)

    told = Notification.objects.filter(kind="month_restated")
    assert {word.facts["months"] for word in told} == {"2026-03"}
    assert stage.manager.email in told.values_list("user__email", flat=True)


def test_an_import_says_which_rows_it_added_removed_and_changed(stage):
    source = factories.source()
    deliver(source, focus({"ResourceId": "a"}, {"ResourceId": "b"}, {"ResourceId": "c"}))
    again = deliver(source, focus({"ResourceId": "a", "EffectiveCost": "12"}, {"ResourceId": "b"}, {"ResourceId": "d"}))

    (change,) = changes.changes_of(Import.objects.get(pk=again["import"]))

    assert (change.added, change.removed, change.changed) == (1, 1, 1)
    assert (change.old, change.new, change.delta) == (20, 22, 2)


def test_the_overview_and_conservation_answer_as_of_a_day(stage):
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}, {**APRIL, "EffectiveCost": "5"}))
    then = known_now()
    deliver(source, focus({"EffectiveCost": "17"}))

    (before,) = overview.costs_of_days(date(2026, 3, 1), date(2026, 4, 1), known_at=then)
    (now,) = overview.costs_of_days(date(2026, 3, 1), date(2026, 4, 1))
    (conserved,) = queries.conservation(Basis.EFFECTIVE, then)

    assert (before.total, now.total) == (10, 17)
    assert (conserved.sources, conserved.holds) == (15, True)


def test_members_see_their_own_projects_differences_alone(stage, client):
    rules.add_rule(by=stage.operator, name="Foundation", conditions=TAGGED, project=stage.project)
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}, {"EffectiveCost": "700", "Tags": ""}))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    deliver(source, focus({"EffectiveCost": "13"}, {"EffectiveCost": "777", "Tags": ""}))

    pages = {}
    for person in (stage.finance, stage.bob, stage.charlie):
        client.force_login(person)
        pages[person.email] = client.get(reverse("restatement-list")).content.decode()

    assert "777.00 USD" in pages[stage.finance.email] and "+3.00 USD" in pages[stage.finance.email]
    assert "+3.00 USD" in pages[stage.bob.email] and "777" not in pages[stage.bob.email]
    assert "USD" not in pages[stage.charlie.email].split("<section", 1)[1]


def test_a_later_day_before_an_earlier_one_is_refused_beside_its_field(stage, client):
    client.force_login(stage.finance)

    answer = client.get(reverse("restatement-list"), {"since": "2026-04-02", "until": "2026-04-01"})

    assert answer.status_code == 422
    assert "Must be a later day." in answer.content.decode()


def test_the_page_of_restatements_stays_cheap(stage, client, django_assert_max_num_queries):
    source = factories.source()
    deliver(source, focus({}, APRIL))
    for month in (date(2026, 3, 1), date(2026, 4, 1)):
        ClosedMonth.objects.create(month=month, closed_at=known_now(), by=stage.finance)
    deliver(source, focus({"EffectiveCost": "11"}, {**APRIL, "EffectiveCost": "12"}))
    client.force_login(stage.finance)

    with django_assert_max_num_queries(40):
        assert client.get(reverse("restatement-list")).status_code == 200
