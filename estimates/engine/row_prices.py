"""Prices that stand in rows: of tiers of a service, and of pools of a cluster, each with its course over the months."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimates.engine.books import PriceKey
from estimates.engine.leaves import NOT_KNOWN, Context, Leaf, PriceUse
from estimates.engine.plan import Row
from estimates.engine.price_leaves import HOURLY, acquisition_modes, course_of, offered_key, rows_of_months
from estimates.engine.row_facts import by_row, given
from estimates.engine.sampling import Array, Range
from estimates.engine.values import Point

GIVEN = "price_per_accelerator_hour"


@dataclass(frozen=True)
class RowPrices:
    """The hourly prices of the rows of a list."""

    leaf: str
    table: str
    figure_of: Callable[[Context, Row], Range | None]
    """What the plan says, which wins over the table."""
    key_of: Callable[[Context, Row], PriceKey]
    name_of: Callable[[Row], str]

    def first(self, context: Context) -> Leaf | None:
        """The price of each row in the first month."""
        context.uses.pop(self.leaf, None)
        return by_row(self.table, GIVEN, self._noted)(context)

    def _noted(self, context: Context, row: Row) -> Range:
        figure = self.figure_of(context, row)
        if figure is not None:
            return figure
        key = self.key_of(context, row)
        rows = rows_of_months(context, key)
        uses = [PriceUse(self.leaf, self.name_of(row), key, HOURLY, found) for found in dict.fromkeys(rows)]
        context.uses.setdefault(self.leaf, []).extend(uses)
        return NOT_KNOWN if rows[0] is None else Point(course_of(rows)[0])

    def course(self, context: Context) -> Leaf | None:
        """Each month against the first, shape (months, rows); nothing where no price changes during the plan."""
        courses = [self._course(context, row) for row in context.plan.rows(self.table)]
        if all(course is None for course in courses):
            return None
        level = np.ones(context.months)
        return Leaf((), "price", fixed=np.stack([level if found is None else found for found in courses], axis=1))

    def _course(self, context: Context, row: Row) -> Array | None:
        if self.figure_of(context, row) is not None:
            return None
        return course_of(rows_of_months(context, self.key_of(context, row)))[1]


def _tier_figure(context: Context, row: Row) -> Range | None:
    """That of the tier, or of the plan where the tier is acquired like the plan."""
    figure = context.plan.inputs.get("compute.price_per_accelerator_hour")
    of_plan = figure if isinstance(figure, Range) and "mode" not in row else None
    return given(row, GIVEN) or of_plan


def _tier_key(context: Context, row: Row) -> PriceKey:
    mode = str(row.get("mode") or acquisition_modes(context)[0])
    return offered_key(context, "accelerator", context.plan.text("compute.accelerator") or "", mode)


def _pool_figure(_context: Context, row: Row) -> Range | None:
    return given(row, GIVEN)


def _pool_key(context: Context, row: Row) -> PriceKey:
    provider, region = row.get("provider"), row.get("region")
    return offered_key(
        context,
        "accelerator",
        str(row.get("accelerator", "")),
        acquisition_modes(context)[0],
        str(provider) if provider else None,
        str(region) if region else None,
    )


TIERS = RowPrices("tier_price", "inference.tiers", _tier_figure, _tier_key, lambda row: f"Tier {row.get('name')}")
POOLS = RowPrices("pool_price", "compute.pools", _pool_figure, _pool_key, lambda row: f"Pool {row.get('accelerator')}")
