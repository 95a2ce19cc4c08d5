"""Changes to runs: opened, and their metrics taken in."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.db import connection, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import Project, User

from ..formats.metrics.contract import Log, Point
from ..formats.metrics.detection import detect
from ..reading.faults import FileRefused
from ..reading.text import storable
from . import queries
from .attempts import Attempts, Series
from .logs import opened_log
from .models import Run

BATCH = 5_000
LONGEST_NAME = 200
REFERENCE = re.compile(r"P-[0-9]{1,9}")
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


def may_report(user: User, project: Project | None) -> bool:
    """Operators and machine accounts report any run; members and managers those of their own projects."""
    own = project is not None and permissions.may_write_plans(user, project.team)
    return own or permissions.may_import_usage(user)


@transaction.atomic
def open_run(
    *,
    by: User | None,
    slug: str,
    name: str = "",
    project: Project | None = None,
    experiment: str = "",
    reference: str = "",
    job: str = "",
) -> Run:
    """Make a run."""
    if by is not None and not may_report(by, project):
        raise NotAllowed(_("Only the team of the project, an operator, finance or a machine account opens runs."))
    if slug != slugify(slug):
        raise DomainError(
            _("A run needs a short name."), faults=[Fault("slug", slug, _("is no short name"), "base-7b-01")]
        )
    if reference and not REFERENCE.fullmatch(reference):
        raise DomainError(
            _("The proposal is not accepted."), faults=[Fault("reference", reference, _("is no proposal"), "P-12")]
        )
    if Run.objects.filter(slug=slug).exists():
        message = _("There is a run %(slug)s already.") % {"slug": slug}
        raise DomainError(message, faults=[Fault("slug", slug, _("is taken"))])
    run = Run.objects.create(
        slug=slug,
        name=name or slug,
        project=project,
        experiment=experiment,
        reference=reference,
        job=job,
        created_by=by,
    )
    activity.record("run.opened", by=by, project=project, subject=run, slug=slug)
    return run


@transaction.atomic
def set_state(run: Run, *, by: User | None, state: str) -> Run:
    """Say how a run stands: it runs, has finished, failed or was stopped. Saying it again changes nothing."""
    locked = locked_run(run)
    check_may_report(locked, by)
    if state not in Run.State.values:
        accepted = ", ".join(Run.State.values)
        raise DomainError(_("The state is not accepted."), faults=[Fault("state", state, _("is no state"), accepted)])
    if locked.state != state:
        locked.state = state
        locked.save(update_fields=["state"])
        activity.record("run.state", by=by, project=locked.project, subject=locked, slug=locked.slug, state=state)
    return locked


def locked_run(run: Run) -> Run:
    return Run.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=run.pk)


def check_may_report(run: Run, by: User | None) -> None:
    if by is not None and not may_report(by, run.project):
        raise NotAllowed(_("Only the team of the project, an operator, finance or a machine account reports runs."))


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
    """Take in the metrics of a file, a folder or an archive, all or none, and answer in the shape of the contract.

    The same file again changes nothing; a file that has grown adds what is new. `at` is the time of a file that has
    none of its own.
    """
    locked = locked_run(run)
    check_may_report(locked, by)
    with opened_log(path) as found:
        known, reason = detect(found, format)
        log = Log(found, at=at)
        taken = _take_in(locked, known.read(log), log)
    if not taken.attempts.series:
        raise FileRefused(_("The file holds no metric."), column="format", value=known.slug)
    _keep_facts(locked, log.facts)
    activity.record("run.metrics", by=by, project=locked.project, subject=locked, slug=locked.slug, points=taken.points)
    series = taken.attempts.series
    return {
        "run": locked.slug,
        "format": known.slug,
        "format_reason": reason,
        "points": taken.points,
        "steps": len(taken.steps),
        "last_step": max(taken.steps),
        "ignored": log.ignored,
        "warnings": dict(log.notes.counts),
        "first_at": taken.first_at.isoformat() if taken.first_at else None,
        "last_at": taken.last_at.isoformat() if taken.last_at else None,
        "attempts": max(each.attempt for each in series.values()),
        "series": {name: _told(each) for name, each in sorted(series.items())},
    }


def import_upload(run: Run, *, by: User | None, name: str, stream: IO[bytes], format: str = "") -> dict[str, Any]:
    """Take in the metrics of a log that somebody uploads."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / (Path(name).name or "log")
        with kept.open("wb") as file:
            shutil.copyfileobj(stream, file)
        return import_metrics(run, by=by, path=kept, format=format)


@transaction.atomic
def report_points(run: Run, *, by: User | None, points: Sequence[Point]) -> dict[str, Any]:
    """Take in values that a run reports while it runs. The same values again change nothing."""
    locked = locked_run(run)
    check_may_report(locked, by)
    log = Log(Path())
    taken = _take_in(locked, iter(points), log)
    return {
        "run": locked.slug,
        "points": taken.points,
        "ignored": log.ignored,
        "warnings": dict(log.notes.counts),
        "last_step": max(taken.steps, default=None),
    }


@dataclass
class Taken:
    """What was taken in."""

    attempts: Attempts
    steps: set[int] = field(default_factory=set)
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def points(self) -> int:
        return sum(series.points for series in self.attempts.series.values())

    def add(self, batch: list[Point]) -> None:
        self.steps.update(point.step for point in batch)
        times = [point.at for point in batch if point.at]
        self.first_at = min([*([self.first_at] if self.first_at else []), *times], default=None)
        self.last_at = max([*([self.last_at] if self.last_at else []), *times], default=None)


def _take_in(run: Run, points: Iterator[Point], log: Log) -> Taken:
    taken = Taken(Attempts(lambda point: queries.known_series(run, point)))
    for batch in _batches(_sound(points, log)):
        _store(run, batch, taken.attempts)
        taken.add(batch)
    return taken


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
        yield point._replace(name=storable(point.name[:LONGEST_NAME]))


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
