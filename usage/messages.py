"""What people are told about usage."""

from __future__ import annotations

from django.urls import reverse

from teams import notifications, permissions
from teams.models import Role, User

from . import changes
from .models import Import


def tell_of_restatement(delivery: Import) -> None:
    """Finance and operators hear of a delivery that changed months whose books are closed."""
    months = changes.closed_months_of(delivery)
    if not months:
        return
    notifications.notify(
        listeners(),
        kind="month_restated",
        url=f"{reverse('restatement-list')}?month={months[0]}",
        email=True,
        source=delivery.source.name,
        file=delivery.name,
        months=", ".join(str(month) for month in months),
    )


def listeners() -> list[User]:
    """Who answers for the books, and who answers for the sources."""
    people = permissions.people_with_role(Role.FINANCE) | permissions.people_with_role(Role.OPERATOR)
    return list(people.distinct())
