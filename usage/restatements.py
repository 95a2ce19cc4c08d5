"""What later deliveries, rules and re-assignments changed in what was known: old, new and difference, by cell.

A cell is a source, a month, a place (project, shared or unallocated) and a currency. The month is the basis's own:
of use for effective cost, of the bill for billed cost. Only rows whose knowledge changed are read; the new total
comes from the rollup, and the old one is the new one less the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from core.money import EXACT
from core.months import Month
from core.vocabulary import Basis
from teams.models import ClosedMonth, Organisation, Project

from .daily import BEARS_MONEY, PLACED_AT, days_of_records
from .models import Import, Source


class Cell(NamedTuple):
    """Where a difference lies."""

    source_id: int
    month: date
    project_id: int | None
    is_shared: bool
    currency: str


@dataclass
class Restated:
    """One cell that changed: what was known, what is known, and which deliveries did it."""

    source: Source
    month: date
    project: Project | None
    is_shared: bool
    currency: str
    delta: Decimal
    new: Decimal = Decimal(0)
    was_known: bool = True
    """False where nothing of the source's month was known before: the cell is news, no restatement."""
    imports: list[Import] = field(default_factory=list)
    by_placement: bool = False
    """Rules or re-assignments moved a part of it."""

    @property
    def old(self) -> Decimal:
        return EXACT.subtract(self.new, self.delta)


@dataclass(frozen=True)
class Between:
    """Two times of knowing, what of them is asked, and which cost."""

    since: datetime
    until: datetime | None = None
    """None: now."""
    basis: str = Basis.EFFECTIVE
    month: Month | None = None
    source_id: int | None = None
    projects: Sequence[int] | None = None
    """None: everything, also what no project owns."""

    @property
    def month_of(self) -> str:
        """The month of a sum of days, in SQL."""
        return "x.billing_month" if self.basis == Basis.BILLED else "date_trunc('month', x.day)::date"


def restated(asked: Between) -> list[Restated]:
    """Every cell whose cost was known otherwise at the two times, the newest month first."""
    differences = _differences(asked)
    totals = _totals_now(asked, {cell.month for cell in differences})
    if asked.until is not None:
        for cell, _delivery, amount in _changes(_later(asked)):
            totals[cell] = EXACT.subtract(totals.get(cell, Decimal(0)), amount)
    return _described(asked, differences, totals)


def since_closing(
    *,
    basis: str = Basis.EFFECTIVE,
    projects: Sequence[int] | None = None,
    months: Iterable[Month] | None = None,
    known_at: datetime | None = None,
) -> list[Restated]:
    """What closed months are known to have cost now, or at a time, against what was known when each was closed."""
    closed = ClosedMonth.objects.order_by("-month")
    if months is not None:
        closed = closed.filter(month__in=[month.start for month in months])
    if known_at is not None:
        closed = closed.filter(closed_at__lt=known_at)
    found: list[Restated] = []
    for row in closed:
        found += restated(Between(row.closed_at, known_at, basis, Month.of(row.month), projects=projects))
    return found


def of_import(
    delivery: Import, *, basis: str = Basis.EFFECTIVE, projects: Sequence[int] | None = None
) -> list[Restated]:
    """What one import that went live changed: known just before it against known with it."""
    if delivery.live_at is None:
        return []
    before = delivery.live_at - timedelta(microseconds=1)
    return restated(Between(before, delivery.live_at, basis, source_id=delivery.source_id, projects=projects))


def _later(asked: Between) -> Between:
    """From the second time on, up to now."""
    assert asked.until is not None
    return Between(asked.until, None, asked.basis, asked.month, asked.source_id, asked.projects)


def _differences(asked: Between) -> dict[Cell, dict[int | None, Decimal]]:
    """By cell and import, with None for what rules moved; cells that ended where they began are left out."""
    found: dict[Cell, dict[int | None, Decimal]] = {}
    for cell, delivery, amount in _changes(asked):
        parts = found.setdefault(cell, {})
        parts[delivery] = EXACT.add(parts.get(delivery, Decimal(0)), amount)
    return {cell: parts for cell, parts in found.items() if _sum(parts.values())}


def _changes(asked: Between) -> Iterator[tuple[Cell, int | None, Decimal]]:
    """Cost that came (+) and went (−) between the two times: cell, import, amount."""
    window = list(_imports_between(asked).values_list("id", flat=True))
    if window:
        come = "known_from_id = ANY(%(window)s) AND (known_until_id IS NULL OR known_until_id <> ALL(%(window)s))"
        gone = "known_until_id = ANY(%(window)s) AND known_from_id <> ALL(%(window)s)"
        yield from placed(asked, come, at="until", sign=1, delivery="x.known_from_id", window=window)
        yield from placed(asked, gone, at="since", sign=-1, delivery="x.known_until_id", window=window)
    for at, sign in (("until", 1), ("since", -1)):
        yield from placed(asked, MOVED, at=at, sign=sign, delivery="NULL::bigint", window=window)


MOVED = """
    key_set_id IN (
        SELECT key_set_id FROM usage_placement
        WHERE (known_from > %(since)s AND known_from <= %(until)s)
           OR (known_until > %(since)s AND known_until <= %(until)s))
    AND known_from_id IN (SELECT id FROM usage_import WHERE live_at <= %(since)s)
    AND (known_until_id IS NULL OR known_until_id IN (SELECT id FROM usage_import WHERE live_at > %(until)s))
"""
"""Rows known at both times whose key set was placed anew between them."""


def _imports_between(asked: Between) -> Any:
    found = Import.objects.filter(live_at__gt=asked.since)
    return found.filter(live_at__lte=asked.until) if asked.until else found


def placed(
    asked: Between, which: str, *, at: str, sign: int, delivery: str, window: list[int]
) -> Iterator[tuple[Cell, int | None, Decimal]]:
    """Sums of some records by cell and import, where they were placed at one of the two times."""
    cell = ["k.source_id", asked.month_of, "p.project_id", "p.is_shared", "x.currency"]
    conditions = [f"k.source_id IN {BEARS_MONEY}", "x.currency <> ''"]
    if asked.month:
        conditions.append(f"{asked.month_of} = %(month)s")
    if asked.source_id:
        conditions.append("k.source_id = %(source)s")
    if asked.projects is not None:
        conditions.append("p.project_id = ANY(%(projects)s::bigint[])")
    sql = days_of_records(
        [*cell, delivery],
        records=f"(SELECT * FROM usage_record WHERE {which}{_near(asked)})",
        live="TRUE",
        placed=PLACED_AT.replace("%(known_at)s", f"%({at})s"),
        row_keys=["known_from_id", "known_until_id"],
        where=" AND ".join(conditions),
    )
    measure = 7 if asked.basis == Basis.BILLED else 8
    for row in fetch(sql, {**parameters_of(asked), "window": window}):
        if amount := row[measure]:
            yield Cell(*row[:5]), row[5], amount if sign > 0 else amount.copy_negate()


def _near(asked: Between) -> str:
    """The records of the month that is asked for."""
    if asked.month is None:
        return ""
    if asked.basis == Basis.BILLED:
        return " AND billing_month = %(month)s"
    return (
        " AND usage_start < (%(month_end)s::date)::timestamp AT TIME ZONE %(zone)s"
        " AND usage_end > (%(month)s::date)::timestamp AT TIME ZONE %(zone)s"
    )


def parameters_of(asked: Between) -> dict[str, Any]:
    return {
        "since": asked.since,
        "until": asked.until or datetime.max.replace(tzinfo=asked.since.tzinfo, year=9998),
        "zone": Organisation.current().time_zone,
        "month": asked.month.start if asked.month else None,
        "month_end": asked.month.end if asked.month else None,
        "source": asked.source_id,
        "projects": None if asked.projects is None else list(asked.projects),
    }


def _totals_now(asked: Between, months: set[date]) -> dict[Cell, Decimal]:
    """The rollup of some months, by cell."""
    if not months:
        return {}
    measure = "billed" if asked.basis == Basis.BILLED else "effective"
    month = "u.billing_month" if asked.basis == Basis.BILLED else "date_trunc('month', u.day)::date"
    rows = fetch(
        f"""SELECT m.source_id, {month}, u.project_id, u.is_shared, u.currency, sum(u.{measure})
            FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id
            WHERE {month} = ANY(%(months)s) AND u.currency <> '' AND m.source_id IN {BEARS_MONEY}
            GROUP BY 1, 2, 3, 4, 5""",
        {"months": sorted(months)},
    )
    return {Cell(*row[:5]): row[5] for row in rows}


def _described(
    asked: Between, differences: dict[Cell, dict[int | None, Decimal]], totals: dict[Cell, Decimal]
) -> list[Restated]:
    sources = Source.objects.in_bulk({cell.source_id for cell in differences})
    projects = Project.objects.select_related("team").in_bulk(
        {cell.project_id for cell in differences if cell.project_id}
    )
    imports = Import.objects.defer("outcome").in_bulk({number for parts in differences.values() for number in parts})
    known = _known_before(asked, differences, totals)
    found = [
        Restated(
            source=sources[cell.source_id],
            month=cell.month,
            project=projects.get(cell.project_id) if cell.project_id else None,
            is_shared=cell.is_shared,
            currency=cell.currency,
            delta=_sum(parts.values()),
            new=totals.get(cell, Decimal(0)),
            was_known=(cell.source_id, cell.month) in known,
            imports=[imports[number] for number in sorted(number for number in parts if number)],
            by_placement=bool(parts.get(None)),
        )
        for cell, parts in differences.items()
    ]
    return sorted(found, key=lambda row: (-row.month.toordinal(), row.source.name, row.currency, -abs(row.delta)))


def _known_before(
    asked: Between, differences: dict[Cell, dict[int | None, Decimal]], totals: dict[Cell, Decimal]
) -> set[tuple[int, date]]:
    """Sources' months of which some cost was known at the first time."""
    return {
        (cell.source_id, cell.month)
        for cell in totals.keys() | differences.keys()
        if totals.get(cell, Decimal(0)) != _sum(differences.get(cell, {}).values())
    }


def _sum(amounts: Iterable[Decimal]) -> Decimal:
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


def fetch(sql: str, parameters: dict[str, Any]) -> Sequence[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()
