"""Writing many recomputed estimates at once: one statement for a whole batch, which the ORM has no words for."""

from __future__ import annotations

import json
from collections.abc import Sequence

from django.db import connection

from .models import Estimate

WRITE = """
UPDATE estimates_estimate AS kept
SET answer = made.answer, engine_version = made.engine_version,
    total_mean = made.total_mean, total_p10 = made.total_p10, total_p50 = made.total_p50, total_p90 = made.total_p90,
    ask_total = made.ask_total, prices_on = made.prices_on, computed_at = made.computed_at,
    stale_since = made.stale_since, stale_price_id = made.stale_price_id, refusal = made.refusal
FROM ROWS FROM (
    jsonb_array_elements(%s::jsonb),
    unnest(
        %s::bigint[], %s::text[], %s::numeric[], %s::numeric[], %s::numeric[], %s::numeric[], %s::numeric[],
        %s::date[], %s::timestamptz[], %s::timestamptz[], %s::bigint[], %s::text[]
    )
) AS made(
    answer, id, engine_version, total_mean, total_p10, total_p50, total_p90, ask_total, prices_on, computed_at,
    stale_since, stale_price_id, refusal
)
WHERE kept.id = made.id
"""
"""The answers go as one JSON array: as an array of the database each would be escaped letter by letter."""


def write_recomputed(estimates: Sequence[Estimate]) -> None:
    """Keep what a recomputation may change: the answer, the totals, and whether prices have moved since."""
    answers = json.dumps([estimate.answer for estimate in estimates], separators=(",", ":"), ensure_ascii=False)
    columns = zip(*(cells_of(estimate) for estimate in estimates), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(WRITE, [answers, *(list(column) for column in columns)])


def cells_of(estimate: Estimate) -> tuple:
    return (
        estimate.pk,
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
