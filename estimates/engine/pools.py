"""Pools: unlike accelerators side by side, each with its share of the work."""

from __future__ import annotations

import numpy as np

from estimates.engine.compute_money import capital_outlay
from estimates.engine.conditions import BUILDING, TRAINING, every, has_rows, has_word, is_task, lacks_word
from estimates.engine.graph import quantity
from estimates.engine.memory import memory_fits
from estimates.engine.rates import (
    RATE,
    idle_rent_rate,
    idle_rent_rate_by_month,
    mean_price,
    rent_rate,
    rent_rate_by_month,
)
from estimates.engine.sampling import Array
from estimates.engine.time import (
    HOURS,
    MFU_DEFINITION,
    SECONDS_PER_HOUR,
    TERA,
    accelerator_count,
    elapsed_hours,
    equivalent_accelerator_hours,
    ideal_accelerator_hours,
    idle_accelerators,
    peak_flops_per_second,
)

pooled = has_rows("compute.pools")
pooled_training = every(is_task(*TRAINING), pooled)
pooled_building = every(is_task(*BUILDING), pooled)
renting_pools = every(pooled, lacks_word("compute.mode", "own"))
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
def pool_ideal_hours(
    counted_flops: Array,
    training_flops: Array,
    pool_share: Array,
    pool_speed: Array,
    pool_published: Array,
    goodput: Array,
) -> Array:
    """Its share of the work at its speed; of paid hours of published runs what remains without the lost ones."""
    work = np.where(pool_published > 0.0, training_flops * goodput, counted_flops)
    return work * pool_share / pool_speed / SECONDS_PER_HOUR


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


@quantity(RATE, "Price of each pool over the run", "各资源池运行期单价", when=renting_pools, **ROW)
def pool_rate(pool_price: Array) -> Array:
    """The same in every month."""
    return pool_price


@pool_rate.variant(when=renting_pools)
def pool_rate_over_months(pool_price: Array, pool_price_course: Array, run_month_share: Array) -> Array:
    """Each hour at the price of its month; pools work, and wait, all through the run."""
    return pool_price * (pool_price_course * run_month_share[:, None]).sum(axis=0)


@rent_rate.variant(when=every(pooled, has_word("compute.mode", "own")))
def no_rent_of_own_pools(depreciation_rate: Array) -> Array:
    """Own cards pay no rent; what they cost is their depreciation and running."""
    return depreciation_rate * 0.0


@rent_rate.variant(when=pooled)
def rent_rate_of_pools(pool_share: Array, pool_speed: Array, pool_rate: Array, share_own: Array | float = 0.0) -> Array:
    """By the hours that each pool works."""
    return (1.0 - share_own) * mean_price(pool_share / pool_speed, pool_rate)


@rent_rate_by_month.variant(when=renting_pools)
def rent_rate_of_pools_by_month(
    pool_share: Array,
    pool_speed: Array,
    pool_price: Array,
    pool_price_course: Array,
    share_own: Array | float = 0.0,
) -> Array:
    """The same at the prices of each month."""
    hours = pool_share / pool_speed
    return (1.0 - share_own) * mean_price(hours[:, None], pool_price[:, None] * pool_price_course.swapaxes(0, 1))


@quantity(
    HOURS, "Ideal accelerator-hours that each pool waits", "各资源池等待卡时（理想）", when=pooled_building, **ROW
)
def pool_waiting_hours(slowest_pool_hours: Array, compute__pools__count: Array, pool_ideal_hours: Array) -> Array:
    """What it is held until the slowest pool ends, and does not work."""
    return np.maximum(slowest_pool_hours * compute__pools__count - pool_ideal_hours, 0.0)


def idle_mean(waiting_hours: Array, of_pools: Array, spare_hours: Array | float, of_spares: Array) -> Array:
    """A figure of idle hours: that of each pool where it waits, the common one for spares and where none is idle."""
    waiting = waiting_hours.sum(axis=0)
    whole = waiting + spare_hours
    of_all = (waiting_hours * of_pools).sum(axis=0) + spare_hours * of_spares
    return np.where(whole > whole * 0.0, of_all / whole, of_spares)


@idle_rent_rate.variant(when=every(pooled_building, renting_pools))
def idle_rent_rate_of_pools(
    pool_waiting_hours: Array,
    pool_rate: Array,
    slowest_pool_hours: Array,
    rent_rate: Array,
    share_own: Array | float = 0.0,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """Pools that wait at their price, spares at that of busy hours."""
    spare_hours = slowest_pool_hours * reliability__spare_count
    return idle_mean(pool_waiting_hours, (1.0 - share_own) * pool_rate, spare_hours, rent_rate)


@idle_rent_rate_by_month.variant(when=every(pooled_building, renting_pools))
def idle_rent_rate_of_pools_by_month(
    pool_waiting_hours: Array,
    pool_price: Array,
    pool_price_course: Array,
    slowest_pool_hours: Array,
    rent_rate_by_month: Array,
    share_own: Array | float = 0.0,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """The same at the prices of each month."""
    spare_hours = slowest_pool_hours * reliability__spare_count
    prices = (1.0 - share_own) * pool_price[:, None] * pool_price_course.swapaxes(0, 1)
    return idle_mean(pool_waiting_hours[:, None], prices, spare_hours, rent_rate_by_month)


@equivalent_accelerator_hours.variant(when=pooled_building)
def equivalent_hours_of_pools(
    total_accelerator_hours: Array,
    idle_accelerator_hours: Array,
    pool_waiting_hours: Array,
    pool_peak_tflops: Array,
    slowest_pool_hours: Array,
    peak_flops_per_second: Array,
    reference_peak_tflops: Array,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """Each pool by its own peak, those that wait too."""
    spare_hours = slowest_pool_hours * reliability__spare_count
    idle_peak = idle_mean(pool_waiting_hours, pool_peak_tflops * TERA, spare_hours, peak_flops_per_second)
    busy_hours = total_accelerator_hours - idle_accelerator_hours
    work = busy_hours * peak_flops_per_second + idle_accelerator_hours * idle_peak
    return work / (reference_peak_tflops * TERA)


@quantity("1", "Memory of each pool fits", "各资源池显存是否够用", when=pooled, **ROW)
def pool_fits(memory_needed_gb: Array, pool_memory_gb: Array) -> Array:
    """1 where a card of the pool holds what each card needs; not known where its memory is not."""
    return (memory_needed_gb <= pool_memory_gb) * (pool_memory_gb / pool_memory_gb)


@pool_fits.variant(when=every(is_task("inference"), pooled))
def pool_holds_its_part_of_a_replica(
    served_weights_gb: Array, usable_memory_share: float, accelerator_count: Array, pool_memory_gb: Array
) -> Array:
    """A replica takes the cards of all pools: 1 where one of the pool holds an equal part of the weights."""
    fits = served_weights_gb / accelerator_count <= pool_memory_gb * usable_memory_share
    return fits * (pool_memory_gb / pool_memory_gb)


@memory_fits.variant(when=pooled)
def all_pools_fit(pool_fits: Array) -> Array:
    """1 where it does in every pool; one that is too small is enough to know that it does not."""
    return np.where((pool_fits == 0.0).any(axis=0), 0.0, pool_fits.min(axis=0))


@capital_outlay.variant(when=pooled)
def purchase_of_pools(
    price_capital: Array,
    accelerator_count: Array,
    share_own: Array,
    reliability__spare_count: Array | float = 0.0,
) -> Array:
    """All cards and their spares; those that wait are among them."""
    return price_capital * (accelerator_count + reliability__spare_count) * share_own
