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

WHOLE_DAY = "CROSS JOIN LATERAL (SELECT (r.usage_start AT TIME ZONE %(zone)s)::date AS day) AS d"

SHARES_OF_DAYS = """
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


def days_of_records(*, records: str, groups: Sequence[str], joins: str = "", live: str, placed: str) -> str:
    """SQL of records by day and place.

    `records` is a table or a parenthesised query with the columns of `usage_record`; `groups` are expressions over
    `r` (record), `k` (key set), `p` (placement), `d.day` and what `joins` brings; `live` filters `r`, `placed` `p`.
    Parameters: `zone`. Columns: the groups in order as g0, g1…, `rows`, then the MEASURES.
    """
    within = (
        "(r.usage_start AT TIME ZONE %(zone)s)::date"
        " = ((r.usage_end - interval '1 microsecond') AT TIME ZONE %(zone)s)::date"
    )
    named = [f"{group} AS g{number}" for number, group in enumerate(groups)]
    sums = [f"coalesce(sum({name}), 0) AS {name}" for name in MEASURES]
    keys = [f"g{number}" for number in range(len(groups))]
    short = _branch(named, records, joins, f"{live} AND {within}", placed, WHOLE_DAY, one_day=True)
    long = _branch(named, records, joins, f"{live} AND NOT {within}", placed, SHARES_OF_DAYS, one_day=False)
    return (
        f"SELECT {', '.join([*keys, 'sum(rows)::bigint AS rows', *sums])}"
        f" FROM ({short} UNION ALL {long}) AS parts" + (f" GROUP BY {', '.join(keys)}" if keys else "")
    )


def _branch(named: Sequence[str], records: str, joins: str, live: str, placed: str, days: str, *, one_day: bool) -> str:
    columns = [*named, *_parts(one_day)]
    keys = ", ".join(str(number + 1) for number in range(len(named)))
    return (
        f"SELECT {', '.join(columns)} FROM {records} AS r JOIN usage_keyset k ON k.id = r.key_set_id {joins} {days}"
        f" JOIN usage_placement p ON p.key_set_id = r.key_set_id"
        f" AND p.starts_on <= d.day AND p.ends_on > d.day AND {placed}"
        f" WHERE {live}" + (f" GROUP BY {keys}" if keys else "")
    )


def _parts(one_day: bool) -> list[str]:
    if one_day:
        return [
            "count(*) FILTER (WHERE p.is_first) AS rows",
            *(f"sum(r.{name} * p.share) AS {name}" for name in MEASURES),
        ]
    return [
        "count(*) FILTER (WHERE d.is_first AND p.is_first) AS rows",
        *(
            f"sum(r.{name} * p.share * d.part) AS {name}"
            if name in SPREAD
            else f"sum(r.{name} * p.share) FILTER (WHERE d.is_first) AS {name}"
            for name in MEASURES
        ),
    ]
