"""Bookings by API and by command."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from usage.bookings.services import book_line
from usage.models import Booking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]

LINE = {"project": "base-7b", "category": "data", "first_day": "2026-03-10", "amount": "12.50", "currency": "USD"}
FILE = b"project,category,first_day,amount,currency\nbase-7b,data,2026-03-10,40,USD\n"


@pytest.fixture
def kept_files(settings, tmp_path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def no_worker(monkeypatch) -> None:
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)


def signed_in(person) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def test_a_line_is_booked_listed_and_reversed(stage):
    book_line({**LINE, "project": "ranking"}, by=None)
    client = signed_in(stage.manager)

    made = client.post("/api/v1/bookings/", LINE, format="json")
    number = made.json()["id"]
    taken = client.post(f"/api/v1/bookings/{number}/reverse/", {"reason": "twice"}, format="json")
    listed = client.get("/api/v1/bookings/").json()

    assert (made.status_code, made.json()["amount"], taken.status_code) == (201, "12.5", 201)
    assert [(row["amount"], row["reverses"], row["reversed_by"]) for row in listed["results"]] == [
        ("-12.5", number, None),
        ("12.5", None, taken.json()["id"]),
    ]


def test_a_bad_line_is_refused_by_its_column(stage):
    refused = signed_in(stage.finance).post("/api/v1/bookings/", {**LINE, "amount": "x"}, format="json")

    assert refused.status_code == 422
    assert [error["path"] for error in refused.json()["errors"]] == ["amount"]


def test_a_file_is_booked_once(stage):
    client = signed_in(stage.finance)

    first = client.post("/api/v1/bookings/files/?name=march.csv", FILE, content_type="text/csv")
    again = client.post("/api/v1/bookings/files/?name=march.csv", FILE, content_type="text/csv")

    assert [len(answer.json()["booked"]) for answer in (first, again)] == [1, 0]
    assert [answer.json()["known"] for answer in (first, again)] == [0, 1]


def test_what_one_may_not_see_does_not_exist(stage):
    row = book_line({**LINE, "project": "ranking"}, by=None)

    answer = signed_in(stage.alice).post(f"/api/v1/bookings/{row.pk}/reverse/", {"reason": "x"}, format="json")

    assert answer.status_code == 404


def test_the_command_previews_books_and_refuses_in_json(stage, tmp_path, capsys):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_bytes(FILE)
    bad.write_bytes(FILE.replace(b"40", b"forty"))

    def run(*arguments: str) -> dict:
        out = io.StringIO()
        call_command("book_costs", *arguments, "--json", stdout=out)
        return json.loads(out.getvalue())

    shown, booked, again = run(str(good), "--preview"), run(str(good)), run(str(good))

    assert (shown["status"], shown["totals"], Booking.objects.count()) == ("preview", {"USD": "40"}, 1)
    assert (booked["status"], again["status"], again["lines_known"]) == ("booked", "unchanged", 1)
    with pytest.raises(SystemExit):
        call_command("book_costs", str(bad), "--json")
    error = json.loads(capsys.readouterr().out)["errors"][0]
    assert (error["line"], error["column"], error["value"]) == (2, "amount", "forty")
