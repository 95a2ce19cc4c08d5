"""Writing proposals: drafts, versions, submission, withdrawal and closing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.vocabulary import TaskType
from estimates import queries as estimate_queries
from estimates import services as estimates
from estimates.hours import hours_by_month
from teams import activity, permissions
from teams.models import Project, User

from .. import messages
from ..ask import ask_at_level
from ..hours import hours_of_lines
from ..locks import lock_lines, lock_proposal
from ..models import ApprovalStep, AskHours, AskLine, BudgetLine, ClosedPromise, Entry, Proposal, ProposalVersion
from ..queries import line_statuses
from ..status import LineStatus
from . import approval, carrying
from .ledger import rates_text
from .lines import touch
from .states import move
from .steps import lay_out_steps

State = Proposal.State
WRITABLE = (State.DRAFT, State.CHANGES_REQUESTED, State.APPROVED, State.PARTLY_APPROVED)
"""States in which the plan may be edited; once approved, that makes an amendment."""


def check_may_write(proposal: Proposal, by: User) -> None:
    team = proposal.project.team
    if not permissions.may_write_plans(by, team):
        raise NotAllowed(_("Proposals of %(team)s are written by its members and managers.") % {"team": team})


@transaction.atomic
def create_proposal(
    *,
    by: User,
    project: Project,
    plan: estimate_queries.PlanDocument,
    title: str = "",
    ask_level: str = ProposalVersion.AskLevel.MEAN,
    note: str = "",
    now: datetime | None = None,
) -> Proposal:
    """A draft with its first version; the plan is estimated at the prices of today."""
    if not permissions.may_write_plans(by, project.team):
        raise NotAllowed(_("Proposals of %(team)s are written by its members and managers.") % {"team": project.team})
    if project.state != Project.State.ACTIVE:
        raise DomainError(_("%(project)s is closed; nothing new is asked for it.") % {"project": project})
    estimate = estimates.create_estimate(by=by, project=project, plan=plan, now=now)
    proposal = Proposal.objects.create(
        project=project,
        requester=by,
        title=title.strip() or estimate.name,
        task_type=task_type_of(estimate.plan),
        created_at=now or timezone.now(),
    )
    ProposalVersion.objects.create(
        proposal=proposal, number=1, estimate=estimate, currency=estimate.currency, ask_level=ask_level, note=note
    )
    activity.record("proposal.created", by=by, project=project, subject=proposal, title=proposal.title)
    return proposal


def task_type_of(plan: Mapping[str, object]) -> str:
    task = str(plan.get("task", ""))
    return task if task in list(TaskType) else TaskType.OTHER


@transaction.atomic
def save_plan(
    proposal: Proposal,
    *,
    by: User,
    plan: estimate_queries.PlanDocument,
    title: str | None = None,
    ask_level: str | None = None,
    note: str | None = None,
    now: datetime | None = None,
) -> ProposalVersion:
    """Change the draft version; where the last one was submitted already, this begins the next."""
    locked = lock_proposal(proposal.pk)
    check_may_write(locked, by)
    if locked.state not in WRITABLE:
        raise DomainError(
            _("%(proposal)s is %(state)s and cannot be edited. Withdraw it, or clone it.")
            % {"proposal": locked.reference, "state": locked.get_state_display()},
            code="wrong_state",
        )
    version = open_version(locked, by=by, now=now)
    estimates.revise_estimate(version.estimate, by=by, plan=plan, now=now)
    version.estimate.refresh_from_db()
    version.currency = version.estimate.currency
    version.ask_level = ask_level or version.ask_level
    version.note = version.note if note is None else note
    version.save(update_fields=["currency", "ask_level", "note"])
    if locked.state == State.DRAFT:
        locked.task_type = task_type_of(version.estimate.plan)
    locked.title = (title or "").strip() or locked.title
    locked.save(update_fields=["title", "task_type"])
    activity.record(
        "proposal.saved", by=by, project=locked.project, subject=locked, title=locked.title, version=version.number
    )
    return version


def open_version(proposal: Proposal, *, by: User, now: datetime | None = None) -> ProposalVersion:
    """The version that may be edited: the draft there is, else a new one that starts from the last."""
    last = proposal.versions.select_related("estimate").order_by("-number")[0]
    if last.state == ProposalVersion.State.DRAFT:
        return last
    if last.state == ProposalVersion.State.SUBMITTED:
        raise DomainError(_("Version %(number)s waits for its decision.") % {"number": last.number}, code="wrong_state")
    estimate = estimates.clone_estimate(last.estimate, by=by, now=now)
    return ProposalVersion.objects.create(
        proposal=proposal,
        number=last.number + 1,
        estimate=estimate,
        currency=estimate.currency,
        ask_level=last.ask_level,
        note=last.note,
    )


@transaction.atomic
def clone_proposal(
    proposal: Proposal, *, by: User, project: Project | None = None, now: datetime | None = None
) -> Proposal:
    """A new draft with the same plan, in the same project or another of one's own, at the prices of today."""
    if not Proposal.objects.visible_to(by).filter(pk=proposal.pk).exists():
        raise DomainError(_("There is no such proposal."), code="not_found")
    last = proposal.versions.select_related("estimate").order_by("-number")[0]
    clone = create_proposal(
        by=by,
        project=project or proposal.project,
        plan=last.estimate.plan,
        title=_("%(title)s (copy)") % {"title": proposal.title},
        ask_level=last.ask_level,
        now=now,
    )
    clone.cloned_from = proposal
    clone.save(update_fields=["cloned_from"])
    return clone


@transaction.atomic
def submit_proposal(proposal: Proposal, *, by: User, now: datetime | None = None) -> ProposalVersion:
    """Ask for the money: the estimate is frozen, the ask written down, and the steps of the matrix laid out."""
    moment = now or timezone.now()
    locked = lock_proposal(proposal.pk)
    check_may_write(locked, by)
    version = locked.versions.select_related("estimate").order_by("-number")[0]
    if version.state != ProposalVersion.State.DRAFT:
        raise DomainError(
            _("Nothing was changed since version %(number)s. Edit the plan, then submit.") % {"number": version.number},
            code="nothing_to_submit",
        )
    if locked.state in (State.DRAFT, State.CHANGES_REQUESTED):
        move(locked, State.SUBMITTED)
    elif locked.state not in (State.APPROVED, State.PARTLY_APPROVED):
        move(locked, State.SUBMITTED)  # refuses, with the state
    if version.currency != locked.project.currency:
        raise DomainError(
            _("The plan is in %(plan)s, the project keeps its budget in %(project)s. Plan in the project's currency.")
            % {"plan": version.currency, "project": locked.project.currency},
            faults=[Fault("currency", version.currency, _("is not the project's currency"), locked.project.currency)],
        )
    version.estimate = estimates.freeze_estimate(version.estimate, by=by)
    asked = write_ask(version)
    lay_out_steps(locked, version, asked, by=by, now=moment)
    version.state = ProposalVersion.State.SUBMITTED
    version.submitted_by = by
    version.submitted_at = moment
    version.save()
    activity.record(
        "proposal.submitted",
        by=by,
        project=locked.project,
        subject=locked,
        title=locked.title,
        version=version.number,
        ask=version.ask_total,
        currency=version.currency,
    )
    if not approval.approve_by_itself(version, now=moment):
        messages.tell_approvers(version)
    return version


def write_ask(version: ProposalVersion) -> dict[str, Decimal]:
    """Keep what is asked by category and month, and the accelerator-hours of it; answers what is asked by category."""
    parts = estimate_queries.ask_by_line_and_month(version.estimate)
    asked = ask_at_level(parts, version.estimate.answer, version.ask_level, version.currency)
    if not asked:
        raise DomainError(_("This plan costs nothing; there is nothing to ask for."), code="nothing_to_submit")
    AskLine.objects.bulk_create(
        AskLine(version=version, category=str(category), month=month.start, amount=amount)
        for (category, month), amount in sorted(asked.items(), key=lambda item: (str(item[0][0]), item[0][1]))
    )
    estimate = version.estimate
    hours = hours_by_month(estimate.answer, estimate.plan, estimate_queries.accelerator_book())
    AskHours.objects.bulk_create(
        AskHours(version=version, accelerator=accelerator, month=month.start, **asdict(each))
        for (accelerator, month), each in sorted(hours.items())
    )
    version.ask_total = sum(asked.values(), Decimal(0))
    by_category: dict[str, Decimal] = {}
    for (category, _month), amount in asked.items():
        by_category[str(category)] = by_category.get(str(category), Decimal(0)) + amount
    return by_category


@transaction.atomic
def withdraw_proposal(proposal: Proposal, *, by: User, reason: str = "") -> None:
    """Take back what is not decided yet. An amendment is withdrawn alone; the approved version stays."""
    locked = lock_proposal(proposal.pk)
    check_may_write(locked, by)
    version = locked.versions.order_by("-number")[0]
    is_amendment = locked.state in (State.APPROVED, State.PARTLY_APPROVED)
    if is_amendment and version.state not in (ProposalVersion.State.DRAFT, ProposalVersion.State.SUBMITTED):
        raise DomainError(
            _("%(proposal)s is approved. Close it when its work is done.") % {"proposal": locked.reference},
            code="wrong_state",
        )
    if not is_amendment:
        move(locked, State.WITHDRAWN)
    version.steps.filter(state=ApprovalStep.State.WAITING).update(state=ApprovalStep.State.DROPPED)
    version.state = ProposalVersion.State.WITHDRAWN
    version.save(update_fields=["state"])
    activity.record(
        "proposal.withdrawn",
        by=by,
        project=locked.project,
        subject=locked,
        title=locked.title,
        version=version.number,
        reason=reason,
    )


@transaction.atomic
def close_proposal(proposal: Proposal, *, by: User, reason: str = "", now: datetime | None = None) -> Decimal:
    """The work is done: what it still holds is released on every line. Answers how much that was."""
    moment = now or timezone.now()
    locked = lock_proposal(proposal.pk)
    if by != locked.requester and not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("A proposal is closed by who asked, managers of the team, directors and finance."))
    if locked.versions.filter(state=ProposalVersion.State.SUBMITTED).exists():
        raise DomainError(_("An amendment waits for its decision. Withdraw it first."), code="wrong_state")
    move(locked, State.CLOSED)
    lines = lock_lines(Entry.objects.filter(proposal=locked).values_list("line", flat=True))
    released = release_rest(locked, list(lines.values()), by=by, reason=reason, now=moment)
    locked.versions.filter(state=ProposalVersion.State.DRAFT).update(state=ProposalVersion.State.WITHDRAWN)
    locked.closed_at = moment
    locked.save(update_fields=["closed_at"])
    touch(lines.values())
    activity.record(
        "proposal.closed",
        by=by,
        project=locked.project,
        subject=locked,
        title=locked.title,
        released=released,
        currency=locked.project.currency,
        reason=reason,
    )
    return released


def release_rest(proposal: Proposal, lines: list[BudgetLine], *, by: User, reason: str, now: datetime) -> Decimal:
    """Write a release for what the proposal still holds on each open line, and keep what its own work cost there."""
    statuses, hours = line_statuses(lines, now=now), hours_of_lines(lines, now=now)
    ClosedPromise.objects.bulk_create(
        ClosedPromise(
            line=line,
            proposal=proposal,
            own_spent=statuses[line.pk].own.get(proposal.reference, Decimal(0)),
            own_hours=hours[line.pk].status.own.get(proposal.reference, Decimal(0)) if line.pk in hours else None,
        )
        for line in lines
    )
    common = {"by": by, "at": now, "reason": reason or _("The proposal was closed.")}
    total = Decimal(0)
    for line in lines:
        if line.closed_at:
            continue
        total += release_on(carrying.MONEY, line, statuses[line.pk], proposal, common)
        if line.pk in hours:
            release_on(carrying.HOURS, line, hours[line.pk].status, proposal, common)
    return total


def release_on(
    book: carrying.Book, line: BudgetLine, status: LineStatus, proposal: Proposal, common: Mapping[str, object]
) -> Decimal:
    """Release what the proposal still holds in one ledger of a line; answers how much that was."""
    rest = carrying.remaining_promises(status).get(proposal.reference, Decimal(0))
    if rest and status.rates_missing:
        raise DomainError(
            _("What is left on %(line)s is not known: finance has to store the rate %(rates)s.")
            % {"line": line, "rates": rates_text(line, status.rates_missing)},
            code="rate_missing",
        )
    return carrying.release(book, line, proposal.reference, rest, common) if rest else rest
