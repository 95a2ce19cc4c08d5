"""What an hour of an own card costs: its loss of value, its power, and its part of people and other running cost. Pure.

Every hour of its life bears the same, held or not: the hours of jobs are charged at this price, and the idle ones too,
so that together they are the cost of the cards. Nothing is divided by how much of the time they are held.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from .models import HOURS_A_MONTH

PLACES = Decimal("0.000001")


@dataclass(frozen=True)
class Running:
    """What cards cost beside their purchase."""

    power_kw: Decimal = Decimal(0)
    """Of one card with its share of the server, at the plug."""
    pue: Decimal = Decimal(1)
    """Energy of the building divided by that of the machines."""
    electricity_price: Decimal = Decimal(0)
    """Of one kWh."""
    people_per_month: Decimal = Decimal(0)
    """Of all cards together."""
    other_per_month: Decimal = Decimal(0)
    """Space, maintenance contracts, networks: of all cards together."""


@dataclass(frozen=True)
class HourPrice:
    """The parts of one card's hour, in one currency."""

    loss: Decimal
    power: Decimal
    people: Decimal
    other: Decimal

    @property
    def amount(self) -> Decimal:
        """Rounded to six places, as it is entered into the price table."""
        whole = self.loss + self.power + self.people + self.other
        return whole.quantize(PLACES, ROUND_HALF_UP).normalize() + 0


def price_of_hour(loss: Decimal, cards: int, running: Running) -> HourPrice:
    """The price of an hour of one of some cards that lose `loss` of their value in it."""
    hours = cards * HOURS_A_MONTH
    return HourPrice(
        loss=loss,
        power=running.power_kw * running.pue * running.electricity_price,
        people=running.people_per_month / hours,
        other=running.other_per_month / hours,
    )
