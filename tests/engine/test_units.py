"""Dimensions: every formula, fed with quantities that carry units, gives the unit it declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pint
import pytest

from estimates.engine.explain import leaf_words
from estimates.engine.graph import Quantity
from estimates.engine.quantities import QUANTITIES

REGISTRY = pint.UnitRegistry(None)
for line in (
    "second = [time] = s",
    "hour = 3600 * second",
    "day = 24 * hour",
    "month = 730.5 * hour",
    "byte = [information]",
    "GB = 1e9 * byte",
    "TB = 1e12 * byte",
    "Gbit = 1.25e8 * byte",
    "FLOP = [operation]",
    "TFLOPS = 1e12 * FLOP / second / accelerator",
    "token = [token]",
    "parameter = [parameter]",
    "accelerator = [accelerator]",
    "money = [money]",
    "fte = [person]",
    "item = [item]",
    "label = item",
    "request = [request]",
    "vector = [vector]",
    "kWh = [energy]",
    "kW = kWh / hour",
    "kg = [mass]",
    "s = second",
    "ms = 0.001 * second",
    "share = []",
):
    REGISTRY.define(line)

HYPHENATED = {
    "accelerator-hour": "accelerator * hour",
    "fte-month": "fte * month",
    "accelerator-month": "accelerator * month",
}
AS_THE_GRAPH_HAS_IT = {
    "reliability__accelerator_mtbf_hours": "accelerator * hour",
    "experiments__accelerator_hours": "accelerator * hour",
    "storage__checkpoint_bytes_per_parameter": "GB / parameter",
    "vectors__bytes": "GB / vector",
    "network__interconnect_share": "1",
    "compute__own__capital": "money / accelerator",
    "storage__keep_every_hours": "hour",
    "inference__requests_per_day": "request / hour",
}
"""Leaves whose unit for people leaves something out: a mean time between failures is per accelerator."""
SCALED = {"kWh": "kWh"}


def unit_of(name: str) -> Any:
    """The unit of a quantity or a leaf."""
    if name in QUANTITIES:
        return REGISTRY.Unit(QUANTITIES[name].unit if QUANTITIES[name].unit != "1" else "")
    text = AS_THE_GRAPH_HAS_IT.get(name) or leaf_words(name)[2]
    for written, read in HYPHENATED.items():
        text = text.replace(written, f"({read})")
    text = text.replace("Gbit/s", "Gbit/second")
    return REGISTRY.Unit("" if text in ("1", "", "share") else text)


def numbers_of(name: str, quantity: Quantity) -> Any:
    """A small positive array of the right shape, with its unit."""
    axis = QUANTITIES[name].axis if name in QUANTITIES else ""
    rows = {"row": (2, 1, 1), "month": (3, 1, 1), "row_month": (2, 3, 1, 1)}.get(axis, (1, 1))
    if name == "month_starts":
        rows = (3, 1, 1)
    if name not in QUANTITIES and name.startswith(
        ("tier_", "pool_", "experiments__", "people__", "compute__pools", "inference__events", "model__stages")
    ):
        rows = (2, 1, 1)
    if name in ("people_rate", "rung_mfu", "hourly_weight", "hours_of_weight"):
        rows = (2, 1, 1)
    if name.endswith("_course"):
        rows = (3, 2, 1, 1) if name.startswith(("tier_", "pool_")) else (3, 1, 1)
    if name == "experiments__ratio":
        rows = (1, 1)
    return np.full(rows, 2.0) * unit_of(name)


WAYS = [way for item in QUANTITIES.values() if item.gathers is None for way in (item, *item.variants)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.formula.__name__)
def test_the_dimension_of_a_formula_is_the_one_it_declares(way: Quantity) -> None:
    arguments = {name: numbers_of(name, way) for name in way.parameters}

    result = way.formula(**arguments)

    if not way.parameters:
        assert isinstance(result, float)
        return
    found = result.dimensionality if hasattr(result, "dimensionality") else REGISTRY.Unit("").dimensionality
    assert found == unit_of(way.name).dimensionality


def test_every_leaf_that_a_formula_asks_for_exists() -> None:
    for way in WAYS:
        for name in way.parameters:
            assert name in QUANTITIES or leaf_words(name)[2], f"{way.formula.__name__} asks for {name}"
