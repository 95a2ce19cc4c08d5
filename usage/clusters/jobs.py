"""What a job log says of a cluster's month beside its hours: how long jobs waited, and how their hours ended."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from core.months import Month, midnight
from teams.models import Organisation

from ..daily import days_of_records
from .models import Cluster
from .queries import HOURS

COST = HOURS - 4
"""Where effective cost stands: four measures before the hours."""
WAITS = """
    SELECT k.partition, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY wait.seconds),
           percentile_cont(0.9) WITHIN GROUP (ORDER BY wait.seconds)
    FROM usage_record r JOIN usage_keyset k ON k.id = r.key_set_id
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM r.usage_start) - (r.extra->>'submit')::numeric AS seconds) AS wait
    WHERE r.known_until_id IS NULL AND k.source_id = %(source)s AND r.extra ? 'submit'
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


@dataclass(frozen=True)
class StateHours:
    """Accelerator-hours of jobs that ended one way, with the money the log itself gives them."""

    state: str
    currency: str
    hours: Decimal
    cost: Decimal


def hours_by_state(cluster: Cluster, start: date, end: date) -> list[StateHours]:
    """How the hours of some half-open days ended, the most first."""
    where = "x.day >= %(start)s AND x.day < %(end)s AND k.source_id = %(source)s"
    if cluster.log_name:
        where += " AND k.cluster = %(cluster)s"
    sql = days_of_records(
        ["m.state", "x.currency", "k.source_id"],
        records=(
            "(SELECT * FROM usage_record WHERE accelerator_hours <> 0"
            " AND key_set_id IN (SELECT id FROM usage_keyset WHERE source_id = %(source)s)"
            " AND usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s"
            " AND usage_end > (%(start)s::date)::timestamp AT TIME ZONE %(zone)s)"
        ),
        joins="JOIN usage_meter m ON m.id = k.meter_id",
        where=where,
    )
    parameters: dict[str, Any] = {
        "zone": Organisation.current().time_zone,
        "start": start,
        "end": end,
        "source": cluster.source_id,
        "cluster": cluster.log_name,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        found = [StateHours(row[0], row[1], row[HOURS], row[COST]) for row in cursor.fetchall()]
    return sorted(found, key=lambda each: -each.hours)
