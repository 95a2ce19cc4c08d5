"""Who hears of a flag, and what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from django.urls import reverse

from budgets.models import Entry
from core.money import round_money
from teams import notifications, permissions
from teams.models import Role, Team, User
from teams.notifications import Word

from .models import Flag

if TYPE_CHECKING:
    from .writing import Said


class Listeners:
    """Managers of the team, those whose approved work spends from the line, and at the limit finance.

    Where no proposal is at work on the line, the team's members hear of it, so that somebody always does. What is
    known of a team is asked for once.
    """

    def __init__(self, flags: Sequence[Flag]) -> None:
        self.at_work = requesters_by_line([flag.line_id for flag in flags])
        self.known: dict[tuple[int, Role], list[User]] = {}

    def of(self, flag: Flag) -> list[User]:
        team = flag.line.project.team
        people = {person.pk: person for person in self.with_role(Role.MANAGER, team)}
        others = self.at_work.get(flag.line_id) or self.with_role(Role.MEMBER, team)
        people |= {person.pk: person for person in others}
        if flag.is_overrun or not people:
            people |= {person.pk: person for person in self.with_role(Role.FINANCE, team)}
        return [people[pk] for pk in sorted(people)]

    def with_role(self, role: Role, team: Team) -> list[User]:
        if (team.pk, role) not in self.known:
            self.known[team.pk, role] = list(permissions.people_with_role(role, team))
        return self.known[team.pk, role]


def requesters_by_line(line_ids: Sequence[int]) -> dict[int, list[User]]:
    """Who asked for the money that open proposals hold on each line."""
    entries = Entry.objects.filter(
        line__among=line_ids,
        kind=Entry.Kind.COMMIT,
        proposal__closed_at__isnull=True,
        proposal__requester__is_active=True,
    ).select_related("proposal__requester")
    found: dict[int, dict[int, User]] = {}
    for entry in entries:
        if entry.proposal is not None:
            found.setdefault(entry.line_id, {})[entry.proposal.requester_id] = entry.proposal.requester
    return {line: list(people.values()) for line, people in found.items()}


def tell_of_flags(said: Sequence[Said]) -> int:
    """One notification and one e-mail a person and flag; answers how many notifications that were."""
    if not said:
        return 0
    listeners = Listeners([each.flag for each in said])
    words = [word_of(each.flag, each.share, each.passes_on, listeners.of(each.flag)) for each in said]
    return len(notifications.notify_all(words))


def word_of(flag: Flag, share: Decimal, passes_on: date | None, people: list[User]) -> Word:
    line = flag.line
    return Word(
        people=people,
        kind=kind_of(flag),
        project=line.project,
        url=reverse("flag", args=[flag.pk]),
        email=True,
        is_warning=True,
        is_urgent=flag.is_overrun,
        facts={
            "category": line.category,
            "task_type": line.task_type,
            "start": line.start,
            "end": line.end,
            "basis": flag.threshold.basis,
            "quantile": flag.threshold.quantile,
            "threshold_share": flag.threshold.share,
            "share": share.quantize(Decimal("0.0001")) if share < 1000 else None,
            "value": round_money(flag.value, line.currency),
            "limit": round_money(flag.limit, line.currency),
            "currency": line.currency,
            "incomplete": flag.incomplete,
            "passes_on": passes_on,
        },
    )


def kind_of(flag: Flag) -> str:
    if flag.is_overrun:
        return "line_overrun"
    return "line_forecast" if flag.threshold.basis == "forecast" else "line_warning"
