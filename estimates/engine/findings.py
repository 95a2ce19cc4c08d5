"""What a rule finds in a plan: a number, and how people read it."""

from __future__ import annotations

import math
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


def tightest_pool(case: Case) -> tuple[str, float] | None:
    """The pool whose accelerators have the least memory, and that in GB; None without pools of known memory."""
    if not case.has("pool_fits"):
        return None
    memory = [value.typical for value in case.evaluation.leaves["pool_memory_gb"][case.index].values]
    known = [(gb, index) for index, gb in enumerate(memory) if not math.isnan(gb)]
    if not known:
        return None
    least, index = min(known)
    return str(case.plan.rows("compute.pools")[index].get("accelerator") or index + 1), least


def is_building(case: Case) -> bool:
    return case.plan.task in BUILDING
