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
from core.months import Period
from overruns import guards, services
from overruns.models import Guard
from teams.models import ExchangeRate, Notification, Organisation, OutboxMessage
from tests.budgets import factories
from tests.budgets.test_concurrency import at_once
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


def test_an_mfu_in_percent_is_read_as_one(stage, run):
    guard = guards.set_guard(by=stage.manager, measure="mfu", run=run, amount=Decimal("0.3"))
    report(run, *[41.5] * 8)
    judge(guard)
    assert state(guard)[0] == "below"

    report(run, *[25.0] * 7, until=NOW + timedelta(hours=7))
    RunMetric.objects.filter(run=run).update(name="perf.MFU")
    judge(guard, now=NOW + timedelta(hours=7))
    assert state(guard) == ("above", Decimal("0.25"))


def test_a_stop_is_said_on_the_pages_of_its_run_and_project(client, stage, run):
    Stop.objects.create(project=stage.project, job="4711", reason="Too slow.", at=NOW)
    Stop.objects.create(project=stage.project, job="4712", reason="Another job.", at=NOW)
    client.force_login(stage.alice)

    of_run = client.get("/runs/base/").content.decode()
    of_project = client.get("/projects/base-7b/").content.decode()

    assert "Too slow." in of_run and "Another job." not in of_run
    assert "Too slow." in of_project and "Another job." in of_project


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

    assert "Not allowed to start since" in shown and "50.0 %" in shown
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


# ---- what people answer


@pytest.fixture
def reached(stage):
    """A guard of a project at 50 that 60 have reached."""
    factories.line(stage.project, granted=100)
    factories.cost(stage.project, 60)
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(50))
    judge(guard)
    guard.refresh_from_db()
    return guard


def heard_by(person) -> int:
    return Notification.objects.filter(kind="guard_reached", user=person).count()


def test_a_written_cause_keeps_a_guard_quiet_until_it_falls_and_is_reached_again(stage, reached):
    guards.acknowledge_guard(reached, by=stage.bob, cause=" A restart ", now=NOW)
    factories.cost(stage.project, 10)
    judge(reached)
    reached.refresh_from_db()
    assert (reached.state, reached.cause, reached.acknowledged_by) == ("acknowledged", "A restart", stage.bob)
    assert heard_by(stage.manager) == 1

    factories.cost(stage.project, -30)
    judge(reached)
    factories.cost(stage.project, 50)
    judge(reached)

    reached.refresh_from_db()
    assert (reached.state, reached.cause, reached.acknowledged_by) == ("above", "", None)
    assert heard_by(stage.manager) == 2


def test_a_muted_guard_stands_again_on_its_day_and_is_told_only_for_more(stage, reached):
    guards.mute_guard(reached, by=stage.manager, until=date(2027, 3, 10), now=NOW)

    judge(reached, now=NOW + timedelta(days=8))
    assert state(reached)[0] == "muted"
    judge(reached, now=NOW + timedelta(days=9))
    assert (state(reached)[0], heard_by(stage.manager)) == ("above", 1)

    guards.mute_guard(reached, by=stage.manager, until=date(2027, 3, 20), now=NOW + timedelta(days=9))
    factories.cost(stage.project, 15)
    judge(reached, now=NOW + timedelta(days=19))
    judge(reached, now=NOW + timedelta(days=19))

    assert (state(reached)[0], heard_by(stage.manager)) == ("above", 2)
    assert reached.muted_until is None


def test_a_cause_is_written_and_a_day_is_near(stage, reached):
    with pytest.raises(DomainError, match="Say why"):
        guards.acknowledge_guard(reached, by=stage.manager, cause="  ", now=NOW)
    with pytest.raises(DomainError, match="fewer words"):
        guards.acknowledge_guard(reached, by=stage.manager, cause="x" * 4001, now=NOW)
    for day in (date(2027, 3, 1), date(2027, 6, 2)):
        with pytest.raises(DomainError, match="three months"):
            guards.mute_guard(reached, by=stage.manager, until=day, now=NOW)

    assert state(reached)[0] == "above"


@pytest.mark.parametrize("who", ["charlie", "other_manager", "operator", "auditor", "keeper"])
def test_others_do_not_answer_a_guard(stage, reached, who):
    with pytest.raises(NotAllowed):
        guards.acknowledge_guard(reached, by=getattr(stage, who), cause="why", now=NOW)
    with pytest.raises(NotAllowed):
        guards.mute_guard(reached, by=getattr(stage, who), until=date(2027, 3, 10), now=NOW)


def test_a_guard_over_all_teams_is_answered_by_finance_and_directors(stage):
    factories.line(stage.project, granted=100)
    factories.cost(stage.project, 60)
    whole = guards.set_guard(by=stage.finance, measure="actual", amount=Decimal(50))
    judge(whole)

    with pytest.raises(NotAllowed):
        guards.acknowledge_guard(whole, by=stage.manager, cause="why", now=NOW)
    guards.acknowledge_guard(whole, by=stage.director, cause="why", now=NOW)

    assert state(whole)[0] == "acknowledged"


def test_what_is_not_reached_or_has_ended_is_not_answered(stage, reached):
    calm = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(5000))
    with pytest.raises(DomainError, match="does not stand"):
        guards.acknowledge_guard(calm, by=stage.manager, cause="why", now=NOW)

    guards.end_guard(reached, by=stage.manager, now=NOW)

    with pytest.raises(DomainError, match="watches no more"):
        guards.acknowledge_guard(reached, by=stage.manager, cause="why", now=NOW)


# ---- days


def counted(project, day, *, hours):
    """Accelerator-hours of one day."""
    cost = factories.cost(project, 1, day=day)
    type(cost).objects.filter(pk=cost.pk).update(accelerator_hours=hours)


def test_a_quantity_is_counted_anew_in_each_period_and_told_once_in_each(stage):
    guard = guards.set_guard(
        by=stage.manager, measure="accelerator_hours", project=stage.project, amount=Decimal(100), period="month"
    )
    counted(stage.project, date(2027, 2, 28), hours=500)
    counted(stage.project, date(2027, 3, 1), hours=99)
    judge(guard)
    assert state(guard) == ("below", 99)

    counted(stage.project, date(2027, 3, 2), hours=41)
    judge(guard)
    judge(guard)
    guard.refresh_from_db()
    guards.acknowledge_guard(guard, by=stage.manager, cause="A ladder", now=NOW)
    assert heard_by(stage.manager) == 1

    # April reaches it with less than March did, and is told all the same
    counted(stage.project, date(2027, 4, 3), hours=100)
    april = datetime(2027, 4, 5, tzinfo=UTC)
    judge(guard, now=april)
    judge(guard, now=april)

    guard.refresh_from_db()
    assert (guard.state, guard.value, guard.cause, guard.begins_on) == ("above", 100, "", date(2027, 4, 1))
    assert heard_by(stage.manager) == 2


def test_quarters_and_years_follow_the_fiscal_calendar(stage):
    Organisation.objects.update(fiscal_year_starts_in=2)
    sums = {}
    for period in ("quarter", "year"):
        sums[period] = guards.set_guard(
            by=stage.manager, measure="accelerator_hours", project=stage.project, amount=Decimal(1000), period=period
        )
    for day, hours in ((date(2027, 1, 31), 1), (date(2027, 2, 1), 10), (date(2027, 5, 1), 100)):
        counted(stage.project, day, hours=hours)

    judge(*sums.values(), now=datetime(2027, 6, 1, tzinfo=UTC))

    assert {name: state(guard)[1] for name, guard in sums.items()} == {"quarter": 100, "year": 110}


def test_the_lines_of_the_next_month_are_told_anew_even_for_less(stage):
    for month in (2, 3):
        factories.line(
            stage.project,
            granted=100,
            period_kind="month",
            period=Period(date(2027, month, 1), date(2027, month + 1, 1)),
        )
    factories.cost(stage.project, 95, day=date(2027, 2, 10))
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, share=Decimal("0.8"))
    judge(guard, now=datetime(2027, 2, 11, tzinfo=UTC))
    judge(guard, now=datetime(2027, 3, 1, tzinfo=UTC))
    assert (state(guard)[0], heard_by(stage.manager)) == ("below", 1)

    factories.cost(stage.project, 81, day=date(2027, 3, 10))
    for _again in range(2):
        judge(guard, now=datetime(2027, 3, 11, tzinfo=UTC))

    assert (state(guard)[0], heard_by(stage.manager)) == ("above", 2)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"measure": "actual", "period": "month"}, "period"),
        ({"measure": "actual", "since": date(2027, 1, 1)}, "since"),
        ({"measure": "accelerator_hours", "since": date(2027, 1, 1), "period": "month"}, "period"),
    ],
)
def test_days_that_make_no_sense_are_refused_by_name(stage, asked, named):
    with pytest.raises(DomainError) as refused:
        guards.set_guard(by=stage.manager, project=stage.project, amount=Decimal(1), **asked)

    assert [fault.path for fault in refused.value.faults] == [named]


@pytest.mark.django_db(transaction=True)
def test_two_judges_at_once_tell_once(stage):
    factories.line(stage.project, granted=100)
    factories.cost(stage.project, 60)
    guard = guards.set_guard(by=stage.manager, measure="actual", project=stage.project, amount=Decimal(50))

    at_once(*[lambda: guards.judge_guards([guard.pk], now=NOW)] * 4)

    assert (state(guard)[0], heard_by(stage.manager)) == ("above", 1)


# ---- doors


def test_a_guard_has_a_page_on_which_it_is_answered(client, stage, reached):
    client.force_login(stage.bob)
    address = f"/warnings/guards/{reached.pk}/"
    assert Notification.objects.filter(kind="guard_reached", url=address).exists()
    assert str(reached) in client.get("/warnings/").content.decode()

    assert "State the cause" in client.get(address).content.decode()
    assert client.post(f"{address}acknowledge/", {"cause": ""}).status_code == 422
    assert client.post(f"{address}mute/", {"until": "2020-01-01"}).status_code == 422
    client.post(f"{address}acknowledge/", {"cause": "A restart"})

    assert "A restart" in client.get(address).content.decode()
    assert str(reached) not in client.get("/warnings/").content.decode()
    assert "A restart" in client.get("/activity/").content.decode()
    client.force_login(stage.charlie)
    assert client.get(address).status_code == 404
    assert client.post(f"{address}acknowledge/", {"cause": "mine"}).status_code == 404


def test_the_api_answers_a_guard(client, stage, reached):
    client.force_login(stage.alice)
    address = f"/api/v1/guards/{reached.pk}/"
    until = (timezone.now() + timedelta(days=5)).date().isoformat()

    muted = client.post(f"{address}mute/", {"until": until}, content_type="application/json")
    stated = client.post(f"{address}acknowledge/", {"cause": "A restart"}, content_type="application/json")

    assert (muted.json()["state"], muted.json()["muted_until"]) == ("muted", until)
    expected = {"state": "acknowledged", "is_reached": True, "cause": "A restart", "muted_until": None}
    assert {name: stated.json()[name] for name in expected} == expected
    assert client.post(f"{address}acknowledge/", {}, content_type="application/json").status_code == 400
    client.force_login(stage.charlie)
    assert client.post(f"{address}mute/", {"until": until}, content_type="application/json").status_code == 404
