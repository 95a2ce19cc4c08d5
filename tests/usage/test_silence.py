"""No data for so many hours: told once, ended when data comes, told again only after that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from core.errors import DomainError
from teams.models import Notification
from tests.letters import letters
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import silence
from usage.models import Import, Silence, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)


def hours(number: float) -> datetime:
    return NOW + timedelta(hours=number)


def brought(source: Source, at: datetime, content: bytes, **settings) -> str:
    answer = deliver(source, content, **settings)
    Import.objects.filter(pk=answer["import"]).update(received_at=at)
    return answer["status"]


@pytest.fixture
def source(stage) -> Source:
    made = silence.expect_source(factories.source(), by=stage.operator, hours=24)
    brought(made, NOW, focus({}))
    unrelated = factories.source("unrelated")
    Source.objects.filter(pk=unrelated.pk).update(created_at=hours(-1000))
    return made


def told() -> int:
    return Notification.objects.filter(kind="source_silent").count()


def test_a_source_that_stays_within_its_hours_is_not_spoken_of(source):
    assert silence.watch_sources(now=hours(24)) == []
    assert told() == 0


def test_operators_are_told_of_a_silence_once(source, stage):
    begun = silence.watch_sources(now=hours(25))
    silence.watch_sources(now=hours(26))

    assert [(row.source, row.since) for row in begun] == [(source, NOW)]
    assert [row.user for row in Notification.objects.all()] == [stage.operator]
    (letter,) = letters()
    assert letter.subject == "cloud: no data for more than 24 hours"
    assert "2026-03-06 08:00 UTC" in letter.text and "/usage/sources/cloud/" in letter.text


def test_a_silence_ends_with_data_and_the_next_one_is_told_again(source):
    silence.watch_sources(now=hours(25))
    brought(source, hours(30), focus({"BilledCost": "11"}))
    silence.watch_sources(now=hours(31))
    between = Silence.objects.open().count()
    silence.watch_sources(now=hours(60))

    assert (between, told()) == (0, 2)
    assert [row.ended_at for row in Silence.objects.order_by("id")] == [hours(31), None]


def test_word_that_nothing_changed_is_data_and_a_refused_file_is_not(source):
    assert brought(source, hours(20), focus({})) == "unchanged"
    assert brought(source, hours(40), b"no bill\n") == "refused"

    assert silence.watch_sources(now=hours(43)) == []
    assert len(silence.watch_sources(now=hours(45))) == 1


def test_a_silence_ends_when_nothing_is_expected_any_more(source, stage):
    silence.watch_sources(now=hours(25))
    silence.expect_source(source, by=stage.operator, hours=None)

    silence.watch_sources(now=hours(26))

    assert not Silence.objects.open().exists()


def test_the_source_the_home_of_the_operator_and_health_show_a_silence(source, stage, client):
    silence.watch_sources(now=hours(25))
    client.force_login(stage.operator)

    page = client.get(reverse("source", args=["cloud"])).content.decode()
    home = client.get("/").content.decode()
    health = client.get("/healthz").json()
    client.force_login(stage.alice)

    assert "No data comes." in page
    assert "Sources without data" in home
    assert health["silent_sources"] == 1
    assert "Sources without data" not in client.get("/").content.decode()


def test_hours_are_set_on_the_page_by_operators_alone(source, stage, client):
    client.force_login(stage.operator)
    client.post(reverse("source-expected", args=["cloud"]), {"hours": "36"})
    source.refresh_from_db()
    client.force_login(stage.charlie)

    assert source.silent_after_hours == 36
    assert client.post(reverse("source-expected", args=["cloud"]), {"hours": "1"}).status_code == 404
    with pytest.raises(DomainError, match="Only an operator"):
        silence.expect_source(source, by=stage.auditor, hours=1)
    with pytest.raises(DomainError, match="hours"):
        silence.expect_source(source, by=stage.operator, hours=0)
