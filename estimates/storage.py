"""Writing many recomputed estimates at once: one statement for a whole batch, which the ORM has no words for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import psycopg
from django.db import connection

from .models import Estimate

WRITE = """
UPDATE estimates_estimate AS kept
SET priced = coalesce(made.priced::jsonb, kept.priced), lasting = coalesce(made.lasting::jsonb, kept.lasting),
    lasting_ground = made.lasting_ground, engine_version = made.engine_version,
    total_mean = made.total_mean, total_p10 = made.total_p10, total_p50 = made.total_p50, total_p90 = made.total_p90,
    ask_total = made.ask_total, prices_on = made.prices_on, computed_at = made.computed_at,
    stale_since = made.stale_since, stale_price_id = made.stale_price_id, refusal = made.refusal
FROM unnest(
    %b::text[], %b::text[], %s::bigint[], %s::text[], %s::text[], %s::numeric[], %s::numeric[], %s::numeric[],
    %s::numeric[], %s::numeric[], %s::date[], %s::timestamptz[], %s::timestamptz[], %s::bigint[], %s::text[]
) AS made(
    priced, lasting, id, lasting_ground, engine_version, total_mean, total_p10, total_p50, total_p90, ask_total,
    prices_on, computed_at, stale_since, stale_price_id, refusal
)
WHERE kept.id = made.id
"""
"""Django would write the answers into the statement, each escaped letter by letter; the cursor of psycopg sends them
beside it as they are. A part that is not written stays where it is, unread."""


def write_recomputed(estimates: Sequence[Estimate]) -> None:
    """Keep what a recomputation may change: the answer, the totals, and whether prices have moved since."""
    columns = zip(*(cells_of(estimate) for estimate in estimates), strict=True)
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(WRITE, [list(column) for column in columns])


def _written(estimate: Estimate, part: str) -> str | None:
    """A part of the answer as text; None where it was neither read nor made, and stays as it is."""
    if part in estimate.get_deferred_fields():
        return None
    return orjson.dumps(getattr(estimate, part), option=orjson.OPT_SERIALIZE_NUMPY).decode()


def cells_of(estimate: Estimate) -> tuple[Any, ...]:
    return (
        _written(estimate, "priced"),
        _written(estimate, "lasting"),
        estimate.pk,
        estimate.lasting_ground,
        estimate.engine_version,
        estimate.total_mean,
        estimate.total_p10,
        estimate.total_p50,
        estimate.total_p90,
        estimate.ask_total,
        estimate.prices_on,
        estimate.computed_at,
        estimate.stale_since,
        estimate.stale_price_id,
        estimate.refusal,
    )
