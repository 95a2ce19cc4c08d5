"""The price of an own card's hour, worked out from the register and entered into the price table by a person."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import exact_text
from estimates import services as estimates
from estimates.models import Price
from teams.models import User

from ..delivery import read_settings
from ..pipeline.rate_card import RateCard
from ..reading.notes import Notes
from .idle import key_of
from .models import HOURS_A_MONTH, CardLot
from .own_price import HourPrice, Running, price_of_hour


def derived_price(lot: CardLot, running: Running) -> HourPrice:
    """What an hour of one of these cards costs. Refused where price paid, life or the log's currency are missing."""
    loss = lot.loss_per_hour
    if loss is None:
        raise DomainError(
            _("Enter the price paid for the cards, their life and the currency first."),
            faults=[Fault("capital", None, _("is not entered"))],
        )
    asked = RateCard(read_settings(lot.cluster.source.settings), Notes()).currency
    if asked != lot.currency:
        raise DomainError(
            _(
                "The cards are in %(lot)s, and the hours of the job log are priced in %(log)s. "
                "Give the source currency=%(lot)s."
            )
            % {"lot": lot.currency, "log": asked},
            faults=[Fault("currency", lot.currency, _("is not the currency of the job log's hours"), asked)],
        )
    return price_of_hour(loss, lot.cards, running)


def enter_price(
    lot: CardLot, running: Running, *, valid_from: date, by: User, reason: str = "", now: datetime | None = None
) -> Price:
    """Enter the derived price as the one at which hours of these cards are asked for, with where it comes from."""
    found = derived_price(lot, running)
    key = key_of(lot.cluster, lot.accelerator.slug, lot.currency)
    return estimates.add_price(
        by=by,
        kind=key.kind,
        item=key.item,
        provider=key.provider,
        region=key.region,
        mode=key.mode,
        amount=exact_text(found.amount),
        currency=lot.currency,
        valid_from=valid_from,
        source=f"derived from cluster {lot.cluster.slug}",
        verified=True,
        reason=reason,
        note=formula_of(lot, running),
        now=now,
    )


def formula_of(lot: CardLot, running: Running) -> str:
    """How the price was worked out, in one line of at most 300 characters."""
    numbers: tuple[Decimal, ...] = (
        lot.capital or Decimal(0),
        lot.residual or Decimal(0),
        running.power_kw,
        running.pue,
        running.electricity_price,
        running.people_per_month,
        running.other_per_month,
    )
    capital, residual, power, pue, energy, people, other = map(exact_text, numbers)
    hours = f"{HOURS_A_MONTH} h"
    return (
        f"({capital} - {residual}) / ({lot.cards} cards x {lot.life_months} months x {hours})"
        f" + {power} kW x PUE {pue} x {energy}/kWh"
        f" + ({people} people + {other} other a month) / ({lot.cards} cards x {hours})"
    )[:300]
