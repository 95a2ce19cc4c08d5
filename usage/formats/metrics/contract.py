"""What a format of run metrics is: how it is recognised, and the points it holds in the order they were written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from ...reading.faults import FileRefused
from ...reading.notes import Notes
from ...reading.text import storable

HEAD = 1 << 16
NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
NOT_FINITE = frozenset(["nan", "-nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"])
MOST_STEPS = 1 << 62
LONGEST_LINE = 16 << 20


class Point(NamedTuple):
    """One value of one series. A value that is no number (a loss that went to NaN) is None; a gap is no point."""

    name: str
    step: int
    at: datetime | None
    value: float | None


@dataclass
class Log:
    """What one file is read with: when it was taken, where the file does not say; what was passed over, and why."""

    path: Path
    at: datetime | None = None
    notes: Notes = field(default_factory=Notes)
    facts: dict[str, str] = field(default_factory=dict)
    """Parameters and tags beside the metrics."""

    def ignore(self, kind: str, detail: str = "") -> None:
        """Count a record that holds no metric."""
        self.notes.warn(kind, detail=storable(detail[:200]))

    @property
    def ignored(self) -> int:
        return sum(self.notes.counts.values())


@dataclass(frozen=True)
class Head:
    """The beginning of a file."""

    path: Path
    raw: bytes
    text: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


@dataclass(frozen=True)
class MetricFormat:
    """One format: `recognise` answers why a file is of it, "" where it is not; `read` yields its points."""

    slug: str
    name: str
    recognise: Callable[[Head], str]
    read: Callable[[Log], Iterator[Point]]


def number_of(value: Any) -> tuple[bool, float | None]:
    """Whether a value is a measurement, and its number: NaN and infinities are measurements without one."""
    if isinstance(value, bool) or value is None:
        return False, None
    if isinstance(value, int | float):
        try:
            return True, float(value) if math.isfinite(value) else None
        except OverflowError:
            return True, None
    text = str(value).strip()
    if text.casefold() in NOT_FINITE:
        return True, None
    if NUMBER.fullmatch(text):
        number = float(text)
        return True, number if math.isfinite(number) else None
    return False, None


def step_of(value: Any) -> int | None:
    """A step: a whole number that is not negative."""
    known, number = number_of(value)
    if not known or number is None or number < 0 or number != int(number) or number > MOST_STEPS:
        return None
    return int(number)


def moment(seconds: float | None) -> datetime | None:
    """Seconds since 1970 as a time; None where they cannot be one."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a text, broken bytes replaced. A line without an end is refused before it fills the memory."""
    with path.open(encoding="utf-8-sig", errors="replace", newline=None) as file:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            if len(line) >= LONGEST_LINE:
                raise FileRefused(_("Line %(line)s is longer than any line of a log.") % {"line": number})
            yield line
