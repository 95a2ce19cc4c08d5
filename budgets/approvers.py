"""Who may decide a step of a proposal: the role, someone it was delegated to, or the next role where it is late."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db.models import Exists, OuterRef, Q, QuerySet

from teams import permissions
from teams.models import Membership, Role, User

from .models import ApprovalStep, Delegation, Proposal, ProposalVersion

NEXT_ROLE = {Role.MANAGER: Role.DIRECTOR, Role.DIRECTOR: Role.FINANCE, Role.FINANCE: Role.DIRECTOR}
"""Who is told, and may decide, when a step is late or nobody else is there to decide it."""


@dataclass(frozen=True)
class Authority:
    """On what ground someone may decide a step; `delegation` where it is in another's place."""

    delegation: Delegation | None = None


def roles_for(step: ApprovalStep) -> list[str]:
    """The role of the step and, where it is late or nobody holds that role, the next one."""
    return [step.role, *([NEXT_ROLE[Role(step.role)]] if step.escalated_at else [])]


def requesters(version: ProposalVersion) -> set[int]:
    """Those who asked and therefore never decide."""
    return {version.proposal.requester_id, *([version.submitted_by_id] if version.submitted_by_id else [])}


def authority(step: ApprovalStep, user: User, today: date) -> Authority | None:
    """Why the person may decide the step; None: may not."""
    team = step.version.proposal.project.team
    if user.pk in requesters(step.version) or not user.is_active:
        return None
    roles = roles_for(step)
    if any(permissions.has_role(user, role, team) for role in roles):
        return Authority()
    for delegation in delegations_of(user, today).filter(Q(team__isnull=True) | Q(team=team), role__in=roles):
        giver = delegation.giver
        if giver.pk not in requesters(step.version) and permissions.has_role(giver, delegation.role, team):
            return Authority(delegation)
    return None


def delegations_of(user: User, today: date) -> QuerySet[Delegation]:
    """What others have delegated to the person, in force on a day."""
    return (
        Delegation.objects.filter(receiver=user, starts_on__lte=today, ends_on__gt=today)
        .select_related("giver")
        .prefetch_related("giver__memberships")
        .order_by("id")
    )


def can_anyone_decide(role: str, proposal: Proposal, submitter: User) -> bool:
    """Is there anyone with the role, apart from who asks?"""
    people = permissions.people_with_role(role, proposal.project.team)
    return people.exclude(pk__in=[proposal.requester_id, submitter.pk]).exists()


def deciders(step: ApprovalStep, today: date) -> QuerySet[User]:
    """Everyone who may decide the step now."""
    team = step.version.proposal.project.team
    roles = roles_for(step)
    of_team = Q(team__isnull=True) | Q(team=team)
    holders = Membership.objects.filter(of_team, role__in=roles)
    receivers = Delegation.objects.filter(of_team, role__in=roles, starts_on__lte=today, ends_on__gt=today).filter(
        giver__in=holders.values("user")
    )
    return (
        User.objects.filter(Q(pk__in=holders.values("user")) | Q(pk__in=receivers.values("receiver")), is_active=True)
        .exclude(pk__in=requesters(step.version))
        .order_by("pk")
    )


def current_steps() -> QuerySet[ApprovalStep]:
    """Of every submitted version the step whose turn it is."""
    earlier = ApprovalStep.objects.filter(
        version=OuterRef("version"), number__lt=OuterRef("number"), state=ApprovalStep.State.WAITING
    )
    return ApprovalStep.objects.filter(
        ~Exists(earlier),
        state=ApprovalStep.State.WAITING,
        version__state=ProposalVersion.State.SUBMITTED,
    )


def steps_for(user: User, today: date) -> QuerySet[ApprovalStep]:
    """The steps that wait for this person."""
    mine = Q(pk__in=[])
    held = user.memberships.all()
    for role, next_role in NEXT_ROLE.items():
        for membership in held:
            here = Q(version__proposal__project__team=membership.team_id) if membership.team_id else Q()
            if membership.role == role:
                mine |= Q(role=role) & here
            if membership.role == next_role:
                mine |= Q(role=role, escalated_at__isnull=False) & here
    for delegation in delegations_of(user, today):
        here = Q(version__proposal__project__team=delegation.team_id) if delegation.team_id else Q()
        given = [held.team_id for held in delegation.giver.memberships.all() if held.role == delegation.role]
        theirs = Q() if None in given else Q(version__proposal__project__team__in=given)
        mine |= Q(role=delegation.role) & here & theirs & ~Q(version__proposal__requester=delegation.giver)
    return current_steps().filter(mine).exclude(version__proposal__requester=user).exclude(version__submitted_by=user)
