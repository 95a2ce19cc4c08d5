"""Prefixes of an object store, read from a real HTTP server that checks the signature of every request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.usage import factories, s3_server
from tests.usage.factories import focus
from usage import services as usage
from usage.feeds import services
from usage.feeds.signing import Keys, encoded_query, signed_headers
from usage.models import Feed, Import

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)


@pytest.fixture
def store(settings):
    with s3_server.serving() as server:
        settings.BUCKET_ROOT = f"s3://{s3_server.BUCKET}/exports"
        settings.BUCKET_ENDPOINT = server.address
        settings.BUCKET_KEY_ID, settings.BUCKET_SECRET = s3_server.KEY_ID, s3_server.SECRET
        server.objects["elsewhere/secret.csv"] = b"secret"
        server.objects["exports-old/secret.csv"] = b"secret"
        server.objects["exports/aws-other/secret.csv"] = b"secret"
        yield server


@pytest.fixture
def feed(stage, store) -> Feed:
    return services.set_feed(
        factories.source(), by=stage.operator, kind="bucket", path="aws", every_minutes=60, now=NOW, pattern="*.csv"
    )


def look(feed: Feed, now: datetime = NOW) -> int:
    found = services.look(feed.pk, now=now)
    feed.refresh_from_db()
    return found


def test_objects_below_the_prefix_are_taken_at_once_through_every_page_of_the_listing(feed, store):
    for number in range(5):
        store.objects[f"exports/aws/2026 03/teil+{number}~ä.csv"] = focus({"BilledCost": str(number)})
    store.objects["exports/aws/readme.txt"] = b"no bill"

    assert look(feed) == 5
    assert feed.last_error == ""
    assert {delivery.name for delivery in Import.objects.all()} == {f"2026 03/teil+{n}~ä.csv" for n in range(5)}
    assert usage.run_import(Import.objects.order_by("id").first().pk)["status"] == "live"
    assert sum("list-type=2" in path for path in store.asked) == 3


def test_objects_are_taken_once_and_again_when_they_change(feed, store):
    store.objects["exports/aws/march.csv"] = focus({})
    first = look(feed)
    second = look(feed, NOW + timedelta(hours=1))
    store.objects["exports/aws/march.csv"] = focus({"BilledCost": "11"})

    assert (first, second, look(feed, NOW + timedelta(hours=2))) == (1, 0, 1)
    assert sum("list-type" not in path for path in store.asked) == 2


def test_an_object_that_may_not_be_read_is_refused_visibly(feed, store):
    store.objects["exports/aws/march.csv"] = focus({})
    store.closed.add("exports/aws/march.csv")

    assert look(feed) == 0
    row = feed.files.get()
    assert (row.state, "InvalidObjectState" in row.reason) == ("refused", True)


def test_wrong_credentials_are_said(feed, store, settings):
    settings.BUCKET_SECRET = "wrong"

    assert look(feed) == 0
    assert "SignatureDoesNotMatch" in feed.last_error


def test_a_store_that_does_not_answer_is_said(feed, settings):
    settings.BUCKET_ENDPOINT = "http://127.0.0.1:1"

    assert look(feed) == 0
    assert "does not answer" in feed.last_error


def test_a_redirect_is_not_followed(feed, store):
    with s3_server.serving() as other:
        store.redirects_to = other.address + "/"

        assert look(feed) == 0
        assert other.asked == []
    assert "307" in feed.last_error


def test_credentials_come_from_the_environment_alone(feed, settings):
    settings.BUCKET_KEY_ID = ""

    assert look(feed) == 0
    assert "AWS_ACCESS_KEY_ID" in feed.last_error


def test_a_request_is_signed_as_amazons_published_examples_are():
    keys = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    given = {"host": "examplebucket.s3.amazonaws.com", "region": "us-east-1", "keys": keys}
    day = datetime(2013, 5, 24, tzinfo=UTC)

    read = signed_headers(path="/test.txt", query="", headers={"Range": "bytes=0-9"}, now=day, **given)
    query = encoded_query({"max-keys": "2", "prefix": "J"})
    listed = signed_headers(path="/", query=query, headers={}, now=day, **given)

    assert read["Authorization"].endswith("f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    assert listed["Authorization"].endswith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
