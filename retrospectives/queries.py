"""Questions about retrospectives."""

from __future__ import annotations

from django.db.models import Count, F, Q, QuerySet

from teams.models import User

from .models import Retrospective


def retrospectives_of(user: User) -> QuerySet[Retrospective]:
    """What the person may see, open ones first, each with how many of its actions are done."""
    return (
        Retrospective.objects.visible_to(user)
        .select_related("project__team", "crossing__flag__line", "proposal", "owner")
        .annotate(actions_all=Count("actions"), actions_done=Count("actions", filter=Q(actions__done_at__isnull=False)))
        .order_by(F("closed_at").desc(nulls_first=True), "due_on", "id")
    )
