"""What services were asked for, by day: the peak hour beside the mean, tail latency, timeouts, cache hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db import connection

from core.money import EXACT

from .daily import LIVE_AT, LIVE_NOW, PLACED_AT, PLACED_NOW
from .formats.service import FORMAT

HOURS = """
    SELECT m.service, date_trunc('hour', r.usage_start) AS hour,
           r.usage_end - r.usage_start <= interval '1 hour' AS is_hour,
           (r.usage_start AT TIME ZONE %(zone)s)::date AS day, p.share,
           r.quantity AS requests, (r.extra->>'input_tokens')::numeric AS input_tokens,
           (r.extra->>'output_tokens')::numeric AS output_tokens, (r.extra->>'timeouts')::numeric AS timeouts,
           (r.extra->>'cache_hits')::numeric AS cache_hits, (r.extra->>'p95_ms')::numeric AS p95
    FROM usage_record r
    JOIN usage_keyset k ON k.id = r.key_set_id
    JOIN usage_meter m ON m.id = k.meter_id
    JOIN usage_source s ON s.id = k.source_id AND s.format = %(format)s
    JOIN usage_placement p ON p.key_set_id = k.id AND {placed}
     AND p.starts_on <= (r.usage_start AT TIME ZONE %(zone)s)::date
     AND p.ends_on > (r.usage_start AT TIME ZONE %(zone)s)::date
     AND (%(projects)s::bigint[] IS NULL OR p.project_id = ANY(%(projects)s::bigint[]))
    WHERE {live}
      AND r.usage_start >= (%(start)s::date)::timestamp AT TIME ZONE %(zone)s
      AND r.usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s
      AND (%(service)s = '' OR m.service = %(service)s)
"""
BY_HOUR = """
    SELECT service, day, hour, bool_and(is_hour) AS is_hour,
           sum(requests * share) AS requests, sum(input_tokens * share) AS input_tokens,
           sum(output_tokens * share) AS output_tokens, sum(timeouts * share) AS timeouts,
           sum(requests * share) FILTER (WHERE timeouts IS NOT NULL) AS requests_timed,
           sum(cache_hits * share) AS cache_hits,
           sum(requests * share) FILTER (WHERE cache_hits IS NOT NULL) AS requests_cached,
           max(p95) AS worst_p95, sum(p95 * requests * share) AS weighted_p95,
           sum(requests * share) FILTER (WHERE p95 IS NOT NULL) AS requests_measured
    FROM seen GROUP BY service, day, hour
"""
BY_DAY = """
    SELECT service, day, sum(requests), sum(input_tokens), sum(output_tokens),
           max(requests) FILTER (WHERE is_hour),
           (array_agg(hour ORDER BY requests DESC NULLS LAST, hour) FILTER (WHERE is_hour AND requests IS NOT NULL))[1],
           count(*) FILTER (WHERE requests IS NOT NULL), bool_and(is_hour), max(worst_p95), sum(weighted_p95),
           sum(requests_measured), sum(timeouts), sum(requests_timed), sum(cache_hits), sum(requests_cached)
    FROM hours GROUP BY service, day ORDER BY day DESC, service
"""


@dataclass(frozen=True)
class ServiceDay:
    """One service on one day. None is unknown; zero is a value."""

    service: str
    day: date
    requests: Decimal | None
    input_tokens: Decimal | None
    output_tokens: Decimal | None
    peak_requests: Decimal | None
    """Of the busiest hour; None where the rows are longer than an hour."""
    peak_hour: datetime | None
    hours: int
    """Hours that were seen, over which the mean is taken."""
    is_hourly: bool
    worst_p95: Decimal | None
    """Milliseconds, of the slowest hour."""
    weighted_p95: Decimal | None
    requests_measured: Decimal | None
    timeouts: Decimal | None
    requests_timed: Decimal | None
    cache_hits: Decimal | None
    requests_cached: Decimal | None

    @property
    def mean_requests(self) -> Decimal | None:
        """Requests an hour, over the hours that were seen."""
        return ratio(self.requests, Decimal(self.hours)) if self.is_hourly else None

    @property
    def peak_factor(self) -> Decimal | None:
        """How much busier the peak hour is than the mean one."""
        return ratio(self.peak_requests, self.mean_requests)

    @property
    def p95(self) -> Decimal | None:
        """The hours' 95th percentiles in milliseconds, weighted by requests; the day's own cannot be known."""
        return ratio(self.weighted_p95, self.requests_measured)

    @property
    def timeout_share(self) -> Decimal | None:
        return ratio(self.timeouts, self.requests_timed)

    @property
    def cache_hit_share(self) -> Decimal | None:
        return ratio(self.cache_hits, self.requests_cached)


def ratio(part: Decimal | None, whole: Decimal | None) -> Decimal | None:
    """A part of a whole, twelve places out; None where one is unknown or the whole is nothing."""
    if part is None or not whole:
        return None
    return EXACT.divide(part, whole).quantize(Decimal(1).scaleb(-12), context=EXACT)


def service_days(
    start: date,
    end: date,
    *,
    zone: str,
    projects: Sequence[int] | None = None,
    service: str = "",
    known_at: datetime | None = None,
) -> list[ServiceDay]:
    """Services by day of `zone`, half-open, the newest first; with `projects`, what belongs to those alone; now, or as
    known at a time."""
    then = known_at is not None
    seen = HOURS.format(live=LIVE_AT if then else LIVE_NOW, placed=PLACED_AT if then else PLACED_NOW)
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH seen AS ({seen}), hours AS ({BY_HOUR}) {BY_DAY}",
            {
                "start": start,
                "end": end,
                "zone": zone,
                "format": FORMAT.slug,
                "projects": None if projects is None else list(projects),
                "service": service,
                "known_at": known_at,
            },
        )
        return [ServiceDay(*row) for row in cursor.fetchall()]


def newest_service_day(zone: str) -> date | None:
    """The last day anything is known of a service."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT max(r.usage_start AT TIME ZONE %(zone)s)::date FROM usage_record r
               JOIN usage_scope c ON c.id = r.scope_id JOIN usage_source s ON s.id = c.source_id
               WHERE s.format = %(format)s AND r.known_until_id IS NULL""",
            {"zone": zone, "format": FORMAT.slug},
        )
        return cursor.fetchone()[0]
