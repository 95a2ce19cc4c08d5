"""Closing a month: what is in order, which lines end and what they carry over, and the months closed so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets.closing import NAMES, CheckItem, Checklist, checklist, lines_to_close, months_to_close, next_month_to_close
from budgets.hours import hours_of_lines
from budgets.models import BudgetLine
from budgets.queries import line_statuses
from budgets.services import carrying
from budgets.services import closing as services
from budgets.status import LineStatus
from core.errors import DomainError
from core.months import Month
from retrospectives.models import Retrospective
from retrospectives.queries import retrospectives_of
from teams import permissions
from teams.models import ClosedMonth, Organisation
from web.figures import percent_text
from web.requests import PersonRequest

PAGE_LENGTH = 25
EXPLAINED: dict[str, str | Promise] = {
    "scopes": gettext_lazy("Bills that their provider may still change."),
    "missing": gettext_lazy("A source that had a bill of the month before has none of this one."),
    "imports": gettext_lazy("What waits would change what is known. Confirm or cancel it first."),
    "bookings": gettext_lazy("Months of recurring costs that nobody has confirmed; until then they count nowhere."),
    "unallocated": gettext_lazy("Cost that no rule has given to a project, in a currency where it is above the limit."),
    "rates": gettext_lazy("Rates freeze with the month; without one its cost would stay unknown for ever."),
    "prices": gettext_lazy("Hours that were used and have no price on their day; their cost is not known."),
}
PLACES = {
    "scopes": "source-list",
    "missing": "source-list",
    "imports": "import-list",
    "bookings": "recurring-list",
    "unallocated": "usage",
    "rates": "rate-list",
    "prices": "price-list",
}
"""Where each point is put in order."""


@dataclass(frozen=True)
class Point:
    """One row of the checklist as the page shows it."""

    item: CheckItem
    explained: str | Promise
    figure: str
    shown: Sequence[str]
    url: str


@dataclass(frozen=True)
class Ending:
    """A line that the closing closes."""

    line: BudgetLine
    status: LineStatus
    carried: Decimal
    hours: Decimal
    """Accelerator-hours that go on with it."""


class ReasonForm(forms.Form):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500, required=False)


@login_required
def closing(request: PersonRequest) -> HttpResponse:
    """The month that is closed next, and those that were."""
    return closing_page(request)


def closing_page(request: PersonRequest, refused: DomainError | None = None) -> HttpResponse:
    if not permissions.may_see_all_usage(request.user):
        raise Http404
    now = timezone.now()
    month = chosen_month(request, now)
    found = checklist_of(month, now) if month else None
    endings = Paginator(lines_to_close(month) if month else BudgetLine.objects.none(), PAGE_LENGTH).get_page(
        request.GET.get("lines")
    )
    closed = Paginator(ClosedMonth.objects.select_related("by"), PAGE_LENGTH).get_page(request.GET.get("page"))
    looked_at = retrospectives_of(request.user).filter(state=Retrospective.State.OPEN)
    words = {
        "month": month,
        "months": found.months if found else [],
        "choices": months_over(now),
        "points": [point_of(item) for item in found.items] if found else [],
        "to_accept": found.acceptable if found else [],
        "blocked": [item for item in found.items if not item.is_done and not item.may_accept] if found else [],
        "endings": endings,
        "rows": endings_of(list(endings.object_list), now=now),
        "retrospectives": looked_at.count(),
        "closed": closed,
        "closings": [(row, [NAMES.get(key, key) for key in row.accepted]) for row in closed],
        "latest": ClosedMonth.objects.order_by("-month").first(),
        "may_close": permissions.may_close_books(request.user),
        "form": ReasonForm(request.POST or None),
        "refused": refused,
    }
    return render(request, "web/closing/closing.html", words, status=422 if refused else 200)


def chosen_month(request: PersonRequest, now: datetime) -> Month | None:
    """The month asked for, else the first that is over and open."""
    over = months_over(now)
    asked = request.GET.get("month") or request.POST.get("month", "")
    return next((month for month in over if str(month) == asked), over[0] if over else None)


def months_over(now: datetime) -> list[Month]:
    """Every month that is over and open, the oldest first."""
    first = next_month_to_close()
    last = Month.of(Organisation.current().today(now)) + -1
    return [first + offset for offset in range(last - first + 1)] if first else []


def checklist_of(month: Month, now: datetime) -> Checklist:
    return checklist(months_to_close(month, today=Organisation.current().today(now)), now=now)


def point_of(item: CheckItem) -> Point:
    figure = percent_text(item.share) if item.key == "unallocated" else str(item.count or "")
    place = PLACES.get(item.key)
    url = reverse(place) if place else reverse("admin:teams_exchangerate_add") if item.key == "rates" else ""
    return Point(item, EXPLAINED[item.key], figure, [said_of(item.key, each) for each in item.shown], url)


def said_of(key: str, thing: Any) -> str:
    """One thing that is not in order, in a few words."""
    if key == "scopes":
        return f"{thing.source} · {thing.key.replace('|', ' · ')} · {thing.get_state_display()}"
    if key == "missing":
        return f"{thing[0]} · {month_text(thing[1])}"
    if key == "bookings":
        return f"{thing.recurring.project} · {thing.recurring.name} · {month_text(Month.of(thing.month))}"
    if key == "imports":
        return f"{thing.source} · {thing.name} · {thing.get_status_display()}"
    if key == "unallocated":
        return f"{percent_text(thing.unallocated_share)} · {thing.currency}"
    return f"{thing[1]}→{thing[2]} · {month_text(Month.parse(thing[0]))}" if key == "rates" else str(thing)


def month_text(month: Month) -> str:
    return formats.date_format(month.start, "YEAR_MONTH_FORMAT")


def endings_of(lines: Sequence[BudgetLine], *, now: datetime) -> list[Ending]:
    """The lines with what each would carry over now."""
    statuses, hours = line_statuses(lines, now=now), hours_of_lines(lines, now=now)
    return [
        Ending(
            line,
            statuses[line.pk],
            carrying.carried_by(carrying.MONEY, line, statuses[line.pk]),
            hours_carried(line, hours[line.pk].status) if line.pk in hours else Decimal(0),
        )
        for line in lines
    ]


def hours_carried(line: BudgetLine, status: LineStatus) -> Decimal:
    """What the line would carry over of its accelerator-hours: nothing to a line that counts them otherwise."""
    amount = carrying.carried_by(carrying.HOURS, line, status)
    return amount if amount and services.hours_can_follow(line) else Decimal(0)


@login_required
@require_POST
def close(request: PersonRequest) -> HttpResponse:
    try:
        month = Month.parse(request.POST.get("month", ""))
    except ValueError as error:
        raise Http404 from error
    try:
        services.close_month(
            month,
            by=request.user,
            accepted=request.POST.getlist("accepted"),
            reason=request.POST.get("reason", ""),
        )
    except DomainError as refused:
        return closing_page(request, refused)
    messages.success(request, _("%(month)s is closed.") % {"month": month_text(month)})
    return redirect("closing")


@login_required
@require_POST
def reopen(request: PersonRequest) -> HttpResponse:
    latest = ClosedMonth.objects.order_by("-month").first()
    if latest is None:
        raise Http404
    month = Month.of(latest.month)
    try:
        services.reopen_month(month, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        return closing_page(request, refused)
    messages.success(request, _("%(month)s is open again.") % {"month": month_text(month)})
    return redirect("closing")


urlpatterns = [
    path("closing/", closing, name="closing"),
    path("closing/close/", close, name="closing-close"),
    path("closing/reopen/", reopen, name="closing-reopen"),
]
