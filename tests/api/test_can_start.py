"""May this job start?"""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from budgets.models import Hold
from budgets.queries import line_status
from budgets.services import ledger, lines
from core.errors import DomainError
from core.months import Period
from estimates import services as estimates
from overruns import services as overruns
from teams import services as teams
from teams.models import Role
from tests import factories as people
from tests.budgets import factories
from tests.usage import factories as usage
from usage.models import Record

TODAY = timezone.now().date()
RUNNING = Period(TODAY - timedelta(days=100), TODAY + timedelta(days=100))


@pytest.fixture
def ask(stage, client):
    """A scheduler that asks with a token of its own."""
    machine = people.user("slurm@example.com")
    people.member(machine, None, Role.MACHINE)
    _token, secret = teams.issue_token(by=machine, now=timezone.now(), scopes=("can_start",))

    def post(path="can-start/", **body):
        body = {"project": "base-7b", "job": "job-1", **body}
        return client.post(
            f"/api/v1/{path}",
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return post


@pytest.fixture
def line(stage):
    return factories.line(stage.project, granted=1000, period=RUNNING, period_kind="project")


def test_a_job_that_fits_may_start(line, ask):
    answer = ask(amount="300").json()

    assert (answer["answer"], answer["line"], answer["headroom"], answer["hold"]) == ("yes", line.pk, "1000", None)


def test_a_job_that_passes_the_warning_line_is_warned(line, ask):
    assert ask(amount="799.99").json()["answer"] == "yes"
    assert ask(amount="800").json()["answer"] == "warn"


def test_a_job_that_costs_more_than_is_left_may_not(line, ask):
    answer = ask(amount="1000.01").json()

    assert answer["answer"] == "no"
    assert "1000 USD left for it, less than 1000.01" in answer["reason"]


def test_what_a_proposal_holds_is_there_for_its_own_jobs_only(stage, line, ask):
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", f"{TODAY:%Y-%m}"): 900})
    factories.entry(line, "commit", 900, proposal=proposal)

    assert ask(amount="500").json()["answer"] == "no"
    assert ask(amount="500", proposal=proposal.reference).json()["answer"] == "yes"
    assert ask(amount="500", proposal="P-999999").status_code == 404


def test_a_hold_keeps_the_money_free_until_the_job_is_known(stage, line, ask):
    held = ask(amount="600", hold=True).json()
    assert held["hold"] is not None
    assert (line_status(line).headroom, line_status(line).free) == (1000, 400)

    # the same job again renews its hold; another finds only what is left
    assert ask(amount="600", hold=True).json()["answer"] == "yes"
    assert Hold.objects.in_force(timezone.now()).count() == 1
    assert ask(job="job-2", amount="500").json()["answer"] == "no"
    target = factories.line(stage.project, "data", period=RUNNING)
    with pytest.raises(DomainError, match="headroom of 400 USD"):
        ledger.transfer(line, target, by=stage.manager, amount=Decimal(401), reason="why")

    assert ask("can-start/job-1/end/").status_code == 204
    assert line_status(line).free == 1000
    assert ask("can-start/job-1/end/").status_code == 422


def test_a_hold_runs_out(line, ask):
    ask(amount="600", hold=True)
    Hold.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert line_status(line).free == 1000


def test_a_hold_whose_job_has_started_is_committed_and_runs_out_no_more(line, ask):
    ask(amount="600", hold=True)

    assert ask("can-start/job-1/start/").status_code == 204
    Hold.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert line_status(line).free == 400
    assert ask("can-start/job-1/start/").status_code == 422
    assert ask("can-start/job-1/end/").status_code == 204
    assert line_status(line).free == 1000


def test_a_hold_that_ran_out_is_not_started(line, ask):
    ask(amount="600", hold=True)
    Hold.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert ask("can-start/job-1/start/").status_code == 422


def test_the_log_of_the_scheduler_starts_a_hold_uses_it_up_and_lets_it_go(stage, line, ask):
    ask(amount="600", hold=True)
    ask(amount="50", hold=True, job="job-2")
    record = usage.metered_job("job-1", stage.project, cost=100, is_running=True)

    overruns.judge_touched(now=timezone.now())
    assert Hold.objects.get(job="job-1").started_at and not Hold.objects.get(job="job-2").started_at
    assert line_status(line).held == 550  # 600 less 100 that are metered, and 50

    Record.objects.filter(pk=record.pk).update(provisional=False)
    overruns.judge_touched(now=timezone.now())
    assert line_status(line).held == 50


def test_a_frozen_line_starts_nothing(line, ask):
    lines.freeze_line(line, by=None, reason="limit")

    assert ask(amount="1").json()["answer"] == "no"


def test_without_a_line_the_setting_decides(stage, ask, settings):
    assert ask(amount="1").json()["answer"] == "warn"
    settings.CAN_START_WITHOUT_LINE = "no"
    assert ask(amount="1").json()["answer"] == "no"


def test_accelerator_hours_are_priced_by_the_list_of_the_day(stage, line, ask):
    estimates.add_price(
        by=None,
        kind="accelerator",
        item="own-card",
        amount="2.50",
        currency="USD",
        valid_from=str(TODAY),
        mode="on_demand",
        provider="cloud",
        source="list",
        verified=True,
    )

    answer = ask(accelerator_hours="100", accelerator="own-card").json()
    assert (answer["answer"], answer["amount"]) == ("yes", "250")
    assert ask(accelerator_hours="100", accelerator="nothing").status_code == 422
    assert ask().status_code == 422


def test_a_machine_of_another_team_finds_no_project(stage, line, client):
    _token, secret = teams.issue_token(by=stage.charlie, now=timezone.now())

    answer = client.post(
        "/api/v1/can-start/",
        {"project": "base-7b", "job": "x", "amount": "1"},
        headers={"Authorization": f"Bearer {secret}"},
    )

    assert answer.status_code == 404


def test_the_answer_takes_few_queries(line, ask, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        ask(amount="300", hold=True)
