"""Three numbers that stay three: accelerator-hours that jobs asked for, that they held, and that were busy.

What a log says of a job is in its record: `requested_hours` and `utilised_hours`. Where it is silent about busy cards,
and a run that names the job carries DCGM's metrics, the mean of these times the hours held stands in; a run of another
project than the job's does not count, whatever job it names. Jobs of which neither tells are not measured, and the
figure says of how many held hours it speaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import connection

from core.months import Month, midnight
from teams.models import Organisation

from .models import Cluster

NUMBER = r"^[0-9]{1,20}(\.[0-9]{1,40})?$"
ENGINE, DEVICE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_UTIL"
"""A share of one, and percent; where both are there the first goes first."""
SUMS = """
    WITH said AS MATERIALIZED (
        SELECT r.id, r.key_set_id, r.usage_start, r.usage_end, r.job, r.accelerator_hours AS held,
               r.extra->>'requested_hours' AS asked, r.extra->>'utilised_hours' AS busy
        FROM usage_record r JOIN usage_keyset k ON k.id = r.key_set_id
        WHERE r.known_until_id IS NULL AND k.source_id = %(source)s AND (%(cluster)s = '' OR k.cluster = %(cluster)s)
          AND r.accelerator_hours > 0 AND r.usage_end > %(from)s AND r.usage_start < %(until)s),
    jobs AS (
        SELECT id, key_set_id, usage_start, usage_end, job, held,
               CASE WHEN asked ~ %(number)s THEN asked::numeric END AS asked,
               CASE WHEN busy ~ %(number)s THEN busy::numeric END AS busy FROM said),
    runs AS (
        SELECT run.job, run.project_id, coalesce(avg(metric.value) FILTER (WHERE metric.name LIKE %(engine)s),
                                 avg(metric.value) FILTER (WHERE metric.name LIKE %(device)s) / 100) AS share
        FROM usage_run run JOIN usage_runmetric metric ON metric.run_id = run.id
        WHERE run.job IN (SELECT job FROM jobs WHERE busy IS NULL AND job <> '') AND metric.name LIKE 'DCGM_FI_%%'
        GROUP BY run.id),
    metered AS (
        SELECT jobs.id, avg(runs.share) AS share
        FROM jobs JOIN runs ON runs.job = jobs.job AND jobs.busy IS NULL
        WHERE runs.project_id IS NULL OR EXISTS (
            SELECT FROM usage_placement p
            WHERE p.key_set_id = jobs.key_set_id AND p.known_until IS NULL AND p.project_id = runs.project_id
              AND p.starts_on <= (jobs.usage_start AT TIME ZONE %(zone)s)::date
              AND p.ends_on > (jobs.usage_start AT TIME ZONE %(zone)s)::date)
        GROUP BY jobs.id)
    SELECT month::date, sum(held * part), sum(asked * part), sum(held * part) FILTER (WHERE asked IS NOT NULL),
           sum(used * part), sum(held * part) FILTER (WHERE used IS NOT NULL)
    FROM (
        SELECT jobs.*,
               coalesce(busy, CASE WHEN metered.share BETWEEN 0 AND 1 THEN held * metered.share::numeric END) AS used,
               greatest(usage_start, %(from)s) AS begins, least(usage_end, %(until)s) AS ends
        FROM jobs LEFT JOIN metered ON metered.id = jobs.id) AS job
    CROSS JOIN LATERAL generate_series(date_trunc('month', begins AT TIME ZONE %(zone)s),
        (ends - interval '1 microsecond') AT TIME ZONE %(zone)s, interval '1 month') AS month
    CROSS JOIN LATERAL (
        SELECT extract(epoch FROM least(ends, (month + interval '1 month') AT TIME ZONE %(zone)s)
                                - greatest(begins, month AT TIME ZONE %(zone)s))
               / extract(epoch FROM usage_end - usage_start) AS part OFFSET 0) AS share
    GROUP BY month
"""


@dataclass(frozen=True)
class ThreeHours:
    """One month of a cluster. A figure that nobody measured is None; beside it the held hours that it speaks of."""

    allocated: Decimal = Decimal(0)
    requested: Decimal | None = None
    requested_of: Decimal | None = None
    utilised: Decimal | None = None
    utilised_of: Decimal | None = None

    @property
    def utilised_share(self) -> Decimal | None:
        """Of the held hours that were measured."""
        return self.utilised / self.utilised_of if self.utilised is not None and self.utilised_of else None

    @property
    def measured_share(self) -> Decimal | None:
        """Of the held hours."""
        return self.utilised_of / self.allocated if self.utilised_of is not None and self.allocated else None


def three_hours(cluster: Cluster, start: date, end: date) -> dict[Month, ThreeHours]:
    """Asked for, held and busy on some half-open days, month by month; a job is parted by its seconds."""
    organisation = Organisation.current()
    with connection.cursor() as cursor:
        cursor.execute(
            SUMS,
            {
                "zone": organisation.time_zone,
                "from": midnight(start, organisation.zone),
                "until": midnight(end, organisation.zone),
                "source": cluster.source_id,
                "cluster": cluster.log_name,
                "number": NUMBER,
                "engine": f"{ENGINE}%",
                "device": f"{DEVICE}%",
            },
        )
        return {Month.of(month): ThreeHours(*sums) for month, *sums in cursor.fetchall()}
