"""Growth out of the ordinary, and what the audit found."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import path

from overruns.models import Audit, Episode
from teams import permissions
from web.requests import PersonRequest

PAGE_LENGTH = 25


@login_required
def growth_list(request: PersonRequest) -> HttpResponse:
    """Days out of the ordinary, the newest first."""
    episodes = Episode.objects.visible_to(request.user).select_related("project__team")
    page = Paginator(episodes, PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(request, "web/growth/list.html", {"page": page})


@login_required
def audit_list(request: PersonRequest) -> HttpResponse:
    """The audits, the newest first; for whoever has a role in the whole organisation."""
    if not permissions.may_see_all_usage(request.user):
        raise Http404
    page = Paginator(Audit.objects.all(), PAGE_LENGTH).get_page(request.GET.get("page"))
    return render(request, "web/growth/audits.html", {"page": page})


urlpatterns = [
    path("warnings/growth/", growth_list, name="growth-list"),
    path("warnings/audits/", audit_list, name="audit-list"),
]
