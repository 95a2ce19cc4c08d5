"""What a job log says of a cluster's month beside its hours: how long jobs waited, and how their hours ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db import connection

from core.months import Month, midnight
from teams.models import Organisation

from ..ended import EndedHours
from .models import Cluster
from .queries import HOURS, SUBMITTED, job_days

COST = HOURS - 4
"""Where effective cost stands: four measures before the hours."""
WAITS = f"""
    SELECT k.partition, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY wait.seconds),
           percentile_cont(0.9) WITHIN GROUP (ORDER BY wait.seconds)
    FROM usage_record r JOIN usage_keyset k ON k.id = r.key_set_id
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM r.usage_start) - ({SUBMITTED}) AS seconds) AS wait
    WHERE r.known_until_id IS NULL AND k.source_id = %(source)s AND wait.seconds IS NOT NULL
      AND (%(cluster)s = '' OR k.cluster = %(cluster)s)
      AND r.usage_start >= %(start)s AND r.usage_start < %(end)s
    GROUP BY k.partition ORDER BY k.partition
"""


@dataclass(frozen=True)
class QueueWait:
    """How long the jobs of a partition waited that started in a month, in seconds from submission to start."""

    partition: str
    jobs: int
    median: float
    ninth_decile: float


def queue_waits(cluster: Cluster, month: Month) -> list[QueueWait]:
    """By partition. A requeued job waited anew; logs without a time of submission say nothing."""
    zone = Organisation.current().zone
    with connection.cursor() as cursor:
        cursor.execute(
            WAITS,
            {
                "source": cluster.source_id,
                "cluster": cluster.log_name,
                "start": midnight(month.start, zone),
                "end": midnight(month.end, zone),
            },
        )
        return [QueueWait(*row) for row in cursor.fetchall()]


def hours_by_state(cluster: Cluster, start: date, end: date) -> list[EndedHours]:
    """How the hours of some half-open days ended, the most first."""
    rows = job_days(cluster, start, end, ("m.state", "x.currency", "k.source_id"))
    is_in_bill = cluster.source.part_of_id is not None
    found = [EndedHours(row[0], row[1], row[HOURS], row[COST], is_in_bill) for row in rows]
    return sorted(found, key=lambda each: -each.hours)
