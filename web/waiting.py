"""What waits for a person. The rail of every page shows it, and some pages too; each is counted once a request."""

from __future__ import annotations

from functools import cached_property

from django.http import HttpRequest

from budgets.queries import proposals_waiting_for
from overruns.queries import open_flags, open_guards
from teams.models import Notification, User


class Waiting:
    """How many of each kind there are."""

    def __init__(self, user: User) -> None:
        self.user = user

    @cached_property
    def decisions(self) -> int:
        return proposals_waiting_for(self.user).count()

    @cached_property
    def flags(self) -> int:
        return open_flags(self.user).count()

    @cached_property
    def warnings(self) -> int:
        """Of lines and of guards."""
        flags, guards = open_flags(self.user).order_by(), open_guards(self.user).order_by()
        return flags.values("pk").union(guards.values("pk"), all=True).count()

    @cached_property
    def unread(self) -> int:
        return Notification.objects.filter(user=self.user, read_at=None).count()


def waiting_for(request: HttpRequest) -> Waiting:
    """What waits for who reads the page, counted where it is asked for."""
    kept = getattr(request, "_waiting", None)
    if kept is None:
        kept = request._waiting = Waiting(request.user)  # type: ignore[attr-defined,arg-type]
    return kept
