"""Guards over the API."""

from __future__ import annotations

import json

import pytest

from budgets.models import Stop
from tests.budgets import factories


@pytest.fixture
def post(client):
    def send(path, **body):
        return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")

    return send


def test_a_manager_sets_lists_and_ends_a_guard(client, stage, post):
    factories.line(stage.project, granted=100)
    client.force_login(stage.manager)

    made = post("guards/", project="base-7b", measure="actual", amount="70", stops_jobs=True)

    assert made.status_code == 201
    expected = {"project": "base-7b", "measure": "actual", "amount": "70", "is_reached": False, "stop": None}
    assert {name: made.json()[name] for name in expected} == expected
    (listed,) = client.get("/api/v1/guards/").json()["results"]
    assert listed["id"] == made.json()["id"]
    assert post(f"guards/{listed['id']}/end/").status_code == 204
    assert client.get("/api/v1/guards/").json()["results"] == []


def test_others_find_no_guard_and_set_none(client, stage, post):
    client.force_login(stage.manager)
    number = post("guards/", project="base-7b", measure="actual", amount="70").json()["id"]

    client.force_login(stage.charlie)
    assert client.get("/api/v1/guards/").json()["results"] == []
    assert post(f"guards/{number}/end/").status_code == 404
    assert post("guards/", project="base-7b", measure="actual", amount="70").status_code == 404
    client.force_login(stage.alice)
    assert post("guards/", project="base-7b", measure="actual", amount="70").status_code == 403


def test_a_fault_is_named(client, stage, post):
    client.force_login(stage.manager)

    answer = post("guards/", project="base-7b", measure="quantity", amount="70")

    assert answer.status_code == 422
    assert "unit" in str(answer.json())


def test_a_stop_is_released_with_a_reason(client, stage, post):
    stop = Stop.objects.create(project=stage.project, reason="why", at=factories.NOON)
    client.force_login(stage.manager)

    assert post(f"stops/{stop.pk}/release/").status_code in (400, 422)
    assert post(f"stops/{stop.pk}/release/", reason="checked").status_code == 204
    assert not Stop.objects.in_force().exists()
