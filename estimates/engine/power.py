"""Energy and carbon of computing, rented or owned. For information: money for power is in the rates of own cards."""

from __future__ import annotations

from estimates.engine.graph import quantity
from estimates.engine.sampling import Array


@quantity("kWh", "Energy", "耗电量", source="Patterson et al. 2021 (arXiv:2104.10350): hours · power · PUE")
def energy_kwh(total_accelerator_hours: Array, own_board_kw: Array, compute__own__load: Array, own_pue: Array) -> Array:
    """Accelerator-hours · power of a board · load · PUE."""
    return total_accelerator_hours * own_board_kw * compute__own__load * own_pue


@quantity("kg", "Carbon", "碳排放", source="Patterson et al. 2021 (arXiv:2104.10350)")
def carbon_kg(energy_kwh: Array, carbon_kg_per_kwh: Array) -> Array:
    """CO2 equivalent of the electricity."""
    return energy_kwh * carbon_kg_per_kwh
