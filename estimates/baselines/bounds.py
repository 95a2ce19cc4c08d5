"""Between what a figure of finished runs can lie: the bounds of the plan's own key, where it is one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from estimates.engine.cells import written_bound
from estimates.engine.field_kinds import Bounds
from estimates.engine.fields import FIELDS

from .models import BaselineQuantity

MOST_TIMES = 1000
LOSSES = Bounds(1, MOST_TIMES)
"""Factors that say how much more was paid than the ideal: never less."""
AROUND_ONE = Bounds(0, MOST_TIMES, open_low=True)
"""What may lie on either side of one: the error of the method, and prices."""

BOUNDS: Mapping[str, Bounds] = {
    BaselineQuantity.REDUNDANCY: LOSSES,
    BaselineQuantity.RETRY_FACTOR: LOSSES,
    BaselineQuantity.ROLLBACK_FACTOR: LOSSES,
    BaselineQuantity.EXPERIMENT_FACTOR: LOSSES,
    BaselineQuantity.REST_FACTOR: AROUND_ONE,
    BaselineQuantity.PRICE_VARIANCE: AROUND_ONE,
    **{quantity: FIELDS[quantity].bounds for quantity in BaselineQuantity if quantity in FIELDS},
}


def is_possible(quantity: str, value: Decimal) -> bool:
    """Whether a run can have had such a figure."""
    bounds, number = BOUNDS[quantity], float(value)
    return value.is_finite() and not bounds.is_below(number) and not bounds.is_above(number)


def ends(quantity: str) -> tuple[str, str, bool, bool]:
    """The lowest and the highest figure as text, and whether each is itself out."""
    bounds = BOUNDS[quantity]
    return written_bound(bounds.low), written_bound(bounds.high), bounds.open_low, bounds.open_high
