"""What an input of a plan can be: a number, a range, or "whatever our past runs say"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Point:
    """One number, without any uncertainty."""

    value: float

    @property
    def typical(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class Pert:
    """A range with its likeliest value: the PERT distribution with λ = 4, mean (low + 4·mode + high) / 6."""

    low: float
    mode: float
    high: float

    @property
    def typical(self) -> float:
        return self.mode


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Three quantiles; between them log-quantiles are interpolated monotonically, flat beyond P1 and P99."""

    p10: float
    p50: float
    p90: float

    @property
    def typical(self) -> float:
        return self.p50


class Baseline(Enum):
    """The wish to take a figure from history, or from the published tables where there is none."""

    BASELINE = "baseline"


BASELINE = Baseline.BASELINE

Value = Point | Pert | Quantiles | Baseline
"""What `Plan.inputs` holds for a path."""
