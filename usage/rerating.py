"""Hours priced anew after the price table changed: the kept originals are read again, as restatements.

A re-reading counts as issued when its original was, so nothing newer is overruled; closed months keep their prices.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef

from estimates.engine.books import PriceKey
from estimates.models import Price
from estimates.queries import price_row
from teams.models import ClosedMonth

from . import services
from .models import Import, Money, Record, Source
from .pipeline import files


def queue_outdated(*, now: datetime) -> list[int]:
    """Queue the originals whose live rows a price entered since could change; once for each original, price and month
    closed last."""
    newest = Price.objects.order_by("-id").values_list("id", flat=True).first() or 0
    found = [original for original in priced_before(newest) if _is_touched(original)]
    return [queued for original in found if (queued := _queue_again(original, str(newest), now))]


def queue_source(source: Source, *, now: datetime) -> list[int]:
    """Queue every original with live rows of a source whose register of partitions changed."""
    live = Record.objects.filter(known_from=OuterRef("pk"), known_until__isnull=True)
    found = Import.objects.applied().filter(Exists(live), source=source, source__money=Money.RATE_CARD)
    mark = f"register-{now.timestamp():.6f}"
    return [queued for original in found.select_related("source") if (queued := _queue_again(original, mark, now))]


def priced_before(newest: int) -> list[Import]:
    """Deliveries with live rows that were priced before the newest row of the table was entered."""
    live = Record.objects.filter(known_from=OuterRef("pk"), known_until__isnull=True)
    older = Import.objects.applied().filter(source__money=Money.RATE_CARD, outcome__rated__newest_price__lt=newest)
    return list(older.filter(Exists(live)).select_related("source"))


def _queue_again(original: Import, mark: str, now: datetime) -> int | None:
    key = f"rerate-{original.sha256[:32]}-{mark}{closed_until()}"
    if original.source.imports.filter(idempotency_key=key).exists():
        return None
    given = {name: value for name, value in original.settings.items() if name != "format"}
    with files.path_of(original.sha256).open("rb") as stream:
        return services.receive_file(
            source=original.source,
            by=None,
            name=original.name,
            stream=stream,
            format=original.settings.get("format", ""),
            settings={**given, "issued_at": original.ordered_by.isoformat()},
            idempotency_key=key,
            now=now,
        ).pk


def closed_until() -> str:
    """The month closed last: when it is opened again, prices entered since reach it after all."""
    latest = ClosedMonth.objects.order_by("-month").first()
    return f"-{latest.month:%Y-%m}" if latest else ""


def _is_touched(original: Import) -> bool:
    """Whether a price entered since answers what the delivery asked the table for."""
    rated = original.outcome["rated"]
    keys = [PriceKey(*key) for key in rated["keys"]]
    added = [price_row(price) for price in Price.objects.filter(id__gt=rated["newest_price"])]
    return any(key.matches(price) for key in keys for price in added)
