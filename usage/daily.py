"""The one SQL that turns records into days: where each row falls, what part of it, and where that belongs.

A row within one local day falls on it whole. A longer row spreads its effective cost and its quantities over its
days by seconds; its billed, list and contracted cost stay on the first day, because cash is paid once. Shares are
decimals that add up to exactly 1, and are multiplied, never divided: the days of a row add up to the row.
"""

from __future__ import annotations

from collections.abc import Sequence

BEARS_MONEY = "(SELECT id FROM usage_source WHERE money NOT IN ('none', '') AND part_of_id IS NULL)"
"""Sources whose cost counts in the whole; a part of another source only splits that one's."""

MEASURES = ("billed", "effective", "list_cost", "contracted", "quantity", "accelerator_hours", "cpu_core_hours")
SPREAD = ("effective", "quantity", "accelerator_hours", "cpu_core_hours")
"""Measures that a long row spreads over its days."""

LIVE_NOW = "r.known_until_id IS NULL"
LIVE_AT = (
    "r.known_from_id IN (SELECT id FROM usage_import WHERE live_at <= %(known_at)s)"
    " AND (r.known_until_id IS NULL"
    " OR r.known_until_id NOT IN (SELECT id FROM usage_import WHERE live_at <= %(known_at)s))"
)
PLACED_NOW = "p.known_until IS NULL"
PLACED_AT = "p.known_from <= %(known_at)s AND (p.known_until IS NULL OR p.known_until > %(known_at)s)"

LAST_DAY_OF = "((r.usage_end - interval '1 microsecond') AT TIME ZONE %(zone)s)::date"
WITHIN_A_DAY = f"(r.usage_start AT TIME ZONE %(zone)s)::date = {LAST_DAY_OF}"
WHOLE_DAY = "CROSS JOIN LATERAL (SELECT (r.usage_start AT TIME ZONE %(zone)s)::date AS day) AS d"
PARTS_OF_DAYS = """
    CROSS JOIN LATERAL (
        SELECT day::date AS day, day::date = first_day AS is_first,
               CASE WHEN NOT spread THEN 1 ELSE
                    round(extract(epoch FROM least(r.usage_end, (day + interval '1 day') AT TIME ZONE %(zone)s)
                                             - r.usage_start) / seconds, 12)
                  - round(extract(epoch FROM greatest(r.usage_start, day AT TIME ZONE %(zone)s)
                                             - r.usage_start) / seconds, 12) END AS part
        FROM (SELECT (r.usage_start AT TIME ZONE %(zone)s)::date AS first_day,
                     extract(epoch FROM r.usage_end - r.usage_start) AS seconds,
                     coalesce(r.effective, 0) <> 0 OR coalesce(r.accelerator_hours, 0) <> 0
                     OR coalesce(r.cpu_core_hours, 0) <> 0 AS spread) AS row_,
             generate_series(first_day::timestamp,
                             CASE WHEN spread
                                  THEN (r.usage_end - interval '1 microsecond') AT TIME ZONE %(zone)s
                                  ELSE first_day::timestamp END,
                             interval '1 day') AS day
    ) AS d
"""
"""The days of a row that crosses midnight, with the part of its seconds that falls on each."""

ROW_KEYS = ("key_set_id", "billing_month", "currency")


def days_of_records(
    groups: Sequence[str],
    *,
    records: str = "usage_record",
    live: str = LIVE_NOW,
    placed: str = PLACED_NOW,
    placements: str = "usage_placement",
    joins: str = "",
    row_keys: Sequence[str] = (),
    where: str = "TRUE",
) -> str:
    """SQL of records summed by day and place: `sums_of_days` and `placed_sums` in one. Parameter: `zone`."""
    sums = f"({sums_of_days(records=records, live=live, row_keys=row_keys)})"
    return placed_sums(groups, sums=sums, placed=placed, placements=placements, joins=joins, where=where)


def sums_of_days(*, records: str = "usage_record", live: str = LIVE_NOW, row_keys: Sequence[str] = ()) -> str:
    """SQL of records summed by ROW_KEYS, `row_keys` and `day`, wherever they are placed.

    `records` is a table or a parenthesised query with the columns of `usage_record`; `live` filters it as `r`.
    """
    keys = [*ROW_KEYS, *row_keys]
    return f"{_short(keys, records, live)} UNION ALL {_long(keys, records, live)}"


def sums_within_days(*, records: str) -> str:
    """As `sums_of_days`, of rows of which none crosses midnight."""
    sums = ", ".join(f"sum(r.{name}) AS {name}" for name in MEASURES)
    keys = _columns(ROW_KEYS)
    return f"SELECT {keys}, d.day, count(*) AS rows, {sums} FROM {records} AS r {WHOLE_DAY} GROUP BY {keys}, d.day"


def placed_sums(
    groups: Sequence[str],
    *,
    sums: str,
    placed: str = PLACED_NOW,
    placements: str = "usage_placement",
    joins: str = "",
    where: str = "TRUE",
) -> str:
    """SQL of sums of days by where they belong.

    `sums` is what `sums_of_days` answers, as `x`; `placed` filters `placements` as `p`. `groups` are expressions over
    `x`, `k` (key set), `p` and what `joins` brings; `where` filters the same. Columns of the answer: the groups as
    g0, g1…, then `rows`, then the MEASURES.
    """
    named = [f"{group} AS g{number}" for number, group in enumerate(groups)]
    parts = [f"coalesce(sum(x.{name} * p.share), 0) AS {name}" for name in MEASURES]
    columns = ", ".join([*named, "coalesce(sum(x.rows) FILTER (WHERE p.is_first), 0)::bigint AS rows", *parts])
    grouped = f" GROUP BY {', '.join(str(number + 1) for number in range(len(groups)))}" if groups else ""
    return (
        f"SELECT {columns} FROM {sums} AS x"
        f" JOIN usage_keyset k ON k.id = x.key_set_id"
        f" JOIN {placements} p ON p.key_set_id = x.key_set_id"
        f" AND p.starts_on <= x.day AND p.ends_on > x.day AND {placed} {joins} WHERE {where}{grouped}"
    )


def _short(keys: Sequence[str], records: str, live: str) -> str:
    sums = ", ".join(f"sum(r.{name}) AS {name}" for name in MEASURES)
    return (
        f"SELECT {_columns(keys)}, d.day, count(*) AS rows, {sums} FROM {records} AS r {WHOLE_DAY}"
        f" WHERE {live} AND {WITHIN_A_DAY} GROUP BY {_columns(keys)}, d.day"
    )


def _long(keys: Sequence[str], records: str, live: str) -> str:
    sums = ", ".join(
        f"sum(r.{name} * d.part) AS {name}" if name in SPREAD else f"sum(r.{name}) FILTER (WHERE d.is_first) AS {name}"
        for name in MEASURES
    )
    return (
        f"SELECT {_columns(keys)}, d.day, count(*) FILTER (WHERE d.is_first) AS rows, {sums}"
        f" FROM {records} AS r {PARTS_OF_DAYS} WHERE {live} AND NOT {WITHIN_A_DAY} GROUP BY {_columns(keys)}, d.day"
    )


def _columns(keys: Sequence[str]) -> str:
    return ", ".join(f"r.{key}" for key in keys)


DAILY_KEYS = {
    "meter_id": "k.meter_id",
    "day": "x.day",
    "billing_month": "x.billing_month",
    "currency": "x.currency",
    "project_id": "p.project_id",
    "is_shared": "p.is_shared",
    "category": "p.category",
    "task_type": "p.task_type",
    "stage": "p.stage",
    "reference": "p.reference",
    "is_tagged": "k.tags <> '{}'",
}
"""The columns of `DailyUsage` that tell its rows apart, as expressions over days of records."""
DAILY_COLUMNS = ", ".join([*DAILY_KEYS, "rows", *MEASURES])
