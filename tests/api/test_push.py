"""Files pushed as the body of a request: with their length, chunked from a pipe, empty, twice with one key."""

from __future__ import annotations

import io

import pytest
from django.urls import reverse

from tests.usage import factories
from tests.usage.factories import focus
from usage.models import Import

pytestmark = pytest.mark.django_db


@pytest.fixture
def push(stage, client, settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path / "files"
    monkeypatch.setattr("overruns.tasks.import_soon", lambda import_id: None)
    factories.source()
    client.force_login(stage.operator)
    address = reverse("api-source-files", args=["cloud"])

    def send(content: bytes, **environment):
        return client.generic("POST", address, content, "application/octet-stream", **environment)

    return send


def chunked(content: bytes) -> dict:
    """What a server that decodes chunks hands on: no length, and a stream of its own that ends with the body."""
    return {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(content), "CONTENT_LENGTH": ""}


def test_a_body_without_a_length_is_taken_whole(push):
    answer = push(b"", **chunked(focus({})))

    assert (answer.status_code, answer.json()["size"]) == (202, len(focus({})))


def test_a_server_that_does_not_decode_chunks_says_so(push):
    answer = push(b"", **chunked(focus({})), SERVER_SOFTWARE="WSGIServer/0.2")

    assert answer.status_code == 411
    assert not Import.objects.exists()


def test_the_same_key_answers_with_the_same_import(push):
    first = push(focus({}), HTTP_IDEMPOTENCY_KEY="march-1").json()
    again = push(focus({"BilledCost": "11"}), HTTP_IDEMPOTENCY_KEY="march-1").json()
    other = push(focus({"BilledCost": "11"}), HTTP_IDEMPOTENCY_KEY="march-2").json()

    assert first["id"] == again["id"] != other["id"]


def test_an_empty_body_is_an_empty_delivery_and_no_fault_of_the_server(push):
    answer = push(b"")

    assert (answer.status_code, answer.json()["size"]) == (202, 0)
