"""From samples to the figures people see: P10, P50, P90 and mean, to nine significant digits."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

from estimates.engine.sampling import Array

SHARES = (("p10", 0.10), ("p50", 0.50), ("p90", 0.90))
Name = TypeVar("Name", bound=Hashable)
LABELS = ("p10", "p50", "p90", "mean")
Figures = dict[str, float | None]


def figure(number: float | np.floating[Any]) -> float | None:
    """A number to nine significant digits; what is not known, or beyond all bounds, is None."""
    number = float(number)
    return float(f"{number:.9g}") if math.isfinite(number) else None


def level(rising: Array, share: float) -> Array:
    """A quantile of samples in rising order along the last axis, by straight interpolation."""
    position = share * (rising.shape[-1] - 1)
    below = int(position)
    above = min(below + 1, rising.shape[-1] - 1)
    with np.errstate(invalid="ignore"):
        return rising[..., below] + (rising[..., above] - rising[..., below]) * (position - below)


def rounded(numbers: Array) -> list[float | None]:
    """Numbers to nine significant digits, all at once; the same as `figure` of each."""
    with np.errstate(all="ignore"):
        digits = 8.0 - np.floor(np.log10(np.abs(numbers)))
        up, down = 10.0 ** np.clip(digits, 0.0, 22.0), 10.0 ** np.clip(-digits, 0.0, 22.0)
        found = np.round(numbers * up / down) * down / up
    simple = np.isfinite(found) & (np.abs(digits) <= 22.0)
    return [
        number if is_simple else figure(original)
        for number, is_simple, original in zip(found.tolist(), simple.tolist(), numbers.tolist(), strict=True)
    ]


def summaries(named: Mapping[Name, Array]) -> dict[Name, Figures]:
    """Figures of many quantities at once; each array has the shape (1,) or (samples,)."""
    certain = [name for name, array in named.items() if array.shape[-1] == 1]
    sampled = [name for name, array in named.items() if array.shape[-1] > 1]
    found: dict[Name, Figures] = {}
    for name, number in zip(certain, rounded(np.array([named[name][0] for name in certain])), strict=True):
        found[name] = {"p10": number, "p50": number, "p90": number, "mean": number}
    if sampled:
        matrix = np.array([named[name] for name in sampled])
        means = matrix.mean(axis=-1)
        matrix.sort(axis=-1)
        rows = [level(matrix, share) for _, share in SHARES]
        known = np.isfinite(means)
        columns = [rounded(np.where(known, row, np.nan)) for row in (*rows, means)]
        for name, *numbers in zip(sampled, *columns, strict=True):
            found[name] = dict(zip(LABELS, numbers, strict=True))
    return {name: found[name] for name in named}


def summary(array: Array) -> Figures:
    """Figures of one quantity."""
    return summaries({"it": np.atleast_1d(np.asarray(array, dtype=float))})["it"]


def plain(value: Any) -> Any:
    """A figure, or what it is when it is no number."""
    return figure(value) if isinstance(value, float | np.floating) else value
