"""Steps that nobody decided in time: the next role is told and may decide. Never a rejection by itself."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from teams import activity

from .. import messages
from ..approvers import current_steps
from ..locks import lock_proposal
from ..models import ApprovalStep


def escalate_late_steps(*, now: datetime) -> int:
    """Raise every step whose deadline has passed; answers how many were raised."""
    late = current_steps().filter(due_at__lte=now, escalated_at__isnull=True)
    return sum(escalate(step, now=now) for step in late.select_related("version"))


@transaction.atomic
def escalate(step: ApprovalStep, *, now: datetime) -> bool:
    """Raise one step, once."""
    proposal = lock_proposal(step.version.proposal_id)
    waiting = current_steps().filter(pk=step.pk, escalated_at__isnull=True)
    if not waiting.update(escalated_at=now):
        return False
    activity.record(
        "step.escalated", by=None, project=proposal.project, subject=proposal, title=proposal.title, step=step.number
    )
    messages.tell_approvers(step.version)
    return True
