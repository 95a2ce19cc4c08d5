"""What of a line is used and not billed yet: beside its actual, never in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import connection

from core.money import EXACT, exact_sum
from teams.models import Organisation
from usage.accruals import ACCRUED_DAYS

from .actuals import AMOUNT, COST, MONTH
from .models import BudgetLine
from .queries import rates_for
from .status import LedgerFacts, LineStatus, Spent, is_own_work, status_of, worth_in

ACCRUED_OF_LINES = COST.format(
    rollup=ACCRUED_DAYS,
    meter="JOIN LATERAL (SELECT used.charge_category) AS meter ON meter.charge_category = ANY (line.charge_categories)",
)


class AccruedDay(NamedTuple):
    """What a line has accrued on one day. `month` is the first day of the month whose rate counts."""

    line_id: int
    reference: str
    day: date
    currency: str
    month: date
    amount: Decimal


def accrued_days(line_ids: Iterable[int], *, now: datetime) -> list[AccruedDay]:
    """What the lines have accrued, by the same rules as their actual."""
    today = Organisation.current().today(now)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT line.id, used.reference, used.day, used.currency, {MONTH}, {AMOUNT} {ACCRUED_OF_LINES}
                GROUP BY 1, 2, 3, 4, 5 ORDER BY 3, 1""",
            {"lines": sorted(set(line_ids)), "since": "-infinity", "on": "infinity", "today": today},
        )
        return [AccruedDay._make(row) for row in cursor.fetchall()]


def worth_of_accrued(lines: Sequence[BudgetLine], *, now: datetime) -> dict[int, list[tuple[AccruedDay, Decimal]]]:
    """Per open line its accrued days, each with its worth in its currency; without a rate it is left out."""
    open_lines = {line.pk: line for line in lines if line.closed_at is None}
    days = accrued_days(open_lines, now=now) if open_lines else []
    if not days:
        return {}
    rates = rates_for(list(open_lines.values()), {day.currency for day in days}, now=now)
    found: dict[int, list[tuple[AccruedDay, Decimal]]] = {}
    for day in days:
        currency = open_lines[day.line_id].currency
        worth: Decimal | None = day.amount
        if day.currency != currency:
            worth = worth_in(currency, day.currency, day.month, day.amount, rates)
        if worth is not None:
            found.setdefault(day.line_id, []).append((day, worth))
    return found


def accrued_of_lines(lines: Sequence[BudgetLine], *, now: datetime) -> dict[int, Decimal]:
    """What each open line has accrued, in its currency."""
    found = worth_of_accrued(lines, now=now)
    return {line_id: exact_sum([worth for _day, worth in days]) for line_id, days in found.items()}


def as_if_booked(
    line: BudgetLine, status: LineStatus, ledger: LedgerFacts, accrued: Sequence[tuple[AccruedDay, Decimal]]
) -> LineStatus:
    """The status the line would have if what it accrued were booked: it uses up commitments as actual cost does."""
    own, others = dict(status.own), status.others_spent
    for day, worth in accrued:
        if is_own_work(day.reference):
            own[day.reference] = EXACT.add(own.get(day.reference, Decimal(0)), worth)
        else:
            others = EXACT.add(others, worth)
    spent = Spent(own, others, status.rates_missing)
    return status_of(
        line.currency,
        ledger,
        spent,
        others_consume=line.consumes_open_commitments,
        held=status.held,
        restated=status.restated,
    )
