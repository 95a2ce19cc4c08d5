"""Who hears of a flag, and what."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.urls import reverse

from budgets.models import Entry, Proposal
from core.money import round_money
from teams import notifications, permissions
from teams.models import Role, User

from .models import Flag


def listeners(flag: Flag) -> list[User]:
    """Managers of the team, those whose approved work spends from the line, and at the limit finance.

    Where no proposal is at work on the line, the team's members hear of it, so that somebody always does.
    """
    team = flag.line.project.team
    requesters = User.objects.filter(
        is_active=True,
        proposals__in=Proposal.objects.filter(
            entries__line=flag.line, entries__kind=Entry.Kind.COMMIT, closed_at__isnull=True
        ),
    )
    people = {person.pk: person for person in permissions.people_with_role(Role.MANAGER, team)}
    at_work = list(requesters.distinct())
    people |= {person.pk: person for person in at_work or permissions.people_with_role(Role.MEMBER, team)}
    if flag.is_overrun or not people:
        people |= {person.pk: person for person in permissions.people_with_role(Role.FINANCE)}
    return [people[pk] for pk in sorted(people)]


def tell_of_flag(flag: Flag, share: Decimal, *, passes_on: date | None) -> int:
    """One notification and one e-mail a person; answers how many people that were."""
    people = listeners(flag)
    line = flag.line
    notifications.notify(
        people,
        kind=kind_of(flag),
        project=line.project,
        url=reverse("flag", args=[flag.pk]),
        email=True,
        category=line.category,
        task_type=line.task_type,
        start=line.start,
        end=line.end,
        basis=flag.threshold.basis,
        quantile=flag.threshold.quantile,
        threshold_share=flag.threshold.share,
        share=share.quantize(Decimal("0.0001")) if share < 1000 else None,
        value=round_money(flag.value, line.currency),
        limit=round_money(flag.limit, line.currency),
        currency=line.currency,
        incomplete=flag.incomplete,
        passes_on=passes_on,
    )
    return len(people)


def kind_of(flag: Flag) -> str:
    if flag.is_overrun:
        return "line_overrun"
    return "line_forecast" if flag.threshold.basis == "forecast" else "line_warning"
