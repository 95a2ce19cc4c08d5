"""Warnings: the list, and the page of one, where its cause is stated."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from overruns import services
from overruns.models import Flag, LineSilence
from overruns.queries import open_guards, worst_first
from retrospectives.models import Retrospective
from teams import permissions
from teams.models import Project, User
from web.forms import refuse
from web.line_rows import burn_of, line_rows
from web.requests import PersonRequest

PAGE_LENGTH = 25


class FlagFilter(forms.Form):
    """What the list shows."""

    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        required=False,
        choices=[
            ("", gettext_lazy("standing")),
            ("above", gettext_lazy("waiting for an answer")),
            ("all", gettext_lazy("all of them")),
        ],
    )
    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("all projects"),
    )

    def __init__(self, data: Any, *, user: User) -> None:
        super().__init__(data)
        warned = Project.objects.visible_to(user).filter(Exists(Flag.objects.filter(line__project=OuterRef("pk"))))
        self.fields["project"].queryset = warned  # type: ignore[attr-defined]


def filtered_flags(user: User, chosen: dict[str, Any]) -> QuerySet[Flag]:
    flags = Flag.objects.visible_to(user).select_related("line__project__team", "threshold", "acknowledged_by")
    if chosen.get("project"):
        flags = flags.filter(line__project=chosen["project"])
    if chosen.get("state") == "above":
        flags = flags.filter(state=Flag.State.ABOVE)
    elif chosen.get("state") != "all":
        flags = flags.standing()
    return flags.order_by(worst_first(), "-crossed_at", "-id")


@login_required
def warning_list(request: PersonRequest) -> HttpResponse:
    """Thresholds that are reached, the gravest first."""
    form = FlagFilter(request.GET, user=request.user)
    chosen = form.cleaned_data if form.is_valid() else {}
    page = Paginator(filtered_flags(request.user, chosen), PAGE_LENGTH).get_page(request.GET.get("page"))
    silences = LineSilence.objects.visible_to(request.user).open().select_related("line__project__team")
    words = {
        "form": form,
        "page": page,
        "filtered": any(chosen.values()),
        "guards": open_guards(request.user)[:PAGE_LENGTH],
        "silences": silences[:PAGE_LENGTH],
    }
    return render(request, "web/warnings/list.html", words)


class CauseForm(forms.Form):
    cause = forms.CharField(
        label=gettext_lazy("Why was it reached?"),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("The team, its manager and finance read it."),
    )


class MuteForm(forms.Form):
    until = forms.DateField(label=gettext_lazy("Keep quiet until"), widget=forms.DateInput(attrs={"type": "date"}))


def visible_flag(request: PersonRequest, flag_id: int) -> Flag:
    flags = Flag.objects.visible_to(request.user).select_related("line__project__team", "threshold", "acknowledged_by")
    return get_object_or_404(flags, pk=flag_id)


@login_required
def flag(request: PersonRequest, flag_id: int) -> HttpResponse:
    return flag_page(request, visible_flag(request, flag_id))


def flag_page(request: PersonRequest, found: Flag, **bound: forms.Form) -> HttpResponse:
    """The line as it stands, what happened, and the forms to answer with."""
    (row,) = line_rows([found.line])
    burn, outlook = burn_of(row, now=timezone.now())
    team = found.line.project.team
    may_answer = permissions.may_write_plans(request.user, team) or permissions.may_fund(request.user, team)
    words = {
        "flag": found,
        "line": found.line,
        "project": found.line.project,
        "row": row,
        "burn": burn,
        "runs_out": outlook.passes(row.status.budget) if outlook else None,
        "crossings": found.crossings.all(),
        "retrospectives": Retrospective.objects.filter(crossing__flag=found),
        "may_answer": may_answer and found.is_standing,
        "cause": bound.get("cause") or CauseForm(initial={"cause": found.cause}),
        "mute": bound.get("mute") or MuteForm(),
    }
    return render(request, "web/warnings/flag.html", words, status=422 if bound else 200)


@login_required
@require_POST
def flag_acknowledge(request: PersonRequest, flag_id: int) -> HttpResponse:
    found, form = visible_flag(request, flag_id), CauseForm(request.POST)
    if form.is_valid():
        try:
            services.acknowledge_flag(found, by=request.user, cause=form.cleaned_data["cause"])
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("Thank you. It stays quiet until it falls and is reached again."))
            return redirect("flag", flag_id)
    return flag_page(request, found, cause=form)


@login_required
@require_POST
def flag_mute(request: PersonRequest, flag_id: int) -> HttpResponse:
    found, form = visible_flag(request, flag_id), MuteForm(request.POST)
    if form.is_valid():
        try:
            services.mute_flag(found, by=request.user, until=form.cleaned_data["until"])
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("It stays quiet until then."))
            return redirect("flag", flag_id)
    return flag_page(request, found, mute=form)


urlpatterns = [
    path("warnings/", warning_list, name="warning-list"),
    path("warnings/<int:flag_id>/", flag, name="flag"),
    path("warnings/<int:flag_id>/acknowledge/", flag_acknowledge, name="flag-acknowledge"),
    path("warnings/<int:flag_id>/mute/", flag_mute, name="flag-mute"),
]
