"""Budget lines as pages show them: figures, bar, forecast and the one word that says how they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from budgets.accruals import AccruedDay, worth_of_accrued
from budgets.actuals import DaysOfMonth, MeteredDay, metered_days
from budgets.models import BudgetLine, Entry, Threshold
from budgets.queries import line_statuses, rates_for
from budgets.status import LineStatus, is_own_work, worth_in
from core.money import exact_sum
from core.months import Month, days_between
from overruns.forecast import Outlook
from overruns.models import Flag, Forecast
from overruns.outlook import fresh_until, outlooks, works_to_come
from overruns.queries import latest_forecasts, standing_flags
from teams.models import Organisation
from web.charts.burn import Burn, ForecastPoint

ZERO = Decimal(0)


@dataclass(frozen=True)
class LineRow:
    """One line of a table of lines."""

    line: BudgetLine
    status: LineStatus
    forecast: Forecast | None
    warning: Decimal | None
    flags: Sequence[Flag]
    accrued_days: Sequence[tuple[AccruedDay, Decimal]] = ()
    """Used and not billed yet, each day with its worth in the line's currency."""

    @property
    def accrued(self) -> Decimal:
        """What all of that is worth: beside the actual, never in it."""
        return exact_sum([worth for _day, worth in self.accrued_days])

    @property
    def state(self) -> tuple[str, str]:
        """The worst thing that can be said of the line."""
        return state_of(self.line, self.status, self.flags)


def state_of(line: BudgetLine, status: LineStatus, flags: Sequence[Flag]) -> tuple[str, str]:
    if line.closed_at:
        return "", _("closed")
    if flags:
        return flag_state(flags[0])
    if line.frozen_at:
        return "over", _("frozen")
    if status.budget <= 0:
        return "", _("no budget")
    return "ok", _("on track")


def flag_state(flag: Flag) -> tuple[str, str]:
    """What a standing flag says of its line."""
    if flag.is_overrun:
        return "over", _("overrun")
    if flag.threshold.basis == Threshold.Basis.FORECAST:
        return "warn", _("forecast past limit")
    return "warn", _("warning line passed")


def line_rows(lines: Sequence[BudgetLine]) -> list[LineRow]:
    """The lines with all that their table shows, in a number of queries that does not depend on how many they are."""
    statuses = line_statuses(lines)
    forecasts = latest_forecasts(line.pk for line in lines)
    flags = standing_flags(lines)
    warnings = warning_shares(lines)
    accrued = worth_of_accrued(lines, now=timezone.now())
    return [
        LineRow(
            line=line,
            status=statuses[line.pk],
            forecast=forecasts.get(line.pk),
            warning=warnings.get(line.pk),
            flags=flags.get(line.pk, []),
            accrued_days=accrued.get(line.pk, ()),
        )
        for line in lines
    ]


def warning_shares(lines: Sequence[BudgetLine]) -> dict[int, Decimal]:
    """The lowest share of actual at which people are told, per line."""
    rows = Threshold.objects.filter(
        line__among=[line.pk for line in lines], active=True, basis=Threshold.Basis.ACTUAL, share__isnull=False
    ).order_by("line_id", "-share")
    return {threshold.line_id: threshold.share for threshold in rows if threshold.share is not None}


@dataclass(frozen=True)
class Total:
    """Lines of one currency taken together."""

    currency: str
    budget: Decimal
    actual: Decimal
    committed: Decimal
    p10: Decimal | None
    p50: Decimal | None
    p90: Decimal | None

    @property
    def headroom(self) -> Decimal:
        return self.budget - self.actual - self.committed

    @property
    def headroom_share(self) -> Decimal | None:
        return self.headroom / self.budget if self.budget > 0 else None

    @property
    def execution_rate(self) -> Decimal | None:
        return self.actual / self.budget if self.budget > 0 else None

    @property
    def forecast(self) -> Any:
        return self if self.p50 is not None else None


def total_of(rows: Sequence[LineRow], currency: str) -> Total:
    """The sum of the rows. Medians add up; ranges of lines that err apart add up by their squares."""
    known = [row.forecast for row in rows if row.forecast is not None]
    middle = sum((forecast.p50 for forecast in known), ZERO)
    below = sum(((forecast.p50 - forecast.p10) ** 2 for forecast in known), ZERO)
    above = sum(((forecast.p90 - forecast.p50) ** 2 for forecast in known), ZERO)
    return Total(
        currency=currency,
        budget=sum((row.status.budget for row in rows), ZERO),
        actual=sum((row.status.actual for row in rows), ZERO),
        committed=sum((row.status.committed for row in rows), ZERO),
        p10=middle - below.sqrt() if known else None,
        p50=middle if known else None,
        p90=middle + above.sqrt() if known else None,
    )


def burn_of(row: LineRow, *, now: datetime) -> tuple[Burn, Outlook | None]:
    """The burn chart of a line, and the forecast it shows."""
    line = row.line
    fresh = fresh_until([line.pk])
    statuses = {line.pk: row.status}
    days = metered_days([line.pk], known_at=line.closed_at, project_ids=[line.project_id])
    others = None if line.closed_at else [days_of_others(day) for day in days if not is_own_work(day.reference)]
    accrued = {line.pk: row.accrued_days}
    outlook = outlooks([line], statuses, fresh, now=now, days=others, accrued=accrued).get(line.pk)
    burn = Burn(
        start=line.start,
        end=line.end,
        currency=line.currency,
        limit=row.status.budget,
        warning_share=row.warning,
        actual=actual_series(line, days, sum(row.status.restated.values(), ZERO), now=now),
        plan=plan_series(line, statuses),
        forecast=forecast_points(outlook.path[0][1], outlook) if outlook else (),
    )
    return burn, outlook


def days_of_others(day: MeteredDay) -> DaysOfMonth:
    return DaysOfMonth(day.line_id, day.currency, day.month, [day.day], [day.amount])


def actual_series(
    line: BudgetLine, days: Sequence[MeteredDay], restated: Decimal, *, now: datetime
) -> list[tuple[date, Decimal]]:
    """Cumulative cost at the end of every day with cost: of a closed line as it was known then; of an open one on top
    of what became known of earlier periods."""
    rates = rates_for([line], {day.currency for day in days}, now=now)
    by_day: dict[date, Decimal] = {}
    for each in days:
        worth = worth_in(line.currency, each.currency, each.month, each.amount, rates)
        if worth is not None:
            by_day[each.day] = by_day.get(each.day, ZERO) + worth
    for day, amount in amortised_days(line):
        by_day[day] = by_day.get(day, ZERO) + amount
    series, spent = [(line.start, restated)] if by_day or restated else [], restated
    for day in sorted(by_day):
        spent += by_day[day]
        series.append((min(max(day, line.start), line.end), spent))
    return series


def amortised_days(line: BudgetLine) -> list[tuple[date, Decimal]]:
    """What assets moved onto the line, or from it, by the day it was charged."""
    organisation = Organisation.current()
    entries = line.entries.filter(kind=Entry.Kind.AMORTISE).values_list("at", "amount")
    return [(organisation.today(at), amount) for at, amount in entries]


def plan_series(line: BudgetLine, statuses: Mapping[int, LineStatus]) -> list[tuple[date, Decimal]]:
    """What the approved proposals meant to have spent by the end of each month."""
    months: dict[Month, Decimal] = {}
    for work in works_to_come([line], statuses, with_finished=True).get(line.pk, []):
        whole = sum(work.schedule.values(), ZERO)
        for month, weight in work.schedule.items():
            months[month] = months.get(month, ZERO) + work.promised * weight / whole
    if not months:
        return []
    series, planned = [(max(line.start, min(months).start), ZERO)], ZERO
    for month in sorted(months):
        planned += months[month]
        series.append((min(month.end, line.end), planned))
    return series


def forecast_points(actual: Decimal, outlook: Outlook) -> list[ForecastPoint]:
    """The median's path, and a fan that opens with it."""
    way = outlook.p50 - actual
    if len(outlook.path) < 2:
        return []
    days = list(days_between(outlook.path[0][0], outlook.path[-1][0]))
    points = []
    for day, amount in outlook.path[1:]:
        share = (amount - actual) / way if way else Decimal((day - outlook.path[0][0]).days) / Decimal(len(days))
        points.append(
            ForecastPoint(
                day, amount - (outlook.p50 - outlook.p10) * share, amount, amount + (outlook.p90 - outlook.p50) * share
            )
        )
    return points
