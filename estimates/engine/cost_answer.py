"""`cost` of the answer: the total, and the same by cause, line, behaviour, subcategory and month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from core.vocabulary import CAUSES
from estimates.engine.breakdown import Breakdown, Part, total_of
from estimates.engine.sampling import Array
from estimates.engine.summary import Figures, rounded
from estimates.engine.totals import BEHAVIOURS, COST_LINES

LINE_NAMES = tuple(str(line) for line in COST_LINES)
GROUPS: Mapping[str, tuple[tuple[str, ...], Callable[[Part], str]]] = {
    "by_cause": (tuple(str(cause) for cause in CAUSES), lambda part: str(part.cause)),
    "by_line": (LINE_NAMES, lambda part: str(part.line)),
    "by_behaviour": (BEHAVIOURS, lambda part: part.behaviour),
    "by_subcategory": ((), lambda part: f"{part.cause}.{part.subcategory or part.name}"),
}
"""What is always shown of a breakdown, and where a part belongs in it."""


def cost_rows(costs: Breakdown, amortised: Array) -> dict[str, Array]:
    """The samples of everything that `cost_answer` shows; names begin with `/`, months are `/month/3`."""
    rows = {"/total": costs.total, "/amortised_total": amortised}
    for group, (always, place_of) in GROUPS.items():
        rows |= {f"/{group}/{key}": np.zeros(1) for key in always}
        for part in costs.parts:
            name = f"/{group}/{place_of(part)}"
            rows[name] = rows[name] + part.samples if name in rows else part.samples
    by_month = costs.by_month(costs.parts)
    costly = np.flatnonzero(np.any(by_month != 0, axis=-1))
    last = int(costly[-1]) if costly.size else 0
    rows |= {f"/month/{month}": by_month[month] for month in range(last + 1)}
    if not all(part.is_known for part in costs.parts):
        rows["/known_part"] = total_of(part for part in costs.parts if part.is_known)
    return rows


def cost_answer(costs: Breakdown, figures: Mapping[str, Figures]) -> dict[str, Any]:
    """`cost`, from the figures of its rows."""
    answer: dict[str, Any] = {"total": figures["/total"]}
    for group in GROUPS:
        start = f"/{group}/"
        answer[group] = {name[len(start) :]: found for name, found in figures.items() if name.startswith(start)}
    answer["by_month"] = _months(costs, figures)
    answer["amortised_total"] = figures["/amortised_total"]
    if "/known_part" in figures:
        answer["incomplete"] = [part.name for part in costs.parts if not part.is_known]
        answer["known_part"] = figures["/known_part"]
    return answer


def _months(costs: Breakdown, figures: Mapping[str, Figures]) -> list[dict[str, Any]]:
    """The months from the first to the last that costs anything, each with its mean by line."""
    shown = sum(name.startswith("/month/") for name in figures)
    by_line = rounded(costs.mean_by_line_and_month[:, :shown].T.ravel())
    width = len(COST_LINES)
    return [
        {
            "month": str(costs.first_month + month),
            **figures[f"/month/{month}"],
            "by_line": dict(zip(LINE_NAMES, by_line[month * width : (month + 1) * width], strict=True)),
        }
        for month in range(shown)
    ]
