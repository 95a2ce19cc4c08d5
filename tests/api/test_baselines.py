"""Baselines over the API: read by who may see them, written by who may."""

from __future__ import annotations

import json

import pytest

from estimates.baselines.models import Baseline

FIGURE = {
    "quantity": "compute.mfu",
    "value": "0.41",
    "low": "0.38",
    "high": "0.44",
    "runs": 3,
    "since": "2026-01-01",
    "until": "2026-02-01",
    "source": "Old cluster, run book",
    "task_type": "pretrain",
    "accelerator_family": "hopper",
}


@pytest.fixture
def post(client, stage):
    def send(who, **changes):
        client.force_login(who)
        body = {**FIGURE, "team": stage.team.slug, **changes}
        return client.post("/api/v1/baselines/", json.dumps(body), content_type="application/json")

    return send


def listed(client, who, **asked):
    client.force_login(who)
    return client.get("/api/v1/baselines/", asked).json()["results"]


def test_a_manager_writes_a_figure_and_the_team_reads_it(client, stage, post):
    made = post(stage.manager, project=stage.project.slug)

    assert made.status_code == 201
    expected = {"quantity": "compute.mfu", "value": "0.41", "low": "0.38", "team": stage.team.slug, "runs": 3}
    assert {name: made.json()[name] for name in expected} == expected
    assert [row["id"] for row in listed(client, stage.bob)] == [made.json()["id"]]
    assert listed(client, stage.bob, quantity="compute.paid_mfu") == []
    assert listed(client, stage.charlie) == []


def test_a_withdrawn_figure_is_only_among_all_rows(client, stage, post):
    post(stage.manager)
    post(stage.manager, withdrawn=True)

    assert listed(client, stage.bob) == []
    assert [row["withdrawn"] for row in listed(client, stage.bob, all="1")] == [False, True]


def test_others_write_none(client, stage, post):
    assert post(stage.alice).status_code == 403
    assert post(stage.manager, team="").status_code == 403
    assert post(stage.charlie).status_code == 404
    assert post(stage.other_manager, project=stage.project.slug).status_code == 404
    assert not Baseline.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "place", "status"),
    [
        ({"value": "1.4", "high": "1.4"}, "value", 422),
        ({"value": 0, "low": 0}, "value", 422),
        ({"value": "0.5"}, "value", 422),
        ({"valid_from": "2999-01-01"}, "valid_from", 422),
        ({"quantity": "speed"}, "quantity", 400),
        ({"value": "1e400"}, "value", 400),
        ({"runs": 0}, "runs", 400),
    ],
)
def test_one_error_names_the_place_and_nothing_is_kept(client, stage, post, wrong, place, status):
    answer = post(stage.manager, **wrong)

    assert answer.status_code == status
    assert place in json.dumps(answer.json())
    assert not Baseline.objects.exists()
