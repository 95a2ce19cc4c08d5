"""All quantities, module by module, in the order in which the documentation shows them."""

from __future__ import annotations

from estimates.engine import (
    compute_money,
    datawork,
    network,
    people,
    rates,
    reliability,
    schedule,
    storage,
    time,
    totals,
    work,
)
from estimates.engine.graph import collect

MODULES = (work, time, reliability, rates, compute_money, datawork, storage, network, people, schedule, totals)
QUANTITIES = collect(MODULES)
