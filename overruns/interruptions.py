"""More interruptions than the mean time between failures predicts: noticed, told once an episode, ended.

In the fourteen days that a job log covers whole, the expected number is the accelerator-hours held ÷ the mean
accelerator-hours between failures: for a project those of its approved plan, else, and for a cluster, the published
median of the accelerator. It is too many when it exceeds what 99 of 100 such times stay within (Poisson), and is at
least three.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction
from django.urls import reverse

from budgets.reliability import planned_mtbf
from core.months import midnight
from estimates.engine.baselines import published_mtbf
from estimates.queries import accelerator_names
from teams import notifications, permissions
from teams.models import Organisation, Role, User
from usage.interruptions import Interruption, held_hours, interruptions, job_logs
from usage.models import Cluster

from .models import Episode
from .outlook import newest_usage
from .poisson import upper_quantile
from .silence import people_of

LOCK_OF_INTERRUPTIONS = 724_104
WINDOW = timedelta(days=14)
FEWEST = 3
SHARE = 0.99
MOST_NAMED = 5


@dataclass
class Watched:
    """A project, or a cluster of the logs, in its window: what was expected, and what happened."""

    expected: float = 0.0
    happened: list[Interruption] = field(default_factory=list)

    @property
    def allowed(self) -> int:
        return max(upper_quantile(self.expected, SHARE), FEWEST - 1)

    @property
    def is_too_many(self) -> bool:
        return len(self.happened) > self.allowed


Key = tuple[int | None, str]
"""A project and no name, or no project and the name of a cluster."""


@transaction.atomic
def watch_interruptions(*, now: datetime) -> list[Episode]:
    """Begin, prolong or end the episodes of every project and cluster; tell people of those that begin.

    Two watches wait for each other, so that nobody is told twice.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_OF_INTERRUPTIONS])
    found = watched_now()
    begun = [episode for key, watched in found.items() if watched.is_too_many for episode in take_in(key, watched, now)]
    lasting = Episode.objects.filter(kind=Episode.Kind.INTERRUPTIONS, ended_at__isnull=True)
    for episode in lasting:
        watched = found.get((episode.project_id, episode.sku))
        if watched is None or not watched.is_too_many:
            episode.ended_at = now
            episode.save(update_fields=["ended_at"])
    tell(begun)
    return begun


def watched_now() -> dict[Key, Watched]:
    """Every project and every cluster of which a job log tells, each log in its own last fourteen known days."""
    organisation, names, labels = Organisation.current(), accelerator_names(), cluster_names()
    newest = newest_usage()
    found: dict[Key, Watched] = defaultdict(Watched)
    hours: list[tuple[int | None, str, str, float]] = []
    for source in job_logs().filter(pk__in=newest):
        last = organisation.today(newest[source.pk])
        start, end = (midnight(day, organisation.zone) for day in (last - WINDOW, last))
        for (project, cluster, card), held in held_hours(source, start, end).items():
            label = labels.get((source.pk, cluster)) or labels.get((source.pk, "")) or cluster or str(source)
            hours.append((project, label, names.get("-".join(card.lower().split()), card), float(held)))
        for each in interruptions(source, start, end):
            label = labels.get((source.pk, each.cluster)) or labels.get((source.pk, "")) or each.cluster or str(source)
            for key in keys_of(each.project, label):
                found[key].happened.append(each)
    planned = planned_mtbf({project for project, *_rest in hours if project is not None})
    for project, label, accelerator, card_hours in hours:
        published = published_mtbf(accelerator)
        for key in keys_of(project, label):
            between = planned.get(project or 0, published) if key[0] else published
            found[key].expected += card_hours / between
    return found


def keys_of(project: int | None, cluster: str) -> list[Key]:
    return [(None, cluster), *([(project, "")] if project is not None else [])]


def cluster_names() -> Mapping[tuple[int, str], str]:
    """What the register calls a cluster, by its log and its name there; no name: everything that the log holds."""
    return {
        (source, name): called for source, name, called in Cluster.objects.values_list("source", "log_name", "name")
    }


def take_in(key: Key, watched: Watched, now: datetime) -> list[Episode]:
    """Prolong the episode that lasts, or one that ended unless as many came since as are too many by themselves; else
    begin one, and answer it."""
    project, cluster = key
    zone = Organisation.current().zone
    days = [each.at.astimezone(zone).date() for each in watched.happened]
    about = {"kind": Episode.Kind.INTERRUPTIONS, "project_id": project, "sku": cluster}
    episode = Episode.objects.filter(**about).order_by("-first_day").first()
    since = [day for day in days if episode is None or day > episode.last_day]
    is_new = episode is None or (episode.ended_at is not None and len(since) > watched.allowed)
    if episode is None or is_new:
        episode = Episode(**about, first_day=min(since), noticed_at=now)
    episode.last_day, episode.ended_at = max(days), None
    episode.value, episode.expected = Decimal(len(days)), Decimal(f"{watched.expected:.2f}")
    episode.movers = movers_of(watched.happened)
    episode.save()
    return [episode] if is_new else []


def movers_of(happened: Sequence[Interruption]) -> list[dict[str, str]]:
    """The nodes that more than one of the jobs had, the most frequent first; then the jobs, the newest first."""
    nodes = Counter(node for each in happened for node in set(each.nodes))
    often = [(node, count) for node, count in nodes.most_common(MOST_NAMED) if count > 1]
    jobs = list(dict.fromkeys(each.job for each in reversed(happened)))[:MOST_NAMED]
    times = Counter(each.job for each in happened)
    return [
        *({"node": node, "name": node, "amount": str(count)} for node, count in often),
        *({"job": job, "name": job, "amount": str(times[job])} for job in jobs),
    ]


def tell(begun: Iterable[Episode]) -> None:
    """A project's managers, and operators; of a cluster operators and the managers of the team that owns it."""
    notifications.notify_all(
        notifications.Word(
            people=listeners(episode),
            kind="interruptions_high",
            project=episode.project,
            url=reverse("growth-list"),
            email=True,
            is_warning=True,
            facts={
                "of": str(episode.project or episode.sku),
                "count": int(episode.value),
                "expected": episode.expected,
                "days": WINDOW.days,
                "nodes": [mover["node"] for mover in episode.movers if "node" in mover],
                "jobs": [mover["job"] for mover in episode.movers if "job" in mover],
            },
        )
        for episode in begun
    )


def listeners(episode: Episode) -> list[User]:
    people = list(permissions.people_with_role(Role.OPERATOR))
    if episode.project:
        people += people_of(episode.project)
    else:
        owned = Cluster.objects.filter(name=episode.sku, team__isnull=False).select_related("team").first()
        people += list(permissions.people_with_role(Role.MANAGER, owned.team)) if owned else []
    return list({person.pk: person for person in people}.values())
