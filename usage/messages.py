"""What people are told about usage."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.urls import reverse

from teams import notifications, permissions
from teams.models import Project, Role, User

from . import changes
from .models import Import, Reassignment


def tell_of_restatement(delivery: Import) -> None:
    """A delivery, or a booking, changed months whose books are closed."""
    found = changes.closed_cost_of(delivery)
    _tell(found, kind="month_restated", source=delivery.source.name, file=delivery.name)


def tell_of_reassignment(row: Reassignment, *, by: User, reason: str, since: datetime) -> None:
    """A decision by hand, or its reversal, moved cost of months whose books are closed."""
    if row.restates:
        _tell(changes.closed_cost_since(since), kind="month_reassigned", who=by.name, reason=reason)


def _tell(found: changes.ClosedCost, *, kind: str, **facts: Any) -> None:
    if not found.months:
        return
    notifications.notify(
        listeners(found.projects),
        kind=kind,
        url=f"{reverse('restatement-list')}?month={found.months[0]}",
        email=True,
        months=", ".join(str(month) for month in found.months),
        **facts,
    )


def listeners(projects: Iterable[Project]) -> list[User]:
    """Who answers for the books, for the sources, and for the lines of these projects."""
    people = permissions.people_with_role(Role.FINANCE) | permissions.people_with_role(Role.OPERATOR)
    for team in {project.team for project in projects}:
        people |= permissions.people_with_role(Role.MANAGER, team)
    return list(people.distinct())
