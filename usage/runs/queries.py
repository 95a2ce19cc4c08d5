"""Questions about runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Count, Max

from core.money import EXACT
from teams.models import Organisation

from ..formats.metrics.contract import Point
from .attempts import Known
from .models import Run, RunMetric


def known_series(run: Run, first: Point) -> Known:
    """What is stored of the series that a delivery's first point belongs to."""
    stored = RunMetric.objects.filter(run=run, name=first.name)
    same = stored.filter(step=first.step, at=first.at).order_by("attempt").first() if first.at else None
    last = stored.aggregate(attempt=Max("attempt"), step=Max("step"), at=Max("at"))
    if last["attempt"] is None:
        return Known()
    return Known(
        same_attempt=same.attempt if same else None,
        last_attempt=last["attempt"],
        last_step=last["step"],
        last_at=last["at"],
    )


MFU_SERIES = r"(^|[/._ -])mfu$"
"""How trainers call the utilisation of running steps, in any case."""


@dataclass(frozen=True)
class AttemptOfJob:
    """One time a scheduler ran the job: as its log says it."""

    start: datetime
    end: datetime
    state: str
    cause: str
    accelerator_hours: Decimal
    currency: str
    cost: Decimal
    provisional: bool

    @property
    def is_interruption(self) -> bool:
        return bool(self.cause)


@dataclass
class UsageOfRun:
    """What the scheduler's logs say of a run: its attempts in order, and their sums."""

    attempts: list[AttemptOfJob] = field(default_factory=list)

    @property
    def accelerator_hours(self) -> Decimal:
        return self._sum([attempt.accelerator_hours for attempt in self.attempts])

    @property
    def interruptions(self) -> list[AttemptOfJob]:
        return [attempt for attempt in self.attempts if attempt.is_interruption]

    @property
    def lost_hours(self) -> Decimal:
        return self._sum([attempt.accelerator_hours for attempt in self.interruptions])

    @property
    def costs(self) -> list[tuple[str, Decimal]]:
        """Cost by currency; empty where the hours have no price."""
        found: dict[str, Decimal] = defaultdict(Decimal)
        for attempt in self.attempts:
            if attempt.currency:
                found[attempt.currency] = EXACT.add(found[attempt.currency], attempt.cost)
        return sorted(found.items())

    def _sum(self, amounts: Sequence[Decimal]) -> Decimal:
        whole = Decimal(0)
        for amount in amounts:
            whole = EXACT.add(whole, amount)
        return whole


def usage_of_runs(runs: Sequence[Run]) -> dict[int, UsageOfRun]:
    """The live usage of each run: rows of its job that the rules place on its project on the day they began.

    Usage of other projects does not count, whatever job a run names. A run without a project takes its job's whole.
    """
    found = {run.pk: UsageOfRun() for run in runs}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT run.id, r.usage_start, r.usage_end, m.state, coalesce(k.extra->>'failure_cause', ''),
                      sum(coalesce(r.accelerator_hours, 0) * p.share), r.currency,
                      sum(coalesce(r.effective, 0) * p.share), bool_or(r.provisional)
               FROM usage_run run
               JOIN usage_record r ON r.job = run.job AND r.job <> '' AND r.known_until_id IS NULL
               JOIN usage_keyset k ON k.id = r.key_set_id JOIN usage_meter m ON m.id = k.meter_id
               JOIN usage_placement p ON p.key_set_id = r.key_set_id AND p.known_until IS NULL
                AND p.starts_on <= (r.usage_start AT TIME ZONE %(zone)s)::date
                AND p.ends_on > (r.usage_start AT TIME ZONE %(zone)s)::date
                AND (run.project_id IS NULL OR p.project_id = run.project_id)
               WHERE run.id = ANY(%(runs)s) AND run.job <> ''
               GROUP BY run.id, r.id, r.usage_start, r.usage_end, m.state, k.extra, r.currency
               ORDER BY r.usage_start, r.id""",
            {"runs": list(found), "zone": Organisation.current().time_zone},
        )
        for run, *values in cursor.fetchall():
            found[run].attempts.append(AttemptOfJob(*values))
    return found


@dataclass
class JobSeen:
    """What the live logs show of a job: its cost by currency, its hours by accelerator, and whether it is over."""

    costs: dict[str, Decimal] = field(default_factory=dict)
    hours: dict[str, Decimal] = field(default_factory=dict)
    is_over: bool = True


def jobs_seen(jobs: Collection[tuple[int, str]]) -> dict[tuple[int, str], JobSeen]:
    """Of these jobs (project, name), those of which there is usage."""
    found: dict[tuple[int, str], JobSeen] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT asked.project, asked.job, r.currency, m.accelerator, sum(coalesce(r.effective, 0) * p.share),
                      sum(coalesce(r.accelerator_hours, 0) * p.share), bool_or(r.provisional)
               FROM unnest(%(projects)s::bigint[], %(jobs)s::text[]) AS asked (project, job)
               JOIN usage_record r ON r.job = asked.job AND r.job <> '' AND r.known_until_id IS NULL
               JOIN usage_keyset k ON k.id = r.key_set_id JOIN usage_meter m ON m.id = k.meter_id
               JOIN usage_placement p ON p.key_set_id = r.key_set_id AND p.known_until IS NULL
                AND p.starts_on <= (r.usage_start AT TIME ZONE %(zone)s)::date
                AND p.ends_on > (r.usage_start AT TIME ZONE %(zone)s)::date AND p.project_id = asked.project
               GROUP BY 1, 2, 3, 4""",
            {
                "projects": [project for project, _job in jobs],
                "jobs": [job for _project, job in jobs],
                "zone": Organisation.current().time_zone,
            },
        )
        for project, job, currency, accelerator, cost, hours, is_provisional in cursor.fetchall():
            seen = found.setdefault((project, job), JobSeen())
            if currency:
                seen.costs[currency] = EXACT.add(seen.costs.get(currency, Decimal(0)), cost)
            seen.hours[accelerator] = EXACT.add(seen.hours.get(accelerator, Decimal(0)), hours)
            seen.is_over = seen.is_over and not is_provisional
    return found


@dataclass(frozen=True)
class SeriesSummary:
    """One series of a run."""

    name: str
    points: int
    attempts: int
    last_step: int
    last: float | None


def series_of(run: Run) -> list[SeriesSummary]:
    """The series a run reported, with the last value of each."""
    metrics = RunMetric.objects.filter(run=run)
    rows = metrics.values("name").annotate(points=Count("id"), attempts=Max("attempt"), last_step=Max("step"))
    last = metrics.order_by("name", "-attempt", "-step").distinct("name").values_list("name", "value")
    values = dict(last)
    return [
        SeriesSummary(row["name"], row["points"], row["attempts"], row["last_step"], values[row["name"]])
        for row in rows.order_by("name")
    ]


@dataclass(frozen=True)
class CoursePoint:
    """The mean of a series over one part of its course; None where it was no number."""

    attempt: int
    step: int
    at: datetime | None
    value: float | None


def course_of(run: Run, name: str, *, parts: int = 240) -> list[CoursePoint]:
    """A series by attempt and step, averaged so that at most about so many points a picture has to hold."""
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH ordered AS (
                   SELECT attempt, step, at, value,
                          (row_number() OVER (ORDER BY attempt, step) - 1) * %(parts)s
                          / greatest(count(*) OVER (), %(parts)s) AS part
                   FROM usage_runmetric WHERE run_id = %(run)s AND name = %(name)s)
               SELECT attempt, max(step), max(at), avg(value) FROM ordered GROUP BY attempt, part
               ORDER BY attempt, part""",
            {"run": run.pk, "name": name, "parts": parts},
        )
        return [CoursePoint(*row) for row in cursor.fetchall()]
