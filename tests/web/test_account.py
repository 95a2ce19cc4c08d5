"""Signing in, one's own settings, keys for machines."""

from __future__ import annotations

import re

import pytest
from django.utils import translation

from teams.models import Activity, ApiToken
from tests.factories import PASSWORD


@pytest.fixture
def alice(client, stage):
    client.force_login(stage.alice)
    return stage.alice


def test_a_page_leads_to_the_sign_in_and_back(client, stage):
    answer = client.get("/account/")
    assert answer["Location"] == "/login/?next=/account/"

    answer = client.post(
        "/login/", {"username": "ALICE@example.com", "password": PASSWORD, "next": "/account/"}, follow=True
    )

    assert answer.redirect_chain[-1][0] == "/account/"
    assert answer.context["user"] == stage.alice


def test_a_wrong_password_is_told_without_saying_which_half_was_wrong(client, stage):
    answer = client.post("/login/", {"username": "alice@example.com", "password": "no"})

    assert answer.status_code == 200
    assert "E-mail and password do not belong together" in answer.content.decode()


def test_the_language_can_be_chosen_before_signing_in(client, db):
    client.post("/look/", {"language": "zh-hans", "next": "/login/"})

    answer = client.get("/login/")

    assert '<html lang="zh-hans"' in answer.content.decode()
    translation.activate("en")


def test_a_language_nobody_speaks_changes_nothing(client, db):
    client.post("/look/", {"language": "xx", "next": "/login/"})

    assert '<html lang="en"' in client.get("/login/").content.decode()


def test_theme_and_language_stay_with_the_person(client, alice):
    client.post("/look/", {"theme": "dark", "next": "/account/"})
    client.post("/look/", {"language": "zh-hans", "next": "/account/"})

    page = client.get("/account/").content.decode()

    assert '<html lang="zh-hans" data-theme="dark">' in page
    translation.activate("en")


def test_the_system_decides_where_the_person_did_not(client, alice):
    assert "data-theme" not in client.get("/account/").content.decode()


def test_a_theme_that_does_not_exist_is_refused(client, alice):
    assert client.post("/look/", {"theme": "pink"}).status_code == 404


@pytest.mark.parametrize("address", ["https://elsewhere.example/", "//elsewhere.example", "javascript:alert(1)"])
def test_the_look_never_leads_away(client, db, address):
    assert client.post("/look/", {"language": "en", "next": address})["Location"] == "/"


def test_one_may_change_ones_name(client, alice):
    client.post("/account/", {"name": "Alice B."})

    alice.refresh_from_db()
    assert alice.name == "Alice B."
    assert Activity.objects.get(verb="person.renamed").facts == {"old": "Alice", "name": "Alice B."}


def test_the_password_changes_only_with_the_old_one(client, alice):
    new = {"new_password1": "another long secret", "new_password2": "another long secret"}

    refused = client.post("/account/password/", {"old_password": "wrong", **new})
    accepted = client.post("/account/password/", {"old_password": PASSWORD, **new})

    assert refused.status_code == 200 and accepted.status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("another long secret")
    assert client.get("/account/").status_code == 200  # this session goes on


def test_a_key_is_shown_once_and_kept_as_a_hash(client, alice):
    answer = client.post("/account/tokens/", {"name": "scheduler", "scopes": ["read", "can_start"]})

    secret = re.search(r"hr_[\w-]+", answer.content.decode()).group()
    token = ApiToken.objects.get()
    assert answer["Cache-Control"] == "no-store"
    assert token.digest == ApiToken.digest_of(secret) and token.scopes == ["read", "can_start"]
    assert secret not in client.get("/account/").content.decode()


def test_a_key_needs_a_name_and_a_scope(client, alice):
    answer = client.post("/account/tokens/", {"name": ""})

    assert answer.status_code == 200
    assert ApiToken.objects.count() == 0


def test_a_key_is_revoked_by_its_owner_and_by_nobody_else(client, stage):
    client.force_login(stage.alice)
    client.post("/account/tokens/", {"name": "scheduler", "scopes": ["read"]})
    token = ApiToken.objects.get()

    client.force_login(stage.bob)
    assert client.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    client.force_login(stage.alice)
    client.post(f"/account/tokens/{token.pk}/revoke/")

    assert ApiToken.objects.count() == 0


def test_the_admin_panel_is_entered_through_the_products_door(client, stage):
    assert client.get("/admin/login/?next=/admin/")["Location"] == "/login/?next=/admin/"


def test_who_may_not_enter_the_admin_panel_is_told_so_and_not_sent_in_circles(client, alice):
    assert client.get("/admin/login/?next=/admin/").status_code == 403
