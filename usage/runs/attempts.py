"""Which attempt a point belongs to: a step that comes again, or goes back, was computed again after a resume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ..formats.metrics.contract import Point


@dataclass(frozen=True)
class Known:
    """What is stored of one series: the attempt of the very same point if it is there, and where the series stands."""

    same_attempt: int | None = None
    last_attempt: int = 0
    last_step: int = -1
    last_at: datetime | None = None


@dataclass
class Series:
    """Where the reading of one series stands."""

    attempt: int
    step: int = -1
    points: int = 0
    last_step: int = -1
    last_attempt: int = 0
    last_value: float | None = None
    rewound: int = 0
    """Points of steps that had been computed before."""
    furthest: int = -1

    def take(self, point: Point) -> int:
        """Count a point; answers its attempt."""
        if point.step <= self.step:
            self.attempt += 1
        self.step = point.step
        self.points += 1
        if point.step <= self.furthest:
            self.rewound += 1
        self.furthest = max(self.furthest, point.step)
        if (point.step, self.attempt) >= (self.last_step, self.last_attempt):
            self.last_step, self.last_attempt, self.last_value = point.step, self.attempt, point.value
        return self.attempt


def first_attempt(point: Point, known: Known) -> int:
    """The attempt of a delivery's first point: a log that has grown goes on as it was, a later one is a resume.

    Without a clock a delivery cannot say that it is another attempt: it replaces the first.
    """
    if known.same_attempt is not None:
        return known.same_attempt
    if point.at is None or known.last_at is None or point.at <= known.last_at:
        return 1
    return known.last_attempt + 1 if point.step <= known.last_step else known.last_attempt


class Attempts:
    """Tells attempts apart, series by series, in the order of the log."""

    def __init__(self, known: Callable[[Point], Known]) -> None:
        self._known = known
        self.series: dict[str, Series] = {}

    def of(self, point: Point) -> int:
        series = self.series.get(point.name)
        if series is None:
            known = self._known(point)
            series = self.series[point.name] = Series(first_attempt(point, known))
        return series.take(point)
