"""Budgets in accelerator-hours: beside the money, by the same rules, and never turned into it."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from budgets.funding import LineDecision
from budgets.hours import hours_of_lines, in_unit
from budgets.models import HoursEntry
from budgets.queries import line_status
from budgets.services import approval, proposals
from budgets.services.hours import grant_hours
from core.errors import DomainError, NotAllowed
from core.months import Period
from estimates.engine.books import AcceleratorBook, AcceleratorSpec
from estimates.models import Accelerator
from tests.budgets import factories
from usage.models import DailyUsage, Meter, Source

TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=100), TODAY + timedelta(days=100))
MONTH = f"{TODAY:%Y-%m}"


@pytest.fixture
def line(stage):
    factories.line(stage.other_project, granted=5, period=RUNNING, period_kind="project")
    return factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")


def granted(line, by, hours="100", unit="real"):
    return grant_hours(line, by=by, hours=Decimal(hours), unit=unit, reason="Plan of the year")


def used(project, hours, *, accelerator="card-a", reference="", source="bill", part_of=None) -> DailyUsage:
    """Hours that a meter says, with a money of 1 a row."""
    row = factories.cost(project, 1, day=TODAY - timedelta(days=1), reference=reference)
    of = Source.objects.get_or_create(
        slug=source, defaults={"name": source, "money": "own", "meaning": "statement", "part_of": part_of}
    )[0]
    row.meter = Meter.objects.get_or_create(
        source=of,
        accelerator=accelerator,
        defaults={"digest": uuid.uuid5(uuid.NAMESPACE_OID, accelerator), "charge_category": "Usage"},
    )[0]
    row.accelerator_hours = Decimal(hours)
    row.save()
    return row


def standing(line):
    return hours_of_lines([line], now=timezone.now())[line.pk]


def test_a_line_without_hours_has_none(line):
    assert hours_of_lines([line], now=timezone.now()) == {}


def test_metered_hours_lower_the_headroom_in_hours_and_not_the_money(stage, line):
    granted(line, stage.manager)
    used(stage.project, "30.5")
    used(stage.other_project, 7)

    found = standing(line)

    assert (found.status.budget, found.status.actual, found.status.headroom) == (100, Decimal("30.5"), Decimal("69.5"))
    assert line_status(line).headroom == 999


def test_equivalent_hours_count_each_card_by_its_dense_peak():
    book = AcceleratorBook(
        [
            AcceleratorSpec("half", "Half", "x", None, None, {"bf16": 494.5}, None, None),
            AcceleratorSpec("none", "None", "x", None, None, {}, None, None),
        ]
    )

    assert in_unit(Decimal(10), "half", "equivalent", book) == 5  # 494.5 ÷ 989
    assert in_unit(Decimal(10), "half", "real", book) == 10
    assert in_unit(Decimal(10), "none", "equivalent", book) is None
    assert in_unit(Decimal(10), "", "equivalent", book) is None


def test_hours_of_a_card_without_a_peak_are_left_out_and_named(stage, line):
    Accelerator.objects.create(slug="card-b", name="B", vendor="x", bf16_tflops=1978)
    granted(line, stage.manager, unit="equivalent")
    used(stage.project, 10, accelerator="card-a")
    used(stage.project, 20, accelerator="card-b")

    assert standing(line).status.actual == 40
    assert standing(line).unknown == ("card-a",)


def test_hours_that_the_job_log_tells_again_are_counted_once(stage, line):
    granted(line, stage.manager)
    used(stage.project, 50, accelerator="card-a")
    used(stage.project, 48, accelerator="card-c", source="slurm", part_of=Source.objects.get(slug="bill"))

    assert standing(line).status.actual == 48


def test_a_line_keeps_the_unit_of_its_first_hours(stage, line):
    granted(line, stage.manager)

    with pytest.raises(DomainError, match="kept in accelerator-hours"):
        granted(line, stage.manager, unit="equivalent")
    with pytest.raises(IntegrityError), transaction.atomic():
        HoursEntry.objects.create(line=line, kind="grant", unit="equivalent", hours=1)


@pytest.mark.parametrize(
    ("hours", "unit", "message"),
    [
        ("0", "real", "no number of hours"),
        ("NaN", "real", "no number of hours"),
        ("1.00001", "real", "no number of hours"),
        ("1e15", "real", "no number of hours"),
        ("5", "weeks", "real or equivalent"),
        ("-100.5", "real", "100 hours that are free"),
    ],
)
def test_a_grant_of_hours_is_refused_with_what_is_wrong(stage, line, hours, unit, message):
    granted(line, stage.manager)

    with pytest.raises(DomainError, match=message):
        granted(line, stage.manager, hours, unit)
    assert standing(line).status.budget == 100


def test_only_compute_lines_have_hours(stage):
    with pytest.raises(DomainError, match="Only compute lines"):
        granted(factories.line(stage.project, "data"), stage.manager)


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator", "auditor", "keeper"])
def test_others_grant_no_hours(stage, line, who):
    with pytest.raises(NotAllowed):
        granted(line, getattr(stage, who))


def estimated(stage, hours):
    """A proposal whose estimate reckons with so many accelerator-hours, waiting for its manager."""
    return factories.submitted(stage.project, stage.alice, {("compute", MONTH): 400}, hours=hours)


def test_an_approval_promises_the_hours_of_its_estimate_and_own_work_consumes_them(stage, line):
    granted(line, stage.manager)
    proposal, step = estimated(stage, 60)

    approval.approve_proposal(step, by=stage.manager)

    assert standing(line).status.committed == 60
    used(stage.project, 25, reference=proposal.reference)
    used(stage.other_project, 99, reference="P-0")
    found = standing(line).status
    assert (found.actual, found.committed, found.headroom) == (25, 35, 40)
    proposal.refresh_from_db()
    proposals.close_proposal(proposal, by=stage.alice)
    assert standing(line).status.headroom == 75


def test_a_part_of_the_money_promises_that_part_of_the_hours(stage, line):
    granted(line, stage.manager)
    _proposal, step = estimated(stage, 60)

    approval.approve_proposal(step, by=stage.manager, lines=[LineDecision("compute", Decimal(100))], reason="A quarter")

    assert standing(line).status.committed == 15


def test_an_approval_is_refused_where_the_line_is_short_of_hours(stage, line):
    granted(line, stage.manager, "50")
    _proposal, step = estimated(stage, 60)

    with pytest.raises(DomainError, match="short by 10 accelerator-hours"):
        approval.approve_proposal(step, by=stage.manager)
    assert not HoursEntry.objects.filter(kind="commit").exists()
    assert line_status(line).committed == 0


def test_an_approval_on_a_line_without_hours_promises_money_alone(stage, line):
    _proposal, step = estimated(stage, 60)

    approval.approve_proposal(step, by=stage.manager)

    assert not HoursEntry.objects.exists()
    assert line_status(line).committed == 400


# ---- doors


def send(client, who, path, **body):
    client.force_login(who)
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_a_job_is_asked_for_money_and_hours(stage, line, client):
    granted(line, stage.manager, "100")
    job = {"project": stage.project.slug, "amount": "10", "accelerator": "card-a"}

    fits = send(client, stage.bob, "can-start/", job="1", accelerator_hours="60", hold=True, **job).json()
    second = send(client, stage.bob, "can-start/", job="2", accelerator_hours="60", **job).json()
    again = send(client, stage.bob, "can-start/", job="1", accelerator_hours="60", **job).json()
    silent = send(client, stage.bob, "can-start/", job="3", **job).json()

    assert (fits["answer"], fits["hours"]) == ("yes", "100")
    assert (second["answer"], second["hours"]) == ("no", "40")
    assert "40 accelerator-hours left" in second["reason"]
    assert again["answer"] == "yes"
    assert silent["answer"] == "warn" and "are not known" in silent["reason"]


def test_the_api_grants_hours_and_says_what_stands(stage, line, client):
    answer = send(client, stage.manager, f"lines/{line.pk}/grant-hours/", hours="12.5", unit="real", reason="why")
    other = send(client, stage.charlie, f"lines/{line.pk}/grant-hours/", hours="1", unit="real", reason="why")
    member = send(client, stage.bob, f"lines/{line.pk}/grant-hours/", hours="1", unit="real", reason="why")

    assert answer.json()["hours"] == {
        "unit": "real",
        "budget": "12.5",
        "committed": "0",
        "actual": "0",
        "headroom": "12.5",
        "restated": "0",
        "peak_missing": [],
    }
    assert (other.status_code, member.status_code) == (404, 403)


def test_the_page_of_a_line_shows_and_grants_hours(stage, line, client):
    client.force_login(stage.manager)
    address = reverse("line-hours", args=[stage.project.slug, line.pk])

    client.post(address, {"hours": "1,500", "unit": "equivalent", "reason": "why"})
    refused = client.post(address, {"hours": "-9000", "unit": "equivalent", "reason": "why"})
    said = client.get(reverse("line", args=[stage.project.slug, line.pk])).content.decode()

    assert said.count('value="1500"') == 3 and "equivalent accelerator-hours" in said
    assert "hours that are free" in refused.content.decode()
    client.force_login(stage.charlie)
    assert client.post(address, {"hours": "1", "unit": "real", "reason": "x"}).status_code == 404
