"""Growth out of the ordinary, noticed day by day, told once an episode with what moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Sum
from django.urls import reverse

from core.money import exact_text, round_money
from core.months import Month
from teams import notifications, permissions
from teams.models import ClosedMonth, Organisation, Project, Role, User
from usage.models import DailyUsage, Source
from usage.overview import costs_of_days
from usage.reassignments import owners

from .growth import WINDOW, Excess, excesses, medians
from .models import Episode
from .outlook import newest_usage
from .silence import people_of

ZERO = Decimal(0)
LOCK_OF_GROWTH = 724_102
LOOK_BACK = 7
"""Closed days that are looked at again: a bill may be a week late."""
LEAST_MONEY = Decimal(100)
"""A day's excess below this, in the currency it was paid in, is not worth a person's time."""
MOST_MOVERS = 5

Series = tuple[int, str, str, str]
"""Project, category, SKU, and what is counted: a currency, or a unit."""


@dataclass
class Course:
    """One series by day, and by mover and day."""

    by_day: dict[date, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    by_mover: dict[str, dict[date, Decimal]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Decimal)))
    sources: set[int] = field(default_factory=set)

    def add(self, day: date, mover: str, amount: Decimal, source: int) -> None:
        self.by_day[day] += amount
        self.by_mover[mover][day] += amount
        self.sources.add(source)


@transaction.atomic
def watch_growth(*, now: datetime) -> list[Episode]:
    """Look at the last closed days of every series; tell people of episodes that begin. Two watches wait for each
    other, so that nobody is told twice."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_OF_GROWTH])
    organisation = Organisation.current()
    known = {source: organisation.today(moment) for source, moment in newest_usage().items()}
    since = organisation.today(now) - WINDOW - timedelta(days=2 * LOOK_BACK)
    begun: list[Episode] = []
    for kind, courses in (("money", money_courses(since)), ("quantity", quantity_courses(since))):
        for series, course in courses.items():
            days = [known[source] for source in course.sources if source in known]
            if len(days) == len(course.sources):
                begun += take_in(kind, series, course, known_until=min(days), now=now)
    begun += watch_shares(now=now)
    tell(begun)
    return begun


def money_courses(since: date) -> dict[Series, Course]:
    bearing = Source.objects.filter(part_of__isnull=True).exclude(money__in=["none", ""])
    rows = DailyUsage.objects.filter(day__gte=since, project__isnull=False, meter__source__in=bearing)
    rows = rows.exclude(currency="")
    return courses_of(rows, "currency", "effective")


def quantity_courses(since: date) -> dict[Series, Course]:
    """Quantities of meters that say their unit; those that count money are left to the money."""
    rows = DailyUsage.objects.filter(day__gte=since, project__isnull=False, quantity__gt=0).exclude(meter__unit="")
    return courses_of(rows, "meter__unit", "quantity")


def courses_of(rows: Any, counted: str, amount: str) -> dict[Series, Course]:
    keys = ("project_id", "category", "meter__sku", counted, "meter__source_id", "day")
    named = ("meter__account", "meter__service", "meter__region", "task_type")
    found: dict[Series, Course] = defaultdict(Course)
    for row in rows.order_by().values_list(*keys, *named).annotate(whole=Sum(amount)).iterator():
        project, category, sku, counts, source, day, *names, whole = row
        mover = " · ".join(name for name in names if name)
        found[project, category, sku, counts].add(day, mover, whole, source)
    return found


def take_in(kind: str, series: Series, course: Course, *, known_until: date, now: datetime) -> list[Episode]:
    """Begin, prolong or end the episodes of a series; answers those that begin."""
    project, category, sku, counted = series
    minimum = LEAST_MONEY if kind == "money" else ZERO
    found = excesses(course.by_day, known_until=known_until, look_back=LOOK_BACK, minimum=minimum)
    episodes = list(Episode.objects.filter(kind=kind, project=project, category=category, sku=sku, counted=counted))
    begun = []
    for excess in found:
        episode = next((each for each in episodes if each.reaches(excess.day)), None)
        if episode is None:
            episode = Episode(
                kind=kind,
                project_id=project,
                category=category,
                sku=sku,
                counted=counted,
                first_day=excess.day,
                last_day=excess.day,
                noticed_at=now,
            )
            episodes.append(episode)
            begun.append(episode)
        episode.take(excess.day, excess.value, excess.expected, movers_of(course, excess))
        episode.save()
    last = known_until - timedelta(days=1)
    for episode in episodes:
        if episode.ended_at is None and episode.last_day < last:
            episode.ended_at = now
            episode.save(update_fields=["ended_at"])
    return begun


def movers_of(course: Course, excess: Excess) -> list[dict[str, str]]:
    """Who moved: by account, service, region and task, what each exceeded its own usual day by."""
    first = min(course.by_day)
    begin = max(first, excess.day - WINDOW)
    days = [begin + timedelta(days=offset) for offset in range((excess.day - begin).days)]
    moved = []
    for name, by_day in course.by_mover.items():
        amount = by_day.get(excess.day, ZERO) - medians(by_day, days)[excess.day.weekday()]
        if amount > 0:
            moved.append((amount, name))
    return [{"name": name, "amount": exact_text(amount)} for amount, name in sorted(moved, reverse=True)[:MOST_MOVERS]]


def watch_shares(*, now: datetime) -> list[Episode]:
    """Is more of a month's cost without a project, or without tags, than the organisation allows? This month and the
    last are looked at, for bills come late; what lasts of months that are closed or further back ends."""
    organisation = Organisation.current()
    today = organisation.today(now)
    closed = set(ClosedMonth.objects.values_list("month", flat=True))
    months = [month for month in (Month.of(today) + -1, Month.of(today)) if month.start not in closed]
    begun = []
    for month in months:
        for whole in costs_of_days(month.start, month.end):
            parts = (
                (Episode.Kind.UNALLOCATED, whole.unallocated, organisation.unallocated_limit),
                (Episode.Kind.UNTAGGED, whole.untagged, organisation.untagged_limit),
            )
            for kind, part, limit in parts:
                if limit is not None:
                    allowed = limit * max(whole.total, ZERO)
                    about = {"kind": kind, "project": None, "counted": whole.currency, "first_day": month.start}
                    last_day = min(today, month.end - timedelta(days=1))
                    begun += take_share(about, part, allowed, last_day=last_day, now=now)
    lasting = Episode.objects.filter(kind__in=[Episode.Kind.UNALLOCATED, Episode.Kind.UNTAGGED], ended_at__isnull=True)
    lasting.exclude(first_day__in=[month.start for month in months]).update(ended_at=now)
    return begun


def take_share(
    about: dict[str, Any], part: Decimal, allowed: Decimal, *, last_day: date, now: datetime
) -> list[Episode]:
    """Begin, prolong or end the month's episode; answers it where it begins."""
    episode = Episode.objects.filter(**about).first()
    if part <= allowed:
        if episode and episode.ended_at is None:
            episode.ended_at = now
            episode.save(update_fields=["ended_at"])
        return []
    is_new = episode is None
    if episode is None:
        episode = Episode(**about, noticed_at=now)
    episode.last_day, episode.value, episode.expected, episode.ended_at = last_day, part, allowed, None
    episode.save()
    return [episode] if is_new else []


def tell(begun: Sequence[Episode]) -> None:
    """One notification and one e-mail a person and project, whatever the number of its series."""
    by_project: Mapping[Project | None, list[Episode]] = defaultdict(list)
    for episode in begun:
        by_project[episode.project].append(episode)
    notifications.notify_all(
        notifications.Word(
            people=listeners(project),
            kind="growth_noticed" if project else "shares_high",
            project=project,
            url=reverse("growth-list"),
            email=True,
            is_warning=True,
            facts={"episodes": [facts_of(each) for each in sorted(episodes, key=lambda each: -each.amount)[:10]]},
        )
        for project, episodes in by_project.items()
    )


def listeners(project: Project | None) -> list[User]:
    """A project's managers; of what no project owns, who answers for it (or else operators), and finance."""
    if project:
        return people_of(project)
    return list({person.pk: person for person in [*owners(), *permissions.people_with_role(Role.FINANCE)]}.values())


def facts_of(episode: Episode) -> dict[str, Any]:
    def told(amount: Decimal) -> Decimal:
        return amount if episode.kind == Episode.Kind.QUANTITY else round_money(amount, episode.counted)

    return {
        "kind": episode.kind,
        "category": episode.category,
        "sku": episode.sku,
        "counted": episode.counted,
        "day": episode.first_day,
        "value": told(episode.value),
        "expected": told(episode.expected),
        "movers": [mover["name"] for mover in episode.movers],
    }
