"""Allocation rules applied to stored key sets: new ones at an import, all of them when rules changed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from core.money import EXACT
from core.months import Month
from teams.models import ClosedMonth, Organisation, Project

from .daily import MEASURES, days_of_records
from .models import AllocationRule, Placement, Reassignment
from .models.allocation import Split
from .parts import hours_of_parts, months_of_parts, rules_of_parts
from .pipeline.placement import FIRST_DAY, LAST_DAY, Condition, Override, Place, Rule, Share, Target, places_of, within
from .sources import BY_HAND

BEGINNING = "0001-01-01T00:00:00+00:00"
"""A key set's first placement was always known: before its first record there was nothing to place."""
CHUNK = 5_000
LOCK_OF_RULES = 724_003
NOT_BY_HAND = f"k.source_id NOT IN (SELECT id FROM usage_source WHERE format = '{BY_HAND}')"
PLACE_COLUMNS = (
    "starts_on",
    "ends_on",
    "project_id",
    "is_shared",
    "share",
    "is_first",
    "category",
    "task_type",
    "stage",
    "experiment",
    "reference",
    "rule_id",
    "reassignment_id",
)


def active_rules() -> list[Rule]:
    """The rules in force, in order, as the arithmetic sees them."""
    rows = list(AllocationRule.objects.filter(active=True).prefetch_related("shares").order_by("position", "id"))
    hours = hours_by_month() if any(row.split == Split.USAGE for row in rows) else {}
    return [as_rule(row, hours) for row in rows]


def active_overrides() -> list[Override]:
    """What people decided by hand and did not take back, the newest first."""
    rows = Reassignment.objects.filter(reversed_at=None).prefetch_related("key_sets").order_by("-id")
    return [as_override(row, [each.pk for each in row.key_sets.all()]) for row in rows]


def as_override(row: Reassignment, key_sets: Iterable[int]) -> Override:
    return Override(
        id=row.pk or 0,
        key_sets=frozenset(key_sets),
        target=Target(
            project_id=row.project_id,
            is_shared=row.is_shared,
            category=row.category,
            task_type=row.task_type,
            stage=row.stage,
            experiment=row.experiment,
        ),
        starts_on=row.starts_on,
        ends_on=row.ends_on or LAST_DAY,
    )


Hours = dict[date, dict[int, Decimal]]
"""Accelerator-hours by first day of the month and project."""


def hours_by_month() -> Hours:
    """What projects used on their own account: without what rules that split by usage gave them.

    Where a source splits another, its hours tell more than the other's, which are the same hours once more.
    """
    found: Hours = {}
    whole = (
        "SELECT date_trunc('month', u.day)::date, u.project_id, sum(u.accelerator_hours) FROM usage_dailyusage u"
        " JOIN usage_meter m ON m.id = u.meter_id"
        f" WHERE u.project_id IS NOT NULL AND u.accelerator_hours <> 0 AND {NO_WHOLE_OF_PARTS} GROUP BY 1, 2"
    )
    given = days_of_records(
        ["date_trunc('month', x.day)::date", "p.project_id"],
        records=(
            "(SELECT * FROM usage_record WHERE accelerator_hours <> 0 AND key_set_id IN"
            " (SELECT key_set_id FROM usage_placement JOIN usage_allocationrule a ON a.id = rule_id"
            " WHERE known_until IS NULL AND a.split = 'usage'))"
        ),
        joins="JOIN usage_meter m ON m.id = k.meter_id JOIN usage_allocationrule a ON a.id = p.rule_id",
        where=f"a.split = 'usage' AND p.project_id IS NOT NULL AND p.reassignment_id IS NULL AND {NO_WHOLE_OF_PARTS}",
    )
    with connection.cursor() as cursor:
        cursor.execute(whole)
        for month, project, hours in cursor.fetchall():
            found.setdefault(month, {})[project] = hours
        cursor.execute(given, {"zone": Organisation.current().time_zone})
        for month, project, *measures in cursor.fetchall():
            own = found.get(month, {})
            own[project] = EXACT.subtract(own.get(project, Decimal(0)), measures[HOURS])
    return found


NO_WHOLE_OF_PARTS = "m.source_id NOT IN (SELECT part_of_id FROM usage_source WHERE part_of_id IS NOT NULL)"
HOURS = 1 + MEASURES.index("accelerator_hours")
"""Where the hours stand in an answer of `days_of_records`, after its groups; the rows come first."""


def months_of(projects: Sequence[int], hours: Hours) -> tuple[tuple[date, date, tuple[Share, ...]], ...]:
    """The weights of each month, of some projects or, without any, of all that used something."""
    found = []
    for month, used in sorted(hours.items()):
        shares = tuple(
            Share(project, used[project]) for project in sorted(projects or used) if used.get(project, 0) > 0
        )
        if shares:
            found.append((month, Month.of(month).end, shares))
    return tuple(found)


def as_rule(
    row: AllocationRule, hours: Hours | None = None, shares: Sequence[tuple[int, Decimal]] | None = None
) -> Rule:
    """A rule as the arithmetic sees it; `shares` where they are not those that are kept."""
    if shares is None:
        shares = [(share.project_id, share.weight) for share in row.shares.all()] if row.pk else []
    monthly = None
    if row.split == Split.USAGE:
        monthly = months_of([project for project, _weight in shares], hours_by_month() if hours is None else hours)
    if row.split == Split.PARTS:
        monthly = months_of_parts(hours_of_parts().get(row.source_id or 0, {}))
    return Rule(
        id=row.pk or 0,
        conditions=tuple(as_condition(condition) for condition in row.conditions),
        target=Target(
            project_id=row.project_id,
            is_shared=row.is_shared,
            category=row.category,
            task_type=row.task_type,
            stage=row.stage,
            experiment=row.experiment,
            reference=row.reference,
            shares=() if monthly is not None else tuple(Share(*share) for share in shares),
            monthly=monthly,
        ),
        source_id=row.source_id,
        starts_on=row.starts_on or FIRST_DAY,
        ends_on=row.ends_on or LAST_DAY,
    )


def as_condition(stored: dict[str, Any]) -> Condition:
    return Condition(
        field=stored["field"],
        operator=stored["operator"],
        values=tuple(stored.get("values") or ()),
        tag=stored.get("tag", ""),
    )


def task_types() -> dict[int, str]:
    return dict(Project.objects.values_list("id", "task_type"))


KEYS_QUERY = """
    SELECT k.id, k.source_id, k.category, k.reference, k.tags, k.resource, k.resource_name, k.resource_type,
           k."user", k.partition, k.cluster, k.namespace, k.service_category,
           m.provider, m.payer, m.account, m.account_name, m.service, m.sku, m.region, m.accelerator,
           m.charge_category, coalesce(nullif(m.accelerator, ''), nullif(k.accelerator_count, 0)::text) AS cards
    FROM usage_keyset k JOIN usage_meter m ON m.id = k.meter_id WHERE {where} ORDER BY k.id
"""


def key_sets(where: str, parameters: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """Key sets with the columns of their meters, as rules see them."""
    with connection.cursor() as cursor:
        cursor.execute(KEYS_QUERY.format(where=where), parameters)
        names = [column.name for column in cursor.description]
        while rows := cursor.fetchmany(CHUNK):
            for row in rows:
                keys = dict(zip(names, row, strict=True))
                yield {**keys, "tags": json.loads(keys["tags"])}


def place_new(key_set_ids_query: str, parameters: dict[str, Any]) -> None:
    """Place the key sets of a query that have no place yet."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s, 0)", [LOCK_OF_RULES])
    where = (
        f"k.id IN ({key_set_ids_query})"
        " AND NOT EXISTS (SELECT 1 FROM usage_placement p WHERE p.key_set_id = k.id AND p.known_until IS NULL)"
    )
    found = list(key_sets(where, parameters))
    rules, types = [*active_rules(), *rules_of_parts({keys["source_id"] for keys in found})], task_types()
    _insert([(keys["id"], place) for keys in found for place in places_of(keys, rules, types)], BEGINNING)


def _insert(pairs: Sequence[tuple[int, Place]], known_from: datetime | str) -> None:
    columns = ", ".join(("key_set_id", *PLACE_COLUMNS, "known_from"))
    with connection.cursor() as cursor, cursor.copy(f"COPY usage_placement ({columns}) FROM STDIN") as copy:
        for key_set, place in pairs:
            values = asdict(place)
            copy.write_row((key_set, *(values[name] for name in PLACE_COLUMNS), known_from))


def open_periods() -> list[tuple[date, date]]:
    """The days that no closed month covers, as half-open ranges in order."""
    ranges: list[tuple[date, date]] = []
    start = FIRST_DAY
    for closed in ClosedMonth.objects.order_by("month").values_list("month", flat=True):
        month = Month.of(closed)
        if start < month.start:
            ranges.append((start, month.start))
        start = month.end
    return [*ranges, (start, LAST_DAY)]


def moves(
    rules: Sequence[Rule],
    where: str = "TRUE",
    parameters: dict[str, Any] | None = None,
    *,
    overrides: Sequence[Override] | None = None,
    also: tuple[date, date] | None = None,
) -> Iterable[tuple[int, list[Place], list[Place]]]:
    """Key sets that rules and re-assignments would place otherwise on open days: id, the places now, the places then.

    What lies in a closed month stays where it is, except on the days of `also`: those are restated. What people booked
    stays where they booked it. After the rules given come those of the job logs that split a bill.
    """
    where = f"({where}) AND {NOT_BY_HAND}"
    rules = [*rules, *rules_of_parts()]
    types, periods = task_types(), open_periods()
    if also is not None:
        closed = [piece for start, end in closed_periods(periods) for piece in _outside(start, end, also)]
        periods = _between(closed)
    overrides = active_overrides() if overrides is None else overrides
    now = current_places(where, parameters or {})
    for keys in key_sets(where, parameters or {}):
        before = now.get(keys["id"], [])
        places = places_of(keys, rules, types, overrides)
        wanted = [place for start, end in periods for place in within(places, start, end)]
        kept = [place for start, end in closed_periods(periods) for place in within(before, start, end)]
        after = sorted([*wanted, *kept], key=lambda place: (place.starts_on, not place.is_first))
        if _by_day(before) != _by_day(after):
            yield keys["id"], before, after


def _outside(start: date, end: date, other: tuple[date, date]) -> list[tuple[date, date]]:
    """What is left of some days when others are taken away."""
    pieces = [(start, min(end, other[0])), (max(start, other[1]), end)]
    return [(first, last) for first, last in pieces if first < last]


def _between(ranges: Sequence[tuple[date, date]]) -> list[tuple[date, date]]:
    """All days that lie in none of some ordered ranges."""
    edges = [FIRST_DAY, *(day for pair in ranges for day in pair), LAST_DAY]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def closed_periods(periods: Sequence[tuple[date, date]]) -> list[tuple[date, date]]:
    """The gaps between the open ranges."""
    return [(end, start) for (_begin, end), (start, _end) in itertools.pairwise(periods)]


def _by_day(places: Sequence[Place]) -> list[Place]:
    """Neighbouring days with the same place joined, so that a cut at a closed month is no difference."""
    joined: list[Place] = []
    for place in sorted(
        places,
        key=lambda place: (
            place.starts_on, not place.is_first, place.project_id or 0, place.is_shared, place.reference
        ),
    ):  # fmt: skip
        twin = next(
            (
                index
                for index, earlier in enumerate(joined)
                if earlier.ends_on == place.starts_on and _same(earlier, place)
            ),
            None,
        )
        if twin is None:
            joined.append(place)
        else:
            joined[twin] = Place(**{**asdict(joined[twin]), "ends_on": place.ends_on})
    return joined


def _same(one: Place, other: Place) -> bool:
    return {**asdict(one), "starts_on": 0, "ends_on": 0} == {**asdict(other), "starts_on": 0, "ends_on": 0}


def current_places(where: str, parameters: dict[str, Any]) -> dict[int, list[Place]]:
    """The places known now, by key set."""
    found: dict[int, list[Place]] = {}
    columns = ", ".join(f"p.{name}" for name in PLACE_COLUMNS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT p.key_set_id, {columns} FROM usage_placement p JOIN usage_keyset k ON k.id = p.key_set_id"
            f" JOIN usage_meter m ON m.id = k.meter_id WHERE p.known_until IS NULL AND {where}",
            parameters,
        )
        for key_set, *values in cursor:
            found.setdefault(key_set, []).append(Place(**dict(zip(PLACE_COLUMNS, values, strict=True))))
    return found


def replace_places(changes: Sequence[tuple[int, list[Place], list[Place]]], *, now: datetime) -> None:
    """End what was known and write what is known from now on. A place that stays the same stays."""
    ids = [key_set for key_set, _before, _after in changes]
    Placement.objects.filter(key_set_id__in=ids, known_until__isnull=True).update(known_until=now)
    _insert([(key_set, place) for key_set, _before, after in changes for place in after], now)
