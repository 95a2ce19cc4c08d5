"""Jobs that failed with their node or were put back into the queue, and the hours in which that could happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from teams.models import Organisation

from .clusters.hostlists import nodes_of
from .models import Import, Source

CAUSES = ("node_failure", "requeue")
"""What a mean time between failures speaks of: preempting is the scheduler's choice, and a job may fail by itself."""

PLACED = """
    FROM usage_record r
    JOIN usage_keyset k ON k.id = r.key_set_id AND k.source_id = %(source)s
    JOIN usage_meter m ON m.id = k.meter_id
    JOIN usage_placement p ON p.key_set_id = k.id AND p.known_until IS NULL
     AND p.starts_on <= (r.usage_start AT TIME ZONE %(zone)s)::date
     AND p.ends_on > (r.usage_start AT TIME ZONE %(zone)s)::date
    WHERE r.key_set_id IN (SELECT id FROM usage_keyset WHERE source_id = %(source)s)
      AND r.known_until_id IS NULL AND r.accelerator_hours > 0
      AND r.usage_start < %(end)s AND r.usage_end > %(start)s
"""
HELD = f"""
    SELECT p.project_id, k.cluster, m.accelerator,
           sum(r.accelerator_hours * p.share
               * extract(epoch FROM least(r.usage_end, %(end)s) - greatest(r.usage_start, %(start)s))
               / extract(epoch FROM r.usage_end - r.usage_start))
    {PLACED}
    GROUP BY 1, 2, 3
"""
INTERRUPTED = f"""
    SELECT p.project_id, k.cluster, r.job, k.extra->>'failure_cause', r.usage_end,
           coalesce(r.extra->>'NodeList', r.extra->>'nodes', '')
    {PLACED}
      AND r.usage_end <= %(end)s AND p.is_first AND k.extra->>'failure_cause' = ANY(%(causes)s)
    ORDER BY r.usage_end, r.id
"""


@dataclass(frozen=True)
class Interruption:
    """One end of a job that was none of its own."""

    project: int | None
    cluster: str
    job: str
    cause: str
    at: datetime
    nodes: tuple[str, ...]


def job_logs() -> QuerySet[Source]:
    """The sources that tell of jobs, and so of how they ended."""
    return Source.objects.filter(imports__in=Import.objects.applied().filter(format__startswith="slurm")).distinct()


def held_hours(source: Source, start: datetime, end: datetime) -> Mapping[tuple[int | None, str, str], Decimal]:
    """Accelerator-hours held within a half-open time, by project, cluster and accelerator as the log names them."""
    rows = _asked(HELD, source, start, end)
    return {(project, cluster, accelerator): hours for project, cluster, accelerator, hours in rows}


def interruptions(source: Source, start: datetime, end: datetime) -> list[Interruption]:
    """Those within a half-open time, in order; a job that holds no accelerator is left out."""
    rows = _asked(INTERRUPTED, source, start, end)
    return [
        Interruption(project, cluster, job, cause, at, tuple(nodes_of(nodes)))
        for project, cluster, job, cause, at, nodes in rows
    ]


def _asked(sql: str, source: Source, start: datetime, end: datetime) -> list[Any]:
    parameters: dict[str, Any] = {
        "source": source.pk,
        "zone": Organisation.current().time_zone,
        "start": start,
        "end": end,
        "causes": list(CAUSES),
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()
