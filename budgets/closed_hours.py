"""Accelerator-hours of lines whose period is closed: what was official then, and what became known since. The rules are
those of `budgets.closed`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from django.db import connection

from usage.queries import daily_rows

from .actuals import COST
from .closed import closings_in_force, heirs_among, known_beyond
from .models import BudgetLine, ClosedHours, HoursEntry, LineClosing

TOLD_AGAIN = """
    JOIN usage_meter meter ON meter.id = used.meter_id AND meter.charge_category = ANY (line.charge_categories)
     AND NOT EXISTS (
        SELECT 1 FROM usage_source part JOIN usage_meter of_part ON of_part.source_id = part.id
        JOIN usage_dailyusage told ON told.meter_id = of_part.id AND told.project_id = line.project_id
         AND told.accelerator_hours > 0
        WHERE part.part_of_id = meter.source_id)
"""
"""Hours of a bill that job logs tell again for the project are counted once: by the logs."""
HOURS = COST.replace("{meter}", TOLD_AGAIN).replace("used.currency <> ''", "used.accelerator_hours <> 0")


class MeteredHours(NamedTuple):
    """Hours that one line was used for, by reference and accelerator, as meters say them."""

    line_id: int
    reference: str
    accelerator: str
    hours: Decimal


def hours_used(
    line_ids: Iterable[int],
    *,
    on: date | None = None,
    known_at: datetime | None = None,
    project_ids: Iterable[int] = (),
) -> list[MeteredHours]:
    """The metered hours of the lines, up to and with a day; as they stand, or as they were known at a time, which is
    read from the records of the projects that are named."""
    rollup, known = daily_rows(known_at, project_ids=project_ids)
    hours = HOURS.format(rollup=rollup)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT line.id, used.reference, meter.accelerator, sum(used.accelerator_hours) {hours} GROUP BY 1, 2, 3",
            {**known, "lines": sorted(set(line_ids)), "since": date.min, "on": on or date.max},
        )
        return [MeteredHours._make(row) for row in cursor.fetchall()]


def official_hours(line_ids: Iterable[int], *, until: datetime | None) -> dict[int, list[ClosedHours]]:
    """Per closed line the hours that counted on it when it was closed."""
    closings = closings_in_force(line_ids, until=until)
    found: dict[int, list[ClosedHours]] = {closing.line_id: [] for closing in closings}
    for row in ClosedHours.objects.filter(closing__in=closings).select_related("closing"):
        found[row.closing.line_id].append(row)
    return found


def late_hours(
    lines: Sequence[BudgetLine], *, on: date | None, until: datetime | None, known_at: datetime | None = None
) -> dict[int, list[tuple[LineClosing, MeteredHours]]]:
    """Per open line the hours of closed periods that became known since, each with the closing it comes from.

    Lines that had no budget of hours have nothing that was official, and pass nothing on.
    """
    found: dict[int, list[tuple[LineClosing, MeteredHours]]] = defaultdict(list)
    heirs = heirs_among({line.pk: line.project_id for line in lines}, until=until)
    with_hours = set(HoursEntry.objects.filter(line__in=heirs).values_list("line", flat=True)) if heirs else set()
    if not with_hours:
        return {}
    closings = [closing for closing, _heir in heirs.values() if closing.line_id in with_hours]
    projects = {line.project_id for line in lines}
    known = hours_used([closing.line_id for closing in closings], on=on, known_at=known_at, project_ids=projects)
    for key, hours in known_beyond(accounted_hours(closings), known).items():
        late = MeteredHours._make((*key, hours))
        closing, heir = heirs[late.line_id]
        found[heir].append((closing, late))
    return found


def accounted_hours(closings: Sequence[LineClosing]) -> list[MeteredHours]:
    """What is accounted for of each closed period: on its own line, and late on lines that were closed after it."""
    own = ClosedHours.objects.filter(closing__in=closings, origin__isnull=True).select_related("closing")
    late = ClosedHours.objects.filter(origin__in=closings, closing__reopened_at__isnull=True).select_related("origin")
    rows = [(row.closing.line_id, row) for row in own]
    rows += [(row.origin.line_id, row) for row in late if row.origin is not None]
    return [MeteredHours(line_id, row.reference, row.accelerator, row.hours) for line_id, row in rows]


def restated_hours(line: BudgetLine) -> list[MeteredHours]:
    """What is known of a closed line's own period beyond what was official when it was closed."""
    own = ClosedHours.objects.filter(closing__in=closings_in_force([line.pk]), origin__isnull=True)
    official = [MeteredHours(line.pk, row.reference, row.accelerator, row.hours) for row in own]
    return [MeteredHours._make((*key, hours)) for key, hours in known_beyond(official, hours_used([line.pk])).items()]
