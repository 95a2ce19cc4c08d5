"""Services and embeddings as users of computing: their hours go the same way as those of a training run."""

from __future__ import annotations

import numpy as np

from estimates.engine.compute_money import (
    capital_outlay,
    compute_month_share,
    idle_month_share,
    useful_accelerator_hours,
)
from estimates.engine.conditions import every, has_rows, is_task, lacks, lacks_word
from estimates.engine.graph import quantity
from estimates.engine.rates import (
    RATE,
    idle_rent_rate,
    mean_price,
    rent_rate,
)
from estimates.engine.sampling import Array
from estimates.engine.schedule import run_month_share
from estimates.engine.time import HOURS, elapsed_hours, idle_accelerator_hours, total_accelerator_hours

serving = every(is_task("inference"), lacks("inference.unit_cost_per_request"))
renting_tiers = every(serving, has_rows("inference.tiers"), lacks_word("compute.mode", "own"))
embedding = is_task("vector_store")
TIERS_AND_MONTHS = (0, 1)


@useful_accelerator_hours.variant(when=serving)
def useful_hours_of_service(worked_accelerator_hours: Array) -> Array:
    """What requests take."""
    return worked_accelerator_hours.sum(axis=(0, 1))


@total_accelerator_hours.variant(when=serving)
def total_hours_of_service(held_accelerator_hours: Array) -> Array:
    """All that is held."""
    return held_accelerator_hours.sum(axis=(0, 1))


@idle_accelerator_hours.variant(when=serving)
def idle_hours_of_service(held_accelerator_hours: Array, worked_accelerator_hours: Array) -> Array:
    """Held for the peak, or for the minimum, and not worked."""
    return (held_accelerator_hours - worked_accelerator_hours).sum(axis=(0, 1))


@run_month_share.variant(when=serving)
def month_share_of_service(service_month_share: Array) -> Array:
    """By what is held in each month."""
    return service_month_share


@quantity(RATE, "Price of each tier in each month", "各等级逐月卡时价格", when=renting_tiers, axis="row_month")
def tier_rate(tier_price: Array) -> Array:
    """The same in every month."""
    return tier_price[:, None]


@tier_rate.variant(when=renting_tiers)
def tier_rate_of_months(tier_price: Array, tier_price_course: Array) -> Array:
    """The price of each month."""
    return tier_price[:, None] * tier_price_course.swapaxes(0, 1)


@quantity(HOURS, "Accelerator-hours idle, by tier and month", "各月闲置卡时", when=renting_tiers, axis="row_month")
def tier_idle_hours(held_accelerator_hours: Array, worked_accelerator_hours: Array) -> Array:
    """Held and not worked."""
    return held_accelerator_hours - worked_accelerator_hours


@rent_rate.variant(when=renting_tiers)
def rent_rate_of_tiers(worked_accelerator_hours: Array, tier_rate: Array, share_own: Array | float = 0.0) -> Array:
    """Each tier at its price, by the hours it works; what is owned pays no rent."""
    return (1.0 - share_own) * mean_price(worked_accelerator_hours, tier_rate, TIERS_AND_MONTHS)


@idle_rent_rate.variant(when=renting_tiers)
def idle_rent_rate_of_tiers(tier_idle_hours: Array, tier_rate: Array, share_own: Array | float = 0.0) -> Array:
    """Each tier at its price, by the hours it holds and does not work; what is owned pays no rent."""
    return (1.0 - share_own) * mean_price(tier_idle_hours, tier_rate, TIERS_AND_MONTHS)


@compute_month_share.variant(when=renting_tiers)
def worked_money_share(
    worked_accelerator_hours: Array,
    tier_rate: Array,
    run_month_share: Array,
    share_own: Array | float = 0.0,
    operations_rate: Array | float = 0.0,
) -> Array:
    """By what the tiers work in each month, each at its price."""
    hourly = (1.0 - share_own) * tier_rate + share_own * operations_rate
    return _share_of_months(worked_accelerator_hours * hourly, run_month_share)


@idle_month_share.variant(when=renting_tiers)
def idle_money_share(
    tier_idle_hours: Array,
    tier_rate: Array,
    compute_line_rate: Array,
    rent_rate: Array,
    run_month_share: Array,
    share_own: Array | float = 0.0,
) -> Array:
    """By what the tiers hold in each month and do not work, each at its price."""
    hourly = (1.0 - share_own) * tier_rate + (compute_line_rate - rent_rate)
    return _share_of_months(tier_idle_hours * hourly, run_month_share)


def _share_of_months(money: Array, otherwise: Array) -> Array:
    """Each month of all tiers together; another share where there is none."""
    monthly = money.sum(axis=0)
    whole = monthly.sum(axis=0)
    return np.where(whole > whole * 0.0, monthly / whole, otherwise)


@useful_accelerator_hours.variant(when=embedding)
def useful_hours_of_embedding(embedding_accelerator_hours: Array) -> Array:
    """The forward passes."""
    return embedding_accelerator_hours


@total_accelerator_hours.variant(when=embedding)
def total_hours_of_embedding(embedding_accelerator_hours: Array) -> Array:
    """The forward passes."""
    return embedding_accelerator_hours


@elapsed_hours.variant(when=embedding)
def elapsed_hours_of_embedding(embedding_accelerator_hours: Array, accelerator_count: Array) -> Array:
    """On the accelerators of the plan."""
    return embedding_accelerator_hours / accelerator_count


@capital_outlay.variant(when=serving)
def purchase_for_a_service(price_capital: Array, peak_accelerators: Array, share_own: Array) -> Array:
    """As many cards as the peak takes."""
    return price_capital * peak_accelerators * share_own
