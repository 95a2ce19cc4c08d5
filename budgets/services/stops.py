"""Saying that no job of a project may start, and lifting that."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import Project, User

from ..models import Stop


def stop_jobs(project: Project, *, job: str, reason: str, now: datetime) -> Stop:
    """From now on the project's jobs, or one of them, hear no. The product itself does this."""
    stop = Stop.objects.create(project=project, job=job, reason=reason, at=now)
    activity.record("jobs.stopped", by=None, project=project, subject=project, reason=reason, job=job)
    return stop


@transaction.atomic
def release_stop(stop: Stop, *, by: User, reason: str, now: datetime) -> Stop:
    """Jobs may start again; a manager of the team, a director or finance says why."""
    locked = Stop.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=stop.pk)
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("Stops are lifted by managers of the team, directors and finance."))
    if locked.released_at:
        raise DomainError(_("This stop is lifted already."), code="wrong_state")
    if not reason.strip():
        raise DomainError(
            _("Say why jobs may start again."),
            faults=[Fault("reason", reason, _("is missing"), _("a sentence that others understand"))],
        )
    locked.released_at, locked.released_by, locked.release_reason = now, by, reason.strip()
    locked.save()
    activity.record("jobs.released", by=by, project=locked.project, subject=locked.project, reason=reason.strip())
    return locked
