"""Changes to the shape of the plan form: a row more or less, a range in three inputs, a figure from history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from estimates.engine.fields import FIELDS, TABLES
from web import plan_members
from web.plan_fields import NEW, Document, figure_of, put, set_figure, words
from web.plan_places import element_id, pattern_of, value_at


def reshaped(document: Document, ask: Mapping[str, Any]) -> Document:
    """The document with what was asked for: `add`, `drop`, `range`, `baseline` and others, each with a path."""
    for name, change in CHANGES.items():
        if path := ask.get(name):
            change(document, path)
    for name, shape in (("range", as_range), ("single", as_single), ("baseline", as_baseline)):
        if (path := ask.get(name)) and pattern_of(path) in FIELDS:
            set_figure(document, path, shape(figure_of(value_at(document, path), FIELDS[pattern_of(path)])))
    return document


def add_row(document: Document, path: str) -> None:
    """One row more at the end of a list."""
    if path != plan_members.MEMBERS and pattern_of(path) in TABLES:
        rows = value_at(document, path)
        count = len(rows) if isinstance(rows, list) else 0
        put(document, [*path.split("."), str(count), NEW], True)


def drop_row(document: Document, place: str) -> None:
    """Without the row `people.2`, or the member `members.2`."""
    path, _dot, number = place.rpartition(".")
    if path == plan_members.MEMBERS:
        plan_members.drop_member(document, place)
        return
    rows = value_at(document, path) if pattern_of(path) in TABLES else None
    if isinstance(rows, list) and number.isdigit() and int(number) < len(rows):
        del rows[int(number)]


def move_up(document: Document, place: str) -> None:
    plan_members.swap_members(document, place, -1)


def move_down(document: Document, place: str) -> None:
    plan_members.swap_members(document, place, 1)


CHANGES: Mapping[str, Callable[[Document, str], None]] = {
    "add": add_row,
    "drop": drop_row,
    "up": move_up,
    "down": move_down,
    "own": plan_members.own_section,
    "whole": plan_members.whole_section,
}


def as_range(figure: Any) -> Any:
    middle = figure if isinstance(figure, int | float | str) and figure != "baseline" else ""
    return figure if isinstance(figure, Mapping) else {"low": "", "mode": middle, "high": ""}


def as_single(figure: Any) -> Any:
    return figure.get("mode", figure.get("p50", "")) if isinstance(figure, Mapping) else figure


def as_baseline(figure: Any) -> Any:
    return "baseline"


def estimable(document: Document) -> Document:
    """The document without what only the form has: new rows, empty ends of ranges, members of no life."""
    return without_blanks(plan_members.fitting(document))


def without_blanks(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: without_blanks(inner) for key, inner in value.items() if key != NEW and inner != ""}
    return [without_blanks(inner) for inner in value if inner != {NEW: True}] if isinstance(value, list) else value


def replaced_words(
    before: Sequence[str], said: Mapping[str, Any], document: Document, shown: Iterable[str] = ()
) -> list[tuple[str, str, Any]]:
    """Id, standing hint and sentence of every field whose words may have changed."""
    paths = dict.fromkeys([*said, *before])
    known = [path for path in paths if pattern_of(path) in FIELDS or pattern_of(path) in TABLES]
    known = [path for path in known if plan_members.is_on_form(path, document, shown)]
    return [(element_id("said", path), standing_hint(path, document), said.get(path)) for path in known]


def standing_hint(path: str, document: Document) -> str:
    """What is said of a field that nobody has filled in."""
    declared = FIELDS.get(pattern_of(path)) or TABLES.get(pattern_of(path))
    return words(declared.hint) if declared and value_at(document, path) in (None, "") else ""
