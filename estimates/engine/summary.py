"""From samples to the figures people see: P10, P50, P90 and mean, to nine significant digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from estimates.engine.sampling import Array

SHARES = (("p10", 0.10), ("p50", 0.50), ("p90", 0.90))
Figures = dict[str, float | None]


def figure(number: float) -> float | None:
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


def summaries(named: Mapping[str, Array]) -> dict[str, Figures]:
    """Figures of many quantities at once; each array has the shape (1,) or (samples,)."""
    found: dict[str, Figures] = {}
    sampled = {name: array for name, array in named.items() if array.shape[-1] > 1}
    for name, array in named.items():
        if name not in sampled:
            number = figure(array[0])
            found[name] = {"p10": number, "p50": number, "p90": number, "mean": number}
    if sampled:
        matrix = np.stack(list(sampled.values()))
        means = matrix.mean(axis=-1)
        matrix.sort(axis=-1)
        levels = [level(matrix, share) for _, share in SHARES]
        for row, name in enumerate(sampled):
            figures: Figures = {label: figure(values[row]) for (label, _), values in zip(SHARES, levels, strict=True)}
            found[name] = {**figures, "mean": figure(means[row])}
            if not math.isfinite(means[row]):
                found[name] = dict.fromkeys(found[name], None)
    return {name: found[name] for name in named}


def summary(array: Array) -> Figures:
    """Figures of one quantity."""
    return summaries({"it": np.atleast_1d(np.asarray(array, dtype=float))})["it"]


def plain(value: Any) -> Any:
    """A figure, or what it is when it is no number."""
    return figure(value) if isinstance(value, float | np.floating) else value
