"""Budgets whose warnings reach nobody who works on them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from overruns.models import Episode
from overruns.unheard import is_unheard, watch_listeners
from teams.delivery import services as delivery
from teams.models import Membership, Notification, User
from tests.budgets import factories
from tests.letters import letters

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def deserted(stage):
    """A project with a line whose team has nobody left."""
    factories.line(stage.project, granted=100)
    factories.line(stage.other_project, granted=100)
    Membership.objects.filter(team=stage.team).delete()
    return stage.project


def test_a_team_with_a_person_is_heard(stage):
    factories.line(stage.project, granted=100)

    assert not is_unheard(stage.project)
    assert watch_listeners(now=NOW) == []


def test_finance_is_told_once_of_a_budget_that_nobody_hears_of(deserted, stage):
    (episode,) = watch_listeners(now=NOW)
    assert watch_listeners(now=NOW + timedelta(hours=1)) == []

    assert episode.project == deserted
    assert [row.user for row in Notification.objects.filter(kind="project_unheard")] == [stage.finance]
    assert "Foundation" in letters(stage.finance)[0].text


def test_people_who_left_do_not_hear(stage):
    factories.line(stage.project, granted=100)
    User.objects.filter(pk__in=[stage.alice.pk, stage.bob.pk, stage.manager.pk]).update(is_active=False)

    assert is_unheard(stage.project)


def test_a_webhook_or_open_work_of_somebody_is_enough(deserted, stage):
    watch_listeners(now=NOW)
    webhook, _secret = delivery.add_webhook(
        by=stage.finance, team=stage.team, name="x", form="slack", url="https://hooks.example.com/x"
    )
    assert not is_unheard(deserted)
    watch_listeners(now=NOW + timedelta(days=1))
    assert Episode.objects.get().ended_at == NOW + timedelta(days=1)

    delivery.disable_webhook(webhook, by=stage.finance, now=NOW)
    assert is_unheard(deserted)
    factories.submitted(deserted, stage.charlie, {("compute", "2027-06"): 10})
    assert not is_unheard(deserted)


def test_the_page_of_the_line_says_it(client, deserted, stage):
    client.force_login(stage.finance)

    page = client.get(f"/projects/base-7b/lines/{deserted.lines.get().pk}/").content.decode()

    assert "reach nobody who works on it" in page
