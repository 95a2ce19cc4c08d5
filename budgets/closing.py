"""What has to be in order before a month is closed, and which months and lines a closing takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Min, QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import DomainError, Fault
from core.months import Month
from teams.models import ClosedMonth, Organisation
from teams.rates import rate_table
from usage.models import DailyUsage, Import, MonthDraft, Scope, Source
from usage.overview import costs_of_days
from usage.sources import BY_HAND

from .actuals import currencies_paid, prices_missing
from .closed import heirs_among
from .funding import first_open_month
from .models import BudgetLine

NAMES: dict[str, str | Promise] = {
    "scopes": gettext_lazy("Bills are final"),
    "missing": gettext_lazy("Every source has delivered"),
    "imports": gettext_lazy("No import waits"),
    "bookings": gettext_lazy("Recurring costs are confirmed"),
    "unallocated": gettext_lazy("Cost has found its project"),
    "rates": gettext_lazy("Exchange rates are stored"),
    "prices": gettext_lazy("What was used has a price"),
}
MUST_BE_DONE = ("imports", "bookings", "rates")
"""What nobody can accept: imports and bookings that wait change what is known, and rates freeze with the month."""


@dataclass(frozen=True)
class CheckItem:
    """One point of the checklist: how many things are not in order, which, and whether they may be accepted."""

    key: str
    count: int
    shown: Sequence[Any] = ()
    share: Decimal | None = None

    @property
    def name(self) -> str | Promise:
        return NAMES[self.key]

    @property
    def is_done(self) -> bool:
        return not self.count

    @property
    def may_accept(self) -> bool:
        return self.key not in MUST_BE_DONE


@dataclass(frozen=True)
class Checklist:
    """The points for some months that follow each other."""

    months: Sequence[Month]
    items: Sequence[CheckItem] = field(default_factory=list)

    @property
    def acceptable(self) -> list[str]:
        return [item.key for item in self.items if item.may_accept and not item.is_done]


def next_month_to_close() -> Month | None:
    """The month after the one closed last; before any was closed, the first with a line or with usage."""
    following = first_open_month()
    if following is not None:
        return following
    days = [
        BudgetLine.objects.aggregate(first=Min("start"))["first"],
        DailyUsage.objects.aggregate(first=Min("day"))["first"],
    ]
    known = [day for day in days if day is not None]
    return Month.of(min(known)) if known else None


def months_to_close(month: Month, *, today: date) -> list[Month]:
    """The month, and every open month before it. Refused where it is not over, or closed already."""
    if month.end > today:
        raise DomainError(
            _("%(month)s is not over yet.") % {"month": month},
            faults=[Fault("month", str(month), _("is not over yet"), str(Month.of(today) + -1))],
        )
    first = next_month_to_close() or month
    if month < first and ClosedMonth.objects.exists():
        raise DomainError(
            _("%(month)s is closed already; the next to close is %(next)s.") % {"month": month, "next": first},
            code="wrong_state",
            faults=[Fault("month", str(month), _("is closed already"), str(first))],
        )
    return [first + offset for offset in range(month - first + 1)] if first <= month else [month]


def lines_to_close(month: Month) -> QuerySet[BudgetLine]:
    """Open lines whose period is over with the month."""
    return (
        BudgetLine.objects.open().filter(end__lte=month.end).select_related("project__team").order_by("project", "pk")
    )


def checklist(months: Sequence[Month], *, now: datetime) -> Checklist:
    """Every point with its figure, for the months together."""
    start, end = months[0].start, months[-1].end
    open_lines = BudgetLine.objects.open().filter(start__lt=end, end__gt=start).order_by()
    lines = dict(open_lines.values_list("pk", "project"))
    items = [
        scopes_item(start, end),
        missing_item(months),
        imports_item(),
        bookings_item(end),
        unallocated_item(start, end),
        rates_item(lines, months, now=now),
        prices_item(lines),
    ]
    return Checklist(months, items)


def scopes_item(start: date, end: date) -> CheckItem:
    open_scopes = (
        Scope.objects.filter(month__gte=start, month__lt=end, live__isnull=False)
        .exclude(source__format=BY_HAND)
        .exclude(state=Scope.State.FINAL)
        .select_related("source")
        .order_by("source__name", "key")
    )
    return CheckItem("scopes", open_scopes.count(), list(open_scopes[:10]))


def missing_item(months: Sequence[Month]) -> CheckItem:
    """Sources that delivered a bill of the month before the first, and none of a later one."""
    before = Scope.objects.filter(month=(months[0] + -1).start, live__isnull=False).exclude(source__format=BY_HAND)
    missing = [
        (source, month)
        for month in months
        for source in Source.objects.filter(pk__in=before.values("source")).exclude(
            pk__in=Scope.objects.filter(month=month.start, live__isnull=False).values("source")
        )
    ]
    return CheckItem("missing", len(missing), missing[:10])


def imports_item() -> CheckItem:
    waiting = Import.objects.filter(
        status__in=[Import.Status.WAITING, Import.Status.QUEUED, Import.Status.RUNNING]
    ).select_related("source")
    return CheckItem("imports", waiting.count(), list(waiting[:10]))


def bookings_item(end: date) -> CheckItem:
    """Months of recurring costs that nobody has said yes to."""
    waiting = MonthDraft.objects.waiting().filter(month__lt=end).select_related("recurring__project")
    return CheckItem("bookings", waiting.count(), list(waiting[:10]))


def unallocated_item(start: date, end: date) -> CheckItem:
    limit = Organisation.current().unallocated_limit
    wholes = costs_of_days(start, end)
    above = [whole for whole in wholes if (whole.unallocated_share or Decimal(0)) > limit]
    worst = max((whole.unallocated_share or Decimal(0) for whole in wholes), default=None)
    return CheckItem("unallocated", len(above), above, worst)


def rates_item(lines: Mapping[int, int], months: Sequence[Month], *, now: datetime) -> CheckItem:
    """Months up to these with cost in a currency that has no rate, of the lines and late on closed ones before them.
    The lines come with their projects."""
    paid = currencies_paid([*lines, *heirs_among(lines, until=None)])
    currencies = {currency for own, other, _month in paid for currency in (own, other)}
    rates = rate_table(currencies, this_month=Month.of(Organisation.current().today(now)))
    missing = {
        (str(month), other, own)
        for own, other, first in paid
        if (month := Month.of(first)) <= months[-1] and rates.rate(other, own, month) is None
    }
    return CheckItem("rates", len(missing), sorted(missing))


def prices_item(line_ids: Iterable[int]) -> CheckItem:
    missing = sorted({what for found in prices_missing(line_ids).values() for what in found})
    return CheckItem("prices", len(missing), missing[:10])
