"""Accelerator-hours that move between lines or are given back by hand, and what a line is told to carry over."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse
from django.utils import timezone

from budgets.hours import hours_of_lines
from budgets.models import HoursEntry
from budgets.services import approval
from budgets.services.hours import grant_hours, release_hours, transfer_hours
from core.errors import DomainError, NotAllowed
from core.months import Period
from teams.models import Activity
from tests.budgets import factories

TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=100), TODAY + timedelta(days=100))


@pytest.fixture
def line(stage):
    factories.line(stage.other_project, granted=5, period=RUNNING, period_kind="project")
    made = factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")
    grant_hours(made, by=stage.manager, hours=Decimal(100), unit="real", reason="Plan of the year")
    return made


@pytest.fixture
def tuning(stage):
    """A second compute line of the project, for one task."""
    return factories.line(stage.project, period=RUNNING, period_kind="project", task_type="finetune")


def moved(line, to, by, hours="30"):
    return transfer_hours(line, to, by=by, hours=Decimal(hours), reason="Tuning needs them")


def headroom(line) -> Decimal | None:
    found = hours_of_lines([line], now=timezone.now()).get(line.pk)
    return found.status.headroom if found else None


def held(stage, hours=60):
    """A proposal that holds so many hours of the line."""
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", f"{TODAY:%Y-%m}"): 400}, hours=hours)
    approval.approve_proposal(step, by=stage.manager)
    return proposal


# ---- moved


def test_free_hours_move_to_a_line_that_has_none_yet_and_keep_their_unit(stage, line, tuning):
    number = moved(line, tuning, stage.manager)

    assert (headroom(line), headroom(tuning)) == (70, 30)
    entries = HoursEntry.objects.filter(transfer=number).order_by("hours")
    assert [(entry.kind, entry.unit, entry.hours) for entry in entries] == [
        ("transfer", "real", -30),
        ("transfer", "real", 30),
    ]
    assert Activity.objects.get(verb="line.hours_transferred").facts["target_line"] == tuning.pk


def test_hours_that_are_promised_do_not_move(stage, line, tuning):
    held(stage, 60)

    with pytest.raises(DomainError, match="40 hours that are free"):
        moved(line, tuning, stage.manager, "40.0001")
    moved(line, tuning, stage.manager, "40")
    assert (headroom(line), headroom(tuning)) == (0, 40)


def test_hours_of_unlike_units_are_not_added(stage, line, tuning):
    grant_hours(tuning, by=stage.manager, hours=Decimal(5), unit="equivalent", reason="why")

    with pytest.raises(DomainError, match="the two are not added"):
        moved(line, tuning, stage.manager)
    assert (headroom(line), headroom(tuning)) == (100, 5)


@pytest.mark.parametrize(
    ("hours", "message"), [("0", "no number"), ("-1", "above zero"), ("NaN", "no number"), ("0.00001", "no number")]
)
def test_a_transfer_of_what_is_no_number_of_hours_is_refused(stage, line, tuning, hours, message):
    with pytest.raises(DomainError, match=message):
        moved(line, tuning, stage.manager, hours)
    assert headroom(tuning) is None


def test_hours_move_between_open_compute_lines_alone(stage, line, tuning):
    with pytest.raises(DomainError, match="two different lines"):
        moved(line, line, stage.manager)
    with pytest.raises(DomainError, match="Only compute lines"):
        moved(line, factories.line(stage.project, "data", period=RUNNING), stage.manager)
    type(tuning).objects.filter(pk=tuning.pk).update(closed_at=timezone.now())
    with pytest.raises(DomainError, match="is closed"):
        moved(line, tuning, stage.manager)


@pytest.mark.parametrize("who", ["alice", "bob", "charlie", "other_manager", "director", "operator", "auditor"])
def test_others_move_no_hours(stage, line, tuning, who):
    with pytest.raises(NotAllowed):
        moved(line, tuning, getattr(stage, who))


def test_hours_go_to_another_team_only_by_who_may_do_so_in_both(stage, line):
    theirs = stage.other_project.lines.get()

    with pytest.raises(NotAllowed):
        moved(line, theirs, stage.manager)
    moved(line, theirs, stage.finance)
    assert headroom(theirs) == 30


@pytest.mark.parametrize("parts", [[-30], [-30, 29], [30]])
def test_the_database_keeps_no_transfer_that_does_not_balance(stage, line, tuning, parts):
    number = uuid.uuid4()

    with pytest.raises(IntegrityError, match="does not balance"), transaction.atomic():
        for to, part in zip((line, tuning), parts, strict=False):
            HoursEntry.objects.create(line=to, kind="transfer", unit="real", hours=part, transfer=number)
        connection.check_constraints()


def test_the_database_keeps_no_transfer_without_a_number(line):
    with pytest.raises(IntegrityError, match="hours_that_move_between_lines_are_numbered"), transaction.atomic():
        HoursEntry.objects.create(line=line, kind="transfer", unit="real", hours=1)


# ---- given back


def test_a_proposal_gives_back_hours_that_it_does_not_need(stage, line):
    proposal = held(stage, 60)

    with pytest.raises(DomainError, match="holds only 60 hours"):
        release_hours(line, proposal, by=stage.alice, hours=Decimal("60.5"), reason="why")
    release_hours(line, proposal, by=stage.alice, hours=Decimal("45.5"), reason="Half was enough")

    assert headroom(line) == Decimal("85.5")
    assert HoursEntry.objects.get(kind="release").reason == "Half was enough"


def test_a_proposal_that_holds_no_hours_gives_none_back(stage, line, tuning):
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", f"{TODAY:%Y-%m}"): 400}, hours=60)

    for on in (line, tuning):
        with pytest.raises(DomainError, match="holds only 0 hours"):
            release_hours(on, proposal, by=stage.manager, hours=Decimal(1), reason="why")


@pytest.mark.parametrize("who", ["bob", "charlie", "other_manager", "operator", "auditor"])
def test_others_give_back_no_hours(stage, line, who):
    proposal = held(stage)

    with pytest.raises(NotAllowed):
        release_hours(line, proposal, by=getattr(stage, who), hours=Decimal(1), reason="why")


# ---- doors


def send(client, who, path, method="post", **body):
    client.force_login(who)
    return getattr(client, method)(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_the_api_moves_hours_and_gives_them_back(stage, line, tuning, client):
    proposal = held(stage, 60)
    transfer = {"target": tuning.pk, "hours": "30", "reason": "why"}

    gone = send(client, stage.manager, f"lines/{line.pk}/transfer-hours/", **transfer)
    back = send(client, stage.alice, f"lines/{line.pk}/release-hours/", proposal=proposal.pk, hours="10", reason="why")
    short = send(client, stage.manager, f"lines/{line.pk}/transfer-hours/", **transfer)

    assert (gone.json()["hours"]["headroom"], back.json()["hours"]["headroom"]) == ("10", "20")
    assert (short.status_code, short.json()["code"]) == (422, "headroom_too_small")
    assert send(client, stage.bob, f"lines/{line.pk}/transfer-hours/", **transfer).status_code == 403
    assert send(client, stage.charlie, f"lines/{line.pk}/transfer-hours/", **transfer).status_code == 404


def test_the_page_moves_hours_and_gives_them_back(stage, line, tuning, client):
    proposal = held(stage, 60)
    other = factories.line(stage.project, period=RUNNING, period_kind="project", task_type="embedding")
    grant_hours(other, by=stage.manager, hours=Decimal(5), unit="equivalent", reason="why")
    client.force_login(stage.manager)
    page = reverse("line", args=[stage.project.slug, line.pk])

    said = client.get(page).content.decode()
    moved = client.post(f"{page}hours/transfer/", {"target": tuning.pk, "hours": "1,0", "reason": "why"})
    unlike = client.post(f"{page}hours/transfer/", {"target": other.pk, "hours": "1", "reason": "why"})
    client.post(f"{page}hours/release/", {"proposal": proposal.pk, "hours": "50", "reason": "why"})
    beyond = client.post(f"{page}hours/release/", {"proposal": proposal.pk, "hours": "50", "reason": "why"})

    form = said.partition('id="transfer_hours_target"')[2].partition("</select>")[0]
    assert f'value="{tuning.pk}"' in form and f'value="{other.pk}"' not in form
    assert (moved.status_code, unlike.status_code, beyond.status_code) == (302, 422, 422)
    assert "holds only 10 hours" in beyond.content.decode()
    assert headroom(line) == 80


def test_the_api_says_what_a_line_carries_over(stage, line, client):
    path = f"lines/{line.pk}/rollover/"
    capped = {"rollover": "capped", "share": "0.25", "hours": "12.5", "carries_overspend": True}

    said = send(client, stage.manager, path, "put", **capped)
    no_cap = send(client, stage.manager, path, "put", rollover="capped")
    client.force_login(stage.bob)
    read = client.get(f"/api/v1/{path}")

    assert said.json() == {
        "rollover": "capped",
        "share": "0.25",
        "amount": None,
        "hours": "12.5",
        "carries_overspend": True,
    }
    assert (no_cap.status_code, read.json()) == (422, said.json())
    assert send(client, stage.bob, path, "put", rollover="all").status_code == 403
    assert send(client, stage.charlie, path, "put", rollover="all").status_code == 404
    assert send(client, stage.manager, path, "put", rollover="all").json()["share"] is None
