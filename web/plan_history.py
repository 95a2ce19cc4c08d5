"""What happened to an estimate: each time it was computed again, what it was, what it is, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.urls import reverse

from estimates.models import Estimate, EstimateRevision, PriceKind
from web import figures

LENGTH = 5


@dataclass(frozen=True)
class Revision:
    """One recomputation as a page says it."""

    at: datetime
    why: str
    who: str
    old: Decimal | None
    new: Decimal | None
    moved: tuple[str, ...]
    url: str
    """The price that set it off."""

    @property
    def is_of_another_offer(self) -> bool:
        """A price was added that the plan asks for, and another offer answers as before."""
        return bool(self.url) and not self.moved

    @property
    def difference(self) -> Decimal | None:
        return None if self.old is None or self.new is None else self.new - self.old


def history_of(estimate: Estimate) -> list[Revision]:
    """The last few revisions, newest first; the first computation is none."""
    found = (
        estimate.revisions.exclude(why=EstimateRevision.Why.CREATED)
        .select_related("by", "price__by")
        .order_by("-id")[:LENGTH]
    )
    return [revision_of(row, estimate.currency) for row in found]


def revision_of(row: EstimateRevision, currency: str) -> Revision:
    person = row.by or (row.price.by if row.price else None)
    return Revision(
        at=row.at,
        why=str(EstimateRevision.Why(row.why).label),
        who=str(person) if person else "",
        old=row.old_total,
        new=row.new_total,
        moved=tuple(moved_text(moved, currency) for moved in row.moved),
        url=reverse("price", args=[row.price_id]) if row.price_id else "",
    )


def moved_text(moved: Mapping[str, Any], currency: str) -> str:
    """`Accelerator, rented: h100-sxm-80gb, on demand: 2.95 → 2.40 USD`."""
    old, new = (", ".join(figures.money_text(amount) for amount in moved[key]) or "–" for key in ("old", "new"))
    kind = f"{PriceKind(moved['kind']).label}: " if moved.get("kind") else ""
    return f"{kind}{moved['what']}: {old} → {new} {figures.currency_word(currency)}"
