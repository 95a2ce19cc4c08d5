"""Statements and restatements over the API: the figures of the pages, for those who see them."""

from __future__ import annotations

import csv
import io
from datetime import date, timedelta

import pytest
from rest_framework.test import APIClient

from teams.models import ClosedMonth, ExchangeRate, Organisation
from tests.usage import factories
from tests.usage.conftest import kept_files  # noqa: F401
from tests.usage.factories import deliver, focus
from usage import rules
from usage.pipeline.swap import known_now

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

TEN = {"ResourceId": "a"}


def signed_in(person) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


@pytest.fixture
def restated(stage):
    """Ten dollars of Foundation in March, closed, then eleven; five of another team."""
    mine = {"field": "resource", "operator": "equals", "values": ["a"]}
    rules.add_rule(by=stage.operator, name="A", conditions=[mine], project=stage.project)
    rules.add_rule(by=stage.operator, name="Rest", conditions=[], project=stage.other_project)
    source = factories.source()
    other = {"ResourceId": "b", "BilledCost": "5", "EffectiveCost": "5"}
    first = deliver(source, focus(TEN, other))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    second = deliver(source, focus({**TEN, "BilledCost": "11", "EffectiveCost": "11"}, other))
    return first, second


def test_a_statement_is_told_as_json_and_as_csv(stage, restated):
    client = signed_in(stage.alice)

    listed = client.get("/api/v1/statements/").json()
    found = client.get("/api/v1/statements/foundation/2026-03/").json()
    file = client.get("/api/v1/statements/foundation/2026-03.csv")

    assert listed == [{"team": "foundation", "months": ["2026-03"]}]
    assert (found["reporting_currency"], found["closed_at"] is None) == ("USD", False)
    assert [(line["project"], line["own"], line["total"]) for line in found["lines"]] == [("base-7b", "10", "10")]
    assert [(row["month"], row["old"], row["new"], row["delta"]) for row in found["restated"]] == [
        ("2026-03", "10", "11", "1")
    ]
    assert [(each["total"], each["restated"]) for each in found["sums"]] == [("10", "1")]
    rows = list(csv.DictReader(io.StringIO(b"".join(file.streaming_content).decode())))
    assert [(row["project"], row["total"], row["restated"]) for row in rows] == [
        ("base-7b", "10", ""),
        ("base-7b", "", "1"),
    ]


def test_the_total_is_in_the_reporting_currency_where_a_rate_is_known(stage, restated):
    Organisation.objects.update(currency="CNY")
    unknown = signed_in(stage.alice).get("/api/v1/statements/foundation/2026-03/").json()
    ExchangeRate.objects.create(month=date(2026, 3, 1), base="USD", quote="CNY", rate="7")
    ExchangeRate.objects.update(entered_at=ClosedMonth.objects.get().closed_at - timedelta(days=1))

    known = signed_in(stage.alice).get("/api/v1/statements/foundation/2026-03/").json()

    assert (unknown["total_reported"], unknown["rates_missing"]) == (None, ["USD"])
    assert (known["total_reported"], known["rates_missing"]) == ("70", [])


@pytest.mark.parametrize("month", ["2026-13", "0000-01", "march", "9999-12"])
def test_what_is_no_month_is_refused(stage, month):
    answer = signed_in(stage.alice).get(f"/api/v1/statements/foundation/{month}/")

    assert (answer.status_code, answer.json()["errors"][0]["value"]) == (422, month)


def test_a_statement_of_another_team_does_not_exist(stage, restated):
    assert signed_in(stage.charlie).get("/api/v1/statements/foundation/2026-03/").status_code == 404
    assert signed_in(stage.charlie).get("/api/v1/statements/foundation/2026-03.csv").status_code == 404


def test_restatements_are_told_since_the_closing_between_times_and_by_import(stage, restated):
    first, second = restated
    client = signed_in(stage.auditor)

    def asked(query: str) -> list[tuple]:
        rows = client.get(f"/api/v1/usage/restatements/{query}").json()
        return [(row["project"], row["old"], row["new"], row["delta"], row["imports"]) for row in rows]

    one = ("base-7b", "10", "11", "1", [second["import"]])
    assert asked("") == asked("?month=2026-03&source=cloud") == asked(f"?import={second['import']}") == [one]
    assert asked("?month=2026-04") == asked(f"?import={first['import']}") == []
    assert {row[0] for row in asked("?since=2020-01-01T00:00:00Z&news=true")} == {"base-7b", "ranking"}


def test_people_see_the_restatements_of_their_projects(stage, restated):
    assert len(signed_in(stage.alice).get("/api/v1/usage/restatements/").json()) == 1
    assert signed_in(stage.charlie).get("/api/v1/usage/restatements/").json() == []


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("?until=2026-01-01T00:00:00Z", "since"),
        ("?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z", "until"),
        ("?month=2026-3", "month"),
        ("?basis=cash", "basis"),
        ("?import=x", "import"),
    ],
)
def test_a_question_that_cannot_be_asked_names_its_place(stage, query, place):
    answer = signed_in(stage.finance).get(f"/api/v1/usage/restatements/{query}")

    assert (answer.status_code, list(answer.json())) == (400, [place])
