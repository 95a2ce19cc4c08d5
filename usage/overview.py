"""What the usage pages show: the cost of some days by place, sources and how fresh they are, what an import changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from django.db import connection
from django.db.models import OuterRef, Subquery

from core.money import EXACT
from core.months import Month
from core.vocabulary import Basis
from teams.models import Project

from .daily import BEARS_MONEY
from .models import AllocationRule, Import, Source
from .queries import daily_rows, fresh_by_source
from .silence import is_silent, last_data


@dataclass
class PlaceCost:
    """Cost of one project, or of what is shared, or of what no rule placed."""

    project: Project | None
    is_shared: bool
    total: Decimal = Decimal(0)
    by_category: dict[str, Decimal] = field(default_factory=dict)

    @property
    def is_unallocated(self) -> bool:
        return self.project is None and not self.is_shared


@dataclass
class CurrencyCost:
    """Cost in one currency: by place, and as a whole."""

    currency: str
    places: list[PlaceCost] = field(default_factory=list)
    total: Decimal = Decimal(0)
    unallocated: Decimal = Decimal(0)
    untagged: Decimal = Decimal(0)

    @property
    def project_count(self) -> int:
        return sum(place.project is not None for place in self.places)

    def share(self, part: Decimal) -> Decimal | None:
        """A part of the whole; None where the whole is not more than zero."""
        return EXACT.divide(part, self.total) if self.total > 0 else None

    @property
    def unallocated_share(self) -> Decimal | None:
        return self.share(self.unallocated)

    @property
    def untagged_share(self) -> Decimal | None:
        return self.share(self.untagged)


def costs_of_days(
    start: date,
    end: date,
    *,
    basis: str = Basis.EFFECTIVE,
    projects: Sequence[int] | None = None,
    known_at: datetime | None = None,
) -> list[CurrencyCost]:
    """Cost of the half-open days by place, the dearest first; with `projects`, of those alone; as known at a time."""
    measure = "billed" if basis == Basis.BILLED else "effective"
    rollup, known = daily_rows(known_at, days=(start, end))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT u.currency, u.project_id, u.is_shared, u.category, sum(u.{measure}),
                       sum(u.{measure}) FILTER (WHERE NOT u.is_tagged)
                FROM {rollup} u JOIN usage_meter m ON m.id = u.meter_id
                WHERE u.day >= %(start)s AND u.day < %(end)s AND u.currency <> ''
                  AND m.source_id IN {BEARS_MONEY}
                  AND (%(projects)s::bigint[] IS NULL OR u.project_id = ANY(%(projects)s::bigint[]))
                GROUP BY 1, 2, 3, 4""",
            {**known, "start": start, "end": end, "projects": None if projects is None else list(projects)},
        )
        rows = cursor.fetchall()
    names = Project.objects.select_related("team").in_bulk({row[1] for row in rows if row[1]})
    currencies: dict[str, CurrencyCost] = {}
    places: dict[tuple, PlaceCost] = {}
    for currency, project_id, is_shared, category, cost, untagged in rows:
        whole = currencies.setdefault(currency, CurrencyCost(currency))
        key = (currency, project_id, is_shared)
        if key not in places:
            places[key] = PlaceCost(names.get(project_id), is_shared)
            whole.places.append(places[key])
        place = places[key]
        place.total = EXACT.add(place.total, cost)
        place.by_category[category] = EXACT.add(place.by_category.get(category, Decimal(0)), cost)
        whole.total = EXACT.add(whole.total, cost)
        whole.untagged = EXACT.add(whole.untagged, untagged or Decimal(0))
        if place.is_unallocated:
            whole.unallocated = EXACT.add(whole.unallocated, cost)
    for whole in currencies.values():
        whole.places.sort(key=lambda place: -place.total)
    return sorted(currencies.values(), key=lambda whole: whole.currency)


@dataclass(frozen=True)
class SourceRow:
    """A source as the list shows it."""

    source: Source
    last: Import | None
    fresh_until: datetime | None
    is_silent: bool
    data_at: datetime


def source_rows(sources: Sequence[Source], *, now: datetime) -> list[SourceRow]:
    """Sources with their last delivery, until when their usage is known, and whether one is overdue."""
    newest = Import.objects.filter(source=OuterRef("pk")).order_by("-id").values("id")[:1]
    ids = dict(Source.objects.filter(pk__in=[source.pk for source in sources]).values_list("id", Subquery(newest)))
    imports = Import.objects.in_bulk([number for number in ids.values() if number])
    fresh = fresh_by_source([source.pk for source in sources])
    data = last_data(sources)
    rows = []
    for source in sources:
        last = imports.get(ids.get(source.pk))
        rows.append(
            SourceRow(source, last, fresh.get(source.pk), is_silent(source, data[source.pk], now), data[source.pk])
        )
    return rows


def rules_with_counts() -> list[AllocationRule]:
    """Active rules in order, each with `placed`: the key sets it places now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT rule_id, count(DISTINCT key_set_id) FROM usage_placement
               WHERE known_until IS NULL AND rule_id IS NOT NULL GROUP BY rule_id"""
        )
        counts = dict(cursor.fetchall())
    rules = list(
        AllocationRule.objects.filter(active=True)
        .select_related("project", "source")
        .prefetch_related("shares__project")
        .order_by("position", "id")
    )
    for rule in rules:
        rule.placed = counts.get(rule.pk, 0)  # type: ignore[attr-defined]
    return rules


def newest_month(*, until: date) -> Month | None:
    """The newest month with usage that does not lie after a day."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(day) FROM usage_dailyusage WHERE day <= %s", [until])
        found = cursor.fetchone()[0]
    return Month.of(found) if found else None
