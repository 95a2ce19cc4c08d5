"""Services and embeddings as users of computing: their hours go the same way as those of a training run."""

from __future__ import annotations

from estimates.engine.compute_money import capital_outlay, useful_accelerator_hours
from estimates.engine.conditions import every, has_rows, is_task, lacks, lacks_word
from estimates.engine.rates import idle_rent_rate, mean_price, rent_rate
from estimates.engine.sampling import Array
from estimates.engine.schedule import run_month_share
from estimates.engine.time import elapsed_hours, idle_accelerator_hours, total_accelerator_hours

serving = every(is_task("inference"), lacks("inference.unit_cost_per_request"))
renting_tiers = every(serving, has_rows("inference.tiers"), lacks_word("compute.mode", "own"))
embedding = is_task("vector_store")


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


@rent_rate.variant(when=renting_tiers)
def rent_rate_of_tiers(worked_accelerator_hours: Array, tier_price: Array, share_own: Array | float = 0.0) -> Array:
    """Each tier at its price, by the hours it works; what is owned pays no rent."""
    return (1.0 - share_own) * mean_price(worked_accelerator_hours.sum(axis=1), tier_price)


@idle_rent_rate.variant(when=renting_tiers)
def idle_rent_rate_of_tiers(
    held_accelerator_hours: Array,
    worked_accelerator_hours: Array,
    tier_price: Array,
    share_own: Array | float = 0.0,
) -> Array:
    """Each tier at its price, by the hours it holds and does not work; what is owned pays no rent."""
    idle_hours = (held_accelerator_hours - worked_accelerator_hours).sum(axis=1)
    return (1.0 - share_own) * mean_price(idle_hours, tier_price)


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
