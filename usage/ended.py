"""How accelerator-hours ended: what their job log calls the state, the cause where work was lost, and the money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.db import connection

from core.money import EXACT
from teams.models import Project

from .formats.slurm import FAILURE_CAUSES, STATES


@dataclass(frozen=True)
class EndedHours:
    """Accelerator-hours of jobs that ended one way, with the money that the log itself gives them."""

    state: str
    currency: str
    hours: Decimal
    cost: Decimal
    is_in_bill: bool = False
    """The log is part of a bill: where it has no money of its own, the bill has it."""

    @property
    def cause(self) -> str:
        """Why the work did not complete; empty where it did, or still runs."""
        return FAILURE_CAUSES.get(self.state, "")


@dataclass(frozen=True)
class LostHours:
    """Of some hours those that did not complete, with their money by currency."""

    hours: Decimal
    share: Decimal
    costs: list[tuple[str, Decimal]]


def lost_of(ended: Sequence[EndedHours]) -> LostHours | None:
    """None where nothing was lost."""
    lost = [each for each in ended if each.cause and each.hours]
    if not lost:
        return None
    hours = sum((each.hours for each in lost), Decimal(0))
    costs: dict[str, Decimal] = {}
    for each in lost:
        if each.currency:
            costs[each.currency] = EXACT.add(costs.get(each.currency, Decimal(0)), each.cost)
    return LostHours(hours, hours / sum((each.hours for each in ended), Decimal(0)), sorted(costs.items()))


def ended_of_project(project: Project, start: date, end: date) -> list[EndedHours]:
    """How the hours of a project's jobs on some half-open days ended, the most first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT m.state, u.currency, sum(u.accelerator_hours), coalesce(sum(u.effective), 0),
                      s.part_of_id IS NOT NULL
               FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id JOIN usage_source s ON s.id = m.source_id
               WHERE u.project_id = %(project)s AND u.day >= %(start)s AND u.day < %(end)s
                 AND m.state = ANY(%(states)s) AND u.accelerator_hours <> 0
               GROUP BY 1, 2, 5""",
            {"project": project.pk, "start": start, "end": end, "states": sorted(STATES)},
        )
        return sorted((EndedHours(*row) for row in cursor.fetchall()), key=lambda each: (-each.hours, each.state))
