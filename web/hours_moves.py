"""What the forms of accelerator-hours on the page of a line do: grant, transfer, give back."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from budgets.models import BudgetLine
from budgets.services import hours
from web.line_hours import HoursForm, ReleaseHoursForm, TransferHoursForm
from web.lines import act, visible_line
from web.requests import PersonRequest


@login_required
@require_POST
def line_hours(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        hours.grant_hours(found, by=request.user, **asked)

    form = HoursForm(request.POST, auto_id="hours_%s")
    return act(request, slug, line_id, "hours", form, change, _("The hours are on the line."))


@login_required
@require_POST
def line_transfer_hours(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        hours.transfer_hours(found, asked.pop("target"), by=request.user, **asked)

    form = TransferHoursForm(request.POST, line=visible_line(request, slug, line_id), auto_id="transfer_hours_%s")
    return act(request, slug, line_id, "transfer_hours", form, change, _("The hours have moved."))


@login_required
@require_POST
def line_release_hours(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        hours.release_hours(found, asked.pop("proposal"), by=request.user, **asked)

    form = ReleaseHoursForm(request.POST, line=visible_line(request, slug, line_id), auto_id="release_hours_%s")
    return act(request, slug, line_id, "release_hours", form, change, _("The hours are free again."))


urlpatterns = [
    path("projects/<slug:slug>/lines/<int:line_id>/hours/", line_hours, name="line-hours"),
    path("projects/<slug:slug>/lines/<int:line_id>/hours/transfer/", line_transfer_hours, name="line-transfer-hours"),
    path("projects/<slug:slug>/lines/<int:line_id>/hours/release/", line_release_hours, name="line-release-hours"),
]
