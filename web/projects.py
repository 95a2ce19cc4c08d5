"""Projects: the list, a new one, and the page that shows how one stands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from budgets.models import BudgetLine, ProposalVersion, Stop
from core.errors import DomainError
from core.months import Month
from overruns.models import Flag, LineSilence
from teams import labels, permissions
from teams import services as team_services
from teams.models import CURRENCY_CHOICES, Activity, CostCentre, Organisation, Project, Role, Team, User
from usage.ended import ended_of_project, lost_of
from web import lines as line_pages
from web.activity import latest_lines
from web.forms import refuse
from web.line_rows import LineRow, burn_of, flag_state, line_rows, total_of
from web.requests import PersonRequest

PAGE_LENGTH = 25
HAPPENED = 6
MONTHS_OF_JOBS = 3


class ProjectFilter(forms.Form):
    """What the list shows."""

    search = forms.CharField(label=gettext_lazy("Name"), required=False)
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("all teams")
    )
    state = forms.ChoiceField(
        label=gettext_lazy("State"),
        required=False,
        choices=[("", gettext_lazy("active")), ("closed", gettext_lazy("closed"))],
    )

    def __init__(self, data: Any, *, user: User) -> None:
        super().__init__(data)
        self.fields["team"].queryset = Team.objects.filter(projects__in=Project.objects.visible_to(user)).distinct()  # type: ignore[attr-defined]


@login_required
def project_list(request: PersonRequest) -> HttpResponse:
    """The projects one may see, each with its lines of today as one bar."""
    form = ProjectFilter(request.GET, user=request.user)
    chosen = form.cleaned_data if form.is_valid() else {}
    projects = Project.objects.visible_to(request.user).select_related("team")
    projects = projects.filter(state=chosen.get("state") or Project.State.ACTIVE)
    if chosen.get("team"):
        projects = projects.filter(team=chosen["team"])
    if chosen.get("search"):
        projects = projects.filter(Q(name__icontains=chosen["search"]) | Q(slug__icontains=chosen["search"]))
    page = Paginator(projects, PAGE_LENGTH).get_page(request.GET.get("page"))
    words = {
        "form": form,
        "page": page,
        "rows": project_rows(list(page.object_list)),
        "filtered": any(chosen.values()),
        "may_open": may_open_any(request.user),
    }
    return render(request, "web/projects/list.html", words)


def project_rows(projects: Sequence[Project]) -> list[dict[str, Any]]:
    """Each project with the total of its lines that run today, and its worst flag."""
    today = Organisation.current().today(timezone.now())
    current = list(BudgetLine.objects.filter(project__in=projects, start__lte=today, end__gt=today))
    rows = line_rows(current)
    rest = list(BudgetLine.objects.filter(project__in=projects).values_list("project", flat=True).distinct())
    found = []
    for project in projects:
        own = [row for row in rows if row.line.project_id == project.pk]
        found.append(
            {
                "project": project,
                "total": total_of(own, project.currency) if own else None,
                "state": project_state(own, has_lines=project.pk in rest),
            }
        )
    return found


def project_state(rows: Sequence[LineRow], *, has_lines: bool) -> tuple[str, str]:
    flags = [flag for row in rows for flag in row.flags[:1]]
    if flags:
        return flag_state(min(flags, key=lambda flag: (not flag.is_overrun, flag.threshold.basis == "forecast")))
    if rows:
        return "ok", _("on track")
    return "", _("no line runs today") if has_lines else _("no budget yet")


def may_open_any(user: User) -> bool:
    return any(membership.role in (Role.MANAGER, Role.FINANCE) for membership in user.memberships.all())


class ProjectForm(forms.Form):
    """What a project is."""

    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Team"), empty_label=None)
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    currency = forms.ChoiceField(
        label=gettext_lazy("Currency"),
        choices=CURRENCY_CHOICES,
        help_text=gettext_lazy("Plans, asks and budget lines of the project are kept in it. It stays."),
    )
    task_type = forms.ChoiceField(label=gettext_lazy("Main task"), choices=labels.choices(labels.TASK_TYPES))
    cost_centre = forms.ModelChoiceField(
        CostCentre.objects.all(), label=gettext_lazy("Cost centre"), required=False, empty_label="–"
    )
    starts_on = forms.DateField(
        label=gettext_lazy("Starts on"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    ends_on = forms.DateField(
        label=gettext_lazy("Ends before"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )

    def __init__(self, *arguments: Any, user: User, **options: Any) -> None:
        super().__init__(*arguments, **options)
        mine = Team.objects.all()
        if not permissions.has_role(user, Role.FINANCE):
            mine = mine.filter(memberships__user=user, memberships__role=Role.MANAGER).distinct()
        self.fields["team"].queryset = mine  # type: ignore[attr-defined]


@login_required
def project_new(request: PersonRequest) -> HttpResponse:
    """Open a project."""
    if not may_open_any(request.user):
        messages.error(request, _("A manager of your team, or finance, opens projects."))
        return redirect("project-list")
    start = {"currency": Organisation.current().currency}
    form = ProjectForm(request.POST or None, user=request.user, initial=start)
    if request.method == "POST" and form.is_valid():
        try:
            project = team_services.open_project(by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The project is open. Write its first plan, or open a budget line."))
            return redirect("project", project.slug)
    return render(request, "web/projects/new.html", {"form": form})


@login_required
def project(request: PersonRequest, slug: str) -> HttpResponse:
    """How one project stands: figures, the worst warning, its lines, the burn of one of them, what happened."""
    found = get_object_or_404(Project.objects.visible_to(request.user).select_related("team", "cost_centre"), slug=slug)
    now = timezone.now()
    today = Organisation.current().today(now)
    lines = list(found.lines.all())
    running = [line for line in lines if line.end > today and line.closed_at is None] or lines
    shown = lines if request.GET.get("periods") == "all" else running
    rows = line_rows(shown)
    chosen = chosen_row(rows, request.GET.get("line", ""))
    burn, outlook = burn_of(chosen, now=now) if chosen else (None, None)
    since = (Month.of(today) + -(MONTHS_OF_JOBS - 1)).start
    ended = ended_of_project(found, since, today + timedelta(days=1))
    words = {
        "project": found,
        "rows": rows,
        "hidden": len(lines) - len(shown),
        "total": total_of(rows, found.currency),
        "chosen": chosen,
        "burn": burn,
        "runs_out": outlook.passes(chosen.status.budget) if outlook and chosen else None,
        "notice": worst_notice(rows),
        "stops": Stop.objects.in_force().filter(project=found),
        "silence": LineSilence.objects.open().filter(line__project=found).order_by("known_until").first(),
        "asked": asked_of(found),
        "ended": ended,
        "ended_since": since,
        "lost": lost_of(ended),
        "said": latest_lines(Activity.objects.filter(project=found), HAPPENED),
        "missing": sorted({f"{currency} {month}" for row in rows for month, currency in row.status.rates_missing}),
        **what_may(request.user, found),
    }
    return render(request, "web/projects/project.html", words)


def chosen_row(rows: Sequence[LineRow], wanted: str) -> LineRow | None:
    """The line whose burn is shown: the one asked for, else the one with the worst flag, else the greatest."""
    asked = [row for row in rows if str(row.line.pk) == wanted]
    if asked or not rows:
        return asked[0] if asked else None
    return max(rows, key=lambda row: (bool(row.flags) and row.flags[0].is_overrun, bool(row.flags), row.status.budget))


def worst_notice(rows: Sequence[LineRow]) -> Flag | None:
    """The warning that most needs an answer."""
    flags = [flag for row in rows for flag in row.flags if flag.state == Flag.State.ABOVE]
    by_line = {row.line.pk: row.line for row in rows}
    for flag in flags:
        flag.line = by_line[flag.line_id]
    order = sorted(flags, key=lambda flag: (not flag.is_overrun, flag.threshold.basis == "forecast", -flag.value))
    return order[0] if order else None


def asked_of(found: Project) -> dict[str, Any]:
    """What is asked for and not decided yet."""
    versions = ProposalVersion.objects.filter(proposal__project=found, state=ProposalVersion.State.SUBMITTED)
    amounts = [version.ask_total or 0 for version in versions]
    return {"count": len(amounts), "total": sum(amounts)}


def what_may(user: User, found: Project) -> dict[str, bool]:
    """Which doors the page offers to this person."""
    return {
        "may_write": permissions.may_write_plans(user, found.team),
        "may_fund": permissions.may_fund(user, found.team),
        "may_transfer": permissions.may_transfer(user, found.team),
        "may_import": permissions.may_import_usage(user),
    }


urlpatterns = [
    path("projects/", project_list, name="project-list"),
    path("new-project/", project_new, name="project-new"),
    path("projects/<slug:slug>/", project, name="project"),
    *line_pages.urlpatterns,
]
