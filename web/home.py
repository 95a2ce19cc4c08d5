"""The first page: what waits for this person, what stands out, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TypeVar

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, F, Model, OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _

from budgets import queries as budget_queries
from budgets.models import BudgetLine, Proposal, ProposalVersion
from core.money import exact_sum
from overruns import queries as overrun_queries
from overruns.models import Flag
from retrospectives.models import Retrospective
from teams import permissions
from teams.models import Activity, Organisation, Project, ProjectQuerySet, Role, User
from usage.models import Import, Silence
from web.activity import latest_lines
from web.requests import PersonRequest
from web.waiting import waiting_for

Row = TypeVar("Row", bound=Model)
LENGTH = 6
"""How many of anything the first page shows; the whole list is one click away."""


@dataclass(frozen=True)
class ProjectRow:
    """A project with its budget lines of today as one bar."""

    project: Project
    budget: Decimal
    actual: Decimal
    committed: Decimal
    has_lines: bool
    kind: str
    word: str

    @property
    def headroom(self) -> Decimal:
        return self.budget - self.actual - self.committed


@dataclass(frozen=True)
class Step:
    """One of the first things to do in a fresh installation."""

    title: str
    text: str
    done: bool
    page: str
    label: str


@login_required
def home(request: PersonRequest) -> HttpResponse:
    user, today = request.user, Organisation.current().today(timezone.now())
    visible = Project.objects.visible_to(user)
    doors = what_may(user)
    flags = list(overrun_queries.open_flags(user)[:LENGTH])
    projects = project_rows(visible, today)
    proposals = budget_queries.proposals_waiting_for(user).select_related("project__team", "requester")
    waiting, counts = list(proposals[:LENGTH]), waiting_for(request)
    retrospectives = Retrospective.objects.visible_to(user).filter(state=Retrospective.State.OPEN)
    words = {
        "waiting": with_ask(waiting),
        "waiting_count": counts.decisions,
        "drafts": drafts_of(user),
        "flags": flags,
        "flag_count": counts.flags,
        "projects": projects,
        "project_count": visible.active().count() if len(projects) == LENGTH else len(projects),
        "retrospectives": retrospectives.select_related("project")[:LENGTH],
        "lines": latest_lines(Activity.objects.visible_to(user), LENGTH),
        "imports": Import.objects.select_related("source")[:LENGTH] if doors["may_import"] else [],
        "silences": Silence.objects.open().select_related("source")[:LENGTH] if doors["may_import"] else [],
        "steps": first_steps(visible),
        **doors,
    }
    return render(request, "web/home/home.html", words)


def what_may(user: User) -> dict[str, bool]:
    """Which doors the page offers to this person."""
    roles = {membership.role for membership in user.memberships.all()}
    return {
        "has_role": bool(roles) or user.is_superuser,
        "may_write": bool(roles & {Role.MEMBER, Role.MANAGER}),
        "may_approve": bool(roles & {Role.MANAGER, Role.DIRECTOR, Role.FINANCE}),
        "may_import": permissions.may_import_usage(user),
        "may_keep_prices": permissions.may_keep_prices(user),
        "may_open_projects": bool(roles & {Role.MANAGER, Role.FINANCE}),
    }


def with_ask(proposals: Iterable[Proposal]) -> list[tuple[Proposal, ProposalVersion | None]]:
    """Each proposal with the version that is being decided."""
    found = list(proposals)
    submitted = ProposalVersion.objects.filter(proposal__in=found, state=ProposalVersion.State.SUBMITTED)
    versions = {version.proposal_id: version for version in submitted}
    return [(proposal, versions.get(proposal.pk)) for proposal in found]


def drafts_of(user: User) -> list[Proposal]:
    """The person's own proposals that are still to be finished."""
    unfinished = (Proposal.State.DRAFT, Proposal.State.CHANGES_REQUESTED)
    return list(Proposal.objects.filter(requester=user, state__in=unfinished).select_related("project")[:LENGTH])


def project_rows(visible: ProjectQuerySet, today: date) -> list[ProjectRow]:
    """The projects to look at first: flagged ones, then those where something happened last."""
    standing = Flag.objects.standing().filter(line__project=OuterRef("pk"))
    latest = Activity.objects.filter(project=OuterRef("pk")).order_by("-at").values("at")[:1]
    projects = list(
        visible.active()
        .select_related("team")
        .annotate(flagged=Exists(standing), latest=Subquery(latest))
        .order_by("-flagged", F("latest").desc(nulls_last=True), "name")[:LENGTH]
    )
    current = list(BudgetLine.objects.filter(project__in=projects, start__lte=today, end__gt=today))
    statuses = budget_queries.line_statuses(current)
    flags = list(Flag.objects.filter(line__in=current).standing().select_related("threshold", "line"))
    rows = []
    for project in projects:
        own = [statuses[line.pk] for line in current if line.project_id == project.pk]
        kind, word = standing_of([flag for flag in flags if flag.line.project_id == project.pk], bool(own))
        rows.append(
            ProjectRow(
                project=project,
                budget=exact_sum([status.budget for status in own]),
                actual=exact_sum([status.actual for status in own]),
                committed=exact_sum([status.committed for status in own]),
                has_lines=bool(own),
                kind=kind,
                word=word,
            )
        )
    return rows


def standing_of(flags: list[Flag], has_lines: bool) -> tuple[str, str]:
    """The worst thing that can be said of a project, as a state."""
    if any(flag.is_overrun for flag in flags):
        return "over", _("overrun")
    if any(flag.threshold.basis == "forecast" for flag in flags):
        return "warn", _("forecast past limit")
    if flags:
        return "warn", _("warning line passed")
    return ("ok", _("on track")) if has_lines else ("", _("no budget yet"))


def first_steps(visible: ProjectQuerySet) -> list[Step]:
    """The loop as a list of things to do, until each was done once; then nothing."""
    opened, planned, funded, metered = Organisation.objects.values_list(
        Exists(visible),
        Exists(Proposal.objects.filter(project__in=visible)),
        Exists(BudgetLine.objects.filter(project__in=visible)),
        Exists(Import.objects.filter(status=Import.Status.LIVE)),
    )[0]
    steps = [
        Step(
            _("Open a project"),
            _("A manager or finance opens it: a team, a currency, a task type."),
            opened,
            "project-list",
            _("Projects"),
        ),
        Step(
            _("Write a training plan"),
            _("The estimate stands beside the form and follows what you type. Then submit it as a proposal."),
            planned,
            "proposal-new",
            _("New proposal"),
        ),
        Step(
            _("Decide it"),
            _("Managers approve all or part. The money is committed on the budget lines."),
            funded,
            "proposal-list",
            _("Proposals"),
        ),
        Step(
            _("Import usage"),
            _("A bill or a job log; each row finds its project by the allocation rules."),
            metered,
            "import-list",
            _("Imports"),
        ),
    ]
    return [] if all(step.done for step in steps) else steps


urlpatterns = [path("", home, name="home")]
