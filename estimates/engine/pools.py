"""Pools: unlike accelerators side by side, each with its share of the work."""

from __future__ import annotations

from estimates.engine.conditions import BUILDING, TRAINING, every, has_rows, has_word, is_task
from estimates.engine.graph import quantity
from estimates.engine.rates import rent_rate
from estimates.engine.sampling import Array
from estimates.engine.time import (
    HOURS,
    MFU_DEFINITION,
    SECONDS_PER_HOUR,
    TERA,
    accelerator_count,
    elapsed_hours,
    ideal_accelerator_hours,
    idle_accelerators,
    peak_flops_per_second,
)

pooled = has_rows("compute.pools")
pooled_training = every(is_task(*TRAINING), pooled)
pooled_building = every(is_task(*BUILDING), pooled)
ROW = {"axis": "row"}


@quantity(
    "FLOP / second / accelerator", "Speed of an accelerator of each pool", "各资源池单卡有效算力", when=pooled, **ROW
)
def pool_speed(pool_peak_tflops: Array, pool_mfu: Array) -> Array:
    """Peak · MFU."""
    return pool_peak_tflops * TERA * pool_mfu


@quantity("1", "Share of the work of each pool", "各资源池工作量占比", when=pooled, **ROW)
def pool_share(compute__pools__count: Array, pool_speed: Array) -> Array:
    """By what the pools can do, so that all end together."""
    power = compute__pools__count * pool_speed
    return power / power.sum(axis=0)


@pool_share.variant(when=pooled)
def given_pool_share(compute__pools__share: Array) -> Array:
    """As the plan divides it."""
    return compute__pools__share


@quantity(
    HOURS,
    "Ideal accelerator-hours of each pool",
    "各资源池理想卡时",
    source=MFU_DEFINITION,
    when=pooled_training,
    **ROW,
)
def pool_ideal_hours(counted_flops: Array, pool_share: Array, pool_speed: Array) -> Array:
    """Its share of the work at its speed."""
    return counted_flops * pool_share / pool_speed / SECONDS_PER_HOUR


@ideal_accelerator_hours.variant(when=pooled_training)
def ideal_hours_of_pools(pool_ideal_hours: Array) -> Array:
    """All pools together."""
    return pool_ideal_hours.sum(axis=0)


@accelerator_count.variant(when=pooled)
def count_of_pools(compute__pools__count: Array) -> Array:
    """The cards of all pools."""
    return compute__pools__count.sum(axis=0)


@peak_flops_per_second.variant(when=pooled)
def mean_peak_of_pools(pool_peak_tflops: Array, pool_share: Array, pool_speed: Array) -> Array:
    """By the hours that each pool works."""
    hours = pool_share / pool_speed
    return (pool_peak_tflops * TERA * hours).sum(axis=0) / hours.sum(axis=0)


@quantity("hour", "Elapsed ideal hours of the slowest pool", "最慢资源池理想历时", when=pooled_training)
def slowest_pool_hours(pool_ideal_hours: Array, compute__pools__count: Array) -> Array:
    """All pools wait for it."""
    return (pool_ideal_hours / compute__pools__count).max(axis=0)


@elapsed_hours.variant(when=pooled_building)
def elapsed_hours_of_pools(slowest_pool_hours: Array, model_error: Array, goodput: Array) -> Array:
    """The run ends when the slowest pool does."""
    return slowest_pool_hours * model_error / goodput


@idle_accelerators.variant(when=pooled_building)
def waiting_accelerators(
    accelerator_count: Array,
    accelerator_hours: Array,
    elapsed_hours: Array,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """Spares, and what the faster pools wait for the slowest one, as cards."""
    return accelerator_count + reliability__spare_count - accelerator_hours / elapsed_hours


@rent_rate.variant(when=every(pooled, has_word("compute.mode", "own")))
def no_rent_of_own_pools(depreciation_rate: Array) -> Array:
    """Own cards pay no rent; what they cost is their depreciation and running."""
    return depreciation_rate * 0.0


@rent_rate.variant(when=pooled)
def rent_rate_of_pools(
    pool_share: Array, pool_speed: Array, pool_price: Array, share_own: Array | float = 0.0
) -> Array:
    """By the hours that each pool works."""
    hours = pool_share / pool_speed
    return (1.0 - share_own) * (pool_price * hours).sum(axis=0) / hours.sum(axis=0)
