"""What is used and not billed yet, derived each time it is asked for; nothing of it is stored.

Two things are accrued. The hours of a job log that splits a bill, at the log's own money, on the days of a month that
the bill does not reach yet. And the days that have passed of a recurring cost whose month finance has not confirmed.
Both end by themselves: when the bill reaches the day, or is final for the month; when the month is booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import connection
from django.utils.translation import gettext_lazy as _

from core.months import Month
from core.vocabulary import Basis, Category, ChargeCategory
from teams import labels
from teams.models import Project

from .models import Scope

METERED, RECURRING = "metered", "recurring"
KINDS = {METERED: _("metered, no bill yet"), RECURRING: _("not confirmed yet")}

BILLED_UNTIL = f"""
    SELECT whole.id AS source_id, bill.month, CASE WHEN bill.is_final THEN 'infinity'::date ELSE reached.day END AS day
    FROM (SELECT DISTINCT part_of_id AS id FROM usage_source WHERE part_of_id IS NOT NULL) AS whole
    JOIN LATERAL (
        SELECT s.month, bool_and(s.state = '{Scope.State.FINAL}') AS is_final FROM usage_scope s
        WHERE s.source_id = whole.id AND s.live_id IS NOT NULL AND s.month IS NOT NULL GROUP BY s.month) AS bill ON true
    LEFT JOIN LATERAL (
        SELECT max(u.day) AS day FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id
        WHERE m.source_id = whole.id AND u.day >= bill.month AND u.day < bill.month + interval '1 month'
          AND m.charge_category = '{ChargeCategory.USAGE}') AS reached ON true
"""
"""For each month of a source that others split: the last day its bill reaches. A final bill reaches everything."""

ACCRUED_DAYS = f"""(
    SELECT u.project_id, u.is_shared, u.category, u.task_type, u.stage, u.reference, u.day, u.billing_month, u.currency,
           u.billed, u.effective, m.charge_category, '{METERED}' AS kind, part.name AS origin
    FROM usage_source part
    JOIN usage_meter m ON m.source_id = part.id
    JOIN usage_dailyusage u ON u.meter_id = m.id AND u.currency <> '' AND u.day <= %(today)s
    LEFT JOIN ({BILLED_UNTIL}) AS bill
      ON bill.source_id = part.part_of_id AND bill.month = date_trunc('month', u.day)
    WHERE part.part_of_id IS NOT NULL AND part.money NOT IN ('none', '')
      AND (bill.day IS NULL OR u.day > bill.day)
    UNION ALL
    SELECT r.project_id, false, r.category, coalesce(nullif(r.task_type, ''), p.task_type), r.stage, r.reference,
           d.day::date, draft.month, r.currency, part.amount, part.amount, '{ChargeCategory.USAGE}',
           '{RECURRING}', r.name
    FROM usage_monthdraft draft
    JOIN usage_recurringbooking r ON r.id = draft.recurring_id
    JOIN teams_project p ON p.id = r.project_id
    CROSS JOIN LATERAL (
        SELECT extract(day FROM draft.month + interval '1 month' - interval '1 day')::int AS days) AS length
    CROSS JOIN LATERAL generate_series(
        draft.month::timestamp,
        least(draft.month + interval '1 month' - interval '1 day', %(today)s::timestamp - interval '1 day'),
        interval '1 day') AS d(day)
    CROSS JOIN LATERAL (
        SELECT draft.amount * (round(extract(day FROM d.day) / length.days, 12)
                               - round((extract(day FROM d.day) - 1) / length.days, 12)) AS amount) AS part
    WHERE draft.booking_id IS NULL AND draft.amount IS NOT NULL)"""
"""SQL of days that are accrued, with the columns of the rollup that budget lines count. Parameter: `today`, which is
not over: of a recurring cost the days before it have passed. A whole month is the amount of its draft, exactly."""


@dataclass(frozen=True)
class Accrual:
    """What one project has accrued in one category and month, from one origin."""

    project: Project | None
    category: str
    currency: str
    kind: str
    origin: str
    amount: Decimal

    @property
    def category_label(self) -> str:
        return str(labels.CATEGORIES[Category(self.category)])

    @property
    def why(self) -> str:
        return str(KINDS[self.kind])


def accruals_of_month(
    month: Month, *, today: date, basis: str = Basis.EFFECTIVE, projects: Sequence[int] | None = None
) -> list[Accrual]:
    """What of a month is used and not billed, by project and category; with `projects`, of those alone."""
    measure = "billed" if basis == Basis.BILLED else "effective"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT used.project_id, used.category, used.currency, used.kind, used.origin, sum(used.{measure})
                FROM {ACCRUED_DAYS} AS used
                WHERE used.day >= %(start)s AND used.day < %(end)s
                  AND (%(projects)s::bigint[] IS NULL OR used.project_id = ANY (%(projects)s::bigint[]))
                GROUP BY 1, 2, 3, 4, 5 HAVING sum(used.{measure}) <> 0 ORDER BY 6 DESC""",
            {
                "today": today,
                "start": month.start,
                "end": month.end,
                "projects": None if projects is None else list(projects),
            },
        )
        rows = cursor.fetchall()
    found = Project.objects.in_bulk({row[0] for row in rows if row[0]})
    return [Accrual(found.get(project), *rest) for project, *rest in rows]
