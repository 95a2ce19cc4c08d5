"""Services: what each was asked for, day by day."""

from __future__ import annotations

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.months import Month
from teams import permissions
from teams.models import Organisation, Project
from usage import serving
from web.forms import KnownOnField, day_of, end_of
from web.requests import PersonRequest

ON_A_PAGE = 31


class ServiceFilter(forms.Form):
    """Which month, and which service."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )
    known_on = KnownOnField()
    service = forms.ChoiceField(label=gettext_lazy("Service"), required=False)

    def __init__(self, *args: object, services: list[str], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["service"].choices = [("", gettext_lazy("all")), *((name, name) for name in services)]  # type: ignore[attr-defined]


@login_required
def service_list(request: PersonRequest) -> HttpResponse:
    """The days of a month by service: requests, the peak hour beside the mean, tokens, tail latency."""
    organisation = Organisation.current()
    zone, today = organisation.time_zone, organisation.today(timezone.now())
    month = month_of(request.GET.get("month", "")) or Month.of(serving.newest_service_day(zone) or today)
    sees_all = permissions.may_see_all_usage(request.user)
    projects = None if sees_all else list(Project.objects.visible_to(request.user).values_list("pk", flat=True))
    known_on = day_of(request.GET.get("known_on", ""))
    known_at = end_of(known_on) if known_on else None
    days = serving.service_days(month.start, month.end, zone=zone, projects=projects, known_at=known_at)
    names = sorted({day.service for day in days})
    wanted = request.GET.get("service", "")
    shown = [day for day in days if day.service == wanted] if wanted in names else days
    words = {
        "form": ServiceFilter(initial={"month": str(month), "service": wanted, "known_on": known_on}, services=names),
        "page": Paginator(shown, ON_A_PAGE).get_page(request.GET.get("page")),
        "month": month.start,
        "known_on": known_on,
        "zone": zone,
        "delivers": permissions.may_import_usage(request.user),
    }
    return render(request, "web/usage/service_list.html", words)


def month_of(text: str) -> Month | None:
    """A month such as 2027-01; None for anything else."""
    try:
        return Month.parse(text) if text else None
    except ValueError:
        return None


urlpatterns = [path("usage/services/", service_list, name="service-list")]
