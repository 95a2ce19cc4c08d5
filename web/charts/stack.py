"""Stacked columns over days or months, with a line of what there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .axis import Scale, Tick, amount_ticks, amount_values, path, text_width

WIDTH, HEIGHT = 720.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 700.0, 14.0, 220.0
FILL = 0.72
"""How much of its place a column takes."""
KINDS = ("", "two", "three", "four", "five")


@dataclass(frozen=True)
class Column:
    """One day or month: its parts from below, and the room it has."""

    label: str
    parts: Sequence[float]
    room: float | None = None


@dataclass(frozen=True)
class Block:
    """A part of a column in the picture."""

    x: float
    y: float
    width: float
    height: float
    kind: str


@dataclass(frozen=True)
class StackChart:
    """Where everything stands, in a 720 × 250 picture."""

    label: str
    amounts: list[Tick]
    columns: list[Tick]
    blocks: list[Block]
    room: str


def stack_chart(columns: Sequence[Column], label: str) -> StackChart:
    """The columns side by side. `label` is the picture in words."""
    highest = max((max(sum(column.parts), column.room or 0.0) for column in columns), default=0.0)
    values = amount_values(0.0, highest)
    up = Scale(values[0], values[-1], BOTTOM, TOP)
    place = (RIGHT - LEFT) / max(len(columns), 1)
    blocks: list[Block] = []
    ticks: list[Tick] = []
    line: list[tuple[float, float]] = []
    for number, column in enumerate(columns):
        left = LEFT + number * place
        blocks += column_blocks(column, left + place * (1 - FILL) / 2, place * FILL, up)
        if not ticks or left >= ticks[-1].at + text_width(ticks[-1].label) + 8:
            ticks.append(Tick(round(left, 1), column.label))
        if column.room is not None:
            line += [(round(left, 1), up.at(column.room)), (round(left + place, 1), up.at(column.room))]
    return StackChart(label, amount_ticks(values, up), ticks, blocks, path(line))


def column_blocks(column: Column, left: float, width: float, up: Scale) -> list[Block]:
    found, below = [], 0.0
    for kind, part in zip(KINDS, column.parts, strict=False):
        top, bottom = up.at(below + part), up.at(below)
        if bottom > top:
            found.append(Block(round(left, 1), top, round(width, 1), round(bottom - top, 1), kind))
        below += part
    return found
