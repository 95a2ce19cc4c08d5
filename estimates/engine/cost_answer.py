"""`cost` of the answer: the total, and the same by cause, line, behaviour, subcategory and month."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from core.vocabulary import CAUSES
from estimates.engine.breakdown import Breakdown, Part, month_names, of_plan, total_of
from estimates.engine.sampling import Array
from estimates.engine.summary import Figures
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
        places: dict[str, list[Part]] = {key: [] for key in always}
        for part in costs.parts:
            places.setdefault(place_of(part), []).append(part)
        rows |= {f"/{group}/{place}": total_of(parts) for place, parts in places.items()}
    rows |= {f"/month/{month}": money for month, money in enumerate(costs.by_month)}
    if not all(part.known.all() for part in costs.parts):
        known = (np.where(part.known[:, None], part.samples, 0.0) for part in costs.parts)
        rows["/known_part"] = sum(known, np.zeros((1, 1)))
    return rows


def cost_answer(costs: Breakdown, plan: int, figures: Mapping[str, Figures]) -> dict[str, Any]:
    """`cost` of one plan, from the figures of its rows."""
    answer: dict[str, Any] = {"total": figures["/total"]} | {group: {} for group in GROUPS}
    for name, found in figures.items():
        if name.startswith("/by_"):
            _, group, place = name.split("/", 2)
            answer[group][place] = found
    answer["by_month"] = _months(costs, plan, figures)
    answer["amortised_total"] = figures["/amortised_total"]
    unknown = [part.name for part in costs.parts if not of_plan(part.known, plan)]
    if unknown:
        answer["incomplete"] = unknown
        answer["known_part"] = figures["/known_part"]
    return answer


def _months(costs: Breakdown, plan: int, figures: Mapping[str, Figures]) -> list[dict[str, Any]]:
    """The months from the first to the last that costs anything, each with its mean by line."""
    by_line = costs.month_lines[plan]
    return [
        {
            "month": name,
            **figures[f"/month/{month}"],
            "by_line": dict(zip(LINE_NAMES, by_line[month], strict=True)),
        }
        for month, name in enumerate(month_names(costs.first_months[plan], costs.months_shown[plan]))
    ]
