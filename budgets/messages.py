"""What people are told about proposals."""

from __future__ import annotations

from decimal import Decimal

from django.urls import reverse
from django.utils import timezone

from teams import notifications
from teams.models import Organisation, User

from .approvers import current_steps, deciders
from .models import Decision, ProposalVersion


def tell_approvers(version: ProposalVersion) -> None:
    """Whoever may decide the step whose turn it is."""
    step = current_steps().filter(version=version).select_related("version__proposal__project__team").first()
    if step is None:
        return
    today = Organisation.current().today(timezone.now())
    notifications.notify(
        deciders(step, today),
        kind="proposal_waiting",
        project=version.proposal.project,
        url=address(version),
        email=True,
        title=version.proposal.title,
        reference=version.proposal.reference,
        version=version.number,
        ask=version.ask_total,
        currency=version.currency,
        requester=str(version.proposal.requester),
        escalated=step.escalated_at is not None,
    )


def tell_requesters(decision: Decision) -> None:
    """Whoever asked hears what was decided, and why."""
    version = decision.step.version
    amount = sum((line.amount for line in decision.lines.all()), Decimal(0))
    notifications.notify(
        User.objects.filter(pk__in={version.proposal.requester_id, version.submitted_by_id}).exclude(pk=decision.by_id),  # type: ignore[misc]
        kind="proposal_decided",
        project=version.proposal.project,
        url=address(version),
        email=True,
        title=version.proposal.title,
        reference=version.proposal.reference,
        outcome=decision.outcome,
        amount=amount,
        ask=version.ask_total,
        currency=version.currency,
        by=str(decision.by or "Headroom"),
        reason=decision.reason,
    )


def address(version: ProposalVersion) -> str:
    return reverse("proposal", args=[version.proposal_id])
