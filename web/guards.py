"""Guards: thresholds over runs, projects, teams and all; and the stops they made."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets.models import Stop, Threshold
from budgets.services.stops import release_stop
from core.errors import DomainError
from overruns import guards as services
from overruns.measuring import currency_of
from overruns.models import Guard
from teams import permissions
from teams.models import Project, Role, Team, User
from usage.models import Run
from web.forms import NumberField, refuse
from web.requests import PersonRequest
from web.warnings import CauseForm, MuteForm

PAGE_LENGTH = 25


class GuardForm(forms.Form):
    """A guard to set."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Project"), required=False, to_field_name="slug"
    )
    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("or team"), required=False)
    run = forms.ModelChoiceField(Run.objects.none(), label=gettext_lazy("or run"), required=False, to_field_name="slug")
    measure = forms.ChoiceField(label=gettext_lazy("Of what"), choices=Guard.Measure.choices)
    quantile = forms.ChoiceField(
        label=gettext_lazy("Quantile of the forecast"),
        required=False,
        choices=Threshold.Quantile.choices,
        initial="p50",
    )
    amount = NumberField(
        label=gettext_lazy("Amount"),
        required=False,
        max_digits=24,
        decimal_places=6,
        help_text=gettext_lazy("Money, hours, the unit below, or an MFU such as 0.3."),
    )
    percent = NumberField(label=gettext_lazy("or percent of the lines"), required=False, max_digits=6, decimal_places=2)
    unit = forms.CharField(
        label=gettext_lazy("Unit of a quantity"),
        required=False,
        max_length=120,
        help_text=gettext_lazy("As the bill names it."),
    )
    since = forms.DateField(
        label=gettext_lazy("Quantities count from"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    period = forms.ChoiceField(
        label=gettext_lazy("or are counted anew"),
        required=False,
        choices=[("", gettext_lazy("never")), *Guard.Period.choices],
    )
    stops_jobs = forms.BooleanField(label=gettext_lazy("Jobs may not start once it is reached"), required=False)

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        fields: dict[str, Any] = self.fields
        projects = Project.objects.visible_to(user)
        for name in ("project", "team", "run"):
            fields[name].empty_label = "–"
        fields["project"].queryset = projects.active()
        fields["team"].queryset = Team.objects.filter(projects__in=projects).distinct()
        fields["run"].queryset = Run.objects.filter(project__in=projects, state=Run.State.RUNNING)

    def asked(self) -> dict[str, Any]:
        asked = dict(self.cleaned_data)
        percent = asked.pop("percent")
        return {**asked, "share": percent / 100 if percent is not None else None}


def may_set_some(user: User) -> bool:
    return any(membership.role in (Role.MANAGER, Role.DIRECTOR, Role.FINANCE) for membership in user.memberships.all())


def guard_page(request: PersonRequest, form: GuardForm | None = None) -> HttpResponse:
    guards = Guard.objects.visible_to(request.user).active().select_related("project", "team", "run__project", "by")
    stops = Stop.objects.in_force().filter(project__in=Project.objects.visible_to(request.user))
    page = Paginator(guards, PAGE_LENGTH).get_page(request.GET.get("page"))
    words = {
        "page": page,
        "rows": [(guard, money_of(guard)) for guard in page.object_list],
        "stops": [
            (stop, permissions.may_fund(request.user, stop.project.team))
            for stop in stops.select_related("project__team")[:PAGE_LENGTH]
        ],
        "form": form or (GuardForm(user=request.user) if may_set_some(request.user) else None),
    }
    return render(request, "web/guards/list.html", words, status=422 if form else 200)


def money_of(guard: Guard) -> str:
    """The currency of a guard over money; empty for hours, quantities and efficiency."""
    return currency_of(guard) if guard.measure in services.MONEY else ""


@login_required
def guard_list(request: PersonRequest) -> HttpResponse:
    return guard_page(request)


@login_required
@require_POST
def guard_set(request: PersonRequest) -> HttpResponse:
    form = GuardForm(request.POST, user=request.user)
    if not form.is_valid():
        return guard_page(request, form)
    try:
        made = services.set_guard(by=request.user, **form.asked())
    except DomainError as refused:
        refuse(form, refused)
        return guard_page(request, form)
    services.judge_guards([made.pk], now=timezone.now())
    messages.success(request, _("It is watched from now on."))
    return redirect("guard-list")


def visible_guard(request: PersonRequest, guard_id: int) -> Guard:
    found = Guard.objects.visible_to(request.user).select_related(
        "project__team", "team", "run__project__team", "by", "acknowledged_by", "stop"
    )
    return get_object_or_404(found, pk=guard_id)


@login_required
def guard(request: PersonRequest, guard_id: int) -> HttpResponse:
    return one_guard(request, visible_guard(request, guard_id))


def one_guard(request: PersonRequest, found: Guard, **bound: forms.Form) -> HttpResponse:
    """What it watches, how it stands, and the forms to answer with."""
    words = {
        "guard": found,
        "currency": money_of(found),
        "may_answer": found.ended_at is None and found.is_standing and services.may_answer(found, request.user),
        "cause": bound.get("cause") or CauseForm(initial={"cause": found.cause}),
        "mute": bound.get("mute") or MuteForm(),
    }
    return render(request, "web/guards/guard.html", words, status=422 if bound else 200)


@login_required
@require_POST
def guard_acknowledge(request: PersonRequest, guard_id: int) -> HttpResponse:
    found, form = visible_guard(request, guard_id), CauseForm(request.POST)
    if form.is_valid():
        try:
            services.acknowledge_guard(found, by=request.user, cause=form.cleaned_data["cause"], now=timezone.now())
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("Thank you. It stays quiet until it falls and is reached again."))
            return redirect("guard", guard_id)
    return one_guard(request, found, cause=form)


@login_required
@require_POST
def guard_mute(request: PersonRequest, guard_id: int) -> HttpResponse:
    found, form = visible_guard(request, guard_id), MuteForm(request.POST)
    if form.is_valid():
        try:
            services.mute_guard(found, by=request.user, until=form.cleaned_data["until"], now=timezone.now())
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("It stays quiet until then."))
            return redirect("guard", guard_id)
    return one_guard(request, found, mute=form)


@login_required
@require_POST
def guard_end(request: PersonRequest, guard_id: int) -> HttpResponse:
    found = get_object_or_404(Guard.objects.visible_to(request.user).active(), pk=guard_id)
    try:
        services.end_guard(found, by=request.user, now=timezone.now())
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("guard-list")


@login_required
@require_POST
def stop_release(request: PersonRequest, stop_id: int) -> HttpResponse:
    stops = Stop.objects.filter(project__in=Project.objects.visible_to(request.user))
    stop = get_object_or_404(stops, pk=stop_id)
    try:
        release_stop(stop, by=request.user, reason=request.POST.get("reason", ""), now=timezone.now())
        messages.success(request, _("Jobs may start again."))
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("guard-list")


urlpatterns = [
    path("warnings/guards/", guard_list, name="guard-list"),
    path("warnings/guards/new/", guard_set, name="guard-set"),
    path("warnings/guards/<int:guard_id>/", guard, name="guard"),
    path("warnings/guards/<int:guard_id>/acknowledge/", guard_acknowledge, name="guard-acknowledge"),
    path("warnings/guards/<int:guard_id>/mute/", guard_mute, name="guard-mute"),
    path("warnings/guards/<int:guard_id>/end/", guard_end, name="guard-end"),
    path("warnings/stops/<int:stop_id>/release/", stop_release, name="stop-release"),
]
