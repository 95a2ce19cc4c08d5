"""States of a source's months: said to be final by hand, or some days after the month by themselves."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from core.errors import DomainError
from usage import periods
from usage.models import Scope, Source
from web.requests import PersonRequest


def visible_period(request: PersonRequest, scope_id: int) -> Scope:
    visible = Scope.objects.filter(source__in=Source.objects.visible_to(request.user))
    return get_object_or_404(visible.select_related("source"), pk=scope_id)


@login_required
@require_POST
def period_final(request: PersonRequest, scope_id: int) -> HttpResponse:
    """Say that a period is final."""
    scope = visible_period(request, scope_id)
    try:
        periods.finalise_period(scope, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("It is final: a delivery that changes it waits for a person."))
    return redirect("source", scope.source.slug)


@login_required
@require_POST
def period_reopen(request: PersonRequest, scope_id: int) -> HttpResponse:
    """Say that a period is not final after all."""
    scope = visible_period(request, scope_id)
    try:
        periods.reopen_period(scope, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("It is open again: deliveries change it without asking."))
    return redirect("source", scope.source.slug)


@login_required
@require_POST
def final_after(request: PersonRequest, slug: str) -> HttpResponse:
    """How many days after its end a month becomes final by itself."""
    source = get_object_or_404(Source.objects.visible_to(request.user), slug=slug)
    text = request.POST.get("days", "").strip()
    try:
        periods.wait_for_final(source, int(text) if text else None, by=request.user)
    except ValueError:
        messages.error(request, _("Give a number of days from 0 to 366."))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("Kept."))
    return redirect("source", slug)


urlpatterns = [
    path("usage/periods/<int:scope_id>/final/", period_final, name="period-final"),
    path("usage/periods/<int:scope_id>/reopen/", period_reopen, name="period-reopen"),
    path("usage/sources/<slug:slug>/final-after/", final_after, name="source-final-after"),
]
