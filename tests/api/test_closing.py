"""Closing months over the API."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from core.months import Month, Period
from teams import services as teams
from teams.models import ClosedMonth
from tests.budgets import factories

LAST = Month.of(timezone.now().date()) + -1


@pytest.fixture
def as_(client):
    """Ask as someone, with a token."""

    def ask(who, method, path, body=None):
        _token, secret = teams.issue_token(by=who, now=datetime.now(UTC))
        return getattr(client, method)(
            f"/api/v1/{path}",
            json.dumps(body) if body is not None else None,
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return ask


def test_finance_reads_the_checklist_closes_and_reopens(stage, as_):
    line = factories.line(stage.project, period=Period(LAST.start, LAST.end), period_kind="month", granted=100)

    books = as_(stage.finance, "get", "closing/").json()
    assert (books["next"], books["lines"], books["closed"]) == (str(LAST), 1, [])
    assert {point["key"] for point in books["checklist"] if not point["done"]} == set()
    closed = as_(stage.finance, "post", f"closing/{LAST}/close/", {}).json()
    assert (closed["month"], closed["by"]) == (str(LAST), "finance@example.com")
    assert as_(stage.alice, "get", f"lines/{line.pk}/").json()["state"] == "closed"
    books = as_(stage.finance, "post", f"closing/{LAST}/reopen/", {"reason": "A late bill"}).json()
    assert (books["next"], books["closed"]) == (str(LAST), [])


def test_others_are_refused_and_strangers_find_nothing(stage, as_):
    factories.line(stage.project, period=Period(LAST.start, LAST.end), period_kind="month", granted=100)

    assert as_(stage.charlie, "get", "closing/").status_code == 404
    assert as_(stage.manager, "post", f"closing/{LAST}/close/", {}).status_code == 404
    assert as_(stage.auditor, "get", "closing/").status_code == 200
    assert as_(stage.director, "post", f"closing/{LAST}/close/", {}).status_code == 403
    assert as_(stage.finance, "post", "closing/soon/close/", {}).json()["errors"][0] == {
        "path": "month",
        "value": "soon",
        "message": "is no month",
        "accepted": "2027-01",
    }
    assert as_(stage.finance, "post", f"closing/{LAST + 1}/close/", {}).status_code == 422
    assert not ClosedMonth.objects.exists()
