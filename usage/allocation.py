"""Allocation rules applied to stored key sets: new ones at an import, all of them when rules changed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from django.db import connection

from core.months import Month
from teams.models import ClosedMonth, Project

from .models import AllocationRule, Placement
from .pipeline.placement import FIRST_DAY, LAST_DAY, Condition, Place, Rule, Target, places_of, within
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
)


def active_rules() -> list[Rule]:
    """The rules in force, in order, as the arithmetic sees them."""
    rows = AllocationRule.objects.filter(active=True).prefetch_related("shares").order_by("position", "id")
    return [as_rule(row) for row in rows]


def as_rule(row: AllocationRule) -> Rule:
    shares = tuple((share.project_id, share.weight) for share in row.shares.all()) if row.pk else ()
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
            shares=shares,
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
           m.charge_category
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
    rules, types = active_rules(), task_types()
    where = (
        f"k.id IN ({key_set_ids_query})"
        " AND NOT EXISTS (SELECT 1 FROM usage_placement p WHERE p.key_set_id = k.id AND p.known_until IS NULL)"
    )
    found = list(key_sets(where, parameters))
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
    rules: Sequence[Rule], where: str = "TRUE", parameters: dict[str, Any] | None = None
) -> Iterable[tuple[int, list[Place], list[Place]]]:
    """Key sets that the rules would place otherwise on open days: id, the places now, the places then.

    What lies in a closed month stays where it is, and what people booked where they booked it.
    """
    where = f"({where}) AND {NOT_BY_HAND}"
    types, periods = task_types(), open_periods()
    now = current_places(where, parameters or {})
    for keys in key_sets(where, parameters or {}):
        before = now.get(keys["id"], [])
        wanted = [place for start, end in periods for place in within(places_of(keys, rules, types), start, end)]
        kept = [place for start, end in closed_periods(periods) for place in within(before, start, end)]
        after = sorted([*wanted, *kept], key=lambda place: (place.starts_on, not place.is_first))
        if _by_day(before) != _by_day(after):
            yield keys["id"], before, after


def closed_periods(periods: Sequence[tuple[date, date]]) -> list[tuple[date, date]]:
    """The gaps between the open ranges."""
    return [(end, start) for (_begin, end), (start, _end) in itertools.pairwise(periods)]


def _by_day(places: Sequence[Place]) -> list[Place]:
    """Neighbouring days with the same place joined, so that a cut at a closed month is no difference."""
    joined: list[Place] = []
    for place in sorted(places, key=lambda place: (place.starts_on, not place.is_first, place.project_id or 0)):
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
