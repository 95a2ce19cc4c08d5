"""The capacity of every kind of card in every month as rows of plain values: what files and the API say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from core.money import exact_text

from .balance import CardMonth
from .demand import APPROVED, ASKED, DRAFTED
from .outlook import CapacityView, Shortage

COLUMNS = (
    "month", "accelerator", "capacity", "maintenance", "kept", "reserved_by_plans", "available", "approved", "asked",
    "draft", "wanted", "load", "short", "short_and_rented_by_plans", "short_and_unplanned", "price_per_hour",
    "price_currency", "rent_cost", "rent_cost_unplanned", "currency", "lead_time_days", "order_by",
)  # fmt: skip
HOURS = ("capacity", "maintenance", "kept")


def card_rows(view: CapacityView) -> list[dict[str, Any]]:
    """One row for each kind of card and month, in order; amounts are exact decimals as text, None where not known."""
    short = {(each.of.accelerator, each.of.month): each for each in view.shortages}
    return [row_of(each, short.get((each.accelerator, each.month))) for each in view.cards]


def row_of(each: CardMonth, shortage: Shortage | None) -> dict[str, Any]:
    row: dict[str, Any] = {"month": str(each.month), "accelerator": each.accelerator}
    row |= {name: hours_text(getattr(each.supply, name)) for name in HOURS}
    row |= {state: hours_text(each.of_state(state)) for state in (APPROVED, ASKED, DRAFTED)}
    row |= {
        "reserved_by_plans": hours_text(each.reserved_by_plans),
        "available": hours_text(each.available),
        "wanted": hours_text(each.total.hours),
        "load": None if each.load is None else f"{each.load:.4f}",
        "short": hours_text(each.short),
        "short_and_rented_by_plans": hours_text(each.rented),
        "short_and_unplanned": hours_text(each.open),
    }
    price, lead = (shortage.price, shortage.lead) if shortage else (None, None)
    return row | {
        "price_per_hour": exact_text(price.amount) if price else None,
        "price_currency": price.currency if price else None,
        "rent_cost": money_text(shortage.cost if shortage else None),
        "rent_cost_unplanned": money_text(shortage.unplanned_cost if shortage else None),
        "currency": shortage.currency if shortage else None,
        "lead_time_days": lead.days if lead else None,
        "order_by": shortage.order_by if shortage else None,
    }


def money_text(amount: Decimal | None) -> str | None:
    return None if amount is None else exact_text(amount)


def hours_text(hours: Decimal) -> str:
    """To a ten-thousandth of an hour: estimates know no more."""
    return exact_text(round(hours, 4))
