"""Pictures of choices: a few amounts as bars under each other, and how amounts run over a row of choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from web import figures

from .axis import Scale, Tick, amount_ticks, amount_values, path, text_width
from .breakdown import shortened

WIDTH, NAME, ROW = 340.0, 110.0, 24.0
COURSE_TOP, COURSE_BOTTOM, COURSE_LEFT, COURSE_RIGHT = 10.0, 120.0, 44.0, 322.0


@dataclass(frozen=True)
class Choice:
    """One of several choices: its amount, and the words beside the bar."""

    name: str
    amount: float
    words: str
    is_chosen: bool = False


@dataclass(frozen=True)
class Bar:
    name: str
    y: float
    width: float
    words: str
    words_x: float
    is_chosen: bool

    @property
    def baseline(self) -> float:
        return self.y + 11


@dataclass(frozen=True)
class Bars:
    label: str
    height: float
    rows: list[Bar]


def choice_bars(choices: Sequence[Choice]) -> Bars:
    """The choices on one scale from zero, in the order given."""
    most = max((one.amount for one in choices), default=0.0)
    room = WIDTH - NAME - max((text_width(one.words) for one in choices), default=0.0) - 20
    rows = []
    for index, one in enumerate(choices):
        width = round(max(room * one.amount / most, 1.0), 1) if most > 0 else 1.0
        name = shortened(one.name, NAME - 8)
        rows.append(Bar(name, 4 + index * ROW, width, one.words, round(NAME + width + 6, 1), one.is_chosen))
    said = "; ".join(f"{one.name}: {one.words}" for one in choices)
    return Bars(_("Side by side: %(choices)s") % {"choices": said}, 4 + len(rows) * ROW, rows)


@dataclass(frozen=True)
class Course:
    """Amounts of several kinds over a row of choices, such as what is lost at each interval."""

    labels: tuple[str, ...]
    lines: tuple[tuple[str, tuple[float, ...]], ...]
    currency: str


@dataclass(frozen=True)
class DrawnLine:
    name: str
    kind: str
    mark: str
    """Its colour in the legend."""
    d: str


@dataclass(frozen=True)
class DrawnCourse:
    label: str
    lines: list[DrawnLine]
    ticks: list[Tick]
    columns: list[Tick]


KINDS = (("actual", "a"), ("plan", "p"))


def course(asked: Course) -> DrawnCourse:
    """The lines over evenly spaced choices, on one scale from zero."""
    values = amount_values(0.0, max((max(amounts) for _name, amounts in asked.lines), default=0.0), parts=3)
    up = Scale(0.0, values[-1], COURSE_BOTTOM, COURSE_TOP)
    step = (COURSE_RIGHT - COURSE_LEFT) / max(len(asked.labels) - 1, 1)
    xs = [round(COURSE_LEFT + index * step, 1) for index in range(len(asked.labels))]
    drawn = [
        DrawnLine(name, *KINDS[index % len(KINDS)], path([(x, up.at(one)) for x, one in zip(xs, amounts, strict=True)]))
        for index, (name, amounts) in enumerate(asked.lines)
    ]
    columns = [Tick(x, label) for index, (x, label) in enumerate(zip(xs, asked.labels, strict=True)) if index % 2 == 0]
    return DrawnCourse(course_words(asked), drawn, amount_ticks(values, up), columns)


def course_words(asked: Course) -> str:
    """The picture as a sentence, for those who do not see it."""
    told = [
        f"{name}: "
        + ", ".join(
            f"{label} {figures.compact_text(amount, asked.currency)}"
            for label, amount in zip(asked.labels, amounts, strict=True)
        )
        for name, amounts in asked.lines
    ]
    return "; ".join(told)
