"""The daily rollup, rebuilt for the meters and days that were touched; and who has to be told."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import connection

from core.money import EXACT
from teams.models import Organisation

from ..daily import MEASURES, days_of_records
from ..queries import DAILY_KEYS, LIVE_NOW, PLACED_NOW


def touch_records(query: str, parameters: dict[str, Any]) -> None:
    """Note the meters and days of the records a query selects (columns key_set_id, usage_start, usage_end)."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE IF NOT EXISTS usage_touched_days (meter_id bigint, day date) ON COMMIT DROP")
        cursor.execute(
            f"""INSERT INTO usage_touched_days
                SELECT DISTINCT k.meter_id, day::date FROM ({query}) AS r JOIN usage_keyset k ON k.id = r.key_set_id
                CROSS JOIN LATERAL generate_series(
                    ((r.usage_start AT TIME ZONE %(zone)s)::date)::timestamp,
                    (r.usage_end - interval '1 microsecond') AT TIME ZONE %(zone)s, interval '1 day') AS day""",
            {**parameters, "zone": Organisation.current().time_zone},
        )


Sums = dict[str, list[Decimal]]
"""Billed and effective cost by currency."""
SUMS_OF_COST = "coalesce(sum(billed), 0), coalesce(sum(effective), 0)"


def add_sums(sums: Sums, currency: str, more: Sequence[Decimal], sign: int) -> None:
    """Add (or, with sign -1, take away) costs of a currency, without rounding."""
    before = sums.setdefault(currency, [Decimal(0)] * len(more))
    sums[currency] = [
        EXACT.add(old, new if sign > 0 else new.copy_negate()) for old, new in zip(before, more, strict=True)
    ]


def rebuild_touched() -> Sums:
    """Rebuild the rollup of the touched meters and days; answer by how much its cost moved.

    Leaves rows for whoever judges budget lines.
    """
    moved: Sums = {}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE usage_touched_days")
        cursor.execute("SELECT min(day), max(day) FROM usage_touched_days")
        first, last = cursor.fetchone()
        if first is None:
            return moved
        cursor.execute(
            f"""WITH moved AS (
                    DELETE FROM usage_dailyusage u USING (SELECT DISTINCT * FROM usage_touched_days) t
                    WHERE u.meter_id = t.meter_id AND u.day = t.day
                    RETURNING u.*)
                {TELL}"""
        )
        for currency, *sums in cursor.fetchall():
            add_sums(moved, currency, sums, -1)
        cursor.execute(
            f"""WITH built AS ({_built()}), moved AS (
                    INSERT INTO usage_dailyusage ({", ".join([*DAILY_KEYS, "rows", *MEASURES])})
                    SELECT b.* FROM built b
                    JOIN (SELECT DISTINCT * FROM usage_touched_days) t ON t.meter_id = b.g0 AND t.day = b.g1
                    RETURNING *)
                {TELL}""",
            {"zone": Organisation.current().time_zone, "first": first, "last": last},
        )
        for currency, *sums in cursor.fetchall():
            add_sums(moved, currency, sums, 1)
        cursor.execute("DROP TABLE usage_touched_days")
    return moved


TELL = f""", told AS (
        INSERT INTO usage_touched (project_id, category, month)
        SELECT DISTINCT project_id, category, date_trunc('month', moment)::date
        FROM moved CROSS JOIN LATERAL (VALUES (day), (billing_month)) AS moments(moment))
    SELECT currency, {SUMS_OF_COST} FROM moved GROUP BY currency"""
"""Notes who is touched, and sums what moved."""


def _built() -> str:
    """Days of the live records that can fall on a touched day of a touched meter."""
    records = """(SELECT * FROM usage_record
        WHERE key_set_id IN (SELECT id FROM usage_keyset WHERE meter_id IN (SELECT meter_id FROM usage_touched_days))
          AND known_until_id IS NULL
          AND usage_start < (%(last)s::date + 1)::timestamp AT TIME ZONE %(zone)s
          AND usage_end > (%(first)s::date)::timestamp AT TIME ZONE %(zone)s)"""
    return days_of_records(records=records, groups=list(DAILY_KEYS.values()), live=LIVE_NOW, placed=PLACED_NOW)


def rebuild_everything() -> None:
    """Rebuild the whole rollup from the records, for another time zone of the organisation or after a repair."""
    query = days_of_records(records="usage_record", groups=list(DAILY_KEYS.values()), live=LIVE_NOW, placed=PLACED_NOW)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM usage_dailyusage")
        cursor.execute(
            f"INSERT INTO usage_dailyusage ({', '.join([*DAILY_KEYS, 'rows', *MEASURES])}) {query}",
            {"zone": Organisation.current().time_zone},
        )
