"""Samples of ranges: the same ones in every run, on every machine, for every plan that has the same input.

Each input has its own stream, keyed by its path. A stream is a random order of the midpoints of S equal slices of
probability (a Latin hypercube): a range is sampled evenly whatever the sample count, and two plans, or two versions
of one plan, are compared under common random numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimates.engine.values import Pert, Point, Quantiles

Array = NDArray[np.floating[Any]]
Range = Point | Pert | Quantiles

SEED = "headroom/1"
PERT_WEIGHT = 4.0
"""λ of the PERT distribution: how much more the mode weighs than the ends."""
SHAPES = 28
"""Chebyshev nodes over the position of the mode; the error of a PERT quantile is then below 1e-10 of the range."""
SERIES_TERMS = 60
Z_10 = NormalDist().inv_cdf(0.90)
Z_1 = NormalDist().inv_cdf(0.99)


@lru_cache(maxsize=4096)
def stream(path: str, samples: int) -> NDArray[np.intp]:
    """The order in which an input runs through its slices of probability."""
    key = int.from_bytes(hashlib.blake2b(f"{SEED}/{path}".encode(), digest_size=16).digest(), "little")
    return np.argsort(np.random.Philox(key=key).random_raw(samples), kind="stable")


@lru_cache(maxsize=16)
def slices(samples: int) -> Array:
    """The middle of each slice of probability, rising."""
    return (np.arange(samples) + 0.5) / samples


@lru_cache(maxsize=16)
def normal_scores(samples: int) -> Array:
    """The standard normal quantile of each slice."""
    return np.array([NormalDist().inv_cdf(share) for share in slices(samples)])


def draw(values: Sequence[Range], path: str, samples: int) -> Array:
    """One row per plan: shape (plans, 1) where no plan has a range, (plans, samples) where one has."""
    if all(type(value) is Point for value in values):
        return np.array([[value.value] for value in values])  # type: ignore[union-attr]
    drawn = np.empty((len(values), samples))
    order = stream(path, samples)
    for row, value in zip(drawn, values, strict=True):
        if isinstance(value, Point):
            row[:] = value.value
        elif isinstance(value, Pert):
            row[:] = pert_quantiles(value, samples)[order]
        else:
            row[:] = _from_scores(value, normal_scores(samples))[order]
    return drawn


@lru_cache(maxsize=65_536)
def quantile(value: Range, share: float) -> float:
    """One quantile of an input, `share` between 0 and 1."""
    if isinstance(value, Point):
        return value.value
    if isinstance(value, Quantiles):
        return float(_from_scores(value, np.array([NormalDist().inv_cdf(share)]))[0])
    if value.high <= value.low:
        return value.mode
    weights = _lagrange_weights((value.mode - value.low) / (value.high - value.low))
    return float(value.low + (value.high - value.low) * (weights @ _pert_quantile_at_nodes(share)))


def pert_quantiles(value: Pert, samples: int) -> Array:
    """The quantile of each slice of a PERT distribution, rising; closer than 1e-10 of its width."""
    if value.high <= value.low:
        return np.full(samples, value.mode)
    table = _pert_table(samples)
    position = (value.mode - value.low) / (value.high - value.low)
    return value.low + (value.high - value.low) * (_lagrange_weights(position) @ table)


def beta_quantiles(alpha: float, beta: float, shares: Array) -> Array:
    """Quantiles of a beta distribution with both shapes at least 1, by Newton steps on logarithms."""
    middle = float(_lower_beta(alpha, beta, np.array([0.5]))[0])
    below = shares <= middle
    found = np.empty_like(shares)
    found[below] = _small_beta_quantiles(alpha, beta, shares[below])
    found[~below] = 1.0 - _small_beta_quantiles(beta, alpha, 1.0 - shares[~below])
    return found


def _small_beta_quantiles(alpha: float, beta: float, shares: Array) -> Array:
    """Quantiles that lie below one half. log F is almost straight in log x, so Newton arrives in a few steps."""
    scale = _beta_function(alpha, beta)
    wanted = np.log(shares)
    point = np.minimum((wanted + np.log(alpha * scale)) / alpha, np.log(0.5))
    for _ in range(12):
        x = np.exp(point)
        reached = _lower_beta(alpha, beta, x)
        density = np.exp((alpha - 1) * point + (beta - 1) * np.log1p(-x)) / scale
        step = (np.log(reached) - wanted) * reached / (density * x)
        point = np.minimum(point - step, np.log(0.501))
        if not np.any(np.abs(step) > 1e-14):
            break
    return np.exp(point)


def _lower_beta(alpha: float, beta: float, x: Array) -> Array:
    """The regularised incomplete beta function for x up to one half, by its power series."""
    term = np.ones_like(x)
    total = np.full_like(x, 1.0 / alpha)
    for n in range(1, SERIES_TERMS):
        term = term * x * (n - beta) / n
        total = total + term / (alpha + n)
    return x**alpha * total / _beta_function(alpha, beta)


def _beta_function(alpha: float, beta: float) -> float:
    return _series_at_half(alpha, beta) + _series_at_half(beta, alpha)


def _series_at_half(alpha: float, beta: float) -> float:
    """The incomplete beta function at one half, not regularised."""
    term, total = 1.0, 1.0 / alpha
    for n in range(1, SERIES_TERMS):
        term *= 0.5 * (n - beta) / n
        total += term / (alpha + n)
    return 0.5**alpha * total


def _pert_shape(position: float) -> tuple[float, float]:
    return 1.0 + PERT_WEIGHT * position, 1.0 + PERT_WEIGHT * (1.0 - position)


@lru_cache(maxsize=1)
def _pert_nodes() -> Array:
    return 0.5 - 0.5 * np.cos((np.arange(SHAPES) + 0.5) * np.pi / SHAPES)


@lru_cache(maxsize=64)
def _pert_quantile_at_nodes(share: float) -> Array:
    return np.array([beta_quantiles(*_pert_shape(float(node)), np.array([share]))[0] for node in _pert_nodes()])


@lru_cache(maxsize=16)
def _pert_table(samples: int) -> Array:
    """PERT quantiles of every slice, for modes at the Chebyshev nodes of 0..1; the second half mirrors the first."""
    nodes = _pert_nodes()
    table = np.empty((SHAPES, samples))
    for index in range(SHAPES // 2):
        table[index] = beta_quantiles(*_pert_shape(float(nodes[index])), slices(samples))
        table[SHAPES - 1 - index] = 1.0 - table[index][::-1]
    return table


@lru_cache(maxsize=4096)
def _lagrange_weights(position: float) -> Array:
    """How much each node counts in the interpolation at `position` (barycentric form)."""
    nodes = _pert_nodes()
    distance = position - nodes
    exact = np.flatnonzero(distance == 0)
    if exact.size:
        weights = np.zeros_like(nodes)
        weights[exact[0]] = 1.0
        return weights
    angles = (np.arange(SHAPES) + 0.5) * np.pi / SHAPES
    weights = np.where(np.arange(SHAPES) % 2, -1.0, 1.0) * np.sin(angles) / distance
    return weights / weights.sum()


def _from_scores(value: Quantiles, scores: Array) -> Array:
    """Two half lognormals that meet at the median, cut at P1 and P99; straight where a quantile is not positive."""
    z = np.clip(scores, -Z_1, Z_1) / Z_10
    if value.p10 > 0:
        down, up = np.log(value.p50 / value.p10), np.log(value.p90 / value.p50)
        return value.p50 * np.exp(np.where(z < 0, z * down, z * up))
    return value.p50 + np.where(z < 0, z * (value.p50 - value.p10), z * (value.p90 - value.p50))
