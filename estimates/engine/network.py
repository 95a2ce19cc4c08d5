"""Network: traffic between regions, zones and to the internet, bandwidth, and the interconnect of the cluster."""

from __future__ import annotations

import numpy as np

from core.vocabulary import Category
from estimates.engine.graph import Place, cost, quantity
from estimates.engine.sampling import Array

TRAFFIC = Place(Category.NETWORK, Category.NETWORK, "elastic", "project_month_share")
INTERCONNECT = "Share of the fabric in the price of a cluster, by its size; our summary of published cluster bills"


@cost("Traffic between regions", "跨地域流量", TRAFFIC, part="cross_region")
def cross_region_cost(network__cross_region_gb: Array, price_cross_region: Array) -> Array:
    """Synchronisation of data."""
    return network__cross_region_gb * price_cross_region


@cost("Traffic between zones", "跨可用区流量", TRAFFIC, part="cross_zone")
def cross_zone_cost(network__cross_zone_gb: Array, price_cross_zone: Array) -> Array:
    """Within a region."""
    return network__cross_zone_gb * price_cross_zone


@cost("Traffic to the internet", "公网出流量", TRAFFIC, part="egress")
def egress_cost(network__egress_gb: Array, price_egress: Array) -> Array:
    """What users and partners receive."""
    return network__egress_gb * price_egress


@cost("Bandwidth", "峰值带宽", TRAFFIC.but(behaviour="recurring"), part="bandwidth")
def bandwidth_cost(network__peak_gbps: Array, project_months: Array, price_peak_bandwidth: Array) -> Array:
    """Held for the peak, month after month."""
    return network__peak_gbps * project_months * price_peak_bandwidth


@quantity("1", "Typical share of the interconnect", "互联成本典型占比", source=INTERCONNECT)
def typical_interconnect_share(accelerator_count: Array, one_accelerator: float) -> Array:
    """Within the price of computing: nothing in one machine, a sixth at ten thousand accelerators."""
    return np.interp(
        np.log10(accelerator_count / one_accelerator), [np.log10(8.0), 2.0, 3.0, 4.0], [0.0, 0.08, 0.12, 0.16]
    )


@quantity("money", "Interconnect within the price of computing", "算力价格内含的互联成本", source=INTERCONNECT)
def interconnect_within_compute(
    typical_interconnect_share: Array, total_accelerator_hours: Array, compute_line_rate: Array
) -> Array:
    """For information: rent and capital have it in them; it is not added."""
    return typical_interconnect_share * total_accelerator_hours * compute_line_rate


@cost("Interconnect", "集群互联", TRAFFIC.but(spread="run_month_share"), part="interconnect")
def interconnect_cost(
    total_accelerator_hours: Array,
    hourly_rate: Array,
    rent_rate: Array,
    mean_rent_rate: Array,
    network__interconnect_share: Array,
) -> Array:
    """On top of the price of computing, where the plan says that the price leaves it out."""
    return total_accelerator_hours * (hourly_rate - rent_rate + mean_rent_rate) * network__interconnect_share
