"""Proposals: the list, writing and changing one, submitting, withdrawing, closing, cloning."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets import decision_times
from budgets.models import BudgetLine, Proposal, ProposalVersion
from budgets.queries import line_statuses, proposals_waiting_for
from budgets.services import proposals as services
from core.errors import DomainError
from estimates.engine.plan import PlanRefused
from teams import permissions
from teams.models import Organisation, Project, Role, User
from web import decisions, plans
from web.plan_members import SHOWN
from web.requests import PersonRequest

PAGE_LENGTH = 25
ZERO = Decimal(0)


# ---- the list


class ProposalFilter(forms.Form):
    """What the list shows."""

    waiting = forms.BooleanField(
        label=gettext_lazy("waiting for me"), required=False, widget=forms.CheckboxInput(attrs={"data-submits": ""})
    )
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        required=False,
        choices=[("", gettext_lazy("every state")), *Proposal.State.choices],
    )
    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("all projects"),
    )
    search = forms.CharField(label=gettext_lazy("Title"), required=False)

    def __init__(self, data: Any, *, user: User) -> None:
        super().__init__(data)
        self.fields["project"].queryset = Project.objects.visible_to(user)  # type: ignore[attr-defined]


def filtered_proposals(user: User, chosen: dict[str, Any]) -> QuerySet[Proposal]:
    """The proposals the filter leaves, newest first, each with its newest version's ask."""
    if chosen.get("waiting"):
        found = Proposal.objects.filter(pk__in=proposals_waiting_for(user).values("pk"))
    else:
        found = Proposal.objects.visible_to(user)
    if chosen.get("state"):
        found = found.filter(state=chosen["state"])
    if chosen.get("project"):
        found = found.filter(project=chosen["project"])
    if chosen.get("search"):
        found = found.filter(title__icontains=chosen["search"])
    newest = ProposalVersion.objects.filter(proposal=OuterRef("pk")).order_by("-number")
    return found.select_related("project__team", "requester").annotate(
        version=Subquery(newest.values("number")[:1]),
        version_state=Subquery(newest.values("state")[:1]),
        ask=Subquery(newest.values("ask_total")[:1]),
        estimated=Subquery(newest.values("estimate__ask_total")[:1]),
        submitted_at=Subquery(newest.values("submitted_at")[:1]),
    )


@login_required
def proposal_list(request: PersonRequest) -> HttpResponse:
    """Proposals one may see; those that wait for oneself a click away."""
    form = ProposalFilter(request.GET, user=request.user)
    chosen = form.cleaned_data if form.is_valid() else {}
    page = Paginator(filtered_proposals(request.user, chosen).order_by("-pk"), PAGE_LENGTH).get_page(
        request.GET.get("page")
    )
    words = {
        "form": form,
        "page": page,
        "filtered": any(chosen.values()),
        "waiting": proposals_waiting_for(request.user).count(),
        "may_write": writable_projects(request.user).exists(),
    }
    return render(request, "web/proposals/list.html", words)


def writable_projects(user: User) -> QuerySet[Project]:
    """Active projects of the teams whose plans the person writes."""
    teams = [
        membership.team_id for membership in user.memberships.all() if membership.role in (Role.MEMBER, Role.MANAGER)
    ]
    return Project.objects.active().filter(team__in=teams).select_related("team")


@login_required
def decision_times_page(request: PersonRequest) -> HttpResponse:
    """How long decisions take, by team and month, and what waits now."""
    now = timezone.now()
    steps = Paginator(decision_times.waiting_steps(request.user), PAGE_LENGTH).get_page(request.GET.get("page"))
    months = [month.start for month in decision_times.months_shown(now)]
    teams = decision_times.decision_times(request.user, now=now)
    words = {
        "months": months,
        "teams": [(row.team, list(zip(months, row.months, strict=True))) for row in teams],
        "page": steps,
        "now": now,
    }
    return render(request, "web/proposals/times.html", words)


# ---- writing


class ProposalForm(forms.Form):
    """What a proposal says besides its plan."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=160, required=False)
    ask_level = forms.ChoiceField(
        label=gettext_lazy("Ask for"),
        choices=ProposalVersion.AskLevel.choices,
        required=False,
        help_text=gettext_lazy("The mean is what such work costs on average; a higher level is passed less often."),
    )
    note = forms.CharField(
        label=gettext_lazy("Note to the approver"), widget=forms.Textarea(attrs={"rows": 2}), required=False
    )


@login_required
def proposal_new(request: PersonRequest) -> HttpResponse:
    """A new proposal: first the project and what to start from, then the plan with its estimate beside it."""
    projects = writable_projects(request.user)
    slug = request.GET.get("project") or (projects[0].slug if projects.count() == 1 else "")
    if not slug or not projects.exists():
        words = {"projects": projects, "template": request.GET.get("template", "")}
        return render(request, "web/proposals/choose.html", words)
    project = get_object_or_404(projects, slug=slug)
    today = plans.today()
    if request.method == "POST":
        document = plans.document_from_post(request.POST)
        return saved(request, document, project, None)
    document = plans.starting_document(project, today, request.GET.get("template", ""))
    return editor(request, document, project, ProposalForm(initial={"ask_level": "mean"}), None)


@login_required
def proposal_edit(request: PersonRequest, number: int) -> HttpResponse:
    """Change the plan of a proposal. After an approval this writes an amendment."""
    found = visible_proposal(request, number)
    if not may_edit(request.user, found):
        messages.error(request, _("This proposal cannot be edited now. Clone it to go on from its plan."))
        return redirect("proposal", number)
    last = found.versions.select_related("estimate").order_by("-number")[0]
    if request.method == "POST":
        return saved(request, plans.document_from_post(request.POST), found.project, found)
    start = {"title": found.title, "ask_level": last.ask_level, "note": last.note}
    return editor(request, dict(last.estimate.plan), found.project, ProposalForm(initial=start), found)


def saved(request: PersonRequest, document: Any, project: Project, found: Proposal | None) -> HttpResponse:
    """Keep what was posted, and submit it where that was asked; what is wrong comes back beside the form."""
    form = ProposalForm(request.POST)
    if not form.is_valid():
        return editor(request, document, project, form, found)
    asked = form.cleaned_data
    try:
        if found is None:
            found = services.create_proposal(by=request.user, project=project, plan=document, **given(asked))
        else:
            services.save_plan(found, by=request.user, plan=document, **given(asked))
    except PlanRefused as refused:
        return editor(request, document, project, form, found, outcome=plans.refused_outcome(document, refused))
    except DomainError as refused:
        form.add_error(None, refused.message)
        return editor(request, document, project, form, found)
    if "submit" in request.POST:
        return submitted(request, found)
    messages.success(request, _("Saved. It is a draft until you submit it."))
    return redirect("proposal", found.pk)


def given(asked: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "ask_level": asked["ask_level"] or ProposalVersion.AskLevel.MEAN}


def editor(
    request: PersonRequest,
    document: Any,
    project: Project,
    form: ProposalForm,
    found: Proposal | None,
    *,
    outcome: plans.Outcome | None = None,
) -> HttpResponse:
    """The page with the plan form; the estimate beside it knows what the project has left."""
    last = found.versions.select_related("estimate").order_by("-number").first() if found else None
    words = plans.form_context(
        document,
        project=project,
        headroom=project_headroom(project),
        preview_url=reverse("proposal-preview", args=[project.slug]),
        outcome=outcome,
        estimate=last.estimate if last else None,
        as_yaml=is_text(request),
        shown=request.POST.getlist(SHOWN),
    )
    words |= {
        "form": form,
        "project": project,
        "proposal": found,
        "templates": plans.template_choices() if found is None else [],
        "template": request.GET.get("template", ""),
        "is_amendment": found is not None and found.state in (Proposal.State.APPROVED, Proposal.State.PARTLY_APPROVED),
        "comments": comments_on(found),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "web/proposals/edit.html", words, status=status)


def is_text(request: PersonRequest) -> bool:
    return plans.YAML_NAME in request.POST


def comments_on(found: Proposal | None) -> Any:
    """What the approver who asked for changes said, input by input."""
    if found is None or found.state != Proposal.State.CHANGES_REQUESTED:
        return None
    return decisions.last_decision(found)


def project_headroom(project: Project) -> Decimal | None:
    """What the open lines of a project have left together."""
    today = Organisation.current().today(timezone.now())
    lines = list(BudgetLine.objects.open().filter(project=project, end__gt=today))
    if not lines:
        return None
    return sum((status.headroom for status in line_statuses(lines).values()), ZERO)


@login_required
@require_POST
def proposal_preview(request: PersonRequest, slug: str) -> HttpResponse:
    """The estimate as one types, with what the project has left."""
    project = get_object_or_404(Project.objects.visible_to(request.user), slug=slug)
    return plans.preview(request, project=project, headroom=project_headroom(project))


# ---- what is done with one


def visible_proposal(request: PersonRequest, number: int) -> Proposal:
    found = Proposal.objects.visible_to(request.user).select_related("project__team", "requester", "cloned_from")
    return get_object_or_404(found, pk=number)


def may_edit(user: User, found: Proposal) -> bool:
    """May the person change its plan now?"""
    waits = found.versions.filter(state=ProposalVersion.State.SUBMITTED).exists()
    return found.state in services.WRITABLE and not waits and permissions.may_write_plans(user, found.project.team)


def submitted(request: PersonRequest, found: Proposal) -> HttpResponse:
    try:
        version = services.submit_proposal(found, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
        return redirect("proposal-edit", found.pk) if may_edit(request.user, found) else redirect("proposal", found.pk)
    step = version.steps.order_by("number")[0]
    messages.success(request, _("Submitted. It waits for: %(role)s.") % {"role": step.get_role_display()})
    return redirect("proposal", found.pk)


@login_required
@require_POST
def proposal_submit(request: PersonRequest, number: int) -> HttpResponse:
    return submitted(request, visible_proposal(request, number))


def acted(request: PersonRequest, number: int, change: Callable[[Proposal], Any], said: str) -> HttpResponse:
    """Do it and say so, or say why not."""
    found = visible_proposal(request, number)
    try:
        change(found)
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, said)
    return redirect("proposal", number)


@login_required
@require_POST
def proposal_withdraw(request: PersonRequest, number: int) -> HttpResponse:
    reason = request.POST.get("reason", "")
    return acted(
        request,
        number,
        lambda found: services.withdraw_proposal(found, by=request.user, reason=reason),
        _("Withdrawn. Nothing was committed for it."),
    )


@login_required
@require_POST
def proposal_close(request: PersonRequest, number: int) -> HttpResponse:
    reason = request.POST.get("reason", "")
    return acted(
        request,
        number,
        lambda found: services.close_proposal(found, by=request.user, reason=reason),
        _("Closed. What it still held is free again."),
    )


@login_required
@require_POST
def proposal_clone(request: PersonRequest, number: int) -> HttpResponse:
    """A new draft with the same plan."""
    found = visible_proposal(request, number)
    try:
        clone = services.clone_proposal(found, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
        return redirect("proposal", number)
    messages.success(request, _("This is a copy at today's prices. Change what differs, then submit it."))
    return redirect("proposal-edit", clone.pk)


urlpatterns = [
    path("proposals/", proposal_list, name="proposal-list"),
    path("proposals/times/", decision_times_page, name="proposal-times"),
    path("proposals/new/", proposal_new, name="proposal-new"),
    path("proposals/preview/<slug:slug>/", proposal_preview, name="proposal-preview"),
    path("proposals/<int:number>/", decisions.proposal, name="proposal"),
    path("proposals/<int:number>/decide/", decisions.decide, name="proposal-decide"),
    path("proposals/<int:number>/edit/", proposal_edit, name="proposal-edit"),
    path("proposals/<int:number>/submit/", proposal_submit, name="proposal-submit"),
    path("proposals/<int:number>/withdraw/", proposal_withdraw, name="proposal-withdraw"),
    path("proposals/<int:number>/close/", proposal_close, name="proposal-close"),
    path("proposals/<int:number>/clone/", proposal_clone, name="proposal-clone"),
]
