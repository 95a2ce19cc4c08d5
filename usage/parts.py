"""A bill split by the job logs that are part of it: by the accelerator-hours of each month, adding no money.

What the logs' own rules placed on a project weighs for it, proposal by proposal where its jobs name one; what they call
shared weighs as shared, and what no rule placed as nobody's. Days of cards that nobody held are shared too, where the
register of clusters knows the cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import connection

from core.money import EXACT
from core.months import Month
from teams.models import Project

from .clusters.queries import idle_of_parts
from .models import Source
from .pipeline.placement import NOBODY, SHARED_COST, Condition, Rule, Share, Target

Hours = dict[date, dict[tuple[int, str], Decimal]]
"""Accelerator-hours by first day of the month, owner (a project, SHARED_COST or NOBODY) and a project's proposal."""
HOLDS_ACCELERATORS = Condition("cards", "present")
"""Of rows whose bill names an accelerator or counts cards."""
WHOLES = "(SELECT part_of_id FROM usage_source WHERE part_of_id IS NOT NULL)"
IS_SHARE = f"""(p.share <> 1 OR EXISTS (SELECT FROM usage_allocationrule a WHERE a.id = p.rule_id AND a.split <> '')
    OR p.project_id IS NOT NULL AND p.rule_id IS NULL AND p.reassignment_id IS NULL AND k.source_id IN {WHOLES})"""
"""Whether a placement `p` of the key set `k` is part of a split, also where one project bears all of it."""


def hours_of_parts() -> dict[int, Hours]:
    """What the job logs of each split source say, and the cards nobody held: hours by the source they are part of."""
    found: dict[int, Hours] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT part.part_of_id, date_trunc('month', u.day)::date, u.project_id, u.is_shared, u.reference,
                      sum(u.accelerator_hours)
               FROM usage_source part
               JOIN usage_meter m ON m.source_id = part.id
               JOIN usage_dailyusage u ON u.meter_id = m.id
               WHERE part.part_of_id IS NOT NULL AND u.accelerator_hours <> 0 GROUP BY 1, 2, 3, 4, 5"""
        )
        rows = cursor.fetchall()
    for whole, month, project, is_shared, reference, hours in rows:
        owner = (project, reference) if project else (SHARED_COST if is_shared else NOBODY, "")
        of_month = found.setdefault(whole, {}).setdefault(month, {})
        of_month[owner] = EXACT.add(of_month.get(owner, Decimal(0)), hours)
    for whole, months in idle_of_parts().items() if found else ():
        for month, hours in months.items():
            of_month = found.setdefault(whole, {}).setdefault(month, {})
            of_month[SHARED_COST, ""] = EXACT.add(of_month.get((SHARED_COST, ""), Decimal(0)), hours)
    return found


def shares_of(hours: Mapping[tuple[int, str], Decimal]) -> tuple[Share, ...]:
    """The weights of one month; the projects first, so that the rest of a rounding falls to nobody's part."""
    owners = sorted((key for key, held in hours.items() if held > 0), key=lambda key: (key[0] <= 0, key))
    return tuple(Share(owner, hours[owner, reference], reference) for owner, reference in owners)


def rules_of_parts(sources: Set[int] | None = None) -> list[Rule]:
    """After all written rules: what holds accelerators in a split bill goes by the logs, in the months they tell of.

    With `sources` nothing is asked where none of them is split.
    """
    split = Source.objects.filter(parts__isnull=False)
    if not (split if sources is None else split.filter(pk__in=sources)).exists():
        return []
    return [
        Rule(
            id=0,
            conditions=(HOLDS_ACCELERATORS,),
            target=Target(shares=shares),
            source_id=whole,
            starts_on=month,
            ends_on=Month.of(month).end,
        )
        for whole, months in sorted(hours_of_parts().items())
        for month, hours in sorted(months.items())
        if (shares := shares_of(hours))
    ]


def months_of_parts(hours: Hours) -> tuple[tuple[date, date, tuple[Share, ...]], ...]:
    """The weights of each month, for a rule that says which other rows the logs split."""
    return tuple(
        (month, Month.of(month).end, shares) for month, held in sorted(hours.items()) if (shares := shares_of(held))
    )


@dataclass(frozen=True)
class Part:
    """What one owner bears of a split bill's month; no project: shared, or nobody's."""

    project: Project | None
    is_shared: bool
    hours: Decimal
    share: Decimal


def newest_split(source: Source) -> tuple[date | None, list[Part]]:
    """The newest month that job logs tell of a bill, and how it is split, the greatest part first."""
    months = hours_of_parts().get(source.pk, {})
    if not months:
        return None, []
    month = max(months)
    held: dict[int, Decimal] = {}
    for share in shares_of(months[month]):
        held[share.owner] = EXACT.add(held.get(share.owner, Decimal(0)), share.weight)
    whole = sum(held.values(), Decimal(0))
    projects = Project.objects.select_related("team").in_bulk([owner for owner in held if owner > 0])
    found = [
        Part(projects.get(owner), owner == SHARED_COST, hours, EXACT.divide(hours, whole))
        for owner, hours in held.items()
    ]
    return month, sorted(found, key=lambda part: -part.hours)
