"""Budget lines as the commands and the API say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from budgets.accruals import accrued_of_lines
from budgets.actuals import prices_missing
from budgets.hours import LineHours, hours_of_lines
from budgets.models import BudgetLine, Threshold
from budgets.queries import line_statuses
from budgets.status import LineStatus
from core.money import exact_sum, exact_text, round_money
from overruns.forecast import Outlook
from overruns.models import Flag
from overruns.outlook import fresh_until, outlooks


def line_answers(lines: Sequence[BudgetLine], *, on: date | None = None, now: datetime) -> list[dict[str, Any]]:
    """Figures, forecast, thresholds and what is missing of each line, in a constant number of queries."""
    ids = [line.pk for line in lines]
    statuses = line_statuses(lines, on=on, now=now)
    fresh = fresh_until(ids)
    found = outlooks(lines, statuses, fresh, now=now)
    unpriced = prices_missing(ids)
    thresholds = Threshold.objects.filter(line__in=ids, active=True)
    flags = {flag.threshold_id: flag for flag in Flag.objects.filter(line__in=ids)}
    by_line: dict[int, list[Threshold]] = {}
    for threshold in thresholds:
        by_line.setdefault(threshold.line_id, []).append(threshold)
    accrued = accrued_of_lines(lines, now=now)
    hours = hours_of_lines(lines, now=now, on=on)
    return [
        line_answer(line, statuses[line.pk])
        | {
            "accrued": exact_text(accrued.get(line.pk, Decimal(0))),
            "hours": hours_answer(hours.get(line.pk)),
            "forecast": forecast_answer(line, found.get(line.pk)),
            "thresholds": [threshold_answer(each, flags.get(each.pk)) for each in by_line.get(line.pk, [])],
            "fresh_until": fresh[line.pk].isoformat() if line.pk in fresh else None,
            "price_missing": unpriced.get(line.pk, []),
        }
        for line in lines
    ]


def line_answer(line: BudgetLine, status: LineStatus) -> dict[str, Any]:
    """What stands on the line, as exact decimals."""
    rate = status.execution_rate
    return {
        "line": line.pk,
        "project": line.project.slug,
        "team": line.project.team.slug,
        "category": line.category,
        "subcategory": line.subcategory or None,
        "task_type": line.task_type or None,
        "period": {"start": line.start.isoformat(), "end": line.end.isoformat(), "kind": line.period_kind},
        "currency": line.currency,
        "basis": line.basis,
        "budget": exact_text(status.budget),
        "committed": exact_text(status.committed),
        "actual": exact_text(status.actual),
        "headroom": exact_text(status.headroom),
        "restated": exact_text(exact_sum(list(status.restated.values()))),
        "execution_rate": f"{rate:.6f}" if rate is not None else None,
        "state": "closed" if line.closed_at else "frozen" if line.frozen_at else "open",
        "rates_missing": [
            {"month": str(month), "from": currency, "to": line.currency} for month, currency in status.rates_missing
        ],
    }


def hours_answer(hours: LineHours | None) -> dict[str, Any] | None:
    """What stands in accelerator-hours; nothing for a line without a budget of hours."""
    if hours is None:
        return None
    status = hours.status
    figures = ("budget", "committed", "actual", "headroom")
    return {
        "unit": hours.unit,
        **{name: exact_text(getattr(status, name)) for name in figures},
        "restated": exact_text(exact_sum(list(status.restated.values()))),
        "peak_missing": list(hours.unknown),
    }


def forecast_answer(line: BudgetLine, outlook: Outlook | None) -> dict[str, Any] | None:
    """The range at the end of the period; nothing for a line on which nothing is metered."""
    if outlook is None:
        return None
    return {name: exact_text(round_money(getattr(outlook, name), line.currency)) for name in ("p10", "p50", "p90")}


def threshold_answer(threshold: Threshold, flag: Flag | None) -> Mapping[str, Any]:
    return {
        "share": exact_text(threshold.share) if threshold.share is not None else None,
        "amount": exact_text(threshold.amount) if threshold.amount is not None else None,
        "basis": threshold.basis,
        "quantile": threshold.quantile or None,
        "state": flag.state if flag else Flag.State.BELOW.value,
        "crossed_at": flag.crossed_at.isoformat() if flag else None,
    }
