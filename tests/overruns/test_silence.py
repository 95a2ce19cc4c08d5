"""Lines of which nothing is known any more: their team is told once, and the word is closed when usage comes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.urls import reverse

from overruns.models import LineSilence
from overruns.silence import watch_lines
from teams.models import Notification
from tests.budgets import factories
from tests.letters import letters
from usage.models import Import

pytestmark = pytest.mark.django_db

KNOWN = datetime(2027, 1, 10, 9, tzinfo=UTC)


def usage_until(moment: datetime, slug: str = "bill") -> None:
    """A delivery that is live, whose newest usage ends at a moment."""
    Import.objects.create(
        source=factories.source(slug),
        name="bill.csv",
        sha256="0" * 64,
        size=1,
        status="live",
        received_at=moment,
        live_at=moment,
        outcome={"last_usage": moment.isoformat()},
    )


@pytest.fixture
def line(stage):
    line = factories.line(stage.project, granted=100)
    factories.line(stage.other_project, granted=100)
    factories.cost(stage.project, 10, day=date(2027, 1, 9))
    usage_until(KNOWN)
    return line


def test_a_line_that_is_known_until_two_days_ago_is_not_spoken_of(line):
    assert watch_lines(now=KNOWN + timedelta(hours=48)) == []
    assert not Notification.objects.exists()


def test_the_managers_of_the_team_are_told_once(line, stage):
    begun = watch_lines(now=KNOWN + timedelta(hours=49))
    watch_lines(now=KNOWN + timedelta(hours=60))

    assert [(row.line, row.known_until) for row in begun] == [(line, KNOWN)]
    assert [(row.user, row.kind) for row in Notification.objects.all()] == [(stage.manager, "lines_silent")]
    (letter,) = letters()
    assert letter.subject == "Base 7B: its newest cost is not known"
    assert "2027-01-10 09:00 UTC" in letter.text and "Compute" in letter.text


def test_several_lines_of_a_project_are_one_word(line, stage):
    factories.line(stage.project, "storage", granted=100)
    factories.cost(stage.project, 1, category="storage")

    watch_lines(now=KNOWN + timedelta(hours=49))

    assert (LineSilence.objects.count(), Notification.objects.count()) == (2, 1)


def test_usage_closes_the_word_and_the_next_silence_is_told_again(line):
    watch_lines(now=KNOWN + timedelta(hours=49))
    usage_until(KNOWN + timedelta(hours=50))
    watch_lines(now=KNOWN + timedelta(hours=51))
    between = LineSilence.objects.open().count()
    watch_lines(now=KNOWN + timedelta(hours=110))

    assert (between, Notification.objects.count()) == (0, 2)


def test_a_source_that_is_expected_monthly_has_its_own_patience(line):
    source = factories.source()
    source.silent_after_hours = 800
    source.save()

    assert watch_lines(now=KNOWN + timedelta(hours=200)) == []


def test_a_line_whose_period_is_over_is_not_watched(line):
    watch_lines(now=KNOWN + timedelta(hours=49))

    watch_lines(now=KNOWN + timedelta(days=500))

    assert not LineSilence.objects.open().exists()
    assert Notification.objects.count() == 1


def test_the_pages_of_line_project_and_warnings_say_it_to_the_team_alone(line, stage, client):
    watch_lines(now=KNOWN + timedelta(hours=49))
    client.force_login(stage.alice)
    pages = [
        client.get(address).content.decode()
        for address in (
            reverse("line", args=[stage.project.slug, line.pk]),
            reverse("project", args=[stage.project.slug]),
            reverse("warning-list"),
        )
    ]
    client.force_login(stage.charlie)

    assert "Cost is known until" in pages[0] and "Cost is known until" in pages[1]
    assert "known until" in pages[2]
    assert "known until" not in client.get(reverse("warning-list")).content.decode()
