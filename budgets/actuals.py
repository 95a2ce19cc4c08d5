"""The metered cost of budget lines, read for many lines in one query each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from usage.daily import BEARS_MONEY
from usage.queries import daily_rows

from .subcategories import part_in_sql

COUNTED = "ARRAY[line.category, CASE line.category WHEN 'compute' THEN 'hidden' ELSE line.category END]::varchar[]"
"""The categories whose cost a line carries: hidden causes of computing count on the compute line."""
PART = part_in_sql("used")
NARROWNESS = "((CASE {0}.subcategory WHEN '' THEN 0 ELSE 2 END) + (CASE {0}.task_type WHEN '' THEN 0 ELSE 1 END))"
"""How closely a line describes its cost: of the lines that fit a row, the closest one carries it."""
COST = f"""
    FROM budgets_budgetline line
    JOIN {{rollup}} used
      ON used.project_id = line.project_id AND used.category = ANY ({COUNTED})
     AND used.day >= CASE WHEN line.basis = 'effective' THEN greatest(line.start, %(since)s) ELSE %(since)s END
     AND used.day <= CASE WHEN line.basis = 'effective' THEN least(line."end" - 1, %(on)s) ELSE %(on)s END
     AND (line.basis = 'effective'
       OR (used.billing_month >= date_trunc('month', line.start) AND used.billing_month < line."end"))
     AND line.task_type IN ('', used.task_type) AND line.subcategory IN ('', {PART})
    {{meter}}
    WHERE line.id = ANY (%(lines)s) AND used.currency <> ''
      AND (line.task_type <> '' AND line.subcategory <> '' OR NOT EXISTS (
            SELECT 1 FROM budgets_budgetline narrower
            WHERE narrower.project_id = line.project_id AND narrower.category = line.category
              AND (narrower.task_type <> '' OR narrower.subcategory <> '')
              AND narrower.task_type IN ('', used.task_type) AND narrower.subcategory IN ('', {PART})
              AND {NARROWNESS.format("narrower")} > {NARROWNESS.format("line")}
              AND meter.charge_category = ANY (narrower.charge_categories)
              AND CASE WHEN narrower.basis = 'effective'
                       THEN used.day >= narrower.start AND used.day < narrower."end"
                       ELSE used.billing_month >= date_trunc('month', narrower.start)
                        AND used.billing_month < narrower."end" END))
"""
"""What counts on a line: its project, its categories, its period by its basis, its charge categories; a line of a
subcategory or of one task type takes the cost that it counts away from the wider ones. That a narrower line is narrow
is said once more in the words of the index `narrow_lines_of_a_project`. `rollup` is the table of days, the same days as
they were known at a time, or days that are accrued; `meter` joins what says their charge category."""
COST_OF_LINES = COST.replace(
    "{meter}",
    f"""JOIN usage_meter meter ON meter.id = used.meter_id AND meter.charge_category = ANY (line.charge_categories)
     AND meter.source_id IN {BEARS_MONEY}""",
)

AMOUNT = "sum(CASE WHEN line.basis = 'billed' THEN used.billed ELSE used.effective END)"
MONTH = "CASE WHEN line.basis = 'billed' THEN used.billing_month ELSE date_trunc('month', used.day)::date END"


class Metered(NamedTuple):
    """Cost of one line in one month, currency and reference. `month` is its first day."""

    line_id: int
    reference: str
    currency: str
    month: date
    amount: Decimal


class MeteredDay(NamedTuple):
    """Cost of one line on one day, in one currency and reference. `month` is the first day of the month whose rate
    counts."""

    line_id: int
    day: date
    reference: str
    currency: str
    month: date
    amount: Decimal


class DaysOfMonth(NamedTuple):
    """Days of one line in one month and currency, in no order, each with its cost that is no proposal's own work."""

    line_id: int
    currency: str
    month: date
    days: list[date]
    amounts: list[Decimal]


def metered(
    line_ids: Iterable[int],
    *,
    on: date | None = None,
    known_at: datetime | None = None,
    project_ids: Iterable[int] = (),
) -> list[Metered]:
    """The cost of the lines by month, currency and reference, up to and with a day; as it stands, or as it was known
    at a time, which is read from the records of the projects that are named."""
    rollup, known = daily_rows(known_at, project_ids=project_ids)
    cost = COST_OF_LINES.format(rollup=rollup)
    rows = _rows(
        f"SELECT line.id, used.reference, used.currency, {MONTH}, {AMOUNT} {cost} GROUP BY 1, 2, 3, 4",
        line_ids,
        date.min,
        on or date.max,
        known,
    )
    return [Metered._make(row) for row in rows]


def metered_days(
    line_ids: Iterable[int], *, known_at: datetime | None = None, project_ids: Iterable[int] = ()
) -> list[MeteredDay]:
    """All cost of the lines by day, reference and currency, in order of the days; as it stands, or as it was known at a
    time."""
    rollup, known = daily_rows(known_at, project_ids=project_ids)
    cost = COST_OF_LINES.format(rollup=rollup)
    what = f"line.id, used.day, used.reference, used.currency, {MONTH}, {AMOUNT}"
    sql = f"SELECT {what} {cost} GROUP BY 1, 2, 3, 4, 5 ORDER BY 2, 1, 3, 4, 5"
    return [MeteredDay._make(row) for row in _rows(sql, line_ids, date.min, date.max, known)]


def metered_with_days(line_ids: Iterable[int], *, since: date) -> tuple[list[Metered], list[DaysOfMonth]]:
    """The cost of the lines by month, currency and reference; and of what is no proposal's own work the days from a
    day on. The rollup is read once for both."""
    cost = COST_OF_LINES.format(rollup="usage_dailyusage")
    kept = "FILTER (WHERE day >= %(days_since)s AND reference !~ '^P-[0-9]+$')"
    sql = f"""
        SELECT line_id, reference, currency, month, sum(amount), array_agg(day) {kept}, array_agg(amount) {kept}
        FROM (SELECT line.id AS line_id, used.reference, used.currency, {MONTH} AS month, used.day, {AMOUNT} AS amount
              {cost} GROUP BY 1, 2, 3, 4, 5) AS days
        GROUP BY 1, 2, 3, 4
    """
    months, with_days = [], []
    for *month, days, amounts in _rows(sql, line_ids, date.min, date.max, {"days_since": since}):
        found = Metered._make(month)
        months.append(found)
        if days:
            with_days.append(DaysOfMonth(found.line_id, found.currency, found.month, days, amounts))
    return months, with_days


def currencies_paid(line_ids: Iterable[int]) -> list[tuple[str, str, date]]:
    """The months with cost of these lines in another currency than their own: theirs, the other, the month."""
    cost = COST_OF_LINES.format(rollup="usage_dailyusage")
    sql = f"""
        SELECT DISTINCT currency, paid_in, month
        FROM (SELECT line.id, line.currency, used.currency AS paid_in, used.reference, {MONTH} AS month,
                     {AMOUNT} AS amount
              {cost} AND used.currency <> line.currency GROUP BY 1, 2, 3, 4, 5) AS months
        WHERE amount <> 0
    """
    return [(currency, paid_in, month) for currency, paid_in, month in _rows(sql, line_ids, date.min, date.max, {})]


def sources_of_lines(line_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Pairs of a line and a source that has ever metered something on it: one row of each is looked for, not all."""
    sql = f"""
        SELECT line.id, source.id FROM budgets_budgetline line CROSS JOIN usage_source source
        CROSS JOIN LATERAL (
            SELECT 1 FROM usage_dailyusage used JOIN usage_meter meter ON meter.id = used.meter_id
            WHERE used.project_id = line.project_id AND used.category = ANY ({COUNTED})
              AND meter.source_id = source.id
            LIMIT 1
        ) AS metered
        WHERE line.id = ANY (%(lines)s)
    """
    return [(line, source) for line, source in _rows(sql, line_ids, date.min, date.max, {})]


def prices_missing(line_ids: Iterable[int]) -> dict[int, list[str]]:
    """What was used on the lines and has no price yet, so that its cost is not known."""
    rows = _rows(
        """
        SELECT DISTINCT line.id, coalesce(nullif(meter.accelerator, ''), nullif(meter.sku, ''), meter.service)
        FROM budgets_budgetline line
        JOIN usage_dailyusage used ON used.project_id = line.project_id AND used.category = line.category
         AND used.day >= line.start AND used.day < line."end" AND used.currency = ''
         AND used.accelerator_hours > 0
        JOIN usage_meter meter ON meter.id = used.meter_id
        JOIN usage_source source ON source.id = meter.source_id AND source.money = 'rate_card'
        WHERE line.id = ANY (%(lines)s) ORDER BY 1, 2
        """,
        line_ids,
        date.min,
        date.max,
        {},
    )
    missing: dict[int, list[str]] = {}
    for line, what in rows:
        missing.setdefault(line, []).append(what)
    return missing


def _rows(sql: str, line_ids: Iterable[int], since: date, on: date, known: Mapping[str, Any]) -> Sequence[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {**known, "lines": sorted(set(line_ids)), "since": since, "on": on})
        return cursor.fetchall()
