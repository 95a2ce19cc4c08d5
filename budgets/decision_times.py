"""How long decisions take: from submission to the last word, by team and month, and what waits now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from core.months import Month, midnight
from teams.models import Organisation, Project, Team, User

from .approvers import current_steps
from .models import ApprovalStep, ProposalVersion

MONTHS = 6


@dataclass(frozen=True)
class Decided:
    """What a team's proposals took in one month: how many were decided, and the median of the time."""

    count: int
    median: timedelta

    @property
    def days(self) -> float:
        return self.median / timedelta(days=1)


@dataclass(frozen=True)
class TeamTimes:
    """One team, month by month; None where nothing was decided."""

    team: Team
    months: tuple[Decided | None, ...]


def months_shown(now: datetime) -> list[Month]:
    """The last months up to this one."""
    this = Month.of(Organisation.current().today(now))
    return [this + number for number in range(1 - MONTHS, 1)]


def decision_times(user: User, *, now: datetime) -> list[TeamTimes]:
    """The teams that decided something in these months, as far as the person sees them."""
    organisation = Organisation.current()
    months = months_shown(now)
    rows = (
        ProposalVersion.objects.filter(
            proposal__project__in=Project.objects.visible_to(user),
            decided_at__gte=midnight(months[0].start, organisation.zone),
            submitted_at__isnull=False,
        )
        .order_by("proposal__project__team__name")
        .values_list("proposal__project__team", "submitted_at", "decided_at")
    )
    taken: dict[int, dict[Month, list[timedelta]]] = defaultdict(lambda: defaultdict(list))
    for team, submitted, decided in rows:
        if submitted is not None and decided is not None:
            taken[team][Month.of(organisation.today(decided))].append(decided - submitted)
    teams = Team.objects.in_bulk(taken)
    return [
        TeamTimes(teams[key], tuple(summed(by_month.get(month, ())) for month in months))
        for key, by_month in taken.items()
    ]


def summed(times: Iterable[timedelta]) -> Decided | None:
    known = sorted(times)
    return Decided(len(known), timedelta(seconds=median(time.total_seconds() for time in known))) if known else None


def waiting_steps(user: User) -> list[ApprovalStep]:
    """Decisions that are due now in proposals the person sees, the oldest first."""
    return list(
        current_steps()
        .filter(version__proposal__project__in=Project.objects.visible_to(user))
        .select_related("version__proposal__project__team", "version__submitted_by")
        .order_by("version__submitted_at", "pk")
    )
