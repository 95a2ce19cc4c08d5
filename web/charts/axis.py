"""Scales and labels that every chart needs: round steps, amounts in one unit, months, widths of words."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils import dates

from core.months import Month
from web import figures

STEPS = (1, 2, 2.5, 4, 5, 10)
LATIN_WIDTH, WIDE_WIDTH = 6.1, 11.0
"""Of a character at the charts' 11 px, with a little to spare."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where it stands and what it says."""

    at: float
    label: str

    @property
    def baseline(self) -> float:
        """Where a label stands that is centred on the mark of a vertical axis."""
        return round(self.at + 4, 1)


@dataclass(frozen=True)
class Scale:
    """Maps values onto pixels, linearly; what lies outside ends at the edge."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)


def text_width(text: str) -> float:
    """How wide a label will be, Chinese characters being twice as wide."""
    return sum(WIDE_WIDTH if unicodedata.east_asian_width(letter) in "WF" else LATIN_WIDTH for letter in text)


def round_step(span: float, parts: int) -> float:
    """The smallest 1, 2, 2.5, 4, 5 × 10ⁿ that divides the span into at most so many parts."""
    rough = span / parts
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))


def amount_values(low: float, high: float, parts: int = 4) -> list[float]:
    """Round values from at or below `low` to at or above `high`; zero is always one of them."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        high = 1.0
    step = round_step(high - low, parts)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def amount_label(value: float, largest: float) -> str:
    """In the unit of the largest value on the axis: `0`, `0.4M`, `1.2M`; `40 万`."""
    if value == 0:
        return "0"
    sizes = figures.SCALES["zh" if figures.is_chinese() else "en"]
    for size, word in sizes:
        if largest >= max(size, 10_000):
            return figures.trimmed(figures.grouped(value / size, 3)) + word
    return figures.trimmed(figures.grouped(value, 3))


def amount_ticks(values: Sequence[float], scale: Scale) -> list[Tick]:
    largest = max(abs(value) for value in values)
    return [Tick(scale.at(value), amount_label(value, largest)) for value in values]


def day_number(day: date) -> float:
    return float(day.toordinal())


def date_ticks(start: date, end: date, scale: Scale) -> list[Tick]:
    """The months between two days, weeks where there are fewer than two; none that would touch the one before."""
    days = month_starts(start, end) if (end - start).days > 62 else week_starts(start, end)
    ticks: list[Tick] = []
    for day in days:
        in_months = (end - start).days > 62
        label = month_label(day, first=not ticks, years=start.year != end.year) if in_months else day_label(day)
        at = scale.at(day_number(day))
        if ticks and at < ticks[-1].at + text_width(ticks[-1].label) + 8:
            continue
        ticks.append(Tick(at, label))
    return ticks


def month_starts(start: date, end: date) -> list[date]:
    """The first visible day of every month, the first one being where the picture starts."""
    month, found = Month.of(start), []
    while month.start < end:
        found.append(max(month.start, start))
        month += 1
    return found


def week_starts(start: date, end: date) -> list[date]:
    return [start + timedelta(days=offset) for offset in range(0, max((end - start).days, 1), 7)]


def month_label(day: date, *, first: bool, years: bool) -> str:
    """`Oct`; `Jan 2027` where a year begins in a picture of several."""
    if figures.is_chinese():
        return f"{day.year}年{day.month}月" if years and (first or day.month == 1) else f"{day.month}月"
    name = str(dates.MONTHS_3[day.month]).title()
    return f"{name} {day.year}" if years and (first or day.month == 1) else name


def day_label(day: date) -> str:
    """`27 Jan`; `1月27日`."""
    if figures.is_chinese():
        return f"{day.month}月{day.day}日"
    return f"{day.day} {str(dates.MONTHS_3[day.month]).title()}"


def path(points: Sequence[tuple[float, float]]) -> str:
    """The points joined by straight lines, as the `d` of an SVG path."""
    if not points:
        return ""
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
