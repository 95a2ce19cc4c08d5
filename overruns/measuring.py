"""What guards are held against: money on the lines of many projects, quantities, efficiency of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db.models import Sum

from budgets.models import BudgetLine
from budgets.models.lines import BudgetLineQuerySet
from budgets.periods import calendar_period
from budgets.queries import line_statuses
from core.money import EXACT
from core.months import Month
from teams.models import Organisation
from teams.rates import rate_table
from usage.models import DailyUsage, Run, RunMetric
from usage.runs.queries import MFU_SERIES, usage_of_runs

from .forecast import QUANTILES
from .judge import Figures
from .models import Guard
from .outlook import Sight, fresh_until, sight_of

ZERO = Decimal(0)
WINDOW = timedelta(hours=6)
"""How long an efficiency has to be low."""
STALE = timedelta(hours=48)
MOST_MFU = Decimal("1.5")
"""No share is greater, above the peak or not: what is, was reported in percent."""


def currency_of(guard: Guard) -> str:
    """In which money a guard is read."""
    project = guard.project or (guard.run.project if guard.run else None)
    return project.currency if project else Organisation.current().currency


def figures_of_guard(guard: Guard, now: datetime) -> Figures | None:
    """What was measured; None where nothing can be said."""
    if guard.measure == Guard.Measure.MFU:
        return efficiency_of(guard, now)
    if guard.run:
        return figures_of_run(guard, guard.run, now)
    if guard.measure in (Guard.Measure.ACCELERATOR_HOURS, Guard.Measure.QUANTITY):
        return quantity_of(guard, now)
    return money_of(guard, now)


def money_of(guard: Guard, now: datetime) -> Figures:
    """The sums over the lines that run today, in the guard's currency, as far as they can be converted."""
    today = Organisation.current().today(now)
    lines = list(lines_of(guard).open().filter(start__lte=today, end__gt=today))
    if guard.measure == Guard.Measure.FORECAST:
        sight = sight_of(lines, now=now)
    else:
        sight = Sight(line_statuses(lines, now=now), fresh_until([line.pk for line in lines]), {})
    currency = currency_of(guard)
    rates = rate_table({currency, *(line.currency for line in lines)}, this_month=Month.of(today))
    sums = dict.fromkeys(("budget", "actual", "committed", *QUANTILES), ZERO)
    is_known = True
    for line in lines:
        status, outlook = sight.statuses[line.pk], sight.outlooks.get(line.pk)
        rate = rates.rate(line.currency, currency, Month.of(today))
        is_known = is_known and rate is not None and not status.rates_missing
        parts = {"budget": status.budget, "actual": status.actual, "committed": status.committed}
        parts |= {name: getattr(outlook, name) for name in QUANTILES} if outlook else {}
        for name, amount in parts.items():
            sums[name] = EXACT.add(sums[name], EXACT.multiply(amount, rate or ZERO))
    return Figures(
        budget=sums["budget"],
        actual=sums["actual"],
        committed=sums["committed"],
        forecast={name: sums[name] for name in QUANTILES} if sight.outlooks else {},
        is_known=is_known,
        is_fresh=all(now - known <= STALE for known in sight.fresh.values()),
        begins_on=max((line.start for line in lines), default=None),
    )


def lines_of(guard: Guard) -> BudgetLineQuerySet:
    lines: BudgetLineQuerySet = BudgetLine.objects.all()
    if guard.project:
        return lines.filter(project=guard.project)
    return lines.filter(project__team=guard.team) if guard.team else lines


def quantity_of(guard: Guard, now: datetime) -> Figures:
    """Accelerator-hours, or what meters of one unit counted, in the period that runs or since the guard's day."""
    days = DailyUsage.objects.filter(project__isnull=False)
    if guard.project:
        days = days.filter(project=guard.project)
    elif guard.team:
        days = days.filter(project__team=guard.team)
    begins_on, end = days_counted(guard, now)
    if begins_on:
        days = days.filter(day__gte=begins_on)
    if end:
        days = days.filter(day__lt=end)
    name = "accelerator_hours"
    if guard.measure == Guard.Measure.QUANTITY:
        name, days = "quantity", days.filter(meter__unit=guard.unit)
    figures = amount_figures(guard, days.aggregate(whole=Sum(name))["whole"] or ZERO)
    return replace(figures, begins_on=begins_on)


def days_counted(guard: Guard, now: datetime) -> tuple[date | None, date | None]:
    """The half-open days whose quantities count; None where there is no bound."""
    if not guard.period:
        return guard.since, None
    organisation = Organisation.current()
    month = Month.of(organisation.today(now))
    period = calendar_period(guard.period, month, fiscal_year_starts_in=organisation.fiscal_year_starts_in)
    return period.start, period.end


def figures_of_run(guard: Guard, run: Run, now: datetime) -> Figures | None:
    """What the job of a run has used, as its scheduler's log says it."""
    usage = usage_of_runs([run])[run.pk]
    if guard.measure == Guard.Measure.ACCELERATOR_HOURS:
        return amount_figures(guard, usage.accelerator_hours)
    if guard.measure != Guard.Measure.ACTUAL:
        return None
    currency = currency_of(guard)
    this_month = Month.of(Organisation.current().today(now))
    rates = rate_table({currency, *(paid_in for paid_in, _cost in usage.costs)}, this_month=this_month)
    whole, is_known = ZERO, True
    for paid_in, cost in usage.costs:
        rate = rates.rate(paid_in, currency, this_month)
        is_known = is_known and rate is not None
        whole = EXACT.add(whole, EXACT.multiply(cost, rate or ZERO))
    return amount_figures(guard, whole, is_known=is_known)


def amount_figures(guard: Guard, value: Decimal, *, is_known: bool = True) -> Figures:
    return Figures(budget=guard.amount or ZERO, actual=value, committed=ZERO, is_known=is_known)


def efficiency_of(guard: Guard, now: datetime) -> Figures | None:
    """The best MFU of the last six hours in which the run reported; None where it has reported for less."""
    runs = Run.objects.filter(pk=guard.run_id) if guard.run_id else Run.objects.filter(project=guard.project)
    best = [each for run in runs.filter(state=Run.State.RUNNING) if (each := best_of_window(run, now)) is not None]
    return Figures(budget=Decimal(1), actual=min(best), committed=ZERO) if best else None


def best_of_window(run: Run, now: datetime) -> Decimal | None:
    points = RunMetric.objects.filter(run=run, name__iregex=MFU_SERIES, at__isnull=False, value__isnull=False)
    begin = now - WINDOW
    if not points.filter(at__lte=begin).exists():
        return None
    values: Sequence[float | None] = list(points.filter(at__gt=begin, at__lte=now).values_list("value", flat=True))
    known = [value for value in values if value is not None]
    best = Decimal(repr(max(known))) if known else None
    return best / 100 if best is not None and best > MOST_MFU else best
