"""The page on which a source is told where its files appear."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest
from django.urls import reverse

from tests.usage import factories
from tests.usage.factories import focus
from usage.feeds import services
from usage.models import Feed, FeedFile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)
GIVEN = {
    "kind": "folder",
    "path": "cloud",
    "pattern": "*.csv",
    "every_minutes": "15",
    "time_zone": "UTC",
    "is_on": "on",
}


@pytest.fixture
def kept_files(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def root(settings, tmp_path):
    (tmp_path / "watched" / "cloud").mkdir(parents=True)
    settings.WATCH_ROOT = str(tmp_path / "watched")
    return tmp_path / "watched"


def test_without_a_root_the_page_says_how_to_switch_it_on(stage, client):
    factories.source()
    client.force_login(stage.operator)

    page = client.get(reverse("source-feed", args=["cloud"])).content.decode()

    assert "HEADROOM_WATCH_ROOT" in page
    assert '<form class="card form"' not in page


def test_an_operator_sets_a_feed_and_sees_what_was_found(stage, client, root):
    source = factories.source()
    client.force_login(stage.operator)

    answer = client.post(reverse("source-feed", args=["cloud"]), GIVEN)
    (root / "cloud" / "march.csv").write_bytes(focus({}))
    services.look(Feed.objects.get(source=source).pk, now=datetime(2100, 1, 1, tzinfo=UTC))
    page = client.get(reverse("source-feed", args=["cloud"])).content.decode()

    assert answer.status_code == 302
    assert "march.csv" in page and "may still be written" in page
    assert "Watched folder" in client.get(reverse("source", args=["cloud"])).content.decode()


def test_a_time_that_is_entered_takes_the_place_of_the_interval_that_stood_there(stage, client, root):
    factories.source()
    client.force_login(stage.operator)

    client.post(reverse("source-feed", args=["cloud"]), {**GIVEN, "every_minutes": "60", "daily_at": "07:30"})
    daily = Feed.objects.values_list("every_minutes", "daily_at").get()
    client.post(reverse("source-feed", args=["cloud"]), {**GIVEN, "every_minutes": "15", "daily_at": "07:30"})

    assert daily == (None, time(7, 30))
    assert Feed.objects.values_list("every_minutes", "daily_at").get() == (15, None)


def test_a_path_that_leads_out_is_refused_beside_its_field(stage, client, root):
    factories.source()
    client.force_login(stage.operator)

    answer = client.post(reverse("source-feed", args=["cloud"]), {**GIVEN, "path": "../elsewhere"})

    assert answer.status_code == 422
    assert "below the root" in answer.content.decode()
    assert not Feed.objects.exists()


def test_a_feed_does_not_exist_for_a_member_and_an_auditor_only_reads_it(stage, client, root):
    source = factories.source()
    services.set_feed(source, by=stage.operator, kind="folder", path="", every_minutes=5, now=NOW)
    client.force_login(stage.charlie)
    hidden = [
        client.get(reverse("source-feed", args=["cloud"])),
        client.post(reverse("source-feed-look", args=["cloud"])),
    ]
    client.force_login(stage.auditor)

    assert [answer.status_code for answer in hidden] == [404, 404]
    assert client.get(reverse("source-feed", args=["cloud"])).status_code == 200
    assert client.post(reverse("source-feed", args=["cloud"]), GIVEN).status_code == 403


def test_the_files_of_a_feed_cost_the_same_queries_however_many(stage, client, root, django_assert_max_num_queries):
    feed = services.set_feed(factories.source(), by=stage.operator, kind="folder", path="", every_minutes=5, now=NOW)
    FeedFile.objects.bulk_create(
        FeedFile(feed=feed, name=f"{n}.csv", state="settling", since=NOW, seen_at=NOW) for n in range(60)
    )
    client.force_login(stage.operator)

    with django_assert_max_num_queries(18):
        answer = client.get(reverse("source-feed", args=["cloud"]))

    assert answer.content.decode().count("may still be written") == 25


def test_the_api_sets_a_feed_reads_it_and_asks_for_a_look(stage, client, root):
    factories.source()
    client.force_login(stage.operator)
    address = reverse("api-feed", args=["cloud"])

    made = client.put(
        address, {"kind": "folder", "daily_at": "06:30", "time_zone": "Asia/Shanghai"}, "application/json"
    )
    refused = client.put(address, {"kind": "folder", "path": "/etc", "every_minutes": 5}, "application/json")
    asked = client.post(reverse("api-feed-look", args=["cloud"]))
    client.force_login(stage.charlie)

    assert (made.status_code, made.json()["daily_at"]) == (200, "06:30:00")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "path")
    assert asked.status_code == 202
    assert client.get(address).status_code == 404
