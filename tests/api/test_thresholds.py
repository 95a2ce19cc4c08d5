"""Thresholds of a line, by page and over the API: shares and amounts."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from budgets.models import Threshold
from core.months import Period
from overruns import services as overruns
from overruns.models import Flag
from tests.budgets import factories

TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=50), TODAY + timedelta(days=50))


@pytest.fixture
def line(stage):
    factories.line(stage.other_project, granted=1000, period=RUNNING, period_kind="project")
    return factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")


@pytest.fixture
def post(client):
    def send(path, **body):
        return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")

    return send


def watched(line) -> list[str]:
    return [str(each) for each in line.thresholds.filter(active=True)]


def test_an_amount_is_watched_told_and_given_up(client, stage, line, post):
    client.force_login(stage.manager)

    made = post(f"lines/{line.pk}/thresholds/", basis="committed", amount="250.5")

    assert made.status_code == 201
    assert made.json() == {
        "id": made.json()["id"],
        "basis": "committed",
        "share": None,
        "amount": "250.5",
        "quantile": "",
    }
    factories.cost(stage.project, "250.49", day=TODAY - timedelta(days=1))
    overruns.judge_lines([line.pk], now=timezone.now())
    assert not Flag.objects.exists()
    factories.cost(stage.project, "0.01", day=TODAY - timedelta(days=1))
    overruns.judge_lines([line.pk], now=timezone.now())
    assert Flag.objects.get().threshold_id == made.json()["id"]
    assert made.json()["id"] in [each["id"] for each in client.get(f"/api/v1/lines/{line.pk}/thresholds/").json()]
    assert post(f"thresholds/{made.json()['id']}/stop/").status_code == 204
    assert "250.5 · actual and committed" not in watched(line)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"basis": "actual"}, 422),
        ({"basis": "actual", "share": "0"}, 422),
        ({"basis": "actual", "share": "0.5", "amount": "5"}, 422),
        ({"basis": "actual", "share": "-1"}, 400),
        ({"basis": "actual", "amount": "1e30"}, 400),
        ({"basis": "nothing", "share": "0.5"}, 400),
        ({"basis": "forecast", "share": "0.5", "quantile": "p99"}, 400),
    ],
)
def test_what_is_no_threshold_is_refused(client, stage, line, post, asked, status):
    client.force_login(stage.manager)
    before = watched(line)

    assert post(f"lines/{line.pk}/thresholds/", **asked).status_code == status
    assert watched(line) == before


def test_the_limit_stays_and_others_change_nothing(client, stage, line, post):
    limit = line.thresholds.get(basis="actual", share=Decimal(1))
    client.force_login(stage.manager)
    assert post(f"thresholds/{limit.pk}/stop/").status_code == 422
    client.force_login(stage.alice)
    assert post(f"lines/{line.pk}/thresholds/", basis="actual", share="0.5").status_code == 403
    client.force_login(stage.charlie)
    assert post(f"lines/{line.pk}/thresholds/", basis="actual", share="0.5").status_code == 404
    assert post(f"thresholds/{limit.pk}/stop/").status_code == 404
    assert client.get(f"/api/v1/lines/{line.pk}/thresholds/").status_code == 404

    assert Threshold.objects.filter(line=line, active=True).count() == 3


def test_the_page_takes_a_share_or_an_amount(client, stage, line):
    client.force_login(stage.manager)
    address = f"/projects/base-7b/lines/{line.pk}/thresholds/"

    client.post(address, {"basis": "actual", "percent": "62.5"})
    client.post(address, {"basis": "forecast", "amount": "1,200", "quantile": "p90"})

    assert {"62.5 % · actual", "1200 · forecast P90"} <= set(watched(line))
    for wrong in ({}, {"percent": "5", "amount": "5"}, {"amount": "0"}):
        assert client.post(address, {"basis": "actual", **wrong}).status_code == 422
