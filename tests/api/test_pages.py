"""Lists page by page."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.budgets import factories

pytestmark = pytest.mark.django_db


def get(who, path):
    client = APIClient()
    client.force_authenticate(who)
    return client.get(f"/api/v1/{path}")


def test_each_page_begins_where_the_one_before_ended(stage, monkeypatch):
    monkeypatch.setattr("api.budgets.PAGE", 2)
    keys = [factories.line(stage.project, category).pk for category in ("compute", "data", "storage")]

    first = get(stage.alice, "lines/").json()
    second = get(stage.alice, f"lines/?after={first['next']}").json()

    assert [line["line"] for line in [*first["results"], *second["results"]]] == keys
    assert second["next"] is None


@pytest.mark.parametrize(
    "path", ["lines/?after=", "flags/?before=", "proposals/?before=", "guards/?before=", "assets/?before=",
             "runs/?before=", "bookings/?before=", "imports/?before=", "estimates/?before=", "reassignments/?before=",
             "baselines/?after=", "prices/?after=", "recurring/?after="]
)  # fmt: skip
@pytest.mark.parametrize("key", ["²", "１２", "-1", "9" * 5000])
def test_what_is_no_key_is_refused_and_not_read_as_the_first_page(stage, path, key):
    answer = get(stage.finance, path + key)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["accepted"] == "a whole number"
