"""From samples to the figures people see: P10, P50, P90 and mean, to nine significant digits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from estimates.engine.sampling import Array

SHARES = (0.10, 0.50, 0.90)
Name = TypeVar("Name", bound=Hashable)
LABELS = ("p10", "p50", "p90", "mean")
Figures = dict[str, float | None]
BLOCK = 65_536
"""About how many samples are sorted at once: more no longer fit the cache of a processor."""


def figure(number: float | np.floating[Any]) -> float | None:
    """A number to nine significant digits; what is not known, or beyond all bounds, is None."""
    number = float(number)
    return float(f"{number:.9g}") if math.isfinite(number) else None


def levels(rising: Array, shares: Sequence[float]) -> Array:
    """Quantiles of samples in rising order along the last axis, by straight interpolation; one column for each."""
    positions = np.array(shares) * (rising.shape[-1] - 1)
    below = positions.astype(int)
    above = np.minimum(below + 1, rising.shape[-1] - 1)
    with np.errstate(invalid="ignore"):
        return rising[..., below] + (rising[..., above] - rising[..., below]) * (positions - below)


def rounded(numbers: Array) -> list[float | None]:
    """Numbers to nine significant digits, all at once; the same as `figure` of each."""
    with np.errstate(all="ignore"):
        digits = 8.0 - np.floor(np.log10(np.abs(numbers)))
        up, down = (10.0 ** np.minimum(np.maximum(places, 0.0), 22.0) for places in (digits, -digits))
        found = np.round(numbers * up / down) * down / up
    simple = np.isfinite(found) & ((np.abs(digits) <= 22.0) | (numbers == 0.0))
    plain_numbers: list[float | None] = found.tolist()
    for index in np.flatnonzero(~simple):
        plain_numbers[index] = figure(numbers[index])
    return plain_numbers


def summaries(named: Mapping[Name, Array], plans: int) -> list[dict[Name, Figures]]:
    """Figures of many quantities of several plans: each array has the shape (1 or plans, 1 or samples)."""
    alike = _alike(named.values())
    different = {id(array): array for array in alike.values()}
    known = dict(zip(different, _figures(list(different.values())), strict=True))
    figures = {name: known[id(alike[id(array)])] for name, array in named.items()}
    return [{name: _of_plan(found, plan) for name, found in figures.items()} for plan in range(plans)]


def _alike(arrays: Iterable[Array]) -> dict[int, Array]:
    """For each array, by its id, the first that holds the same samples. Sums of one part, costs of nothing and months
    in which the same is due are many, and comparing takes a fraction of sorting."""
    firsts: dict[Hashable, list[Array]] = {}
    found: dict[int, Array] = {}
    for array in arrays:
        if id(array) not in found:
            others = firsts.setdefault((array.shape, array[:, 0].tobytes(), array[:, -1].tobytes()), [])
            found[id(array)] = next((other for other in others if np.array_equal(other, array)), array)
            if found[id(array)] is array:
                others.append(array)
    return found


def _of_plan(figures: Sequence[Figures], plan: int) -> Figures:
    return figures[plan if len(figures) > 1 else 0]


def _figures(arrays: Sequence[Array]) -> list[list[Figures]]:
    """The figures of each array, plan by plan."""
    columns = np.concatenate([np.zeros((0, len(LABELS))), *(_columns(block) for block in _blocks(arrays))])
    numbers = rounded(columns.ravel())
    rows = (dict(zip(LABELS, numbers[at : at + 4], strict=True)) for at in range(0, len(numbers), 4))
    return [[next(rows) for _plan in array] for array in arrays]


def _blocks(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """Neighbours with equally many samples, together small enough for the cache of a processor."""
    block: list[Array] = []
    for array in arrays:
        if block and (array.shape[-1] != block[0].shape[-1] or sum(found.size for found in block) >= BLOCK):
            yield block
            block = []
        block.append(array)
    if block:
        yield block


def _columns(arrays: Sequence[Array]) -> Array:
    """P10, P50, P90 and mean of each row of some arrays; NaN throughout where not all samples are known."""
    rows = np.concatenate(arrays)
    if rows.shape[-1] == 1:
        return np.repeat(rows, len(LABELS), axis=-1)
    means = rows.mean(axis=-1)
    rows.sort(axis=-1)
    columns = np.column_stack([levels(rows, SHARES), means])
    columns[~np.isfinite(means)] = np.nan
    return columns


def summary(array: Array) -> Figures:
    """Figures of one quantity."""
    return summaries({"it": np.asarray(array, dtype=float).reshape(1, -1)}, 1)[0]["it"]


def plain(value: Any) -> Any:
    """A figure, or what it is when it is no number."""
    return figure(value) if isinstance(value, float | np.floating) else value
