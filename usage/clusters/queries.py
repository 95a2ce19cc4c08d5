"""Questions about clusters: what they could give, what of it was held, and until when that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.db import connection

from core.money import EXACT
from core.months import Month
from estimates.queries import accelerator_names
from teams.models import Organisation

from ..daily import MEASURES, days_of_records
from ..queries import fresh_by_source
from .capacity import CardDay, Lot, Window, card_days
from .models import CardLot, CardWindow, Cluster

HOURS = 3 + 1 + MEASURES.index("accelerator_hours")
"""Where the hours stand in an answer of `days_of_records` with three groups, behind them and the rows."""
SUBMITTED = "CASE WHEN r.extra->>'submit' ~ '^[0-9]{1,11}$' THEN (r.extra->>'submit')::bigint END"
"""Seconds since 1970 of a record `r`; null where a column of that name in a log of another kind says something else."""
HELD_BY = ("x.day", "coalesce(nullif(k.partition, ''), m.sku)", "m.accelerator")
PARTITIONS = """
    SELECT k.meter_id, min(k.cluster) AS cluster, min(coalesce(nullif(k.partition, ''), m.sku)) AS partition,
           count(DISTINCT (k.cluster, coalesce(nullif(k.partition, ''), m.sku))) AS partitions
    FROM usage_keyset k JOIN usage_meter m ON m.id = k.meter_id WHERE k.source_id = %(source)s GROUP BY k.meter_id
"""
"""Which cluster and partition a meter of the log is of, and of how many."""
HELD_OF_ROLLUP = f"""
    SELECT u.day, told.partition, m.accelerator, sum(u.accelerator_hours)
    FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id JOIN ({PARTITIONS}) AS told ON told.meter_id = m.id
    WHERE u.day >= %(start)s AND u.day < %(end)s AND u.accelerator_hours <> 0
      AND (%(cluster)s = '' OR told.cluster = %(cluster)s)
    GROUP BY 1, 2, 3
"""


def known_until(cluster: Cluster) -> date | None:
    """The first day that the job log does not cover whole."""
    newest = fresh_by_source([cluster.source_id]).get(cluster.source_id)
    return newest.astimezone(Organisation.current().zone).date() if newest else None


def first_day(cluster: Cluster) -> date | None:
    return min((lot.starts_on for lot in cluster.lots.all()), default=None)


def days_of_cluster(cluster: Cluster, start: date, end: date) -> list[CardDay]:
    """Every kind of card on each half-open day, with the hours that jobs held."""
    held = _held(cluster, start, end)
    whole = Cluster.objects.with_cards().get(pk=cluster.pk)
    there = {(each.day, each.accelerator): each for each in registered_days(whole, start, end)}
    none = Decimal(0)
    found = [
        replace(there.get(key, CardDay(*key, none, none)), allocated=held.get(key, none))
        for key in there.keys() | held.keys()
    ]
    return sorted(found, key=lambda each: (each.day, each.accelerator))


def registered_days(cluster: Cluster, start: date, end: date) -> Iterator[CardDay]:
    """What the register alone says of each half-open day, past or to come, of a cluster `with_cards`."""
    lots = [Lot(lot.accelerator.slug, lot.cards, lot.starts_on, lot.ends_on) for lot in cluster.lots.all()]
    windows = [
        Window(
            each.starts_at,
            each.ends_at,
            each.accelerator.slug if each.accelerator else "",
            each.cards,
            each.kind == CardWindow.Kind.RESERVATION,
        )
        for each in cluster.windows.all()
    ]
    return card_days(lots, windows, start, end, Organisation.current().zone)


@dataclass(frozen=True)
class RegisteredMonth:
    """Accelerator-hours of one kind of card of one cluster in one month, as the register says."""

    cluster: Cluster
    accelerator: str
    month: Month
    capacity: Decimal
    maintenance: Decimal
    reserved: Decimal

    @property
    def free(self) -> Decimal:
        """What can be promised to anybody: neither in maintenance nor reserved."""
        return self.capacity - self.maintenance - self.reserved


def capacity_by_month(start: Month, end: Month) -> list[RegisteredMonth]:
    """What every cluster can give in each half-open month, past or to come, kind by kind; five queries in all."""
    found: dict[tuple[str, str, Month], RegisteredMonth] = {}
    for cluster in Cluster.objects.with_cards():
        for day in registered_days(cluster, start.start, end.start):
            key = (cluster.slug, day.accelerator, Month.of(day.day))
            before = found.get(key) or RegisteredMonth(cluster, day.accelerator, key[2], *[Decimal(0)] * 3)
            found[key] = replace(
                before,
                capacity=before.capacity + day.capacity,
                maintenance=before.maintenance + day.maintenance,
                reserved=before.reserved + day.reserved,
            )
    return list(found.values())


def _held(cluster: Cluster, start: date, end: date) -> dict[tuple[date, str], Decimal]:
    """Accelerator-hours of the job log by day and kind."""
    kind_of = kinds_of(cluster)
    found: dict[tuple[date, str], Decimal] = {}
    for day, partition, card, hours in _held_by_partition(cluster, start, end):
        key = (day, kind_of(partition, card))
        found[key] = EXACT.add(found.get(key, Decimal(0)), hours)
    return found


def _held_by_partition(cluster: Cluster, start: date, end: date) -> list[tuple[date, str, str, Decimal]]:
    """Day, partition, card, hours: of the rollup where its meters tell partitions and clusters apart, else of jobs."""
    parameters: dict[str, Any] = {
        "source": cluster.source_id, "cluster": cluster.log_name, "start": start, "end": end
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT FROM ({PARTITIONS}) AS told WHERE told.partitions > 1)", parameters)
        if cursor.fetchone() == (False,):
            cursor.execute(HELD_OF_ROLLUP, parameters)
            return cursor.fetchall()
    return [(*row[:3], row[HOURS]) for row in job_days(cluster, start, end, HELD_BY)]


def kinds_of(cluster: Cluster) -> Callable[[str, str], str]:
    """Which kind of card a job held: as its partition says, else as the log names the card, else the only one there."""
    partitions = dict(cluster.partitions.values_list("name", "accelerator__slug"))
    kinds = set(cluster.lots.values_list("accelerator__slug", flat=True))
    only = next(iter(kinds)) if len(kinds) == 1 else ""
    names = accelerator_names()

    def kind_of(partition: str, card: str) -> str:
        named = partitions.get(partition) or names.get("-".join(card.lower().split()))
        return named or only or card or partition

    return kind_of


def job_days(cluster: Cluster, start: date, end: date, groups: Sequence[str]) -> list[tuple[Any, ...]]:
    """What the cluster's jobs held on some half-open days, by three groups: these, the rows, the measures."""
    where = "x.day >= %(start)s AND x.day < %(end)s AND k.source_id = %(source)s"
    if cluster.log_name:
        where += " AND k.cluster = %(cluster)s"
    sql = days_of_records(
        groups,
        records=(
            "(SELECT * FROM usage_record WHERE accelerator_hours <> 0"
            " AND key_set_id IN (SELECT id FROM usage_keyset WHERE source_id = %(source)s)"
            " AND usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s"
            " AND usage_end > (%(start)s::date)::timestamp AT TIME ZONE %(zone)s)"
        ),
        joins="JOIN usage_meter m ON m.id = k.meter_id",
        where=where,
    )
    parameters: dict[str, Any] = {
        "zone": Organisation.current().time_zone,
        "start": start,
        "end": end,
        "source": cluster.source_id,
        "cluster": cluster.log_name,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


@dataclass(frozen=True)
class CardMonth:
    """One kind of card in one month; what is not known yet is neither held nor idle."""

    accelerator: str
    capacity: Decimal
    maintenance: Decimal
    allocated: Decimal
    idle: Decimal
    beyond: Decimal

    @property
    def allocated_share(self) -> Decimal | None:
        usable = self.capacity - self.maintenance
        return self.allocated / usable if usable else None


def by_accelerator(days: Sequence[CardDay]) -> list[CardMonth]:
    """Days summed by kind of card."""
    found: dict[str, list[CardDay]] = {}
    for each in days:
        found.setdefault(each.accelerator, []).append(each)
    names = ("capacity", "maintenance", "allocated", "idle", "beyond")
    return [
        CardMonth(accelerator, *(sum((getattr(each, name) for each in own), Decimal(0)) for name in names))
        for accelerator, own in sorted(found.items())
    ]


def idle_of_parts() -> dict[int, dict[date, Decimal]]:
    """Idle hours of clusters that a bill carries, by the bill's source and month: they are that bill's shared cost."""
    found: dict[int, dict[date, Decimal]] = {}
    for cluster in Cluster.objects.filter(source__part_of__isnull=False).select_related("source"):
        of_bill = found.setdefault(cluster.source.part_of_id or 0, {})
        for each in known_days(cluster):
            month = Month.of(each.day).start
            of_bill[month] = of_bill.get(month, Decimal(0)) + each.idle
    return found


def known_days(cluster: Cluster) -> list[CardDay]:
    """From the first card to the last day that the job log covers whole."""
    start, end = first_day(cluster), known_until(cluster)
    return days_of_cluster(cluster, start, end) if start and end and start < end else []


def lots_there(day: date) -> list[CardLot]:
    """All cards of the organisation in use on a day."""
    found = CardLot.objects.filter(starts_on__lte=day).select_related("accelerator", "cluster")
    return [lot for lot in found if lot.ends_on is None or lot.ends_on > day]
