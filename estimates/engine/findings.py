"""What a rule finds in a plan: a number, and how people read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING


@dataclass(frozen=True)
class Finding:
    """The number of a warning, as a figure and as people read it."""

    value: float | int | str | None
    shown: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


def number(value: float, digits: int = 3, **words: str) -> Finding:
    """A finding that is a plain number."""
    return Finding(float(value), f"{value:,.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}", words)


def percent(value: float, **words: str) -> Finding:
    """A finding that is a share."""
    return Finding(float(value), f"{value:.0%}", words)


def is_building(case: Case) -> bool:
    return case.plan.task in BUILDING
