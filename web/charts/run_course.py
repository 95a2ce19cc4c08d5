"""The course of one series of a run: a line over time or steps, broken where a value was none or work began again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import formats, timezone
from django.utils.translation import gettext as _

from web import figures

from .axis import Scale, Tick, day_label, path, round_step, text_width

WIDTH, HEIGHT = 720.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 700.0, 14.0, 172.0
DAY = 86_400.0


@dataclass(frozen=True)
class Measured:
    """One point of the course."""

    attempt: int
    step: int
    at: datetime | None
    value: float | None


@dataclass(frozen=True)
class CourseChart:
    """Where everything stands, in a 720 × 200 picture."""

    label: str
    values: list[Tick]
    along: list[Tick]
    line: str
    single: tuple[float, float] | None
    attempts: list[float]
    """Where a further attempt began."""


def course_chart(name: str, course: Sequence[Measured]) -> CourseChart | None:
    """The picture; None where no point has a value."""
    known = [point.value for point in course if point.value is not None]
    if not known:
        return None
    has_clock = all(point.at is not None for point in course)
    places = [point.at.timestamp() if has_clock and point.at else float(point.step) for point in course]
    across = Scale(min(places), max(max(places), min(places) + 1), LEFT, RIGHT)
    marks = value_marks(min(known), max(known))
    up = Scale(marks[0], marks[-1], BOTTOM, TOP)
    pieces = pieces_of(course, places, across, up)
    return CourseChart(
        label=_("%(name)s: from %(first)s to %(last)s, between %(low)s and %(high)s.")
        % {
            "name": name,
            "first": value_label(known[0]),
            "last": value_label(known[-1]),
            "low": value_label(min(known)),
            "high": value_label(max(known)),
        },
        values=[Tick(up.at(mark), value_label(mark)) for mark in marks],
        along=time_ticks(across) if has_clock else step_ticks(across),
        line="".join(path(piece) for piece in pieces if len(piece) > 1),
        single=pieces[0][0] if len(pieces) == 1 and len(pieces[0]) == 1 else None,
        attempts=[
            across.at(places[index])
            for index in range(1, len(course))
            if course[index].attempt != course[index - 1].attempt
        ],
    )


def pieces_of(
    course: Sequence[Measured], places: Sequence[float], across: Scale, up: Scale
) -> list[list[tuple[float, float]]]:
    """Unbroken parts of the line."""
    pieces: list[list[tuple[float, float]]] = []
    before: Measured | None = None
    for point, place in zip(course, places, strict=True):
        if point.value is not None:
            if before is None or before.value is None or before.attempt != point.attempt:
                pieces.append([])
            pieces[-1].append((across.at(place), up.at(point.value)))
        before = point
    return pieces


def value_marks(low: float, high: float, parts: int = 4) -> list[float]:
    """Round values around what was measured; zero need not be one of them."""
    if low == high:
        low, high = low - (abs(low) * 0.1 or 1), high + (abs(high) * 0.1 or 1)
    step = round_step(high - low, parts)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def value_label(value: float) -> str:
    """`12.5`, `0.41`, `1.2M`, `3e-05`."""
    if value and abs(value) < 0.001:
        return f"{value:.2g}"
    if abs(value) >= 10_000:
        return figures.scaled(figures.decimal_of(value))
    return figures.trimmed(figures.grouped(value, 3 if abs(value) < 10 else 1))


def time_ticks(across: Scale) -> list[Tick]:
    """Hours of a day or two, else days; none touches the one before."""
    span = across.high - across.low
    ticks: list[Tick] = []
    for part in range(6):
        moment = across.low + span * part / 5
        local = timezone.localtime(datetime.fromtimestamp(moment, tz=timezone.get_default_timezone()))
        label = formats.time_format(local, "H:i") if span < 2 * DAY else day_label(local.date())
        if (not ticks or label != ticks[-1].label) and across.at(moment) + text_width(label) <= RIGHT + 16:
            ticks.append(Tick(across.at(moment), label))
    return ticks


def step_ticks(across: Scale) -> list[Tick]:
    step = max(round_step(across.high - across.low, 5), 1)
    first = math.ceil(across.low / step)
    marks = [number * step for number in range(first, int(across.high // step) + 1)]
    return [Tick(across.at(mark), value_label(mark)) for mark in marks if across.at(mark) < RIGHT - 24]
