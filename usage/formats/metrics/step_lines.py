"""Lines of training logs between other text: llm.c, modded-nanogpt, Megatron, MLPerf's `:::MLLOG`.

The first two have no clock, so their points have no time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from .contract import Head, Log, MetricFormat, Point, lines_of, moment, number_of, step_of

VALUE = r"[-+]?(?:nan|inf|[0-9.]+(?:[eE][-+]?[0-9]+)?)"
LLM_C = re.compile(rf"s:([0-9]+)((?: [A-Za-z_]+:{VALUE})+)", re.IGNORECASE)
NANOGPT = re.compile(rf"step:([0-9]+)/[0-9]+((?: [A-Za-z_]+:{VALUE}(?:ms|s)?)+)", re.IGNORECASE)
PAIR = re.compile(rf"([A-Za-z_]+):({VALUE})(ms|s)?", re.IGNORECASE)
MEGATRON = re.compile(
    r"(?:\[([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2})[^\]]*\])?\s*iteration\s+([0-9]+)/\s*[0-9]+\s*\|(.*)"
)
MLLOG = ":::MLLOG "
MLPERF_STEPS = ("step_num", "step", "samples_count", "epoch_num")


def recognise(head: Head) -> str:
    for line in head.lines:
        if _kind(line.strip()):
            return f"the text holds lines of a training log such as: {line.strip()[:60]}"
    return ""


def _kind(line: str) -> str:
    if LLM_C.fullmatch(line):
        return "llm.c"
    if NANOGPT.fullmatch(line):
        return "nanogpt"
    if MEGATRON.search(line):
        return "megatron"
    return "mlperf" if MLLOG in line else ""


def read(log: Log) -> Iterator[Point]:
    for raw in lines_of(log.path):
        line = raw.strip()
        match _kind(line):
            case "llm.c":
                yield from _pairs(log, LLM_C, line)
            case "nanogpt":
                yield from _pairs(log, NANOGPT, line)
            case "megatron":
                yield from _megatron(log, line)
            case "mlperf":
                yield from _mlperf(log, line)


def _pairs(log: Log, pattern: re.Pattern[str], line: str) -> Iterator[Point]:
    match = pattern.fullmatch(line)
    if match is None:
        return
    step = step_of(match.group(1))
    if step is None:
        log.ignore("no_step", line)
        return
    for name, value, unit in PAIR.findall(match.group(2)):
        yield Point(f"{name}_{unit}" if unit else name, step, None, number_of(value)[1])


def _megatron(log: Log, line: str) -> Iterator[Point]:
    match = MEGATRON.search(line)
    if match is None:
        return
    clock, step_text, rest = match.groups()
    step = step_of(step_text)
    if step is None:
        log.ignore("no_step", line)
        return
    at = _moment_of(clock) if clock else None
    for part in rest.split("|"):
        name, colon, text = part.rpartition(":")
        if not colon:
            continue
        known, number = number_of(text)
        if known:
            yield Point(name.strip(), step, at, number)
        else:
            log.ignore("no_number", part.strip())


def _moment_of(clock: str) -> datetime | None:
    """The time in front of a line; None where there is no such day or hour."""
    try:
        return datetime.fromisoformat(clock).replace(tzinfo=UTC)
    except ValueError:
        return None


def _mlperf(log: Log, line: str) -> Iterator[Point]:
    try:
        entry: Any = json.loads(line.partition(MLLOG)[2])
    except (ValueError, RecursionError):
        log.ignore("cut_line", line)
        return
    metadata = entry.get("metadata") if isinstance(entry, dict) else None
    if not isinstance(metadata, dict):
        log.ignore("no_metric", line)
        return
    step = next((found for name in MLPERF_STEPS if (found := step_of(metadata.get(name))) is not None), None)
    known, number = number_of(entry.get("value"))
    milliseconds = number_of(entry.get("time_ms"))[1]
    if step is None or not known:
        log.ignore("no_metric", str(entry.get("key")))
        return
    yield Point(str(entry.get("key")), step, moment(None if milliseconds is None else milliseconds / 1000), number)


FORMAT = MetricFormat("training-log", "Training log (llm.c, nanoGPT, Megatron, MLPerf)", recognise, read)
