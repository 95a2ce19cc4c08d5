"""Budget lines whose cost is not known any more: told once, closed when usage comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.urls import reverse

from budgets.actuals import sources_of_lines
from budgets.models import BudgetLine
from core.vocabulary import Category
from teams import notifications, permissions
from teams.models import Organisation, Project, Role, User
from usage.models import Source

from .models import LineSilence
from .outlook import newest_usage

LOCK_OF_SILENCE = 724_101
STALE = timedelta(hours=48)
"""A source without an expectation of its own is silent for a line after this."""


@transaction.atomic
def watch_lines(*, now: datetime) -> list[LineSilence]:
    """Notice the running lines of which nothing is known any more, and tell their teams; close what has ended.

    Two watches at once wait for each other, so that nobody is told twice; decisions on the lines do not wait.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_OF_SILENCE])
    today = Organisation.current().today(now)
    running = BudgetLine.objects.open().filter(start__lte=today, end__gt=today).exclude(category=Category.CONTINGENCY)
    lines = list(running.select_related("project__team").order_by("pk"))
    known_until = silent_lines([line.pk for line in lines], now)
    lasting = {silence.line_id: silence for silence in LineSilence.objects.open()}
    ended = [silence.pk for line, silence in lasting.items() if line not in known_until]
    LineSilence.objects.filter(pk__in=ended).update(ended_at=now)
    begun = [
        LineSilence(line=line, known_until=known_until[line.pk], noticed_at=now)
        for line in lines
        if line.pk in known_until and line.pk not in lasting
    ]
    LineSilence.objects.bulk_create(begun)
    tell(begun)
    return begun


def silent_lines(line_ids: Sequence[int], now: datetime) -> dict[int, datetime]:
    """Of these lines, those that a silent source feeds, and until when their cost is known."""
    newest, patience = newest_usage(), patience_of_sources()
    found: dict[int, datetime] = {}
    for line, source in sources_of_lines(line_ids):
        last = newest.get(source)
        if last is not None and now - last > patience.get(source, STALE):
            found[line] = min(found.get(line, last), last)
    return found


def patience_of_sources() -> Mapping[int, timedelta]:
    """How long each source may be behind: as it is expected, but 48 hours at least."""
    rows = Source.objects.filter(silent_after_hours__isnull=False).values_list("pk", "silent_after_hours")
    return {source: max(STALE, timedelta(hours=hours or 0)) for source, hours in rows}


def tell(begun: Iterable[LineSilence]) -> None:
    """One notification and one e-mail a person and project, whatever the number of its lines."""
    by_project: dict[Project, list[LineSilence]] = defaultdict(list)
    for silence in begun:
        by_project[silence.line.project].append(silence)
    notifications.notify_all(
        notifications.Word(
            people=people_of(project),
            kind="lines_silent",
            project=project,
            url=reverse("project", args=[project.slug]),
            email=True,
            is_warning=True,
            facts={
                "categories": sorted({silence.line.category for silence in silences}),
                "known_until": min(silence.known_until for silence in silences).strftime("%Y-%m-%d %H:%M UTC"),
            },
        )
        for project, silences in by_project.items()
    )


def people_of(project: Project) -> list[User]:
    """The team's managers; where it has none, its members."""
    managers = list(permissions.people_with_role(Role.MANAGER, project.team))
    return managers or list(permissions.people_with_role(Role.MEMBER, project.team))
