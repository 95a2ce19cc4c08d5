"""What one import changed: rows and money by month and place, and which closed months it reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from core.money import EXACT
from core.months import Month
from core.vocabulary import Basis
from teams.models import ClosedMonth, Organisation, Project

from .daily import BEARS_MONEY
from .models import Import
from .restatements import Between, fetch, parameters_of, placed, restated


@dataclass
class Change:
    """What one import changed in one month, place and currency: rows, and money before and after of those rows."""

    month: date
    project: Project | None
    is_shared: bool
    currency: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    old: Decimal = Decimal(0)
    new: Decimal = Decimal(0)

    @property
    def delta(self) -> Decimal:
        return EXACT.subtract(self.new, self.old)


def changes_of(delivery: Import, basis: str = Basis.EFFECTIVE) -> list[Change]:
    """Rows and money that an import wrote and ended, by month and place. A row that was ended and written again
    under the same key, or with the same keys and times, is a changed one.
    """
    if delivery.live_at is None:
        return []
    asked = Between(delivery.live_at, delivery.live_at, basis)
    cells = [
        (name, cell, amount)
        for name, side in (("new", "known_from_id"), ("old", "known_until_id"))
        for cell, _delivery, amount in placed(
            asked, f"{side} = ANY(%(window)s)", at="until", sign=1, delivery="NULL::bigint", window=[delivery.pk]
        )
    ]
    counts = _counts(delivery, asked)
    touched = {cell.project_id for _name, cell, _amount in cells} | {
        project_id for _month, project_id, *_rest in counts
    }
    projects = Project.objects.select_related("team").in_bulk([pk for pk in touched if pk])
    found: dict[tuple, Change] = {}

    def change(month: date, project_id: int | None, is_shared: bool, currency: str) -> Change:
        empty = Change(month, projects.get(project_id or 0), is_shared, currency)
        return found.setdefault((month, project_id, is_shared, currency), empty)

    for name, cell, amount in cells:
        each = change(cell.month, cell.project_id, cell.is_shared, cell.currency)
        setattr(each, name, EXACT.add(getattr(each, name), amount))
    for month, project_id, is_shared, currency, added, removed, changed in counts:
        each = change(month, project_id, is_shared, currency)
        each.added, each.removed, each.changed = added, removed, changed
    return [found[key] for key in sorted(found, key=lambda key: (-key[0].toordinal(), key[3], key[1] or 0, key[2]))]


def _counts(delivery: Import, asked: Between) -> Sequence[tuple]:
    """Rows added, removed and changed by an import, by month, place and currency."""
    day = "(r.usage_start AT TIME ZONE %(zone)s)::date"
    month = "r.billing_month" if asked.basis == Basis.BILLED else f"date_trunc('month', {day})::date"
    return fetch(
        f"""WITH touched AS (
                SELECT {month} AS month, p.project_id, p.is_shared, r.currency, r.known_from_id = %(import)s AS comes,
                       coalesce(r.row_key::text, r.key_set_id || ' ' || r.usage_start || ' ' || r.usage_end) AS identity
                FROM usage_record r JOIN usage_keyset k ON k.id = r.key_set_id
                JOIN usage_placement p ON p.key_set_id = r.key_set_id AND p.is_first
                 AND p.starts_on <= {day} AND p.ends_on > {day}
                 AND p.known_from <= %(until)s AND (p.known_until IS NULL OR p.known_until > %(until)s)
                WHERE (r.known_from_id = %(import)s OR r.known_until_id = %(import)s) AND k.source_id IN {BEARS_MONEY}),
            numbered AS (
                SELECT *, row_number() OVER (
                    PARTITION BY month, project_id, is_shared, currency, comes, identity) AS ordinal FROM touched),
            paired AS (
                SELECT month, project_id, is_shared, currency, bool_or(comes) AS comes, bool_or(NOT comes) AS goes
                FROM numbered GROUP BY month, project_id, is_shared, currency, identity, ordinal)
            SELECT month, project_id, is_shared, currency, count(*) FILTER (WHERE NOT goes),
                   count(*) FILTER (WHERE NOT comes), count(*) FILTER (WHERE comes AND goes)
            FROM paired GROUP BY 1, 2, 3, 4""",
        {**parameters_of(asked), "import": delivery.pk},
    )


@dataclass(frozen=True)
class ClosedCost:
    """Closed months whose cost changed, and the projects that it was or is on."""

    months: list[Month]
    projects: list[Project]


def closed_cost_of(delivery: Import) -> ClosedCost:
    """What an import changed in months that were closed before it."""
    if delivery.live_at is None:
        return ClosedCost([], [])
    closed = list(ClosedMonth.objects.filter(closed_at__lt=delivery.live_at).values_list("month", flat=True))
    found: set[tuple[date, int | None]] = set()
    for side, months in (("known_from_id", months_near(delivery, closed)), ("known_until_id", closed)):
        if months:
            found |= _closed_rows(side, delivery, months)
    return _closed_cost({month for month, _project in found}, {project for _month, project in found})


def months_near(delivery: Import, months: Sequence[date]) -> list[date]:
    """Those of some months that the rows of a delivery can touch, by its first and last use: what a bill of this month
    brought need not be looked through for months long closed."""
    ends = [delivery.outcome.get(name) for name in ("first_usage", "last_usage")]
    if not all(ends):
        return list(months)
    zone = Organisation.current().zone
    first, last = (Month.of(datetime.fromisoformat(str(end)).astimezone(zone).date()).start for end in ends)
    return [month for month in months if first <= month <= last]


def _closed_rows(side: str, delivery: Import, months: Sequence[date]) -> set[tuple[date, int | None]]:
    """Closed months, and projects in them, of the rows that an import brought or ended."""
    rows = fetch(
        f"""SELECT DISTINCT month, p.project_id FROM usage_record r
            JOIN unnest(%(months)s::date[]) AS month
              ON r.usage_start < (month + interval '1 month') AT TIME ZONE %(zone)s
             AND r.usage_end > month::timestamp AT TIME ZONE %(zone)s
            LEFT JOIN usage_placement p ON p.key_set_id = r.key_set_id AND p.known_until IS NULL
             AND p.starts_on < month + interval '1 month' AND p.ends_on > month
            WHERE r.{side} = %(import)s AND (coalesce(r.billed, 0) <> 0 OR coalesce(r.effective, 0) <> 0)""",
        {"months": list(months), "import": delivery.pk, "zone": Organisation.current().time_zone},
    )
    return {(month, project) for month, project in rows}


def closed_cost_since(moment: datetime) -> ClosedCost:
    """What was placed elsewhere in closed months since a moment: by a re-assignment that restates them."""
    rows = [
        row
        for closed in ClosedMonth.objects.filter(closed_at__lt=moment)
        for row in restated(Between(moment, month=Month.of(closed.month)))
    ]
    return _closed_cost({row.month for row in rows}, {row.project.pk if row.project else None for row in rows})


def _closed_cost(months: set[date], projects: set[int | None]) -> ClosedCost:
    found = Project.objects.select_related("team").filter(pk__in=[pk for pk in projects if pk]).order_by("pk")
    return ClosedCost([Month.of(month) for month in sorted(months)], list(found))
