"""Small pictures of an estimate and of history: shares by cause, what matters most, ranges and outcomes, a spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from web import figures
from web.figures import Number

from .axis import LATIN_WIDTH, Scale, Tick, amount_ticks, amount_values, path, text_width

SHARE_WIDTH, SHARE_GAP = 340.0, 2.0
KINDS = ("", "two", "three", "four", "five", "six", "seven", "eight")
"""Classes of the blocks' colours, in order of size."""
TORNADO_WIDTH, ROW, TORNADO_MIDDLE = 340.0, 24.0, 256.0
STRIP_WIDTH, STRIP_ROW, STRIP_LEFT, STRIP_RIGHT = 640.0, 26.0, 150.0, 630.0
SPARK_WIDTH, SPARK_HEIGHT = 96.0, 24.0


@dataclass(frozen=True)
class Block:
    """One part of a whole: where it stands, what it is, and whether its name fits under it."""

    x: float
    width: float
    kind: str
    name: str
    share: str
    words: str


@dataclass(frozen=True)
class ShareBar:
    label: str
    blocks: list[Block]


def share_bar(parts: Sequence[tuple[str, Number]]) -> ShareBar:
    """The parts of a total, greatest first, as blocks of one bar. Parts of nothing are left out."""
    sized = sorted(((name, float(amount)) for name, amount in parts if float(amount) > 0), key=lambda part: -part[1])
    total = sum(amount for _name, amount in sized)
    room = SHARE_WIDTH - SHARE_GAP * max(len(sized) - 1, 0)
    blocks, x, free_from = [], 0.0, 0.0
    for index, (name, amount) in enumerate(sized):
        width = round(room * amount / total, 1)
        share = figures.percent_text(amount / total, 0)
        words = next((text for text in wordings(name, share, width) if fits(text, x, width, free_from)), "")
        free_from = x + text_width(words) + 6 if words else free_from
        blocks.append(Block(round(x, 1), width, KINDS[min(index, len(KINDS) - 1)], name, share, words))
        x += width + SHARE_GAP
    said = ", ".join(f"{block.name} {block.share}" for block in blocks)
    return ShareBar(_("Shares of the total: %(shares)s") % {"shares": said} if blocks else _("No cost yet"), blocks)


def wordings(name: str, share: str, width: float) -> list[str]:
    """What may stand under a block, best first: its name and share, a shorter name, the share alone."""
    short = shortened(name, width - text_width(f" {share}"))
    return [f"{name} {share}", *([f"{short} {share}"] if len(short) > 4 else []), share]


def fits(text: str, x: float, width: float, free_from: float) -> bool:
    """Does the label stand under its own block, inside the picture and clear of the one before?"""
    return x >= free_from and text_width(text) <= width and x + text_width(text) <= SHARE_WIDTH


@dataclass(frozen=True)
class Driver:
    """An input and the totals its low and its high end lead to, beside the middle one."""

    name: str
    low: Number
    high: Number


@dataclass(frozen=True)
class TornadoRow:
    name: str
    y: float
    cheaper: tuple[float, float]
    dearer: tuple[float, float]
    words: str

    @property
    def baseline(self) -> float:
        return self.y + 10


@dataclass(frozen=True)
class Tornado:
    label: str
    height: float
    middle: float
    rows: list[TornadoRow]


def tornado(drivers: Sequence[Driver], middle: Number, currency: str = "") -> Tornado:
    """How far each input moves the total, greatest first; green towards less, red towards more."""
    centre = float(middle)
    ranked = sorted(drivers, key=lambda driver: -abs(float(driver.high) - float(driver.low)))
    widest = max((abs(float(end) - centre) for driver in ranked for end in (driver.low, driver.high)), default=0.0)
    reach = TORNADO_WIDTH - TORNADO_MIDDLE - 4
    scale = reach / widest if widest else 0.0
    rows = []
    for index, driver in enumerate(ranked):
        least, most = sorted((float(driver.low), float(driver.high)))
        down = round(max(centre - least, 0.0) * scale, 1)
        rise = round(max(most - centre, 0.0) * scale, 1)
        ends = (figures.compact_text(least), figures.compact_text(most, currency))
        rows.append(
            TornadoRow(
                name=shortened(driver.name, TORNADO_MIDDLE - reach - 6),
                y=12 + index * ROW,
                cheaper=(round(TORNADO_MIDDLE - down, 1), down),
                dearer=(TORNADO_MIDDLE, rise),
                words=f"{driver.name}: {ends[0]} – {ends[1]}",
            )
        )
    said = "; ".join(row.words for row in rows)
    return Tornado(
        _("What moves the total most: %(drivers)s") % {"drivers": said}, 12 + len(rows) * ROW, TORNADO_MIDDLE, rows
    )


def shortened(text: str, width: float) -> str:
    """As many letters as there is room for."""
    if text_width(text) <= width:
        return text
    letters = text
    while letters and text_width(letters) + LATIN_WIDTH > width:
        letters = letters[:-1]
    return letters.rstrip() + "…"


@dataclass(frozen=True)
class Outcome:
    """An estimate of the past and what it came to; `note` says what there is to say about it."""

    name: str
    p10: Number
    p90: Number
    outcome: Number | None
    note: str = ""


@dataclass(frozen=True)
class StripRow:
    name: str
    y: float
    start: float
    end: float
    dot: float | None
    outside: bool
    note: str
    note_x: float
    note_anchor: str

    @property
    def baseline(self) -> float:
        return self.y + 4


@dataclass(frozen=True)
class Strip:
    label: str
    height: float
    axis_y: float
    rows: list[StripRow]
    ticks: list[Tick]


def range_strip(outcomes: Sequence[Outcome]) -> Strip:
    """Estimated ranges and the outcomes in or beside them, all on one scale from zero."""
    ends = [float(end) for row in outcomes for end in (row.p10, row.p90, row.outcome or 0)]
    values = amount_values(0.0, max(ends, default=0.0), parts=3)
    scale = Scale(0.0, values[-1], STRIP_LEFT, STRIP_RIGHT)
    rows = [strip_row(row, 18 + index * STRIP_ROW, scale) for index, row in enumerate(outcomes)]
    axis_y = 18 + len(rows) * STRIP_ROW - 6
    said = "; ".join(strip_words(row) for row in outcomes)
    label = _("Estimated range and outcome: %(rows)s") % {"rows": said}
    ticks = [] if not rows else [tick for tick in amount_ticks(values, scale) if tick.at in (STRIP_LEFT, STRIP_RIGHT)]
    return Strip(label, axis_y + 16, axis_y, rows, ticks)


def strip_row(row: Outcome, y: float, scale: Scale) -> StripRow:
    start, end = scale.at(float(row.p10)), scale.at(float(row.p90))
    dot = scale.at(float(row.outcome)) if row.outcome is not None else None
    outside = row.outcome is not None and not float(row.p10) <= float(row.outcome) <= float(row.p90)
    right = max(end, dot or 0.0) + 14
    left = min(start, dot if dot is not None else start) - 14
    on_right = right + text_width(row.note) <= STRIP_WIDTH
    return StripRow(
        name=shortened(row.name, STRIP_LEFT - 10),
        y=y,
        start=start,
        end=max(end, start + 1),
        dot=dot,
        outside=outside,
        note=row.note if on_right else shortened(row.note, left - STRIP_LEFT),
        note_x=right if on_right else left,
        note_anchor="start" if on_right else "end",
    )


def strip_words(row: Outcome) -> str:
    expected = (
        f"{figures.compact_text(figures.decimal_of(row.p10))}–{figures.compact_text(figures.decimal_of(row.p90))}"
    )
    if row.outcome is None:
        return f"{row.name}: {expected}"
    facts = {"name": row.name, "range": expected, "outcome": figures.compact_text(figures.decimal_of(row.outcome))}
    return _("%(name)s: %(range)s, came to %(outcome)s") % facts


def spark(values: Sequence[Number]) -> str:
    """The course of a few values as the path of a 96 × 24 picture; flat where they are all the same."""
    amounts = [float(value) for value in values]
    if len(amounts) < 2:
        return ""
    low, high = min(amounts), max(amounts)
    up = Scale(low, high if high > low else low + 1, SPARK_HEIGHT - 2, 2)
    step = SPARK_WIDTH / (len(amounts) - 1)
    return path([(round(index * step, 1), up.at(amount)) for index, amount in enumerate(amounts)])
