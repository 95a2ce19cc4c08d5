"""Questions about usage. Every one can be asked as of a time: what did we believe then?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Max
from django.db.models.fields.json import KT

from core.money import EXACT, exact_text
from core.months import Month
from core.vocabulary import Basis
from teams.models import Organisation

from .daily import BEARS_MONEY, DAILY_KEYS, LIVE_AT, LIVE_NOW, MEASURES, PLACED_AT, days_of_records
from .models import Import, Source


def line_actual(
    project_id: int,
    category: str,
    *,
    start: date,
    end: date,
    basis: str,
    task_type: str | None = None,
    charge_categories: Iterable[str] | None = None,
    known_at: datetime | None = None,
) -> dict[str, Decimal]:
    """Metered cost of a project's category by currency: effective by day of use, billed by billing month.

    `start` and `end` are half-open days of the organisation; the billing months are those that begin in them,
    and the one `start` lies in.
    """
    slice_ = ActualSlice(project_id, category, start, end, basis, task_type, _listed(charge_categories), known_at)
    return {currency: amount for (currency,), amount in slice_.sums("currency").items()}


def actual_by_reference(
    project_id: int,
    category: str,
    *,
    start: date,
    end: date,
    basis: str,
    task_type: str | None = None,
    charge_categories: Iterable[str] | None = None,
    known_at: datetime | None = None,
) -> dict[str, dict[str, Decimal]]:
    """As `line_actual`, by the reference of the proposal whose work it was; "" where none is named."""
    slice_ = ActualSlice(project_id, category, start, end, basis, task_type, _listed(charge_categories), known_at)
    found: dict[str, dict[str, Decimal]] = defaultdict(dict)
    for (reference, currency), amount in slice_.sums("reference", "currency").items():
        found[reference][currency] = amount
    return dict(found)


def daily_actual(
    project_id: int,
    category: str,
    *,
    start: date,
    end: date,
    basis: str,
    task_type: str | None = None,
    charge_categories: Iterable[str] | None = None,
    known_at: datetime | None = None,
) -> list[tuple[date, str, Decimal]]:
    """As `line_actual`, by day of use, in order. Billed cost stands on the day its charge began."""
    slice_ = ActualSlice(project_id, category, start, end, basis, task_type, _listed(charge_categories), known_at)
    return sorted((day, currency, amount) for (day, currency), amount in slice_.sums("day", "currency").items())


def _listed(charge_categories: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if charge_categories is None else tuple(charge_categories)


@dataclass(frozen=True)
class ActualSlice:
    """The part of metered cost that a budget line counts."""

    project_id: int
    category: str
    start: date
    end: date
    basis: str
    task_type: str | None
    charge_categories: tuple[str, ...] | None
    known_at: datetime | None

    def sums(self, *groups: str) -> dict[tuple, Decimal]:
        """Cost by the named columns of the rollup."""
        measure = "billed" if self.basis == Basis.BILLED else "effective"
        where, parameters = self._where()
        keys = ", ".join(f"u.{group}" for group in groups)
        rows, known = daily_rows(self.known_at, project_ids=[self.project_id] if self.project_id else ())
        found = _fetch(
            f"SELECT {keys}, sum(u.{measure}) FROM {rows} AS u JOIN usage_meter m ON m.id = u.meter_id"
            f" WHERE {where} GROUP BY {keys}",
            {**parameters, **known},
        )
        return {tuple(row[:-1]): row[-1] for row in found if row[-1]}

    def _where(self) -> tuple[str, dict[str, Any]]:
        parts = [
            "u.project_id = %(project)s",
            "u.category = %(category)s",
            "u.currency <> ''",
            f"m.source_id IN {BEARS_MONEY}",
        ]
        parameters: dict[str, Any] = {"project": self.project_id, "category": str(self.category), "end": self.end}
        if self.basis == Basis.BILLED:
            parts.append("u.billing_month >= %(start)s AND u.billing_month < %(end)s")
            parameters["start"] = Month.of(self.start).start
        else:
            parts.append("u.day >= %(start)s AND u.day < %(end)s")
            parameters["start"] = self.start
        if self.task_type:
            parts.append("u.task_type = %(task_type)s")
            parameters["task_type"] = str(self.task_type)
        if self.charge_categories is not None:
            parts.append("m.charge_category = ANY(%(charges)s)")
            parameters["charges"] = [str(charge) for charge in self.charge_categories]
        return " AND ".join(parts), parameters


def daily_rows(
    known_at: datetime | None, *, project_ids: Iterable[int] = (), days: tuple[date, date] | None = None
) -> tuple[str, dict[str, Any]]:
    """SQL of the rollup, as it stands or as it was known: a table, or a query over records, and its parameters.

    Of what was known only the records of some projects, or near some half-open days, need to be read.
    """
    if known_at is None:
        return "usage_dailyusage", {}
    only = sorted(set(project_ids))
    placed = PLACED_AT + (" AND p.project_id = ANY (%(only_projects)s)" if only else "")
    near = []
    if only:
        near.append("key_set_id IN (SELECT key_set_id FROM usage_placement WHERE project_id = ANY (%(only_projects)s))")
    if days:
        near.append("usage_start < (%(until_day)s::date)::timestamp AT TIME ZONE %(zone)s")
        near.append("usage_end > (%(from_day)s::date)::timestamp AT TIME ZONE %(zone)s")
    records = f"(SELECT * FROM usage_record WHERE {' AND '.join(near)})" if near else "usage_record"
    inner = days_of_records(list(DAILY_KEYS.values()), records=records, live=LIVE_AT, placed=placed)
    names = ", ".join(f"g{number} AS {name}" for number, name in enumerate(DAILY_KEYS))
    sql = f"(SELECT {names}, rows, {', '.join(MEASURES)} FROM ({inner}) AS known)"
    first, end = days or (None, None)
    return sql, {
        "known_at": known_at,
        "zone": Organisation.current().time_zone,
        "only_projects": only,
        "from_day": first,
        "until_day": end,
    }


@dataclass(frozen=True)
class ConservedCurrency:
    """One currency of the whole: what projects, shared and unallocated hold, and what the sources say."""

    currency: str
    projects: Decimal
    shared: Decimal
    unallocated: Decimal
    sources: Decimal

    @property
    def difference(self) -> Decimal:
        """Zero, to the last digit, or the books are wrong."""
        placed = EXACT.add(EXACT.add(self.projects, self.shared), self.unallocated)
        return EXACT.subtract(placed, self.sources)

    @property
    def difference_text(self) -> str:
        return exact_text(self.difference)

    @property
    def holds(self) -> bool:
        return self.difference == 0


def conservation(basis: str = Basis.BILLED, known_at: datetime | None = None) -> list[ConservedCurrency]:
    """Σ projects + shared + unallocated (the rollup) against Σ money-bearing sources (the records), by currency."""
    measure = "billed" if basis == Basis.BILLED else "effective"
    rollup, known = daily_rows(known_at)
    live = LIVE_NOW if known_at is None else LIVE_AT
    placed = _fetch(
        f"""SELECT u.currency,
                   coalesce(sum(u.{measure}) FILTER (WHERE u.project_id IS NOT NULL), 0),
                   coalesce(sum(u.{measure}) FILTER (WHERE u.project_id IS NULL AND u.is_shared), 0),
                   coalesce(sum(u.{measure}) FILTER (WHERE u.project_id IS NULL AND NOT u.is_shared), 0)
            FROM {rollup} u JOIN usage_meter m ON m.id = u.meter_id
            WHERE u.currency <> '' AND m.source_id IN {BEARS_MONEY} GROUP BY u.currency""",
        known,
    )
    whole = dict(
        _fetch(
            f"""SELECT r.currency, coalesce(sum(r.{measure}), 0)
                FROM usage_record r JOIN usage_scope s ON s.id = r.scope_id
                WHERE {live} AND r.currency <> '' AND s.source_id IN {BEARS_MONEY}
                GROUP BY r.currency""",
            known,
        )
    )
    parts = {row[0]: row[1:] for row in placed}
    zero = (Decimal(0), Decimal(0), Decimal(0))
    return [
        ConservedCurrency(currency, projects, shared, unallocated, whole.get(currency, Decimal(0)))
        for currency in sorted(parts.keys() | whole.keys())
        for projects, shared, unallocated in [parts.get(currency, zero)]
    ]


def fresh_until(project_id: int | None = None, category: str | None = None) -> datetime | None:
    """Until when usage is known: the end of the newest row of the source that is furthest behind.

    With a project (and category), only the sources that carried usage of it count. Idle hours, which are derived, do
    not. None: nothing has arrived.
    """
    newest = fresh_by_source(_feeding_sources(project_id, category))
    return min(newest.values(), default=None)


def fresh_by_source(source_ids: Sequence[int]) -> dict[int, datetime]:
    """The end of the newest usage row of each source."""
    found = (
        Import.objects.filter(source__in=source_ids, live_at__isnull=False)
        .values_list("source")
        .annotate(last=Max(KT("outcome__last_usage")))
    )
    return {source: datetime.fromisoformat(last) for source, last in found if last}


def _feeding_sources(project_id: int | None, category: str | None) -> list[int]:
    if project_id is None:
        delivering = Source.objects.filter(imports__live_at__isnull=False, idle_of=None)
        return list(delivering.distinct().values_list("id", flat=True))
    rows = _fetch(
        """SELECT DISTINCT m.source_id FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id
           WHERE u.project_id = %(project)s AND (%(category)s::text IS NULL OR u.category = %(category)s)
             AND m.source_id NOT IN (SELECT idle_source_id FROM usage_cluster WHERE idle_source_id IS NOT NULL)""",
        {"project": project_id, "category": str(category) if category else None},
    )
    return [row[0] for row in rows]


def _fetch(sql: str, parameters: dict[str, Any]) -> Sequence[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()
