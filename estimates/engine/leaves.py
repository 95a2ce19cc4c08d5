"""Leaves of the graph: every figure that is not computed, with where it comes from.

A leaf is an input of the plan (`section__key`), a price, or a fact: a number that follows from the plan's words, the
catalogue, the calendar or the published tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import NamedTuple

import numpy as np

from estimates.engine.baselines import History, Known
from estimates.engine.books import AcceleratorBook, AcceleratorSpec, PriceBook, PriceKey, PriceRow
from estimates.engine.graph import Program
from estimates.engine.inheriting import with_history
from estimates.engine.plan import Plan
from estimates.engine.sampling import Array, Range, draw, quantile
from estimates.engine.values import Baseline, Point

NOT_KNOWN = Point(float("nan"))


class Leaf(NamedTuple):
    """One figure, or one per row of a list, or one per month, and its origin."""

    values: tuple[Range, ...]
    origin: str
    """`plan`, `default`, `price`, `catalogue`, `baseline`, `calendar`, `convention`."""
    detail: str = ""
    streams: tuple[str, ...] = ()
    """The path by which each value is sampled."""
    by_row: bool = False
    fixed: Array | None = None
    """Figures without uncertainty by month, shape (months,) or (months, rows)."""

    @property
    def shape(self) -> str:
        """What must agree between plans that are evaluated together."""
        return f"row{len(self.values)}" if self.by_row else "month" if self.fixed is not None else ""


class PriceUse(NamedTuple):
    """A price that an estimate asked for, and the row that answered, or none."""

    leaf: str
    what: str
    key: PriceKey
    unit: str
    row: PriceRow | None


@dataclass
class Context:
    """A plan with the books it is estimated by."""

    plan: Plan
    prices: PriceBook
    accelerators: AcceleratorBook
    prices_on: date
    history: History = field(default_factory=History)
    months: int = 240
    feasible: bool = True
    prefix: str = ""
    """Where the plan stands in a life plan: its streams are apart from those of the other members."""
    program: Program | None = None
    """Once it was chosen."""
    modes: tuple[str, ...] | None = field(default=None, init=False)
    """How computing is acquired, once it was asked."""
    cache: dict[str, Leaf | None] = field(default_factory=dict)
    uses: dict[str, list[PriceUse]] = field(default_factory=dict)
    """Prices asked for, by the leaf that asked."""
    compared: dict[str, PriceUse] = field(default_factory=dict)
    """What only comparisons asked the price table: no total depends on it, but the answer does."""
    taken: dict[str, Known] = field(default_factory=dict)
    """Inputs that history gives although the plan does not leave them to it in so many words."""

    def __post_init__(self) -> None:
        self.history = self.history.of(self.plan)
        self.plan, found = with_history(self.plan, self.history)
        self.taken = {**self.taken, **found}

    @cached_property
    def start(self) -> date:
        return self.plan.day("start") or self.prices_on

    @cached_property
    def spec(self) -> AcceleratorSpec | None:
        slug = self.plan.text("compute.accelerator")
        return self.accelerators.find(slug) if slug else None


def value_leaf(value: Range, path: str, origin: str, detail: str = "") -> Leaf:
    """A leaf of one value that is sampled by `path`."""
    return Leaf((value,), origin, detail, (path,))


def point_leaf(value: float, origin: str, detail: str = "") -> Leaf:
    """A leaf of one certain number."""
    return Leaf((Point(value),), origin, detail, ("",))


def input_leaf(context: Context, name: str) -> Leaf | None:
    """The leaf of an input of the plan; None where it was not given, or is to come from history."""
    path = name.replace("__", ".")
    plan = context.plan
    table, _, key = path.rpartition(".")
    if plan.rows(table):
        return _row_leaf(context, table, key)
    value = plan.inputs.get(path)
    if value is None:
        return None
    if path in context.taken and path not in plan.given:
        return value_leaf(context.taken[path].value, path, "baseline", context.taken[path].source)
    if isinstance(value, Baseline):
        known = context.history.value(path, plan)
        return value_leaf(known.value, path, "baseline", known.source) if known else None
    return value_leaf(value, path, "plan" if path in plan.given else "default")


WHERE_A_ROW_IS_SILENT: Mapping[str, str] = {
    "experiments.active_parameters": "experiments.parameters",
    "experiments.parameters": "model.parameters",
    "experiments.tokens": "data.tokens",
    "compute.pools.mfu": "compute.mfu",
}
"""What a cell of a list falls back to: another column, or the plan."""


def _row_leaf(context: Context, table: str, key: str) -> Leaf | None:
    rows = context.plan.rows(table)
    cells = [_cell(context, table, index, key) for index in range(len(rows))]
    if all(cell is None for cell in cells):
        return None
    values = tuple(NOT_KNOWN if cell is None else cell for cell in cells)
    streams = tuple(f"{table}.{index}.{key}" for index in range(len(rows)))
    return Leaf(values, "plan", streams=streams, by_row=True)


def _cell(context: Context, table: str, index: int, key: str) -> Range | None:
    cell = context.plan.rows(table)[index].get(key)
    if isinstance(cell, Range):
        return cell
    other = WHERE_A_ROW_IS_SILENT.get(f"{table}.{key}")
    if other is None:
        return None
    if other.startswith(f"{table}."):
        return _cell(context, table, index, other.rpartition(".")[2])
    value = context.plan.inputs.get(other)
    return value if isinstance(value, Range) else None


def leaf_array(leaves: Sequence[Leaf], samples: int) -> Array:
    """One leaf of several plans as an array: (plans, 1 or samples), with months, rows or both in front."""
    first = leaves[0]
    if first.fixed is not None:
        return np.stack([leaf.fixed for leaf in leaves if leaf.fixed is not None], axis=-1)[..., None]
    columns = [
        draw([leaf.values[row] for leaf in leaves], first.streams[row], samples) for row in range(len(first.values))
    ]
    return np.stack(np.broadcast_arrays(*columns)) if first.by_row else columns[0]


def leaf_quantile(leaves: Sequence[Leaf], share: float) -> Array:
    """The same at one quantile of every input: shape (plans, 1)."""
    first = leaves[0]
    if first.fixed is not None:
        return leaf_array(leaves, 1)
    columns = [np.array([[quantile(leaf.values[row], share)] for leaf in leaves]) for row in range(len(first.values))]
    return np.stack(columns) if first.by_row else columns[0]
