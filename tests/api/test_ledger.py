"""Projects, lines, proposals and flags over the API and the commands, in the shapes of the contract."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from budgets.models import BudgetLine, Proposal
from budgets.queries import line_status
from core.months import Period
from overruns import services as overruns
from overruns.models import Flag
from teams import services as teams
from teams.models import ExchangeRate
from tests.budgets import factories

OVER = Period(date(2026, 1, 1), date(2026, 7, 1))
DAY = date(2026, 3, 1)


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


def command(capsys, name, *arguments):
    call_command(name, *arguments, "--json")
    return [json.loads(text) for text in capsys.readouterr().out.splitlines()]


def test_budget_status_says_what_stands_on_every_line(stage, capsys):
    line = factories.line(stage.project, granted=1000, period=OVER, period_kind="project")
    factories.line(stage.other_project, granted=5, period=OVER)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2026-03"): 400})
    factories.entry(line, "commit", 400, proposal=proposal)
    factories.cost(stage.project, "850.123456789", day=DAY, reference=proposal.reference)
    factories.cost(stage.project, 10, day=DAY, currency="EUR")
    overruns.judge_lines([line.pk], now=datetime(2026, 12, 1, tzinfo=UTC))

    (answer,) = command(capsys, "budget_status", "--project", stage.project.slug)

    assert answer["line"] == line.pk
    assert (answer["project"], answer["team"], answer["category"]) == ("base-7b", "foundation", "compute")
    assert answer["period"] == {"start": "2026-01-01", "end": "2026-07-01", "kind": "project"}
    assert (answer["budget"], answer["actual"], answer["committed"]) == ("1000", "850.123456789", "0")
    assert answer["headroom"] == "149.876543211"
    assert (answer["currency"], answer["basis"]) == ("USD", "effective")
    assert answer["forecast"] == {"p10": "850.12", "p50": "850.12", "p90": "850.12"}
    assert answer["rates_missing"] == [{"month": "2026-03", "from": "EUR", "to": "USD"}]
    assert answer["price_missing"] == []
    states = {(each["basis"], each["share"]): each["state"] for each in answer["thresholds"]}
    assert states == {("actual", "0.8"): "above", ("actual", "1"): "below", ("forecast", "1"): "below"}


def test_budget_status_at_the_end_of_a_day(stage, capsys):
    line = factories.line(stage.project, period=OVER)
    factories.entry(line, "grant", 100, at=datetime(2026, 1, 5, tzinfo=UTC))
    factories.cost(stage.project, 30, day=date(2026, 2, 1))
    factories.cost(stage.project, 40, day=date(2026, 2, 2))

    (answer,) = command(capsys, "budget_status", "--on", "2026-02-01")

    assert (answer["budget"], answer["actual"], answer["headroom"]) == ("100", "30", "70")


def test_judging_twice_says_nothing_the_second_time(stage, capsys):
    line = factories.line(stage.project, granted=100, period=OVER)
    factories.cost(stage.project, 80, day=DAY)

    (first,) = command(capsys, "judge")
    (second,) = command(capsys, "judge")

    assert (first["lines"], len(first["crossed"]), first["notifications"]) == (1, 1, 3)
    crossed = first["crossed"][0]
    assert (crossed["line"], crossed["share"], crossed["basis"]) == (line.pk, "0.8", "actual")
    assert (second["crossed"], second["uncrossed"], second["notifications"]) == ([], [], 0)


def test_a_project_that_is_not_there_is_a_wrong_call(stage, capsys):
    for name in ("budget_status", "judge"):
        with pytest.raises(CommandError, match="no project nowhere") as wrong:
            call_command(name, "--project", "nowhere", "--json")
        assert wrong.value.returncode == 2


def test_projects_are_listed_read_and_opened(stage, as_):
    factories.line(stage.project, granted=100, period=OVER)

    assert [row["slug"] for row in as_(stage.alice, "get", "projects/").json()["results"]] == ["base-7b"]
    found = as_(stage.alice, "get", "projects/base-7b/").json()
    assert found["lines"][0]["budget"] == "100"
    assert as_(stage.charlie, "get", "projects/base-7b/").status_code == 404
    body = {"team": "foundation", "name": "Code 7B", "currency": "USD"}
    assert as_(stage.manager, "post", "projects/", body).status_code == 201
    refused = as_(stage.alice, "post", "projects/", body)
    assert refused.status_code == 403
    assert "manager" in refused.json()["errors"][0]["message"]


def test_a_proposal_goes_from_plan_to_committed_money(stage, as_):
    body = {"project": "base-7b", "plan": factories.PLAN, "title": "Small run", "submit": True}

    made = as_(stage.alice, "post", "proposals/", body)
    assert made.status_code == 201, made.json()
    answer = made.json()
    assert (answer["state"], answer["version_state"]) == ("submitted", "submitted")
    assert Decimal(answer["ask_total"]) == sum(Decimal(row["amount"]) for row in answer["ask"])
    path = f"proposals/{answer['number']}/"
    waiting = as_(stage.manager, "get", "proposals/?waiting=true").json()["results"]
    assert [row["number"] for row in waiting] == [answer["number"]]
    assert as_(stage.alice, "get", "proposals/?waiting=true").json()["results"] == []
    assert as_(stage.charlie, "post", path + "decide/", {"outcome": "approve"}).status_code == 404
    assert as_(stage.bob, "post", path + "decide/", {"outcome": "approve"}).status_code == 403

    decided = as_(stage.manager, "post", path + "decide/", {"outcome": "approve"}).json()

    assert decided["state"] == "approved"
    assert decided["steps"][0]["decided_by"] == "manager@example.com"
    compute = BudgetLine.objects.get(category="compute")
    asked = {row["category"]: Decimal(row["amount"]) for row in answer["ask"]}
    assert line_status(compute).committed == asked["compute"]
    closed = as_(stage.alice, "post", path + "close/", {}).json()
    assert closed["state"] == "closed"
    assert line_status(compute).committed == 0


def test_a_broken_plan_answers_with_every_fault_and_keeps_nothing(stage, as_):
    answer = as_(stage.alice, "post", "proposals/", {"project": "base-7b", "plan": {"name": "x", "task": "swim"}})

    assert answer.status_code == 422
    assert {"path", "value", "message", "accepted"} <= answer.json()["errors"][0].keys()
    assert not Proposal.objects.exists()


def test_part_is_approved_and_refused_with_the_place_and_what_is_accepted(stage, as_):
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})
    path = f"proposals/{proposal.pk}/decide/"
    line = {"category": "compute", "amount": "500", "new_money": "100"}

    short = as_(stage.manager, "post", path, {"outcome": "approve", "reason": "Less", "lines": [line]})
    assert short.status_code == 422
    assert short.json()["code"] == "short"
    assert short.json()["errors"][0] == {
        "path": "compute.new_money",
        "value": "100",
        "message": "the line is short by 400",
        "accepted": "500",
    }
    line["new_money"] = "500"
    assert (
        as_(stage.manager, "post", path, {"outcome": "approve", "reason": "Less", "lines": [line]}).status_code == 200
    )
    proposal.refresh_from_db()
    assert proposal.state == "partly_approved"


def test_changes_withdrawal_and_a_new_plan(stage, as_):
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})
    path = f"proposals/{proposal.pk}/"

    as_(stage.manager, "post", path + "decide/", {"outcome": "request_changes", "reason": "Smaller"})
    changed = as_(stage.alice, "put", path, {"plan": factories.PLAN}).json()
    assert (changed["version"], changed["version_state"]) == (2, "draft")
    submitted = as_(stage.alice, "post", path + "submit/").json()
    assert submitted["version_state"] == "submitted"
    assert as_(stage.alice, "post", path + "withdraw/", {"reason": "No"}).json()["state"] == "withdrawn"


def test_money_moves_over_the_api(stage, as_):
    first = factories.line(stage.project, granted=100, period=OVER)
    second = factories.line(stage.project, "data", period=OVER)

    granted = as_(stage.manager, "post", f"lines/{first.pk}/grant/", {"amount": "50", "reason": "why"}).json()
    assert granted["budget"] == "150"
    moved = {"target": second.pk, "amount": "30", "reason": "why"}
    assert as_(stage.manager, "post", f"lines/{first.pk}/transfer/", moved).json()["budget"] == "120"
    assert as_(stage.charlie, "post", f"lines/{first.pk}/transfer/", moved).status_code == 404
    assert as_(stage.alice, "post", f"lines/{first.pk}/transfer/", moved).status_code == 403
    listed = as_(stage.alice, "get", "lines/?project=base-7b").json()["results"]
    assert [row["budget"] for row in listed] == ["120", "30"]


def test_a_grant_that_is_sent_again_under_its_key_grants_once(stage, client):
    line = factories.line(stage.project, granted=100, period=OVER)
    client.force_login(stage.manager)

    answers = [
        client.post(
            f"/api/v1/lines/{line.pk}/grant/",
            {"amount": "50", "reason": "why"},
            content_type="application/json",
            headers={"Idempotency-Key": "grant-1"},
        ).json()
        for _time in range(2)
    ]

    assert [answer["budget"] for answer in answers] == ["150", "150"]
    assert line.entries.filter(kind="grant").count() == 2


def test_flags_are_listed_and_answered(stage, as_):
    line = factories.line(stage.project, granted=100, period=OVER)
    factories.cost(stage.project, 100, day=DAY)
    overruns.judge_lines([line.pk], now=datetime(2026, 12, 1, tzinfo=UTC))
    flag = Flag.objects.get(threshold__share=1, threshold__basis="actual")

    shown = as_(stage.bob, "get", "flags/?state=standing").json()["results"]
    assert {row["share"] for row in shown} == {"0.8", "1"}
    assert as_(stage.charlie, "get", "flags/").json()["results"] == []
    assert as_(stage.charlie, "get", f"flags/{flag.pk}/").status_code == 404
    answered = as_(stage.bob, "post", f"flags/{flag.pk}/acknowledge/", {"cause": "Node failures"}).json()
    assert (answered["state"], answered["cause"]) == ("acknowledged", "Node failures")
    assert as_(stage.bob, "post", f"flags/{flag.pk}/mute/", {"until": "2020-01-01"}).status_code == 422


def test_a_token_for_reading_writes_nothing(stage, client):
    _token, secret = teams.issue_token(by=stage.manager, now=datetime.now(UTC), scopes=("read",))
    line = factories.line(stage.project, granted=100, period=OVER)

    answer = client.post(
        f"/api/v1/lines/{line.pk}/grant/",
        {"amount": "1", "reason": "why"},
        headers={"Authorization": f"Bearer {secret}"},
    )

    assert answer.status_code == 403


def test_a_rate_makes_the_figure_whole(stage, capsys):
    factories.line(stage.project, granted=1000, period=OVER)
    factories.cost(stage.project, 10, day=DAY, currency="EUR")
    ExchangeRate.objects.create(month=date(2026, 3, 1), base="EUR", quote="USD", rate=Decimal("1.1"))

    (answer,) = command(capsys, "budget_status")

    assert (answer["actual"], answer["rates_missing"]) == ("11", [])
