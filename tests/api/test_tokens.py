from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.utils import timezone

from teams import services
from teams.models import ApiToken
from tests.factories import PASSWORD


@pytest.fixture(autouse=True)
def no_attempts_yet():
    cache.clear()


def ask(client, **body):
    return client.post("/api/v1/token/", body, content_type="application/json")


def test_email_and_password_give_a_token_that_signs_in(stage, client):
    answer = ask(client, email="Alice@example.com", password=PASSWORD)

    assert answer.status_code == 200
    assert ApiToken.objects.get().digest == ApiToken.digest_of(answer.json()["token"])


def test_a_wrong_password_gives_none_and_does_not_say_which_was_wrong(stage, client):
    wrong = ask(client, email="alice@example.com", password="guess")
    unknown = ask(client, email="nobody@example.com", password="guess")

    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()


def test_an_account_is_throttled_wherever_the_attempts_come_from(stage, client):
    answers = [
        client.post(
            "/api/v1/token/",
            {"email": "alice@example.com", "password": "guess"},
            content_type="application/json",
            REMOTE_ADDR=f"192.0.2.{number}",
        ).status_code
        for number in range(12)
    ]

    assert answers == [401] * 10 + [429] * 2


def test_an_expired_token_does_not_sign_in(stage, client):
    _token, secret = services.issue_token(by=stage.alice, now=timezone.now() - timedelta(days=31))

    assert client.get("/api/v1/projects/", headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_the_schema_is_open_and_names_the_token_endpoint(client, db):
    answer = client.get("/api/v1/schema/")

    assert answer.status_code == 200
    assert b"/api/v1/token/" in answer.content
