"""JSON lines of a run's history: W&B (`_step`, `_timestamp`), and loggers that write `step` beside their values.

`"NaN"` and `"Infinity"` stand as text; keys are sparse. Nested values are no metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .contract import Head, Log, MetricFormat, Point, lines_of, moment, number_of, step_of

STEPS = ("_step", "step", "global_step", "iteration")
TIMES = ("_timestamp", "timestamp", "time", "created_at")
NO_METRICS = frozenset((*STEPS, *TIMES, "_runtime", "_wandb"))


def recognise(head: Head) -> str:
    lines = head.lines[:5]
    if not lines or not lines[0].lstrip().startswith("{"):
        return ""
    first = _parsed(lines[0])
    if first is None or not any(name in first for name in STEPS):
        return ""
    return "every line is a JSON object with a step"


def read(log: Log) -> Iterator[Point]:
    for line in lines_of(log.path):
        if not line.strip():
            continue
        row = _parsed(line)
        step = next((found for name in STEPS if row and (found := step_of(row.get(name))) is not None), None)
        if row is None or step is None:
            log.ignore("line_without_step" if row else "cut_line", line)
            continue
        seconds = next((number_of(row[name])[1] for name in TIMES if name in row), None)
        at = moment(seconds)
        for name, value in row.items():
            if name in NO_METRICS:
                continue
            known, number = number_of(value)
            if known:
                yield Point(name, step, at, number)
            else:
                log.ignore("no_number", name)


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


FORMAT = MetricFormat("wandb", "W&B history / JSON lines", recognise, read)
