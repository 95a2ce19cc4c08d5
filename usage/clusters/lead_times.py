"""How long cards take to come, as the register has seen it."""

from __future__ import annotations

from datetime import date

from .models import CardLot


def newest_lead_times() -> dict[str, tuple[int, date]]:
    """By accelerator how many days the newest cards took from their order, and when they came; where that is known."""
    rows = CardLot.objects.filter(ordered_on__isnull=False).order_by("accelerator_id", "-starts_on", "-id")
    newest = rows.distinct("accelerator_id").select_related("accelerator")
    return {lot.accelerator.slug: (lot.lead_days or 0, lot.starts_on) for lot in newest}
