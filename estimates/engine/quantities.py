"""All quantities, module by module, in the order in which the documentation shows them."""

from __future__ import annotations

from estimates.engine import (
    attention,
    compute_money,
    datawork,
    inference,
    ladder,
    layout,
    memory,
    network,
    people,
    pools,
    power,
    rates,
    reliability,
    schedule,
    serving,
    serving_money,
    storage,
    time,
    totals,
    vectors,
    work,
)
from estimates.engine.graph import collect

MODULES = (
    work,
    attention,
    time,
    layout,
    pools,
    reliability,
    ladder,
    memory,
    inference,
    serving,
    vectors,
    rates,
    compute_money,
    serving_money,
    datawork,
    storage,
    network,
    power,
    people,
    schedule,
    totals,
)
QUANTITIES = collect(MODULES)
