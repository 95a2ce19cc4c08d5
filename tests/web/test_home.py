"""The first page, for each who comes."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from budgets.models import BudgetLine, Entry, Proposal
from teams import activity
from tests import factories

pytestmark = pytest.mark.django_db


def page(client, person) -> str:
    client.force_login(person)
    answer = client.get("/")
    assert answer.status_code == 200
    return answer.content.decode()


def fund(project, amount: int, by, category: str = "compute") -> BudgetLine:
    """A line of this year with money on it."""
    today = date.today()
    line = BudgetLine.objects.create(
        project=project,
        category=category,
        period_kind="year",
        start=today - timedelta(days=100),
        end=today + timedelta(days=200),
        currency=project.currency,
    )
    Entry.objects.create(
        line=line, kind=Entry.Kind.GRANT, amount=Decimal(amount), by=by, at=timezone.now(), reason="a start"
    )
    return line


def test_who_is_in_no_team_is_told_what_happens_next(client, stage):
    stranger = factories.user("stranger@example.com")

    assert "You are in no team yet" in page(client, stranger)


def test_a_fresh_team_is_shown_the_loop_as_steps(client, stage):
    shown = page(client, stage.alice)

    assert "First steps" in shown
    assert "Write a training plan" in shown


def test_projects_stand_with_their_headroom_and_only_ones_own(client, stage):
    fund(stage.project, 1000000, stage.finance)
    fund(stage.other_project, 777777, stage.finance)

    shown = page(client, stage.alice)

    assert "1,000,000" in shown and "on track" in shown
    assert "777,777" not in shown and "Ranking" not in shown


def test_lines_of_other_periods_are_not_counted(client, stage):
    line = fund(stage.project, 5000, stage.finance)
    BudgetLine.objects.filter(pk=line.pk).update(start=date(2020, 1, 1), end=date(2021, 1, 1))

    assert "no budget yet" in page(client, stage.alice)


def test_unfinished_proposals_wait_for_their_writer_only(client, stage):
    Proposal.objects.create(project=stage.project, requester=stage.alice, title="Base 7B v3", task_type="pretrain")

    assert "Yours to finish" in page(client, stage.alice)
    assert "Yours to finish" not in page(client, stage.bob)


def test_what_happened_is_told_with_its_project(client, stage):
    activity.record("project.opened", by=stage.manager, project=stage.project)

    assert "<b>Manager</b> opened" in page(client, stage.bob)
    assert "<b>Manager</b> opened" not in page(client, stage.charlie)


def test_deliveries_are_shown_to_operators(client, stage):
    assert "Import usage" in page(client, stage.operator)


def test_more_projects_and_lines_cost_no_more_queries(client, stage, django_assert_max_num_queries):
    for number in range(12):
        project = factories.project(stage.team, f"Project {number}")
        for category in ("compute", "storage", "data"):
            fund(project, 1000, stage.finance, category)
    client.force_login(stage.alice)

    with django_assert_max_num_queries(40):
        client.get("/")
