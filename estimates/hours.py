"""Accelerator-hours of an estimate by month and kind of card, as its answer says them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from core.months import Month
from core.vocabulary import Category
from estimates.engine.books import AcceleratorBook

ZERO = Decimal(0)
PARTS = ("hours", "rented", "reserved")


@dataclass(frozen=True)
class CardHours:
    """Hours of one kind of card in one month; of them those rented by the hour, and those the plan has reserved."""

    hours: Decimal = ZERO
    rented: Decimal = ZERO
    reserved: Decimal = ZERO

    def __add__(self, other: CardHours) -> CardHours:
        return CardHours(self.hours + other.hours, self.rented + other.rented, self.reserved + other.reserved)

    def without(self, other: CardHours) -> CardHours:
        """What is left of each, never less than nothing."""
        parts = (max(ZERO, getattr(self, name) - getattr(other, name)) for name in PARTS)
        return CardHours(*parts)

    def scaled(self, factor: Decimal) -> CardHours:
        return CardHours(self.hours * factor, self.rented * factor, self.reserved * factor)


def hours_by_month(
    answer: Mapping[str, Any], plan: Mapping[str, Any], accelerators: AcceleratorBook
) -> dict[tuple[str, Month], CardHours]:
    """By accelerator and month; cards by the short name of the catalogue, others as the plan calls them."""
    rows = answer["hours_by_month"] if "hours_by_month" in answer else spread_by_money(answer, plan)
    found: dict[tuple[str, Month], CardHours] = {}
    for row in rows:
        known = accelerators.find(row["accelerator"])
        key = (known.slug if known else row["accelerator"], Month.parse(row["month"]))
        found[key] = found.get(key, CardHours()) + CardHours(*(Decimal(repr(row.get(name) or 0.0)) for name in PARTS))
    return found


def spread_by_money(answer: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """Of an answer from before the engine told hours by month: all hours, as the money of computing falls on them."""
    hours = (answer["quantities"].get("total_accelerator_hours") or {}).get("mean") or 0.0
    money = {month["month"]: month["by_line"].get(Category.COMPUTE) or 0.0 for month in answer["cost"]["by_month"]}
    whole = sum(money.values())
    parts = [plan, *(plan.get("members") or [])]
    named = (str((part.get("compute") or {}).get("accelerator") or "") for part in parts)
    accelerator = next((name for name in named if name), "")
    if hours and whole:
        for month, amount in money.items():
            yield {"month": month, "accelerator": accelerator, "hours": hours * amount / whole}
