"""Lines, money and spend to date from a file over the API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from budgets.models import BudgetLine, Entry
from usage.models import Booking

pytestmark = [pytest.mark.django_db]
FILE = """project,category,period,start,granted,spent,spent_until
base-7b,compute,year,2026-01-05,900,40,2026-03-31
base-7b,power_facility,month,2026-12-05,50,,
"""


@pytest.fixture(autouse=True)
def no_worker(monkeypatch) -> None:
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)


def send(who, text=FILE, query="name=start.csv"):
    client = APIClient()
    client.force_authenticate(who)
    return client.post(f"/api/v1/opening/?{query}", text.encode(), content_type="text/csv")


def test_a_dry_run_says_what_would_be_written_and_writes_nothing(stage):
    answer = send(stage.manager, query="dry_run=true")

    assert answer.status_code == 200
    found = answer.json()
    assert (found["dry_run"], found["new"]) == (True, 2)
    assert found["totals"] == [{"currency": "USD", "granted": "950", "spent": "40"}]
    assert found["rows"][0] | {"end": ""} == {
        "line_of_file": 2, "line": None, "project": "base-7b", "category": "compute", "subcategory": None,
        "task_type": None, "start": "2026-01-01", "end": "", "currency": "USD", "granted": "900", "spent": "40",
        "spent_until": "2026-03-31", "known": False,
    }  # fmt: skip
    assert not BudgetLine.objects.exists() and not Booking.objects.exists()


def test_a_file_is_written_once(stage):
    first, again = send(stage.manager).json(), send(stage.manager).json()

    lines = list(BudgetLine.objects.order_by("pk").values_list("pk", flat=True))
    assert [row["line"] for row in first["rows"]] == [row["line"] for row in again["rows"]] == lines
    assert ([row["known"] for row in first["rows"]], first["new"]) == ([False, False], 2)
    assert ([row["known"] for row in again["rows"]], again["new"], again["totals"]) == ([True, True], 0, [])
    assert sorted(Entry.objects.values_list("amount", flat=True)) == [50, 900]
    assert Booking.objects.get().amount == 40


@pytest.mark.parametrize("query", ["dry_run=true", "dry_run=no"])
def test_a_fault_is_said_with_its_place_by_a_dry_run_too(stage, query):
    answer = send(stage.finance, FILE.replace(",50,", ",\uff15\uff10,"), query)

    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert (fault["path"], fault["value"]) == ("line 3, granted", "\uff15\uff10")
    assert not BudgetLine.objects.exists()


def test_dry_run_is_a_yes_or_a_no(stage):
    assert send(stage.manager, query="dry_run=perhaps").status_code == 400
    assert not BudgetLine.objects.exists()


def test_for_others_there_is_no_opening(stage):
    for who in (stage.alice, stage.charlie, stage.auditor, stage.director):
        assert send(who).status_code == 404
