"""Serving: how many requests come, and how many accelerators are held for them, month by month.

Months are all alike, a twelfth of a year. Quantities by tier and month have the tiers in front.
"""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.conditions import every, has_flag, is_task, lacks
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array
from estimates.engine.time import HOURS

MONTH_HOURS = 730.5
HOURS_OF_DAY = 24.0
MILLION = 1e6

serving = is_task("inference")
served = every(serving, lacks("inference.unit_cost_per_request"))
elastic = every(serving, has_flag("inference.elastic"))
MONTH = {"axis": "month"}
BY_REQUEST = Place(Category.COMPUTE, Category.COMPUTE, "elastic", "request_month_share")


@quantity("hour", "Length of a month of service", "服务月时长", when=serving)
def month_hours() -> float:
    """A twelfth of 365.25 days."""
    return MONTH_HOURS


@quantity("1", "Month of service", "服务月序", when=serving, **MONTH)
def service_month(month_starts: Array) -> Array:
    """0 for the first."""
    return np.arange(month_starts.shape[0], dtype=float)[:, None, None]


@quantity("1", "Growth of demand", "需求增长倍数", when=serving, **MONTH)
def demand_growth(
    inference__growth_per_month: Array, service_month: Array, inference__months: Array, one_month: float
) -> Array:
    """Against the first month; nothing after the service ends."""
    return (1.0 + inference__growth_per_month) ** service_month * (service_month < inference__months / one_month)


@quantity("month", "One month", "一个月")
def one_month() -> float:
    """The step of the calendar."""
    return 1.0


@quantity("request", "Requests by month", "各月请求数", when=serving, **MONTH)
def monthly_requests(inference__requests_per_day: Array, demand_growth: Array, month_hours: float) -> Array:
    """All that come in."""
    return inference__requests_per_day * demand_growth * (month_hours / HOURS_OF_DAY)


@quantity("request", "Requests", "请求总数", when=serving)
def total_requests(monthly_requests: Array) -> Array:
    """Over the whole service."""
    return monthly_requests.sum(axis=0)


@quantity("request / hour", "Mean rate of requests that reach a model", "到达模型的平均请求速率", when=serving, **MONTH)
def mean_rate(monthly_requests: Array, inference__cache_hit: Array, month_hours: float) -> Array:
    """What the cache does not answer."""
    return monthly_requests * (1.0 - inference__cache_hit) / month_hours


@quantity("1", "Hours of the day against the mean", "各时段相对均值", when=serving, axis="row")
def hour_over_mean(hourly_weight: Array, hours_of_weight: Array) -> Array:
    """Hours of one weight stand in one row."""
    return hourly_weight * hours_of_weight.sum(axis=0) / (hourly_weight * hours_of_weight).sum(axis=0)


@quantity("1", "Peak ÷ mean", "峰值均值比", when=serving)
def peak_over_mean(hour_over_mean: Array, inference__peak_factor: Array) -> Array:
    """The busiest hour of a busy day."""
    return hour_over_mean.max(axis=0) * inference__peak_factor


@peak_over_mean.variant(when=serving)
def peak_over_mean_with_events(
    hour_over_mean: Array, inference__peak_factor: Array, inference__events__factor: Array
) -> Array:
    """The busiest hour of a busy day, or the highest of the named peaks."""
    return np.maximum(hour_over_mean.max(axis=0) * inference__peak_factor, inference__events__factor.max(axis=0))


@quantity("1", "Replicas at the mean rate", "平均负载所需副本数", when=serving, axis="row_month")
def mean_replicas(mean_rate: Array, tier_share: Array, replica_seconds_per_request: Array) -> Array:
    """Without rounding: how many are busy, by tier and month."""
    return mean_rate[None] * (tier_share * replica_seconds_per_request / 3600.0)[:, None]


@quantity("1", "Replicas for the peak", "峰值所需副本数", when=serving, axis="row_month")
def peak_replicas(
    mean_replicas: Array,
    peak_over_mean: Array,
    tier_peak_cover: Array,
    inference__minimum_replicas: Array,
    demand_growth: Array,
) -> Array:
    """Whole replicas for the covered part of the peak, but never fewer than the minimum while the service runs."""
    wanted = np.ceil(mean_replicas * peak_over_mean * tier_peak_cover[:, None] - 1e-9)
    return np.maximum(wanted, inference__minimum_replicas) * (demand_growth > 0.0)


@quantity("1", "Replicas that follow demand", "随需求伸缩的副本数", when=elastic, axis="row_month")
def following_replicas(
    mean_replicas: Array,
    peak_replicas: Array,
    hour_over_mean: Array,
    hours_of_weight: Array,
    inference__minimum_replicas: Array,
    demand_growth: Array,
) -> Array:
    """Hour by hour, whole replicas at a time, never fewer than the minimum."""
    held = mean_replicas * 0.0
    for relative, hours in zip(hour_over_mean, hours_of_weight, strict=True):
        wanted = np.maximum(np.ceil(mean_replicas * relative - 1e-9), inference__minimum_replicas)
        held = held + np.minimum(wanted, np.maximum(peak_replicas, 1.0)) * (hours / hours_of_weight.sum(axis=0))
    return held * (demand_growth > 0.0)


@quantity("1", "Replicas for named peaks", "峰值事件副本数", when=elastic, axis="row_month")
def event_replicas(
    mean_replicas: Array,
    peak_replicas: Array,
    following_replicas: Array,
    inference__events__factor: Array,
    inference__events__hours: Array,
    inference__events__times_per_month: Array,
    month_hours: float,
) -> Array:
    """On top of what follows demand, for the hours that each peak lasts, as a mean over the month."""
    extra = mean_replicas * 0.0
    for factor, hours, times in zip(
        inference__events__factor, inference__events__hours, inference__events__times_per_month, strict=True
    ):
        wanted = np.minimum(np.ceil(mean_replicas * factor - 1e-9), peak_replicas)
        extra = extra + np.maximum(wanted - following_replicas, 0.0) * (hours * times / month_hours)
    return extra


@quantity("1", "Replicas held on average", "平均持有副本数", when=serving, axis="row_month")
def held_replicas(peak_replicas: Array) -> Array:
    """Held for the peak, day and night."""
    return peak_replicas


@held_replicas.variant(when=elastic)
def elastic_replicas(following_replicas: Array, event_replicas: Array | float = 0.0) -> Array:
    """Following demand, and more for named peaks."""
    return following_replicas + event_replicas


@quantity(HOURS, "Accelerator-hours held, by tier and month", "各月持有卡时", when=serving, axis="row_month")
def held_accelerator_hours(held_replicas: Array, replica_accelerators: Array, month_hours: float) -> Array:
    """Replicas times the accelerators of one."""
    return held_replicas * replica_accelerators[:, None] * month_hours


@quantity(HOURS, "Accelerator-hours worked, by tier and month", "各月有效卡时", when=serving, axis="row_month")
def worked_accelerator_hours(
    mean_replicas: Array, held_replicas: Array, replica_accelerators: Array, month_hours: float
) -> Array:
    """What requests take; no more than is held."""
    return np.minimum(mean_replicas, held_replicas) * replica_accelerators[:, None] * month_hours


@quantity("1", "Share of the service in each month", "各月服务成本占比", when=serving, **MONTH)
def service_month_share(held_accelerator_hours: Array) -> Array:
    """By accelerator-hours held."""
    monthly = held_accelerator_hours.sum(axis=0)
    return monthly / monthly.sum(axis=0)


@quantity("accelerator", "Accelerators at the peak", "峰值卡数", when=serving)
def peak_accelerators(peak_replicas: Array, replica_accelerators: Array) -> Array:
    """In the busiest month, all tiers together."""
    return (peak_replicas * replica_accelerators[:, None]).sum(axis=0).max(axis=0)


@quantity("1", "Utilisation of the service", "推理资源利用率", when=serving)
def service_utilisation(worked_accelerator_hours: Array, held_accelerator_hours: Array) -> Array:
    """Hours worked ÷ hours held."""
    return worked_accelerator_hours.sum(axis=(0, 1)) / held_accelerator_hours.sum(axis=(0, 1))


@cost("Requests at a known unit cost", "按单请求成本计的推理", BY_REQUEST, when=serving)
def request_cost(
    inference__unit_cost_per_request: Array, total_requests: Array, inference__peak_factor: Array
) -> Array:
    """Unit cost · requests · peak factor: the short form."""
    return inference__unit_cost_per_request * total_requests * inference__peak_factor


@quantity("1", "Share of requests in each month", "各月请求占比", when=serving, **MONTH)
def request_month_share(monthly_requests: Array) -> Array:
    """By requests; evenly where there are none."""
    whole = monthly_requests.sum(axis=0)
    first = np.arange(monthly_requests.shape[0])[:, None, None] == 0
    return np.where(whole > whole * 0.0, monthly_requests / whole, first * 1.0)


@quantity("money / request", "Cost of a request", "单请求成本", when=serving)
def cost_per_request(total_cost: Array, total_requests: Array) -> Array:
    """Everything the service costs, by request, those from the cache included."""
    return total_cost / total_requests


@quantity("money / token", "Cost of a million tokens", "每百万 token 成本", when=served)
def cost_per_million_tokens(
    total_cost: Array, total_requests: Array, inference__input_tokens: Array, inference__output_tokens: Array
) -> Array:
    """Everything the service costs, by million tokens read or written."""
    return total_cost / (total_requests * (inference__input_tokens + inference__output_tokens)) * MILLION
