"""What happened, and what one is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import django_filters
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from teams import permissions, services
from teams.models import Activity, ActivityQuerySet, Notification, User
from teams.notifications import headline
from web import verbs
from web.requests import PersonRequest

PAGE_LENGTH = 50
KINDS = [
    ("proposal", gettext_lazy("Proposals and decisions")),
    ("line", gettext_lazy("Budget lines and entries")),
    ("import", gettext_lazy("Usage and allocation")),
    ("price", gettext_lazy("Prices and estimates")),
    ("flag", gettext_lazy("Warnings and retrospectives")),
    ("project", gettext_lazy("Projects and people")),
]
VERBS_OF_KIND = {
    "proposal": ("proposal.", "step."),
    "line": ("line.", "threshold.", "money.", "hold.", "lines.", "month.", "asset."),
    "import": (
        "import.",
        "source.",
        "feed.",
        "booking.",
        "bookings.",
        "recurring.",
        "rule.",
        "rules.",
        "run.",
        "usage.",
        "unallocated.",
        "period.",
        "cluster.",
    ),
    "price": ("price.", "prices.", "estimate.", "accelerator.", "baseline.", "rate."),
    "flag": ("flag.", "retrospective.", "action.", "guard.", "jobs.", "audit.", "webhook.", "messages."),
    "project": ("project.", "person.", "token."),
}


@dataclass(frozen=True)
class Line:
    """One row of the log, said in a sentence."""

    row: Activity
    words: SafeString

    @property
    def day(self) -> date:
        """In the time zone of the organisation, like the hour beside it."""
        return timezone.localdate(self.row.at)


def lines(rows: Iterable[Activity]) -> list[Line]:
    return [Line(row, verbs.sentence(row)) for row in rows]


def latest_lines(rows: ActivityQuerySet, length: int) -> list[Line]:
    """The newest few that stand for themselves."""
    return lines(rows.exclude(verb__in=verbs.QUIET).select_related("by", "project", "team")[:length])


def people_of_the_log(request: HttpRequest | None) -> QuerySet[User]:
    """Those who share a team with the reader; everybody for a role in the whole organisation."""
    if request is None or not request.user.is_authenticated:
        return User.objects.none()
    if permissions.may_see_all_usage(request.user):
        return User.objects.order_by("name")
    return User.objects.filter(memberships__team__in=request.user.team_ids()).distinct().order_by("name")


class ActivityFilter(django_filters.FilterSet):
    kind = django_filters.ChoiceFilter(
        label=gettext_lazy("About"), choices=KINDS, method="of_kind", empty_label=gettext_lazy("everything")
    )
    project = django_filters.CharFilter(
        label=gettext_lazy("Project"), field_name="project__name", lookup_expr="icontains"
    )
    by = django_filters.ModelChoiceFilter(
        label=gettext_lazy("Who"), queryset=people_of_the_log, empty_label=gettext_lazy("everybody")
    )

    class Meta:
        model = Activity
        fields = ["kind", "project", "by"]

    def of_kind(self, rows: QuerySet[Activity], _name: str, kind: str) -> QuerySet[Activity]:
        pattern = "^(" + "|".join(start.replace(".", r"\.") for start in VERBS_OF_KIND[kind]) + ")"
        return rows.filter(verb__regex=pattern)


@login_required
def activity(request: PersonRequest) -> HttpResponse:
    """The log of what this person may know of, latest first."""
    rows = Activity.objects.visible_to(request.user).select_related("by", "project", "team")
    chosen = ActivityFilter(request.GET, queryset=rows, request=request)
    page = Paginator(chosen.qs, PAGE_LENGTH).get_page(request.GET.get("page"))
    words = {"form": chosen.form, "page": page, "lines": lines(page.object_list), "filtered": chosen.form.changed_data}
    return render(request, "web/activity/activity.html", words)


@login_required
def notifications(request: PersonRequest) -> HttpResponse:
    rows = Notification.objects.filter(user=request.user).select_related("project", "user")
    page = Paginator(rows, PAGE_LENGTH).get_page(request.GET.get("page"))
    told = [(row, headline(row)) for row in page.object_list]
    return render(request, "web/notifications/notifications.html", {"page": page, "told": told})


@login_required
@require_POST
def read_all(request: PersonRequest) -> HttpResponse:
    if services.read_notifications(by=request.user, now=timezone.now()):
        messages.success(request, _("Everything is marked as read."))
    return redirect("notifications")


@login_required
@require_POST
def read_one(request: PersonRequest, notification_id: int) -> HttpResponse:
    """Mark one as read and go where it leads."""
    row = get_object_or_404(Notification, pk=notification_id, user=request.user)
    services.read_notifications(by=request.user, now=timezone.now(), ids=[row.pk])
    leads_here = url_has_allowed_host_and_scheme(row.url, {request.get_host()}, require_https=request.is_secure())
    return redirect(row.url if row.url and leads_here else "notifications")


urlpatterns = [
    path("activity/", activity, name="activity"),
    path("notifications/", notifications, name="notifications"),
    path("notifications/read/", read_all, name="notifications-read"),
    path("notifications/<int:notification_id>/read/", read_one, name="notification-read"),
]
