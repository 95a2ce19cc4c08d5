"""Runs: who reports them, what their job used and cost, and that reporting twice changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from core.errors import DomainError
from tests.usage import factories
from tests.usage.factories import deliver
from usage import rules
from usage.formats.metrics.contract import Point
from usage.runs import queries, services
from usage.runs.models import Run, RunMetric

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 6, 8, 0, tzinfo=UTC)
HEADER = "JobIDRaw|JobID|Cluster|Submit|Start|End|ElapsedRaw|State|Account|User|Partition|AllocTRES"


def job(number: int, start: str, end: str, seconds: int, state: str, account: str = "found") -> str:
    tres = "billing=8,cpu=64,gres/gpu=8,node=1"
    return (
        f"{number}|{number}|hpc|2026-03-01T00:00:00|2026-03-01T{start}|2026-03-01T{end}|{seconds}|{state}"
        f"|{account}|alice|gpu|{tres}"
    )


def sacct(*lines: str) -> bytes:
    return "\n".join([HEADER, *lines, ""]).encode()


@pytest.fixture
def run(stage) -> Run:
    services.open_run(by=stage.operator, slug="unrelated", project=stage.other_project, job="99")
    return services.open_run(by=stage.alice, slug="base-7b-01", project=stage.project, job="7", reference="P-12")


@pytest.fixture
def logged(stage, run) -> Run:
    for account, project in (("found", stage.project), ("search", stage.other_project)):
        condition = {"field": "account", "operator": "equals", "values": [account]}
        rules.add_rule(by=stage.operator, name=account, conditions=[condition], project=project)
    answer = deliver(
        factories.source("hpc"),
        sacct(
            job(7, "00:00:00", "02:00:00", 7200, "NODE_FAIL"),
            job(7, "03:00:00", "06:00:00", 10800, "COMPLETED"),
            job(99, "00:00:00", "10:00:00", 36000, "COMPLETED", account="search"),
        ),
    )
    assert answer["status"] == "live", answer
    return run


def test_the_attempts_of_a_run_are_the_times_its_job_ran(logged):
    used = queries.usage_of_runs([logged])[logged.pk]

    assert [(each.state, each.cause, each.accelerator_hours) for each in used.attempts] == [
        ("NODE_FAIL", "node_failure", Decimal(16)),
        ("COMPLETED", "", Decimal(24)),
    ]
    assert (used.accelerator_hours, used.lost_hours, len(used.interruptions)) == (40, 16, 1)
    assert used.costs == []


def test_a_run_that_names_the_job_of_another_project_sees_nothing_of_it(logged, stage):
    curious = services.open_run(by=stage.charlie, slug="curious", project=stage.other_project, job="7")

    assert queries.usage_of_runs([curious])[curious.pk].attempts == []


def test_runs_are_visible_to_the_team_alone(run, stage):
    free = services.open_run(by=stage.operator, slug="free")

    assert set(Run.objects.visible_to(stage.bob)) == {run}
    assert run not in Run.objects.visible_to(stage.charlie)
    assert {run, free} <= set(Run.objects.visible_to(stage.auditor))


def test_the_team_reports_its_runs_and_others_do_not(run, stage):
    services.report_points(run, by=stage.bob, points=[Point("loss", 1, NOW, 3.0)])

    for person in (stage.charlie, stage.other_manager, stage.auditor):
        with pytest.raises(DomainError, match="Only the team"):
            services.report_points(run, by=person, points=[Point("loss", 2, NOW, 2.0)])
    with pytest.raises(DomainError, match="Only the team"):
        services.open_run(by=stage.charlie, slug="mine", project=stage.project)
    assert RunMetric.objects.filter(run=run).count() == 1


def points(*values: float, start: int = 0, at: datetime = NOW) -> list[Point]:
    return [
        Point("loss", start + index, at + timedelta(seconds=start + index), value) for index, value in enumerate(values)
    ]


def test_the_same_points_again_change_nothing(run, stage):
    for _time in range(2):
        services.report_points(run, by=stage.alice, points=points(3.0, 2.5))
        services.report_points(run, by=stage.alice, points=points(2.25, start=2))

    assert list(RunMetric.objects.filter(run=run).order_by("step").values_list("step", "attempt", "value")) == [
        (0, 1, 3.0),
        (1, 1, 2.5),
        (2, 1, 2.25),
    ]


def test_steps_that_come_again_later_are_another_attempt(run, stage):
    services.report_points(run, by=stage.alice, points=points(3.0, 2.5, 2.25))
    services.report_points(run, by=stage.alice, points=points(2.5, 2.0, start=1, at=NOW + timedelta(hours=1)))

    course = queries.course_of(run, "loss")

    assert [(point.attempt, point.step) for point in course] == [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_long_course_is_averaged_into_parts(run, stage):
    services.report_points(run, by=stage.alice, points=points(*(float(n) for n in range(1000))))

    course = queries.course_of(run, "loss", parts=100)

    assert len(course) == 100
    assert (course[0].value, course[0].step, course[-1].value) == (4.5, 9, 994.5)


def test_a_state_is_said_once_and_only_a_known_one(run, stage):
    services.set_state(run, by=stage.alice, state="finished")

    assert Run.objects.get(pk=run.pk).state == "finished"
    with pytest.raises(DomainError, match="state"):
        services.set_state(run, by=stage.alice, state="gone")


def test_a_proposal_is_named_by_its_reference(stage):
    with pytest.raises(DomainError, match="proposal"):
        services.open_run(by=stage.alice, slug="x", project=stage.project, reference="javascript:1")
