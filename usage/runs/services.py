"""Changes to runs: opened, and their metrics taken in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from teams import activity, permissions
from teams.models import Project, User

from ..formats.metrics.contract import Log, Point
from ..formats.metrics.detection import detect
from ..reading.faults import FileRefused
from . import queries
from .attempts import Attempts, Series
from .models import Run

BATCH = 5_000
LONGEST_NAME = 200
JOB_FACTS = ("slurm_job_id", "SLURM_JOB_ID", "job_id")
TOKENS = frozenset(["tokens", "tokens_seen", "consumed_tokens", "total_tokens"])
UPSERT = """
    INSERT INTO usage_runmetric (run_id, name, step, attempt, at, value)
    SELECT DISTINCT ON (name, step, attempt) %(run)s, name, step, attempt, at, value
    FROM unnest(%(names)s::text[], %(steps)s::bigint[], %(attempts)s::int[], %(times)s::timestamptz[],
                %(values)s::float8[]) WITH ORDINALITY AS fresh(name, step, attempt, at, value, place)
    ORDER BY name, step, attempt, place DESC
    ON CONFLICT (run_id, name, step, attempt) DO UPDATE SET at = excluded.at, value = excluded.value
    WHERE usage_runmetric.at IS NULL OR excluded.at >= usage_runmetric.at
"""
"""Of one step and attempt the later value wins."""


@transaction.atomic
def open_run(*, by: User | None, slug: str, name: str = "", project: Project | None = None) -> Run:
    """Make a run."""
    if by is not None and not permissions.may_import_usage(by):
        raise DomainError(_("Only an operator, finance or a machine account opens runs."))
    if slug != slugify(slug):
        raise DomainError(
            _("A run needs a short name."), faults=[Fault("run", slug, _("is no short name"), "base-7b-01")]
        )
    if Run.objects.filter(slug=slug).exists():
        raise DomainError(_("There is a run %(slug)s already.") % {"slug": slug})
    run = Run.objects.create(slug=slug, name=name or slug, project=project, created_by=by)
    activity.record("run.opened", by=by, project=project, subject=run, slug=slug)
    return run


def run_named(slug: str) -> Run:
    """The run of a short name, or a refusal that says how to make it."""
    found = Run.objects.filter(slug=slug).first()
    if found is None:
        raise DomainError(
            _("There is no run %(slug)s. Make it first (--create).") % {"slug": slug},
            code="no_run",
            faults=[Fault("run", slug, _("is no run"))],
        )
    return found


@transaction.atomic
def import_metrics(
    run: Run, *, by: User | None, path: Path, format: str = "", at: datetime | None = None
) -> dict[str, Any]:
    """Take in the metrics of a file or folder, all or none, and answer in the shape of the contract.

    The same file again changes nothing; a file that has grown adds what is new. `at` is the time of a file that has
    none of its own.
    """
    if by is not None and not permissions.may_import_usage(by):
        raise DomainError(_("Only an operator, finance or a machine account delivers metrics."))
    locked = Run.objects.select_for_update(of=["self"]).get(pk=run.pk)
    known, reason = detect(path, format)
    log = Log(path, at=at)
    attempts = Attempts(lambda point: queries.known_series(locked, point))
    steps: set[int] = set()
    times: list[datetime] = []
    for batch in _batches(_sound(known.read(log), log)):
        _store(locked, batch, attempts)
        steps.update(point.step for point in batch)
        known_times = [point.at for point in batch if point.at]
        times = [min([*times[:1], *known_times]), max([*times[1:], *known_times])] if known_times else times
    if not attempts.series:
        raise FileRefused(_("The file holds no metric."), column="format", value=known.slug)
    _keep_facts(locked, log.facts)
    points = sum(series.points for series in attempts.series.values())
    activity.record("run.metrics", by=by, project=locked.project, subject=locked, slug=locked.slug, points=points)
    return {
        "run": locked.slug,
        "format": known.slug,
        "format_reason": reason,
        "points": points,
        "steps": len(steps),
        "last_step": max(steps),
        "ignored": log.ignored,
        "warnings": dict(log.notes.counts),
        "first_at": times[0].isoformat() if times else None,
        "last_at": times[1].isoformat() if times else None,
        "attempts": max(series.attempt for series in attempts.series.values()),
        "series": {name: _told(series) for name, series in sorted(attempts.series.items())},
    }


def _told(series: Series) -> dict[str, Any]:
    told: dict[str, Any] = {"points": series.points, "last": series.last_value, "last_step": series.last_step}
    return told | ({"rewound": series.rewound} if series.rewound else {})


def _sound(points: Iterator[Point], log: Log) -> Iterator[Point]:
    """Points that can be: an MFU lies between 0 and 1, and tokens do not fall while the steps go on."""
    tokens: dict[str, tuple[int, float]] = {}
    for point in points:
        kind = point.name.rpartition("/")[2].casefold()
        if kind == "mfu" and point.value is not None and not 0 <= point.value <= 1:
            log.ignore("mfu_impossible", f"{point.step}: {point.value}")
            continue
        if kind in TOKENS and point.value is not None:
            step, before = tokens.get(point.name, (-1, 0.0))
            tokens[point.name] = (point.step, point.value)
            if point.step > step and point.value < before:
                log.ignore("tokens_fell", f"{point.step}: {point.value}")
                continue
        yield point._replace(name=point.name[:LONGEST_NAME].replace("\0", "\u2400"))


def _batches(points: Iterator[Point]) -> Iterator[list[Point]]:
    batch: list[Point] = []
    for point in points:
        batch.append(point)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _store(run: Run, batch: list[Point], attempts: Attempts) -> None:
    numbers = [attempts.of(point) for point in batch]
    with connection.cursor() as cursor:
        cursor.execute(
            UPSERT,
            {
                "run": run.pk,
                "names": [point.name for point in batch],
                "steps": [point.step for point in batch],
                "attempts": numbers,
                "times": [point.at for point in batch],
                "values": [point.value for point in batch],
            },
        )


def _keep_facts(run: Run, facts: dict[str, str]) -> None:
    """Parameters and tags of the log; the scheduler's job among them, where the run does not know it yet."""
    if not facts:
        return
    run.facts = {**run.facts, **facts}
    run.job = run.job or next((facts[name] for name in JOB_FACTS if facts.get(name)), "")[:200]
    run.save(update_fields=["facts", "job"])
