"""The daily rollup, rebuilt for the meters and days that were touched; and who has to be told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection

from core.money import EXACT
from teams.models import Organisation

from ..daily import DAILY_COLUMNS, DAILY_KEYS, days_of_records, placed_sums, sums_of_days, sums_within_days

MANY_DAYS = 20_000
"""From so many touched days on, reading all records of the time is quicker than looking each day up."""

Sums = dict[str, list[Decimal]]
"""Billed and effective cost by currency."""
SUMS_OF_COST = "coalesce(sum(billed), 0), coalesce(sum(effective), 0)"


def add_sums(sums: Sums, currency: str, more: Sequence[Decimal], sign: int) -> None:
    """Add (or, with sign -1, take away) costs of a currency, without rounding."""
    before = sums.setdefault(currency, [Decimal(0)] * len(more))
    sums[currency] = [
        EXACT.add(old, new if sign > 0 else new.copy_negate()) for old, new in zip(before, more, strict=True)
    ]


def touch_records(query: str, parameters: dict[str, Any]) -> None:
    """Note the meters and days of the records a query selects (columns key_set_id, usage_start, usage_end)."""
    with connection.cursor() as cursor:
        cursor.execute(
            """CREATE TEMP TABLE IF NOT EXISTS usage_touched_days (meter_id bigint, day date, crosses boolean)
               ON COMMIT DROP"""
        )
        cursor.execute(
            f"""INSERT INTO usage_touched_days
                SELECT DISTINCT k.meter_id, day::date, first_day < last_day FROM (
                    SELECT DISTINCT key_set_id, (usage_start AT TIME ZONE %(zone)s)::date AS first_day,
                           ((usage_end - interval '1 microsecond') AT TIME ZONE %(zone)s)::date AS last_day
                    FROM ({query}) AS touched) AS r
                JOIN usage_keyset k ON k.id = r.key_set_id
                CROSS JOIN LATERAL generate_series(first_day::timestamp, last_day, interval '1 day') AS day""",
            {**parameters, "zone": Organisation.current().time_zone},
        )


def rebuild_touched(fresh: str = "") -> Sums:
    """Rebuild the rollup of the touched meters and days; answer by how much its cost moved.

    `fresh` is SQL of the rows that were just written. Where the touched days had no usage before, they are all there
    is, and nothing else is read. Leaves rows for whoever judges budget lines.
    """
    moved: Sums = {}
    zone = Organisation.current().time_zone
    with connection.cursor() as cursor:
        cursor.execute(
            """CREATE TEMP TABLE usage_rebuilt_days ON COMMIT DROP AS
               SELECT meter_id, day, bool_or(crosses) AS crosses FROM usage_touched_days GROUP BY 1, 2"""
        )
        cursor.execute("DROP TABLE usage_touched_days")
        cursor.execute("ANALYZE usage_rebuilt_days")
        cursor.execute("SELECT min(day), max(day), count(*) FROM usage_rebuilt_days")
        first, last, days = cursor.fetchone()
        if days:
            cursor.execute(
                f"""WITH moved AS (
                        DELETE FROM usage_dailyusage u USING usage_rebuilt_days t
                        WHERE u.meter_id = t.meter_id AND u.day = t.day RETURNING u.*)
                    {TELL}"""
            )
            gone = cursor.fetchall()
            for currency, *sums in gone:
                add_sums(moved, currency, sums, -1)
            alone = fresh if fresh and not gone else ""
            for currency, *sums in _insert_days(cursor, {"zone": zone, "first": first, "last": last}, days, alone):
                add_sums(moved, currency, sums, 1)
        cursor.execute("DROP TABLE usage_rebuilt_days")
    return moved


TELL = f""", told AS (
        INSERT INTO usage_touched (project_id, category, month)
        SELECT DISTINCT project_id, category, date_trunc('month', moment)::date
        FROM moved CROSS JOIN LATERAL (VALUES (day), (billing_month)) AS moments(moment))
    SELECT currency, {SUMS_OF_COST} FROM moved GROUP BY currency"""
"""Notes who is touched, and sums what moved."""


def _insert_days(cursor: Any, parameters: dict[str, Any], days: int, alone: str) -> list[tuple]:
    """Write the touched days anew from the live records; answer their sums by currency.

    `alone` is SQL of rows that are all the touched days hold. The sums come first, into a table of their own: then
    the planner knows how many there are.
    """
    if alone:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM usage_rebuilt_days WHERE crosses)")
        crosses = cursor.fetchone()[0]
        records = f"(SELECT *, NULL::bigint AS known_until_id FROM {alone})"
        sums = sums_of_days(records=records) if crosses else sums_within_days(records=records)
    elif days >= MANY_DAYS:
        sums = sums_of_days(records=RECORDS_OF_THE_TIME)
    else:
        _gather_records(cursor, parameters)
        sums = sums_of_days(records="usage_touched_records")
    with Planner(cursor, **BY_HASH):
        cursor.execute(f"CREATE TEMP TABLE usage_sums ON COMMIT DROP AS {sums}", parameters)
        cursor.execute("ANALYZE usage_sums")
        cursor.execute(
            f"""WITH moved AS (
                    INSERT INTO usage_dailyusage ({DAILY_COLUMNS})
                    SELECT b.* FROM ({placed_sums(list(DAILY_KEYS.values()), sums="usage_sums")}) AS b
                    JOIN usage_rebuilt_days t ON t.meter_id = b.g0 AND t.day = b.g1
                    RETURNING *)
                {TELL}"""
        )
        found = cursor.fetchall()
    cursor.execute("DROP TABLE IF EXISTS usage_sums, usage_touched_records")
    return found


RECORDS_OF_THE_TIME = """(
    SELECT * FROM usage_record
    WHERE key_set_id IN (SELECT id FROM usage_keyset WHERE meter_id IN (SELECT meter_id FROM usage_rebuilt_days))
      AND known_until_id IS NULL
      AND usage_start < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s
      AND usage_end > (%(first)s::date)::timestamp AT TIME ZONE %(zone)s)"""


def _gather_records(cursor: Any, parameters: dict[str, Any]) -> None:
    """Look up the live records that fall on the touched days: those that start on one, those of a day or less that
    reach into one from a day that is not touched, and long ones.

    Written so that every day is one descent of the index on key set and start, whatever the statistics say.
    """
    cursor.execute(
        """CREATE TEMP TABLE usage_touched_records ON COMMIT DROP AS
           SELECT r.* FROM usage_rebuilt_days t
           JOIN usage_keyset k ON k.meter_id = t.meter_id
           CROSS JOIN LATERAL (
               SELECT * FROM usage_record r
               WHERE r.key_set_id = k.id AND coalesce(r.known_until_id, 0) = 0
                 AND r.usage_end - r.usage_start <= interval '24:00'
                 AND r.usage_start >= t.day::timestamp AT TIME ZONE %(zone)s
                 AND r.usage_start < (t.day + 1)::timestamp AT TIME ZONE %(zone)s OFFSET 0) AS r
           UNION ALL (
           SELECT DISTINCT r.* FROM usage_rebuilt_days t
           JOIN usage_keyset k ON k.meter_id = t.meter_id
           CROSS JOIN LATERAL (
               SELECT * FROM usage_record r
               WHERE r.key_set_id = k.id AND coalesce(r.known_until_id, 0) = 0
                 AND r.usage_end - r.usage_start <= interval '24:00'
                 AND r.usage_start >= (t.day - 2)::timestamp AT TIME ZONE %(zone)s
                 AND r.usage_start < t.day::timestamp AT TIME ZONE %(zone)s
                 AND r.usage_end > t.day::timestamp AT TIME ZONE %(zone)s OFFSET 0) AS r
           WHERE NOT EXISTS (
               SELECT 1 FROM usage_rebuilt_days other WHERE other.meter_id = t.meter_id
               AND other.day = (r.usage_start AT TIME ZONE %(zone)s)::date))
           UNION ALL
           SELECT r.* FROM (SELECT DISTINCT meter_id FROM usage_rebuilt_days) t
           JOIN usage_keyset k ON k.meter_id = t.meter_id
           CROSS JOIN LATERAL (
               SELECT * FROM usage_record r
               WHERE r.key_set_id = k.id AND r.known_until_id IS NULL
                 AND r.usage_end - r.usage_start > interval '24:00'
                 AND r.usage_start < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s
                 AND r.usage_end > (%(first)s::date)::timestamp AT TIME ZONE %(zone)s OFFSET 0) AS r""",
        parameters,
    )
    cursor.execute("ANALYZE usage_touched_records")


class Planner:
    """Settings of PostgreSQL's planner for some statements: inside an import its statistics are those of before."""

    def __init__(self, cursor: Any, **wanted: str) -> None:
        self._cursor, self._wanted = cursor, wanted

    def __enter__(self) -> None:
        for name, value in self._wanted.items():
            self._cursor.execute(f"SET LOCAL {name} = {value}")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            for name in self._wanted:
                self._cursor.execute(f"SET LOCAL {name} TO DEFAULT")


BY_HASH = {"enable_nestloop": "off"}
"""Whole tables against each other."""


def rebuild_everything() -> None:
    """Rebuild the whole rollup from the records, for another time zone of the organisation or after a repair."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_dailyusage")
        cursor.execute(
            f"INSERT INTO usage_dailyusage ({DAILY_COLUMNS}) {days_of_records(list(DAILY_KEYS.values()))}",
            {"zone": Organisation.current().time_zone},
        )


class DifferingDay(NamedTuple):
    """Effective cost and accelerator-hours of a day, in the rollup and by the records, where the two rows differ."""

    source: str
    day: date
    kept: Decimal
    recomputed: Decimal
    hours_kept: Decimal
    hours_recomputed: Decimal


def differing_days() -> list[DifferingDay]:
    """Each day whose rollup is not what the records add up to.

    One statement sees one moment: an import that comes meanwhile is in both or in none.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH again AS MATERIALIZED (
                    SELECT {DAILY_COLUMNS} FROM ({days_of_records(list(DAILY_KEYS.values()))}) AS d ({DAILY_COLUMNS})),
                kept AS MATERIALIZED (SELECT {DAILY_COLUMNS} FROM usage_dailyusage),
                odd AS (
                    SELECT meter_id, day, effective, accelerator_hours, true AS is_kept
                    FROM (SELECT * FROM kept EXCEPT ALL SELECT * FROM again) AS only_kept
                    UNION ALL
                    SELECT meter_id, day, effective, accelerator_hours, false
                    FROM (SELECT * FROM again EXCEPT ALL SELECT * FROM kept) AS only_again)
                SELECT s.slug, day, coalesce(sum(effective) FILTER (WHERE is_kept), 0),
                       coalesce(sum(effective) FILTER (WHERE NOT is_kept), 0),
                       coalesce(sum(accelerator_hours) FILTER (WHERE is_kept), 0),
                       coalesce(sum(accelerator_hours) FILTER (WHERE NOT is_kept), 0)
                FROM odd JOIN usage_meter m ON m.id = odd.meter_id JOIN usage_source s ON s.id = m.source_id
                GROUP BY s.slug, day ORDER BY day, s.slug LIMIT 200""",
            {"zone": Organisation.current().time_zone},
        )
        return [DifferingDay._make(row) for row in cursor.fetchall()]
