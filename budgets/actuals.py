"""The metered cost of budget lines, read for many lines in one query each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import connection

from core.months import Month
from usage.daily import BEARS_MONEY

COST_OF_LINES = f"""
    FROM budgets_budgetline line
    JOIN usage_dailyusage used
      ON used.project_id = line.project_id
     AND used.category IN (line.category, CASE WHEN line.category = 'compute' THEN 'hidden' END)
     AND ((line.basis = 'effective' AND used.day >= line.start AND used.day < line."end")
       OR (line.basis = 'billed' AND used.billing_month >= date_trunc('month', line.start)
           AND used.billing_month < line."end"))
     AND (line.task_type = used.task_type
       OR (line.task_type = '' AND NOT EXISTS (
            SELECT 1 FROM budgets_budgetline narrower
            WHERE narrower.project_id = line.project_id AND narrower.category = line.category
              AND narrower.task_type = used.task_type AND narrower.task_type <> ''
              AND used.day >= narrower.start AND used.day < narrower."end")))
    JOIN usage_meter meter ON meter.id = used.meter_id AND meter.charge_category = ANY (line.charge_categories)
     AND meter.source_id IN {BEARS_MONEY}
    WHERE line.id = ANY (%(lines)s) AND used.currency <> ''
      AND used.day >= %(since)s AND used.day <= %(on)s
"""
"""What counts on a line: its project, its category (hidden causes of computing on the compute line), its period by
its basis, its charge categories; a line of one task type takes its cost away from the line of all of them."""

AMOUNT = "sum(CASE WHEN line.basis = 'billed' THEN used.billed ELSE used.effective END)"
MONTH = "CASE WHEN line.basis = 'billed' THEN used.billing_month ELSE date_trunc('month', used.day)::date END"


@dataclass(frozen=True)
class Metered:
    """Cost of one line in one month, currency and reference."""

    line_id: int
    reference: str
    currency: str
    month: Month
    amount: Decimal


@dataclass(frozen=True)
class MeteredDay:
    """Cost of one line on one day, currency and reference."""

    line_id: int
    day: date
    reference: str
    currency: str
    month: Month
    amount: Decimal


def metered(line_ids: Iterable[int], *, on: date | None = None) -> list[Metered]:
    """The cost of the lines by month, currency and reference, up to and with a day."""
    rows = _rows(
        f"SELECT line.id, used.reference, used.currency, {MONTH}, {AMOUNT} {COST_OF_LINES} GROUP BY 1, 2, 3, 4",
        line_ids,
        date.min,
        on or date.max,
    )
    return [
        Metered(line, reference, currency, Month.of(month), amount) for line, reference, currency, month, amount in rows
    ]


def metered_days(line_ids: Iterable[int], *, since: date | None = None, on: date | None = None) -> list[MeteredDay]:
    """The cost of the lines by day, currency and reference, in order of the days."""
    rows = _rows(
        f"SELECT line.id, used.day, used.reference, used.currency, {MONTH}, {AMOUNT} {COST_OF_LINES}"
        " GROUP BY 1, 2, 3, 4, 5 ORDER BY 2, 1, 3, 4, 5",
        line_ids,
        since or date.min,
        on or date.max,
    )
    return [
        MeteredDay(line, day, reference, currency, Month.of(month), amount)
        for line, day, reference, currency, month, amount in rows
    ]


def prices_missing(line_ids: Iterable[int]) -> dict[int, list[str]]:
    """What was used on the lines and has no price yet, so that its cost is not known."""
    rows = _rows(
        """
        SELECT DISTINCT line.id, coalesce(nullif(meter.accelerator, ''), nullif(meter.sku, ''), meter.service)
        FROM budgets_budgetline line
        JOIN usage_dailyusage used ON used.project_id = line.project_id AND used.category = line.category
         AND used.day >= line.start AND used.day < line."end" AND used.currency = ''
        JOIN usage_meter meter ON meter.id = used.meter_id
        JOIN usage_source source ON source.id = meter.source_id AND source.money = 'rate_card'
        WHERE line.id = ANY (%(lines)s) ORDER BY 1, 2
        """,
        line_ids,
        date.min,
        date.max,
    )
    missing: dict[int, list[str]] = {}
    for line, what in rows:
        missing.setdefault(line, []).append(what)
    return missing


def _rows(sql: str, line_ids: Iterable[int], since: date, on: date) -> Sequence[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, {"lines": sorted(set(line_ids)), "since": since, "on": on})
        return cursor.fetchall()
