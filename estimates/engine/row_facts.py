"""Facts that stand in rows: tiers of a service, pools of a cluster, rungs of a ladder, hours of a day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from estimates.engine.baselines import published_paid_mfu_of
from estimates.engine.leaves import NOT_KNOWN, Context, Leaf
from estimates.engine.peaks import MEASURED_SPEED, peak_of, peak_precision
from estimates.engine.plan import Row
from estimates.engine.sampling import Range
from estimates.engine.values import Point


def by_row(table: str, key: str, cell_of: Callable[[Context, Row], Range]) -> Callable[[Context], Leaf | None]:
    """A fact with one value for each row of a list; nothing where there is no list."""

    def find(context: Context) -> Leaf | None:
        rows = context.plan.rows(table)
        if not rows:
            return None
        values = tuple(cell_of(context, row) for row in rows)
        streams = tuple(f"{table}.{index}.{key}" for index in range(len(rows)))
        return Leaf(values, "plan", streams=streams, by_row=True)

    return find


def given(row: Row, key: str) -> Range | None:
    cell = row.get(key)
    return cell if isinstance(cell, Range) else None


def one_row(value: Range, path: str, origin: str = "plan") -> Leaf:
    return Leaf((value,), origin, streams=(path,), by_row=True)


def tier_share(context: Context) -> Leaf | None:
    """Without tiers one that holds all requests."""
    if context.plan.task != "inference":
        return None
    tiers = by_row("inference.tiers", "share", lambda _, row: given(row, "share") or Point(1.0))(context)
    return tiers or one_row(Point(1.0), "", "convention")


def tier_batch(context: Context) -> Leaf | None:
    """The batch of a tier, or that of the plan."""
    batch = context.plan.inputs.get("inference.batch")
    if context.plan.task != "inference" or not isinstance(batch, Range):
        return None
    tiers = by_row("inference.tiers", "batch", lambda _, row: given(row, "batch") or batch)(context)
    return tiers or one_row(batch, "inference.batch")


def tier_peak_cover(context: Context) -> Leaf | None:
    """Without tiers the whole peak is covered."""
    if context.plan.task != "inference":
        return None
    tiers = by_row("inference.tiers", "peak_cover", lambda _, row: given(row, "peak_cover") or Point(1.0))(context)
    return tiers or one_row(Point(1.0), "", "convention")


def pool_peak(context: Context) -> Leaf | None:
    """The dense peak of each pool's accelerator."""
    return by_row("compute.pools", "peak_tflops", _pool_peak)(context)


def _pool_peak(context: Context, row: Row) -> Range:
    own_figure = given(row, "peak_tflops")
    if own_figure is not None:
        return own_figure
    spec = context.accelerators.find(str(row.get("accelerator", "")))
    peak = peak_of(spec, str(row.get("precision") or peak_precision(context.plan))) if spec else None
    return Point(peak) if peak else NOT_KNOWN


def pool_memory(context: Context) -> Leaf | None:
    """The memory of each pool's accelerator in GB."""
    return by_row("compute.pools", "memory_gb", _pool_memory)(context)


def _pool_memory(context: Context, row: Row) -> Range:
    spec = context.accelerators.find(str(row.get("accelerator", "")))
    listed = spec.memory_gb if spec else None
    return given(row, "memory_gb") or (Point(listed) if listed else NOT_KNOWN)


def pool_mfu(context: Context) -> Leaf | None:
    """The MFU of each pool, or that of the plan, or of published runs."""
    return by_row("compute.pools", "mfu", _pool_mfu)(context)


def pool_published(context: Context) -> Leaf | None:
    """Which pools run at what published runs made of their paid hours: 1 where nothing better is known."""
    rows = context.plan.rows("compute.pools")
    if not rows:
        return None
    found = tuple(Point(0.0 if _typed_mfu(context, row) else 1.0) for row in rows)
    return Leaf(found, "convention", streams=("",) * len(rows), by_row=True)


def _typed_mfu(context: Context, row: Row) -> Range | None:
    mfu = context.plan.inputs.get("compute.mfu")
    return given(row, "mfu") or (mfu if isinstance(mfu, Range) else None)


def _pool_mfu(context: Context, row: Row) -> Range:
    return _typed_mfu(context, row) or published_paid_mfu_of(context.plan, str(row.get("accelerator", ""))).value


def rung_mfu(context: Context) -> Leaf | None:
    """The MFU of each rung, or that of the plan, or of published runs; none where the plan has a measured speed."""
    return by_row("experiments", "mfu", _rung_mfu)(context)


def _rung_mfu(context: Context, row: Row) -> Range:
    own = given(row, "mfu")
    if own is not None or any(path in context.plan.inputs for path in MEASURED_SPEED):
        return own or NOT_KNOWN
    for path in ("compute.mfu", "compute.paid_mfu"):
        known = context.plan.inputs.get(path)
        if isinstance(known, Range):
            return known
    published = context.history.value("compute.paid_mfu", context.plan)
    return published.value if published else NOT_KNOWN


def _weights(context: Context) -> Counter[float] | None:
    if context.plan.task != "inference":
        return None
    return Counter(context.plan.profiles.get("inference.profile") or (1.0,) * 24)


def hourly_weight(context: Context) -> Leaf | None:
    """The different weights of the hours of a day, the busiest first."""
    weights = _weights(context)
    if not weights:
        return None
    values = tuple(Point(weight) for weight in sorted(weights, reverse=True))
    return Leaf(values, "plan", streams=("",) * len(values), by_row=True)


def hours_of_weight(context: Context) -> Leaf | None:
    """How many hours of a day have each weight."""
    weights = _weights(context)
    if not weights:
        return None
    hours = tuple(Point(float(weights[weight])) for weight in sorted(weights, reverse=True))
    return Leaf(hours, "convention", streams=("",) * len(hours), by_row=True)
