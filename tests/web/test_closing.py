"""The page on which finance closes months, and what lines say of it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from budgets.models import BudgetLine
from budgets.services import closing
from core.months import Month, Period
from teams.models import ClosedMonth
from tests.budgets import factories

LAST = Month.of(timezone.now().date()) + -1


@pytest.fixture
def ended(stage):
    """A line of last month that carries all over, with cost."""
    stage.line = factories.line(
        stage.project, period=Period(LAST.start, LAST.end), period_kind="month", granted=100, rollover="all"
    )
    factories.cost(stage.project, 30, day=LAST.start)
    factories.cost(stage.other_project, 7, day=LAST.start)
    return stage


def page(client, who, name="closing", *arguments, query=""):
    client.force_login(who)
    return client.get(reverse(name, args=arguments) + query)


def post(client, who, view, *arguments, **data):
    client.force_login(who)
    return client.post(reverse(view, args=arguments), data)


def test_finance_sees_what_is_in_order_and_closes(ended, client):
    shown = page(client, ended.finance)
    assert str(LAST) in shown.content.decode()
    assert [row.carried for row in shown.context["rows"]] == [70]
    assert [point.item.key for point in shown.context["points"] if not point.item.is_done] == []

    answer = post(client, ended.finance, "closing-close", month=str(LAST))

    assert answer.status_code == 302
    assert ClosedMonth.objects.get().by == ended.finance
    assert BudgetLine.objects.get(pk=ended.line.pk).closed_at is not None


def test_what_is_not_in_order_is_said_and_the_closing_refused(ended, client):
    factories.cost(ended.project, 30, day=LAST.start, currency="EUR")

    shown = page(client, ended.auditor).content.decode()
    assert "stops the closing" in shown
    answer = post(client, ended.finance, "closing-close", month=str(LAST), reason="why")

    assert answer.status_code == 422
    assert "Exchange rates are stored" in answer.content.decode()
    assert not ClosedMonth.objects.exists()


def test_who_has_no_role_in_the_whole_organisation_finds_no_such_page(ended, client):
    for who in (ended.alice, ended.manager, ended.charlie):
        assert page(client, who).status_code == 404
    assert post(client, ended.charlie, "closing-close", month=str(LAST)).status_code == 404
    assert post(client, ended.director, "closing-close", month=str(LAST)).status_code == 422
    assert not ClosedMonth.objects.exists()


def test_finance_opens_the_last_month_again_with_a_reason(ended, client):
    closing.close_month(LAST, by=ended.finance)

    assert post(client, ended.finance, "closing-reopen", reason="").status_code == 422
    assert post(client, ended.finance, "closing-reopen", reason="A late bill").status_code == 302
    assert not ClosedMonth.objects.exists()


def test_a_closed_line_shows_old_new_and_difference_and_the_open_line_where_it_comes_from(ended, client):
    closing.close_month(LAST, by=ended.finance)
    factories.cost(ended.project, 12, day=LAST.start)
    following = BudgetLine.objects.get(start=LAST.end)

    closed = page(client, ended.alice, "line", ended.project.slug, ended.line.pk)
    found = page(client, ended.alice, "line", ended.project.slug, following.pk)

    assert {key: closed.context["closed"][key] for key in ("old", "new", "delta", "heir")} == {
        "old": 30,
        "new": 42,
        "delta": 12,
        "heir": following,
    }
    assert [(each["line"], each["amount"]) for each in found.context["restated"]] == [(ended.line, 12)]
    assert "restated from" in found.content.decode()
    assert found.context["burn"].actual[0] == (following.start, 12)


def test_a_manager_says_what_is_carried_over_and_a_researcher_does_not(ended, client):
    place = (ended.project.slug, ended.line.pk)
    given = {"rollover": "capped", "percent": "25", "amount": "", "carries_overspend": "on"}

    assert post(client, ended.alice, "line-rollover", *place, **given).status_code == 422
    assert post(client, ended.manager, "line-rollover", *place, **given).status_code == 302
    line = BudgetLine.objects.get(pk=ended.line.pk)
    assert (line.rollover, line.rollover_share, line.carries_overspend) == ("capped", Decimal("0.25"), True)
    refused = post(client, ended.manager, "line-rollover", *place, rollover="capped", percent="", amount="")
    assert "needs a cap where it is capped" in refused.content.decode()
    too_many = post(client, ended.manager, "line-rollover", *place, rollover="capped", hours="1" * 25)
    assert too_many.status_code == 422
    assert "no more than 20 digits" in too_many.content.decode()


def test_the_page_takes_as_many_queries_for_many_lines_as_for_one(ended, client, django_assert_max_num_queries):
    page(client, ended.finance)
    for category in ("data", "storage", "network"):
        factories.line(ended.project, category, period=Period(LAST.start, LAST.end), period_kind="month", granted=5)

    with django_assert_max_num_queries(60):
        assert len(page(client, ended.finance).context["rows"]) == 4
