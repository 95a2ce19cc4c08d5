"""Money for computing: every hour is paid once, and lies in one cause, on one line.

Productive hours and evaluation are compute. Failures, rollback, experiments and idle time are hidden causes; rented,
they are billed on the compute line, owned, their power is billed on the power line.
"""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.conditions import BUILDING, TRAINING, is_task
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array
from estimates.engine.time import HOURS

RUN = "run"
"""Behaviour of computing: one_off for a model's training, marginal for fine-tuning (`totals.behaviour_of`)."""
DURING = "run_month_share"
COMPUTE = Place(Category.COMPUTE, Category.COMPUTE, RUN, "compute_month_share")
POWER = Place(Category.POWER_FACILITY, Category.POWER_FACILITY, RUN, DURING)
HIDDEN = Place(Category.HIDDEN, Category.COMPUTE, RUN, "lost_month_share")
HIDDEN_POWER = Place(Category.HIDDEN, Category.POWER_FACILITY, RUN, DURING)


@quantity(HOURS, "Accelerator-hours that count as compute", "计入算力成本的卡时", when=is_task(*BUILDING))
def useful_accelerator_hours(
    productive_accelerator_hours: Array, evaluation_accelerator_hours: Array | float = 0.0
) -> Array:
    """Productive hours and evaluation."""
    return productive_accelerator_hours + evaluation_accelerator_hours


@useful_accelerator_hours.variant(when=is_task("evaluation"))
def useful_hours_of_evaluation(evaluation_accelerator_hours: Array) -> Array:
    """The evaluations themselves."""
    return evaluation_accelerator_hours


@cost("Computing", "有效计算", COMPUTE)
def compute_cost(
    useful_accelerator_hours: Array,
    rent_rate: Array,
    share_own: Array | float = 0.0,
    operations_rate: Array | float = 0.0,
) -> Array:
    """Rent, or the operation of own cards, for hours that are kept."""
    return useful_accelerator_hours * (rent_rate + share_own * operations_rate)


@cost("Depreciation", "设备折旧", HIDDEN.but(behaviour="fixed", spread=DURING), part="depreciation")
def depreciation_cost(useful_accelerator_hours: Array, share_own: Array, depreciation_rate: Array) -> Array:
    """Loss of value of own cards over hours that are kept."""
    return useful_accelerator_hours * share_own * depreciation_rate


@cost("Electricity", "电力", POWER, part="electricity")
def electricity_cost(useful_accelerator_hours: Array, share_own: Array, energy_rate: Array) -> Array:
    """Electricity of own cards over hours that are kept."""
    return useful_accelerator_hours * share_own * energy_rate


@cost("Space and fixed power", "机柜与固定电费", POWER.but(behaviour="fixed"), part="facility")
def facility_cost(useful_accelerator_hours: Array, share_own: Array, facility_rate: Array) -> Array:
    """Fixed power, space and cooling of own cards over hours that are kept."""
    return useful_accelerator_hours * share_own * facility_rate


@cost("Failures and stalls", "故障重试", HIDDEN, part="retries")
def retries_cost(retry_accelerator_hours: Array, compute_line_rate: Array) -> Array:
    """Hours lost to failures, at their full cost."""
    return retry_accelerator_hours * compute_line_rate


@cost("Power of failures and stalls", "故障重试的电力", HIDDEN_POWER, part="retries")
def retries_power_cost(retry_accelerator_hours: Array, power_line_rate: Array) -> Array:
    """The part of them that a power meter sees."""
    return retry_accelerator_hours * power_line_rate


@cost("Rollback", "异常回滚", HIDDEN, part="rollback")
def rollback_cost(rollback_accelerator_hours: Array, compute_line_rate: Array) -> Array:
    """Steps thrown away after loss spikes, at their full cost."""
    return rollback_accelerator_hours * compute_line_rate


@cost("Power of rollback", "异常回滚的电力", HIDDEN_POWER, part="rollback")
def rollback_power_cost(rollback_accelerator_hours: Array, power_line_rate: Array) -> Array:
    """The part of it that a power meter sees."""
    return rollback_accelerator_hours * power_line_rate


@cost("Experiments", "实验损耗", HIDDEN, part="experiments")
def experiments_cost(experiment_accelerator_hours: Array, compute_line_rate: Array) -> Array:
    """Smaller runs before and beside the main one."""
    return experiment_accelerator_hours * compute_line_rate


@cost("Power of experiments", "实验损耗的电力", HIDDEN_POWER, part="experiments")
def experiments_power_cost(experiment_accelerator_hours: Array, power_line_rate: Array) -> Array:
    """The part of them that a power meter sees."""
    return experiment_accelerator_hours * power_line_rate


@cost("Idle cards", "闲置卡", HIDDEN.but(spread="idle_month_share"), part="idle")
def idle_cost(
    idle_accelerator_hours: Array, compute_line_rate: Array, rent_rate: Array, idle_rent_rate: Array
) -> Array:
    """Spares, the unused cards of instances, and pools that wait, each at its own rent."""
    return idle_accelerator_hours * (compute_line_rate - rent_rate + idle_rent_rate)


@cost("Power of idle cards", "闲置卡的电力", HIDDEN_POWER, part="idle")
def idle_power_cost(idle_accelerator_hours: Array, power_line_rate: Array) -> Array:
    """The part of them that a power meter sees."""
    return idle_accelerator_hours * power_line_rate


@quantity(HOURS, "Idle hours of own cards between tasks", "自建卡任务间闲置卡时")
def unoccupied_accelerator_hours(total_accelerator_hours: Array, share_own: Array, idle_per_busy_hour: Array) -> Array:
    """What the plan must carry of the time in which own cards wait for work."""
    return total_accelerator_hours * share_own * idle_per_busy_hour


@cost("Own cards between tasks", "自建卡任务间闲置", HIDDEN.but(behaviour="fixed", spread=DURING), part="idle")
def unoccupied_cost(unoccupied_accelerator_hours: Array, depreciation_rate: Array, operations_rate: Array) -> Array:
    """Depreciation and operations go on while nothing runs."""
    return unoccupied_accelerator_hours * (depreciation_rate + operations_rate)


@cost("Power of own cards between tasks", "自建卡任务间闲置的电力", HIDDEN_POWER.but(behaviour="fixed"), part="idle")
def unoccupied_power_cost(unoccupied_accelerator_hours: Array, energy_rate: Array, facility_rate: Array) -> Array:
    """So do power and space."""
    return unoccupied_accelerator_hours * (energy_rate + facility_rate)


@cost("Unused part of a reservation", "预留未用部分", HIDDEN.but(behaviour="fixed", spread=DURING), part="idle")
def committed_unused_cost(committed_unused: Array) -> Array:
    """The term is due whether used or not."""
    return committed_unused


@quantity("money", "Money for wasted tokens", "浪费 token 的费用", when=is_task(*BUILDING))
def wasted_cost(wasted_tokens: Array, paid_tokens: Array, accelerator_hours: Array, hourly_rate: Array) -> Array:
    """The part of the main run that went into duplicates and low quality; it is within the total, not on top."""
    return wasted_tokens / paid_tokens * accelerator_hours * hourly_rate


@quantity("money", "Purchase of own cards", "自建购置支出")
def capital_outlay(price_capital: Array, accelerator_count: Array, idle_accelerators: Array, share_own: Array) -> Array:
    """Paid at the start, whole, those that stand idle too; the total holds its depreciation instead."""
    return price_capital * (accelerator_count + idle_accelerators) * share_own


@quantity("money", "Depreciation in the total", "总成本中的折旧")
def depreciation_in_total(
    total_accelerator_hours: Array, share_own: Array, depreciation_rate: Array, idle_per_busy_hour: Array
) -> Array:
    """Of productive, lost and idle hours together: no cash leaves for it."""
    return total_accelerator_hours * share_own * depreciation_rate * (1.0 + idle_per_busy_hour)


def share_at_prices(hours_share: Array, monthly_rate: Array, rate: Array) -> Array:
    """The share of money in each month: hours by what an hour of that month costs; by hours where it costs nothing."""
    return np.where(rate > 0.0 * rate, hours_share * monthly_rate / rate, hours_share)


@quantity("1", "Share of computing money in each month", "各月算力费用占比", axis="month")
def compute_month_share(run_month_share: Array) -> Array:
    """By hours, where every month has the same price."""
    return run_month_share


@compute_month_share.variant()
def compute_share_at_prices(
    run_month_share: Array,
    rent_rate: Array,
    rent_rate_by_month: Array,
    share_own: Array | float = 0.0,
    operations_rate: Array | float = 0.0,
) -> Array:
    """By hours and the price of their month; the operation of own cards is the same in all."""
    own = share_own * operations_rate
    return share_at_prices(run_month_share, rent_rate_by_month + own, rent_rate + own)


@quantity("1", "Share of money for lost hours in each month", "各月损耗费用占比", when=is_task(*TRAINING), axis="month")
def lost_month_share(run_month_share: Array) -> Array:
    """By hours, where every month has the same price."""
    return run_month_share


@lost_month_share.variant(when=is_task(*TRAINING))
def lost_share_at_prices(
    run_month_share: Array, compute_line_rate: Array, rent_rate: Array, rent_rate_by_month: Array
) -> Array:
    """By hours and the price of their month; what else an hour costs is the same in all."""
    return share_at_prices(run_month_share, compute_line_rate - rent_rate + rent_rate_by_month, compute_line_rate)


@quantity("1", "Share of money for idle cards in each month", "各月闲置费用占比", axis="month")
def idle_month_share(run_month_share: Array) -> Array:
    """By hours, where every month has the same price."""
    return run_month_share


@idle_month_share.variant()
def idle_share_at_prices(
    run_month_share: Array,
    compute_line_rate: Array,
    rent_rate: Array,
    idle_rent_rate: Array,
    idle_rent_rate_by_month: Array,
) -> Array:
    """By hours and the price of their month; what else an hour costs is the same in all."""
    own = compute_line_rate - rent_rate
    return share_at_prices(run_month_share, own + idle_rent_rate_by_month, own + idle_rent_rate)
