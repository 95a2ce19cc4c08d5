"""Questions about prices and estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django.db.models import Count, Max, Q

from estimates.engine import answer as engine
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceKey, PriceRow
from estimates.engine.plan import Plan

from .models import OFFER, PEAK_FIELDS, Accelerator, Estimate, EstimatePrice, Price, Verification
from .price_facts import PriceFacts

SAMPLES = 4000
"""How many samples an estimate has when nobody asks for another number."""


def price_book() -> PriceBook:
    """Every price row, announced ones too. Rows are only added, so a book is good until there is a newer row."""
    newest = Price.objects.aggregate(newest=Max("id"), rows=Count("id"))
    return _book_up_to(newest["newest"] or 0, newest["rows"])


@lru_cache(maxsize=4)
def _book_up_to(newest: int, rows: int) -> PriceBook:
    return PriceBook(price_row(price) for price in Price.objects.filter(pk__lte=newest).order_by("id"))


def price_row(price: Price) -> PriceRow:
    """A price as the engine sees it."""
    return PriceRow(
        id=price.pk,
        kind=price.kind,
        item=price.item,
        provider=price.provider,
        region=price.region,
        mode=price.mode,
        unit=price.unit,
        amount=price.amount,
        currency=price.currency,
        valid_from=price.valid_from,
        source=price.source,
        verified=price.verification == Verification.VERIFIED,
        withdrawn=price.withdrawn,
        sequence=price.pk,
    )


def accelerator_book() -> AcceleratorBook:
    """The catalogue of accelerators as the engine sees it."""
    return AcceleratorBook(accelerator_spec(accelerator) for accelerator in Accelerator.objects.all())


def accelerator_spec(accelerator: Accelerator) -> AcceleratorSpec:
    peaks = {precision: getattr(accelerator, name) for precision, name in PEAK_FIELDS.items()}
    return AcceleratorSpec(
        slug=accelerator.slug,
        name=accelerator.name,
        vendor=accelerator.vendor,
        memory_gb=_number(accelerator.memory_gb),
        bandwidth_gbs=_number(accelerator.bandwidth_gbs),
        peaks={precision: float(peak) for precision, peak in peaks.items() if peak is not None},
        board_w=_number(accelerator.board_w),
        interconnect_gbs=_number(accelerator.interconnect_gbs),
    )


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def accelerator_names() -> dict[str, str]:
    """Every name an accelerator goes by, in small letters, and its short name."""
    names: dict[str, str] = {}
    for slug, name, aliases in Accelerator.objects.values_list("slug", "name", "aliases"):
        for known in (slug, name, *aliases):
            names.setdefault("-".join(known.lower().split()), slug)
    return names


def with_known_items(rows: Sequence[PriceFacts]) -> list[PriceFacts]:
    """The rows, with other names of accelerators replaced by the short names of the catalogue."""
    names = accelerator_names()
    return [
        replace(row, item=names.get(row.item, row.item)) if row.kind in ("accelerator", "purchase") else row
        for row in rows
    ]


def answer_for(plan: Plan, *, prices_on: date, samples: int | None = None) -> dict[str, Any]:
    """The engine's answer for a plan at the prices and with the catalogue of now."""
    return engine.estimate(
        plan,
        prices=price_book(),
        accelerators=accelerator_book(),
        prices_on=prices_on,
        samples=samples or SAMPLES,
    )


def affected_drafts(keys: PriceKey | Iterable[PriceKey]) -> Any:
    """Drafts that asked for one of these offers, whether they found a price or missed it."""
    wanted = [keys] if isinstance(keys, PriceKey) else list(keys)
    asked = Q(pk__in=[])
    for key in wanted:
        asked |= Q(
            kind=key.kind,
            item=key.item,
            mode=key.mode,
            currency=key.currency,
            provider__in={"", key.provider},
            region__in={"", key.region},
        )
    return Estimate.objects.drafts().filter(pk__in=EstimatePrice.objects.filter(asked).values("estimate"))


def key_of(price: Price | PriceFacts) -> PriceKey:
    """The offer of a price row, as the estimates ask for it."""
    return PriceKey(*(getattr(price, name) for name in OFFER))


@dataclass(frozen=True)
class PriceChange:
    """What adding one row would do: `new`, `changed`, `confirmed`, `corrected`, `withdrawn` or `unchanged`."""

    facts: PriceFacts
    kind: str
    before: Price | None
    known_item: bool = True


def price_changes(rows: Sequence[PriceFacts]) -> list[PriceChange]:
    """What each row would change, compared with what is kept now."""
    offers = {row.offer for row in rows}
    histories: dict[tuple[str, ...], list[Price]] = {}
    for price in Price.objects.filter(item__in={row.item for row in rows}).order_by("valid_from", "id"):
        key = tuple(getattr(price, name) for name in OFFER)
        if key in offers:
            histories.setdefault(key, []).append(price)
    accelerators = set(Accelerator.objects.values_list("slug", flat=True))
    return [_change(row, histories.get(row.offer, []), accelerators) for row in rows]


def _change(row: PriceFacts, history: Sequence[Price], accelerators: set[str]) -> PriceChange:
    before = next((price for price in reversed(history) if price.valid_from <= row.valid_from), None)
    known = row.kind not in ("accelerator", "purchase") or row.item in accelerators
    if before is not None and _is_same(row, before):
        return PriceChange(row, "unchanged", before, known)
    if row.withdrawn:
        return PriceChange(row, "withdrawn", before, known)
    if history and history[-1].valid_from >= row.valid_from:
        return PriceChange(row, "corrected", before, known)
    if before is None or before.withdrawn:
        return PriceChange(row, "new", before, known)
    return PriceChange(row, "confirmed" if row.amount == before.amount else "changed", before, known)


def _is_same(row: PriceFacts, price: Price) -> bool:
    return (
        row.amount == price.amount
        and row.withdrawn == price.withdrawn
        and row.verified == (price.verification == Verification.VERIFIED)
        and row.source == price.source
        and (row.valid_from == price.valid_from or row.withdrawn)
    )


def changes_by_kind(changes: Iterable[PriceChange]) -> dict[str, int]:
    return dict(Counter(change.kind for change in changes))
