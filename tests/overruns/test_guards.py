"""Guards over many lines, over quantities and over runs; and the stops they make."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from budgets.models import Stop
from budgets.services import holds
from budgets.services.stops import release_stop
from core.errors import DomainError, NotAllowed
from overruns import guards, services
from overruns.models import Guard
from teams.models import ExchangeRate, Notification, OutboxMessage
from tests.budgets import factories
from tests.letters import letters
from usage.models import Meter, Run, RunMetric, Touched

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)


def judge(*rows, now=NOW):
    return guards.judge_guards([row.pk for row in rows], now=now)


def state(guard):
    guard.refresh_from_db()
    return guard.state, guard.value


def test_a_project_is_watched_over_its_lines_and_told_once(stage):
    factories.line(stage.project, granted=100)
    factories.line(stage.project, "data", granted=300)
    factories.line(stage.other_project, granted=1)
    factories.cost(stage.project, 150)
    factories.cost(stage.project, 49, category="data")
    factories.cost(stage.other_project, 1000)
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, share=Decimal("0.5"))

    assert judge(guard) == []
    factories.cost(stage.project, 1)
    assert judge(guard) == [guard]
    assert judge(guard) == []

    assert state(guard) == ("above", 200)
    told = Notification.objects.filter(kind="guard_reached")
    assert {row.user for row in told} == {stage.finance, stage.manager, stage.alice, stage.bob}
    assert len(letters()) == 4
    assert "200 USD, against 200 USD" in letters(stage.finance)[0].text


def test_an_amount_over_a_team_and_over_all_counts_their_projects_alone(stage):
    factories.line(stage.project, granted=100)
    factories.line(stage.other_project, granted=100)
    factories.cost(stage.project, 60)
    factories.cost(stage.other_project, 30)
    team = guards.set_guard(by=stage.manager, measure="actual", team=stage.team, amount=Decimal(61))
    whole = guards.set_guard(by=stage.finance, measure="actual", amount=Decimal(90))

    assert judge(team, whole) == [whole]
    assert (state(team)[1], state(whole)[1]) == (60, 90)
    people = {row.user for row in Notification.objects.filter(kind="guard_reached")}
    assert people == {stage.finance, stage.director}


def test_what_cannot_be_converted_is_left_out_and_said_and_lets_nothing_fall(stage):
    factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    factories.cost(stage.project, 10, currency="EUR")
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(80))

    assert judge(guard) == [guard]
    assert "not known yet" in letters(stage.manager)[0].text

    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal(2))
    judge(guard)
    assert state(guard) == ("above", 100)


def test_accelerator_hours_and_quantities_of_a_unit_are_counted_from_a_day(stage):
    for day, unit, quantity in ((9, "TB", 50), (10, "TB", 30), (11, "GB", 999)):
        cost = factories.cost(stage.project, 1, day=date(2027, 1, day))
        meter = Meter.objects.create(
            source=factories.source(), digest=f"{day:032d}", charge_category="Usage", unit=unit
        )
        type(cost).objects.filter(pk=cost.pk).update(meter=meter, quantity=quantity, accelerator_hours=8)
    since = date(2027, 1, 10)
    stored = guards.set_guard(
        by=stage.manager, measure="quantity", unit="TB", project=stage.project, amount=Decimal(30), since=since
    )
    hours = guards.set_guard(
        by=stage.manager, measure="accelerator_hours", project=stage.project, amount=Decimal("16.5"), since=since
    )

    assert judge(stored, hours) == [stored]
    assert state(stored)[1] == 30


def test_a_guard_that_stops_answers_no_until_it_is_lifted_with_a_reason(stage):
    factories.line(stage.project, granted=1000)
    factories.line(stage.other_project, granted=1000)
    factories.cost(stage.project, 50)
    guard = guards.set_guard(
        by=stage.manager, measure="actual", project=stage.project, amount=Decimal(50), stops_jobs=True
    )
    job = holds.Job("1", Decimal(1))
    judge(guard)

    refused = holds.ask_to_start(stage.project, job, by=stage.alice, hold=True, now=NOW)
    assert (refused.answer, refused.hold) == ("no", None)
    assert "Base 7B: 50 · actual" in refused.reason
    assert holds.ask_to_start(stage.other_project, job, by=stage.alice, hold=False, now=NOW).answer == "yes"
    assert OutboxMessage.objects.filter(is_urgent=True).count() == 4

    stop = Stop.objects.get()
    with pytest.raises(DomainError, match="Say why"):
        release_stop(stop, by=stage.manager, reason=" ", now=NOW)
    for person in (stage.alice, stage.other_manager, stage.operator, stage.auditor):
        with pytest.raises(NotAllowed):
            release_stop(stop, by=person, reason="please", now=NOW)
    release_stop(stop, by=stage.manager, reason="The last run goes on", now=NOW)
    judge(guard)
    assert holds.ask_to_start(stage.project, job, by=stage.alice, hold=False, now=NOW).answer == "yes"


@pytest.fixture
def run(stage):
    return Run.objects.create(slug="base", name="Base", project=stage.project, job="4711")


def report(run, *values, until=NOW):
    """One MFU an hour, the last at `until`."""
    begin = until - timedelta(hours=len(values) - 1)
    step = RunMetric.objects.filter(run=run).count()
    RunMetric.objects.bulk_create(
        RunMetric(run=run, name="train/mfu", step=step + number, at=begin + timedelta(hours=number), value=value)
        for number, value in enumerate(values)
    )


def test_an_mfu_that_is_low_for_six_hours_stops_the_run_s_job_alone(stage, run):
    factories.line(stage.project, granted=1000)
    guard = guards.set_guard(by=stage.manager, measure="mfu", run=run, amount=Decimal("0.3"), stops_jobs=True)

    report(run, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 0.2)
    assert judge(guard) == []  # one value of the last six hours was good
    report(run, 0.2, until=NOW + timedelta(hours=1))
    assert judge(guard, now=NOW + timedelta(hours=1)) == [guard]

    answers = {
        name: holds.ask_to_start(stage.project, holds.Job(name, Decimal(1)), by=stage.alice, hold=False, now=NOW).answer
        for name in ("4711", "4712")
    }
    assert answers == {"4711": "no", "4712": "yes"}


def test_a_run_that_reports_for_less_than_six_hours_is_not_judged(stage, run):
    guard = guards.set_guard(by=stage.manager, measure="mfu", run=run, amount=Decimal("0.3"))
    report(run, 0.1, 0.1, 0.1)

    assert judge(guard) == []


def test_a_second_slump_is_told_again(stage, run):
    guard = guards.set_guard(by=stage.manager, measure="mfu", run=run, amount=Decimal("0.3"))
    for day, value in enumerate((0.2, 0.5, 0.2)):
        now = NOW + timedelta(days=day)
        report(run, *[value] * 8, until=now)
        judge(guard, now=now)

    assert Notification.objects.filter(kind="guard_reached", user=stage.manager).count() == 2


def test_guards_are_judged_with_the_lines_that_an_import_touched(stage):
    factories.line(stage.project, granted=100)
    services.judge_touched(now=NOW)
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(10))
    factories.cost(stage.project, 10)
    Touched.objects.create(project=stage.project, category="compute", month=date(2027, 1, 1))

    services.judge_touched(now=NOW)

    assert state(guard)[0] == "above"


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"measure": "actual"}, "amount"),
        ({"measure": "quantity", "amount": Decimal(1)}, "unit"),
        ({"measure": "accelerator_hours", "share": Decimal("0.5")}, "share"),
        ({"measure": "mfu", "amount": Decimal(30)}, "amount"),
        ({"measure": "actual", "amount": Decimal(1), "team": True}, "project"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(stage, asked, named):
    if asked.get("team"):
        asked = {**asked, "team": stage.team}
    with pytest.raises(DomainError) as refused:
        guards.set_guard(by=stage.manager, project=stage.project, **asked)

    assert named in [fault.path for fault in refused.value.faults]
    assert not Guard.objects.exists()


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator", "auditor"])
def test_others_set_no_guard(stage, who):
    with pytest.raises(NotAllowed):
        guards.set_guard(by=getattr(stage, who), measure="actual", project=stage.project, amount=Decimal(1))


def test_a_manager_watches_not_all_teams(stage):
    with pytest.raises(NotAllowed, match="directors and finance"):
        guards.set_guard(by=stage.manager, measure="actual", amount=Decimal(1))


def test_the_page_sets_judges_and_ends_guards_and_lifts_stops(client, stage):
    today = timezone.now().date()
    factories.line(stage.project, granted=10, period=factories.Period(today, today + timedelta(days=9)))
    factories.cost(stage.project, 7, day=today)
    client.force_login(stage.manager)
    form = {"project": "base-7b", "measure": "actual", "percent": "50", "stops_jobs": "on"}

    shown = client.post("/warnings/guards/new/", form, follow=True).content.decode()

    assert "Jobs may not start since" in shown and "50.0 %" in shown
    assert client.post("/warnings/guards/new/", {"measure": "actual"}).status_code == 422
    client.post(f"/warnings/stops/{Stop.objects.get().pk}/release/", {"reason": "checked"})
    client.post(f"/warnings/guards/{Guard.objects.get().pk}/end/")
    assert "No guard yet" in client.get("/warnings/guards/").content.decode()


def test_others_see_neither_guard_nor_stop(client, stage):
    guard = guards.set_guard(by=stage.manager, measure="actual", team=stage.team, amount=Decimal(77))
    stop = Stop.objects.create(project=stage.project, reason="why", at=NOW)
    client.force_login(stage.charlie)

    page = client.get("/warnings/guards/").content.decode()

    assert "Foundation" not in page and "why" not in page
    assert client.post(f"/warnings/guards/{guard.pk}/end/").status_code == 404
    assert client.post(f"/warnings/stops/{stop.pk}/release/", {"reason": "x"}).status_code == 404


def test_the_page_asks_as_often_for_many_guards_as_for_one(client, stage, django_assert_num_queries):
    guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(77))
    client.force_login(stage.manager)
    client.get("/warnings/guards/")
    with CaptureQueriesContext(connection) as one:
        client.get("/warnings/guards/")
    for amount in range(1, 6):
        guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(amount))

    with django_assert_num_queries(len(one)):
        client.get("/warnings/guards/")
