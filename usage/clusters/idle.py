"""Idle hours as usage: a statement for each month that the product delivers to itself, as any bill is delivered.

It is derived from the register and the job log, at the price of the day at which jobs are charged, and delivered again
whenever it would read otherwise. So what was believed stays known, closed months keep their official figures, and the
money of own cards is the money of their jobs and of their idle hours, in one sum with everything else.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from core.money import EXACT, exact_text
from core.months import Month, midnight
from estimates.engine.books import PriceKey
from teams.models import Organisation

from .. import services
from ..delivery import read_settings
from ..models import Import, Scope
from ..pipeline.rate_card import RateCard
from ..reading.notes import Notes
from .capacity import CardDay
from .models import Cluster
from .queries import known_days

COLUMNS = ("start", "end", "accelerator", "idle_hours", "price_per_hour", "cost", "currency")
SETTINGS = {
    "columns": "start=start,end=end,accelerator=accelerator,quantity=idle_hours,cost=cost,currency=currency",
    "constants": "service=idle,unit=idle accelerator-hour,category=compute",
    "meaning": "statement",
    "money": "own",
    "drop_limit": "1",
}
PLACES = Decimal(1).scaleb(-18)


def queue_statements(*, now: datetime) -> list[int]:
    """Queue the months of idle that read otherwise than what is live."""
    clusters = Cluster.objects.exclude(idle_source=None).select_related("source", "idle_source")
    return [number for cluster in clusters for number in _queue(cluster, now)]


def _queue(cluster: Cluster, now: datetime) -> list[int]:
    months: dict[Month, list[CardDay]] = {}
    for each in known_days(cluster):
        if each.capacity:
            months.setdefault(Month.of(each.day), []).append(each)
    assert cluster.idle_source is not None
    live = {
        scope.month: scope.live.sha256
        for scope in Scope.objects.filter(source=cluster.idle_source, live__isnull=False).select_related("live")
        if scope.live
    }
    waiting = set(cluster.idle_source.imports.open().values_list("sha256", flat=True))
    rates = RateCard(read_settings(cluster.source.settings), Notes())
    queued = []
    for month, days in sorted(months.items()):
        content = statement(cluster, days, rates)
        digest = hashlib.sha256(content).hexdigest()
        if digest not in waiting and live.get(month.start) != digest:
            queued.append(_deliver(cluster, month, content, now).pk)
    return queued


def _deliver(cluster: Cluster, month: Month, content: bytes, now: datetime) -> Import:
    assert cluster.idle_source is not None
    return services.receive_file(
        source=cluster.idle_source,
        by=None,
        name=f"idle-{cluster.slug}-{month}.csv",
        stream=io.BytesIO(content),
        settings={"issued_at": now.isoformat(), "billing_period": str(month)},
        now=now,
    )


def statement(cluster: Cluster, days: Sequence[CardDay], rates: RateCard) -> bytes:
    """The idle hours of some days as a table; without a price a row bears no money."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    zone = Organisation.current().zone
    for each in days:
        price = rates.amount_on(key_of(cluster, each.accelerator, rates.currency), each.day)
        cost = EXACT.multiply(each.idle, price or Decimal(0)).quantize(PLACES, context=EXACT)
        start, end = (
            f"{midnight(day, zone).astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
            for day in (each.day, each.day + timedelta(days=1))
        )
        hours = each.idle.quantize(PLACES, context=EXACT)
        writer.writerow(
            [start, end, each.accelerator, exact_text(hours), "" if price is None else exact_text(price),
             exact_text(cost), rates.currency]
        )  # fmt: skip
    return text.getvalue().encode()


def key_of(cluster: Cluster, accelerator: str, currency: str) -> PriceKey:
    """What an hour of such a card is asked at: as its first partition says, else as the cluster was acquired."""
    partition = cluster.partitions.filter(accelerator__slug=accelerator).order_by("name").first()
    mode = partition.mode if partition else cluster.mode
    return PriceKey("accelerator", accelerator, cluster.provider, cluster.region, mode, currency)


def price_of(cluster: Cluster, accelerator: str, day: date) -> tuple[Decimal | None, str]:
    """The price of an idle hour on a day, and its currency."""
    rates = RateCard(read_settings(cluster.source.settings), Notes())
    return rates.amount_on(key_of(cluster, accelerator, rates.currency), day), rates.currency
