"""The tree of reasons behind a quantity, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web import figures
from web.plan_card import count_text, scientific
from web.plan_fields import words_of
from web.plan_sources import note_text, source_text

OPEN_LEVELS = 1


@dataclass(frozen=True)
class Node:
    """One quantity or figure, and what it is made of."""

    name: str
    label: str
    value: str
    spread: str
    unit: str
    formula: str
    about: str
    source: str
    origin: str
    detail: str
    shown_above: bool
    is_open: bool
    inputs: tuple[Node, ...]


def tree_of(node: Mapping[str, Any], currency: str, depth: int = 0) -> Node:
    """The engine's tree in the language of the moment. The first level stands open."""
    unit = str(node["unit"]).replace("money", currency).replace(" ", "").replace("*", "·").replace("1/", "/")
    value, spread = value_texts(node["value"])
    return Node(
        name=node["name"],
        label=words_of(node["label"]["en"], node["label"]["zh"]),
        value=value,
        spread=spread,
        unit="" if unit == "1" else unit,
        formula=node.get("formula", ""),
        about=note_text(node.get("about")),
        source=source_text(node.get("source")),
        origin=words_of(**node["origin_label"]) if "origin_label" in node else "",
        detail=source_text(node.get("detail")),
        shown_above=node.get("shown_above", False),
        is_open=depth < OPEN_LEVELS,
        inputs=tuple(tree_of(one, currency, depth + 1) for one in node["inputs"]),
    )


def value_texts(value: Any) -> tuple[str, str]:
    """The middle of a figure and its range; of figures by month or row, the first few."""
    if isinstance(value, list):
        apart = "; " if value and isinstance(value[0], list) else ", "
        return apart.join(value_texts(one)[0] for one in value[:6]) + (f"{apart}…" if len(value) > 6 else ""), ""
    if not isinstance(value, Mapping):
        return number_text(value), ""
    low, middle, high = value.get("p10"), value.get("p50"), value.get("p90")
    spread = "" if low == high else f"{number_text(low)} – {number_text(high)}"
    return number_text(middle), spread


def number_text(number: float | None) -> str:
    if number is None:
        return figures.NOTHING
    if number and (abs(number) >= 1e9 or abs(number) < 1e-3):
        return scientific(number)
    if abs(number) < 1:
        return figures.trimmed(figures.grouped(number, 4))
    return count_text(number) if abs(number) >= 1000 else figures.trimmed(figures.grouped(number, 2))
