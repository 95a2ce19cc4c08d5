"""Retrospectives: the list, and the page on which one is written and closed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets.models import Proposal
from core.errors import DomainError
from estimates.baselines.models import Baseline
from retrospectives import services
from retrospectives.measured import MEASURED, Measured
from retrospectives.models import Action, Measurement, Retrospective
from retrospectives.queries import measured_so_far, proposal_of, retrospectives_of
from teams import permissions
from teams.models import Organisation, User
from web.forms import NumberField, refuse
from web.requests import PersonRequest

PAGE_LENGTH = 25


@login_required
def retrospective_list(request: PersonRequest) -> HttpResponse:
    """Open ones first, the most urgent on top."""
    page = Paginator(retrospectives_of(request.user), PAGE_LENGTH).get_page(request.GET.get("page"))
    today = Organisation.current().today(timezone.now())
    rows = [{"row": row, "is_late": row.is_late(today)} for row in page.object_list]
    return render(request, "web/retrospectives/list.html", {"page": page, "rows": rows})


def day_input() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


def figure(label: Any) -> NumberField:
    """A number that may be left out."""
    return NumberField(label=label, required=False, min_value=0)


def percent(label: Any, hint: Any = "") -> NumberField:
    """A share in percent that may be left out."""
    return NumberField(label=label, required=False, min_value=0, max_value=100, help_text=hint)


class LookBackForm(forms.Form):
    cause = forms.CharField(
        label=gettext_lazy("Why did it go otherwise than approved?"),
        widget=forms.Textarea(attrs={"rows": 5}),
        required=False,
    )
    acceptance = forms.ChoiceField(
        label=gettext_lazy("The acceptance criterion was"),
        choices=[("", "–"), *Retrospective.Acceptance.choices],
        required=False,
    )
    acceptance_note = forms.CharField(
        label=gettext_lazy("How that was found"), widget=forms.Textarea(attrs={"rows": 2}), required=False
    )


SHARES = ("mfu", "goodput", "rollback_share", "experiment_share")


class MeasuredForm(forms.Form):
    """What was measured. Shares are typed in percent."""

    accelerator_hours = figure(gettext_lazy("Accelerator-hours billed, experiments included"))
    experiment_share = percent(gettext_lazy("of these for experiments, %"))
    mfu = percent(gettext_lazy("MFU of running steps, %"))
    goodput = percent(gettext_lazy("Goodput, %"), gettext_lazy("Productive hours ÷ paid hours of the main run."))
    rollback_share = percent(gettext_lazy("Steps thrown away after loss spikes, %"))
    interruptions = figure(gettext_lazy("Interruptions"))
    price_per_accelerator_hour = figure(gettext_lazy("Paid per accelerator-hour"))
    accelerator = forms.CharField(label=gettext_lazy("Accelerator"), required=False, max_length=60)
    runs = forms.IntegerField(label=gettext_lazy("Runs"), min_value=1, required=False)
    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=day_input())
    until = forms.DateField(label=gettext_lazy("To"), required=False, widget=day_input())

    def facts(self) -> dict[str, Any]:
        """As the service takes them: shares of one."""
        asked = dict(self.cleaned_data)
        for name in SHARES:
            asked[name] = None if asked[name] is None else asked[name] / 100
        measured = Measured(**{name: asked.pop(name) for name in MEASURED})
        return {**asked, "measured": measured, "runs": asked["runs"] or 1}


def measured_form(found: Retrospective) -> MeasuredForm:
    """Filled with what was written, else with what bills, job logs and run metrics say."""
    written = Measurement.objects.filter(retrospective=found).values().first()
    known = measured_so_far(found) if written is None else written
    shown = {name: shown_figure(name, value) for name, value in known.items() if value is not None}
    return MeasuredForm(initial=shown)


def shown_figure(name: str, value: Any) -> Any:
    if isinstance(value, Decimal):
        number = value * 100 if name in SHARES else value
        return f"{number.quantize(Decimal('0.0001')).normalize():f}"
    return value


class ActionForm(forms.Form):
    text = forms.CharField(label=gettext_lazy("What will be done differently"), max_length=300)
    owner = forms.ModelChoiceField(
        User.objects.none(), label=gettext_lazy("Who"), empty_label=gettext_lazy("choose someone")
    )
    due_on = forms.DateField(
        label=gettext_lazy("Until"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, *arguments: Any, retrospective: Retrospective, **options: Any) -> None:
        super().__init__(*arguments, **options)
        team = retrospective.project.team
        self.fields["owner"].queryset = User.objects.filter(is_active=True, memberships__team=team).distinct()  # type: ignore[attr-defined]


def visible_retrospective(request: PersonRequest, retrospective_id: int) -> Retrospective:
    found = Retrospective.objects.visible_to(request.user).select_related(
        "project__team", "crossing__flag__line", "crossing__flag__threshold", "proposal", "owner", "closed_by"
    )
    return get_object_or_404(found, pk=retrospective_id)


@login_required
def retrospective(request: PersonRequest, retrospective_id: int) -> HttpResponse:
    return retrospective_page(request, visible_retrospective(request, retrospective_id))


def retrospective_page(request: PersonRequest, found: Retrospective, **bound: forms.Form) -> HttpResponse:
    """What happened, why, whether the goal was reached, what is done about it."""
    team = found.project.team
    writes = permissions.may_write_plans(request.user, team) or permissions.may_fund(request.user, team)
    start = {"cause": found.cause, "acceptance": found.acceptance, "acceptance_note": found.acceptance_note}
    is_open = found.state == Retrospective.State.OPEN
    words = {
        "retrospective": found,
        "project": found.project,
        "flag": found.crossing.flag if found.crossing else None,
        "criterion": criterion_of(found),
        "actions": found.actions.select_related("owner"),
        "is_late": found.is_late(Organisation.current().today(timezone.now())),
        "may_write": writes and is_open,
        "may_finish": writes,
        "may_close": is_open and permissions.may_fund(request.user, team),
        "form": bound.get("form") or LookBackForm(initial=start),
        "measured": bound.get("measured") or measured_form(found),
        "lessons": Baseline.objects.visible_to(request.user).filter(link=reverse("retrospective", args=[found.pk])),
        "action_form": bound.get("action_form") or ActionForm(retrospective=found),
    }
    return render(request, "web/retrospectives/retrospective.html", words, status=422 if bound else 200)


def criterion_of(found: Retrospective) -> dict[str, Any] | None:
    """What the approved plan promised to reach."""
    proposal = proposal_of(found)
    if proposal is None:
        return None
    version = proposal.versions.select_related("estimate").order_by("-number").first()
    return version.estimate.plan.get("acceptance") if version else None


@login_required
@require_POST
def retrospective_write(request: PersonRequest, retrospective_id: int) -> HttpResponse:
    """Keep what was written, and close it where that was asked."""
    found, form = visible_retrospective(request, retrospective_id), LookBackForm(request.POST)
    measured = MeasuredForm(request.POST)
    if form.is_valid() and measured.is_valid():
        try:
            services.write_retrospective(found, by=request.user, **form.cleaned_data)
            services.write_measurement(found, by=request.user, **measured.facts())
            if "close" in request.POST:
                services.close_retrospective(found, by=request.user)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("Closed.") if "close" in request.POST else _("Saved."))
            return redirect("retrospective", retrospective_id)
    return retrospective_page(request, found, form=form, measured=measured)


@login_required
@require_POST
def action_add(request: PersonRequest, retrospective_id: int) -> HttpResponse:
    found = visible_retrospective(request, retrospective_id)
    form = ActionForm(request.POST, retrospective=found)
    if form.is_valid():
        try:
            services.add_action(found, by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            return redirect("retrospective", retrospective_id)
    return retrospective_page(request, found, action_form=form)


@login_required
@require_POST
def action_done(request: PersonRequest, retrospective_id: int, action_id: int) -> HttpResponse:
    found = visible_retrospective(request, retrospective_id)
    try:
        services.finish_action(get_object_or_404(Action, pk=action_id, retrospective=found), by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("retrospective", retrospective_id)


@login_required
@require_POST
def retrospective_open(request: PersonRequest, number: int) -> HttpResponse:
    """Look back at a closed proposal."""
    proposal = get_object_or_404(Proposal.objects.visible_to(request.user).select_related("project__team"), pk=number)
    try:
        opened = services.open_for_proposal(proposal, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
        return redirect("proposal", number)
    return redirect("retrospective", opened.pk)


urlpatterns = [
    path("retrospectives/", retrospective_list, name="retrospective-list"),
    path("retrospectives/<int:retrospective_id>/", retrospective, name="retrospective"),
    path("retrospectives/<int:retrospective_id>/write/", retrospective_write, name="retrospective-write"),
    path("retrospectives/<int:retrospective_id>/actions/", action_add, name="action-add"),
    path("retrospectives/<int:retrospective_id>/actions/<int:action_id>/done/", action_done, name="action-done"),
    path("proposals/<int:number>/look-back/", retrospective_open, name="retrospective-open"),
]
