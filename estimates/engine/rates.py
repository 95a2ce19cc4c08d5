"""What an accelerator-hour costs: rented, reserved, spot, owned, or some of each."""

from __future__ import annotations

import numpy as np

from estimates.engine.conditions import owns
from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

RATE = "money / accelerator / hour"
HOURS_PER_MONTH = 730.5


@quantity(RATE, "Price on demand", "按量单价")
def on_demand_rate(price_on_demand: Array) -> Array:
    """The same in every month of the run."""
    return price_on_demand


@on_demand_rate.variant()
def on_demand_rate_over_months(price_on_demand: Array, price_on_demand_course: Array, run_month_share: Array) -> Array:
    """Each hour at the price of its month."""
    return price_on_demand * (price_on_demand_course * run_month_share).sum(axis=0)


@quantity(RATE, "Reserved price", "预留单价")
def committed_rate(price_committed: Array) -> Array:
    """Fixed for the term."""
    return price_committed


@quantity(RATE, "Spot price", "竞价单价")
def spot_rate(price_spot: Array) -> Array:
    """The same in every month of the run."""
    return price_spot


@spot_rate.variant()
def spot_rate_over_months(price_spot: Array, price_spot_course: Array, run_month_share: Array) -> Array:
    """Each hour at the price of its month."""
    return price_spot * (price_spot_course * run_month_share).sum(axis=0)


@quantity(RATE, "Rent per accelerator-hour", "每卡时租金")
def rent_rate(
    share_on_demand: Array | float = 0.0,
    on_demand_rate: Array | float = 0.0,
    share_committed: Array | float = 0.0,
    committed_rate: Array | float = 0.0,
    share_spot: Array | float = 0.0,
    spot_rate: Array | float = 0.0,
) -> Array | float:
    """Modes by their share; what is owned pays no rent."""
    return share_on_demand * on_demand_rate + share_committed * committed_rate + share_spot * spot_rate


@quantity(RATE, "Rise of the price on demand", "按量单价逐月变动", axis="month")
def on_demand_rise(
    share_on_demand: Array, price_on_demand: Array, price_on_demand_course: Array, on_demand_rate: Array
) -> Array:
    """What it adds to the rent of each month, against the mean of the run."""
    return share_on_demand * (price_on_demand * price_on_demand_course - on_demand_rate)


@quantity(RATE, "Rise of the spot price", "竞价单价逐月变动", axis="month")
def spot_rise(share_spot: Array, price_spot: Array, price_spot_course: Array, spot_rate: Array) -> Array:
    """What it adds to the rent of each month, against the mean of the run."""
    return share_spot * (price_spot * price_spot_course - spot_rate)


@quantity(RATE, "Rent per accelerator-hour in each month", "各月每卡时租金", axis="month")
def rent_rate_by_month(rent_rate: Array, spot_rise: Array) -> Array:
    """Where the price of spot changes during the plan."""
    return rent_rate + spot_rise


@rent_rate_by_month.variant()
def rent_rate_by_month_on_demand(rent_rate: Array, on_demand_rise: Array, spot_rise: Array | float = 0.0) -> Array:
    """Where the price on demand does, or both."""
    return rent_rate + on_demand_rise + spot_rise


def mean_price(hours: Array, prices: Array, axis: tuple[int, ...] = (0,)) -> Array:
    """Prices of rows, or of rows and months, by their hours; the plain mean where there are none."""
    whole = hours.sum(axis=axis)
    return np.where(whole > whole * 0.0, (hours * prices).sum(axis=axis) / whole, prices.mean(axis=axis))


@quantity(RATE, "Rent of an idle accelerator-hour", "闲置卡时租金")
def idle_rent_rate(rent_rate: Array) -> Array:
    """The same as of a busy one."""
    return rent_rate


@quantity(RATE, "Rent of an idle accelerator-hour in each month", "各月闲置卡时租金", axis="month")
def idle_rent_rate_by_month(rent_rate_by_month: Array) -> Array:
    """The same as of a busy one."""
    return rent_rate_by_month


@quantity(RATE, "Mean rent per accelerator-hour", "平均每卡时租金")
def mean_rent_rate(
    rent_rate: Array, idle_rent_rate: Array, total_accelerator_hours: Array, idle_accelerator_hours: Array | float = 0.0
) -> Array:
    """Of busy and idle hours together."""
    idle_share = np.where(
        total_accelerator_hours > total_accelerator_hours * 0.0, idle_accelerator_hours / total_accelerator_hours, 0.0
    )
    return rent_rate + (idle_rent_rate - rent_rate) * idle_share


@quantity(RATE, "Depreciation per accelerator-hour", "每卡时折旧", when=owns())
def depreciation_rate(price_capital: Array, compute__own__residual: Array, own_life_hours: Array) -> Array:
    """(capital − residual) ÷ hours of life."""
    return (price_capital - compute__own__residual) / own_life_hours


@quantity(RATE, "Electricity per accelerator-hour", "每卡时电费", when=owns())
def energy_rate(own_board_kw: Array, compute__own__load: Array, own_pue: Array, price_electricity: Array) -> Array:
    """Board power · load · PUE · tariff."""
    return own_board_kw * compute__own__load * own_pue * price_electricity


@quantity("hour / month", "Hours in a month", "每月小时数")
def hours_per_month() -> float:
    """A twelfth of 365.25 days."""
    return HOURS_PER_MONTH


@quantity(RATE, "Facility per accelerator-hour", "每卡时机房费用", when=owns())
def facility_rate(
    compute__own__fixed_power_per_month: Array, compute__own__space: Array, hours_per_month: float
) -> Array:
    """Fixed power, space and cooling of a month."""
    return (compute__own__fixed_power_per_month + compute__own__space) / hours_per_month


@quantity(RATE, "Operations per accelerator-hour", "每卡时运维费用", when=owns())
def operations_rate(compute__own__operations: Array, hours_per_month: float) -> Array:
    """Operations and maintenance of a month."""
    return compute__own__operations / hours_per_month


@quantity(RATE, "Full cost of an own accelerator-hour", "自建每卡时全成本")
def own_rate(depreciation_rate: Array, energy_rate: Array, facility_rate: Array, operations_rate: Array) -> Array:
    """Each part once; idle time apart."""
    return depreciation_rate + energy_rate + facility_rate + operations_rate


@quantity(RATE, "Paid on the compute line per accelerator-hour", "每卡时计入算力科目")
def compute_line_rate(
    rent_rate: Array,
    share_own: Array | float = 0.0,
    depreciation_rate: Array | float = 0.0,
    operations_rate: Array | float = 0.0,
) -> Array:
    """Rent; of own cards depreciation and operations."""
    return rent_rate + share_own * (depreciation_rate + operations_rate)


@quantity(RATE, "Paid on the power line per accelerator-hour", "每卡时计入电力机房科目")
def power_line_rate(share_own: Array, energy_rate: Array, facility_rate: Array) -> Array:
    """Electricity and facility of own cards."""
    return share_own * (energy_rate + facility_rate)


@quantity(RATE, "Cost of an accelerator-hour", "每卡时成本")
def hourly_rate(compute_line_rate: Array, power_line_rate: Array | float = 0.0) -> Array:
    """On all lines together."""
    return compute_line_rate + power_line_rate


@quantity("1", "Idle per busy hour", "每占用小时的闲置小时", when=owns())
def idle_per_busy_hour(own_occupancy: Array) -> Array:
    """1 ÷ occupancy − 1."""
    return 1.0 / own_occupancy - 1.0


@quantity("money", "Cost of the reserved term", "预留期总费用")
def committed_term_cost(
    compute__committed__count: Array, compute__committed__hours: Array, committed_rate: Array
) -> Array:
    """Due whether used or not."""
    return compute__committed__count * compute__committed__hours * committed_rate


@quantity("money", "Used of the reserved term", "预留期已用费用")
def committed_used_cost(total_accelerator_hours: Array, share_committed: Array, committed_rate: Array) -> Array:
    """Hours of the plan that run on reserved cards."""
    return total_accelerator_hours * share_committed * committed_rate


@quantity("money", "Unused part of the reserved term", "预留期未用费用")
def committed_unused(committed_term_cost: Array, committed_used_cost: Array) -> Array:
    """max(term, used) − used."""
    return np.maximum(committed_term_cost - committed_used_cost, 0.0)
