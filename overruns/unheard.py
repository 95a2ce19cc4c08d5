"""Budgets whose warnings reach nobody who works on them: said on their lines, and to finance once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse

from budgets.models import BudgetLine, Proposal
from teams import notifications, permissions
from teams.models import Membership, Organisation, Project, Role, Webhook

from .models import Episode

LOCK_OF_LISTENERS = 724_103


def unheard_projects() -> QuerySet[Project]:
    """Projects without an active manager or member in their team, without open work of an active person, and without a
    webhook. Finance alone would hear of them."""
    people = Membership.objects.filter(
        team=OuterRef("team"), role__in=[Role.MANAGER, Role.MEMBER], user__is_active=True
    )
    webhooks = Webhook.objects.active().filter(Q(team=OuterRef("team")) | Q(team__isnull=True))
    at_work = Proposal.objects.filter(project=OuterRef("pk"), closed_at__isnull=True, requester__is_active=True)
    return Project.objects.active().exclude(Exists(people) | Exists(webhooks) | Exists(at_work))


def is_unheard(project: Project) -> bool:
    return unheard_projects().filter(pk=project.pk).exists()


@transaction.atomic
def watch_listeners(*, now: datetime) -> list[Episode]:
    """Notice projects with open lines that nobody hears of any more, and tell finance once; end what is heard again.

    Two watches at once wait for each other.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_OF_LISTENERS])
    today = Organisation.current().today(now)
    with_lines = BudgetLine.objects.open().filter(project=OuterRef("pk"), start__lte=today, end__gt=today)
    projects = list(unheard_projects().filter(Exists(with_lines)).select_related("team").order_by("pk"))
    lasting = Episode.objects.filter(kind=Episode.Kind.UNHEARD, ended_at__isnull=True)
    lasting.exclude(project__in=projects).update(ended_at=now, last_day=today)
    known = set(lasting.values_list("project", flat=True))
    begun = []
    for project in projects:
        if project.pk not in known:
            about = {"kind": Episode.Kind.UNHEARD, "project": project, "first_day": today}
            episode, is_new = Episode.objects.get_or_create(
                **about, defaults={"last_day": today, "value": 0, "expected": 0, "noticed_at": now}
            )
            if is_new:
                begun.append(episode)
            else:
                Episode.objects.filter(pk=episode.pk).update(ended_at=None)
    tell(begun)
    return begun


def tell(begun: Iterable[Episode]) -> None:
    people = list(permissions.people_with_role(Role.FINANCE))
    notifications.notify_all(
        notifications.Word(
            people=people,
            kind="project_unheard",
            project=episode.project,
            url=reverse("project", args=[episode.project.slug]),
            email=True,
            facts={"team": str(episode.project.team)},
        )
        for episode in begun
        if episode.project is not None
    )
