"""The plan document as a form: every declared field as a control, and what was posted as a document again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from estimates.engine.field_kinds import Field, Kind, Table, Words
from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from web.plan_numbers import number_text, typed_number, unit_text
from web.plan_places import element_id, member_start, member_starts, pattern_of, value_at

Document = dict[str, Any]

PREFIX = "f."
"""Before the path of a field in the name of its input."""
PART = "~"
"""Between the path of a field and the part of its range."""
OFF = "off."
"""Before the name of a section that is switched off."""
PERT, QUANTILES = ("low", "mode", "high"), ("p10", "p50", "p90")
DOTS = re.compile(r"\s*(?:\.\.|…|–|~)\s*")
MOST_ROWS = 100
RANGE_KEYS = {*PERT, *QUANTILES, "value"}
SUGGESTIONS = {
    "compute.provider": "plan-providers",
    "compute.region": "plan-regions",
    "compute.pools.*.provider": "plan-providers",
    "compute.pools.*.region": "plan-regions",
    "people.*.role": "plan-roles",
    "operations.role": "plan-roles",
}
"""Lists of values that may be picked, by the field that offers them."""
ACCELERATORS = ("compute.accelerator", "compute.pools.*.accelerator")
"""Fields that name an accelerator of the catalogue."""
AFTER = "members.*.after"
LINE = 200
"""As much text as fits one line."""
PLACES = {path: place for place, path in enumerate(FIELDS)}
SINGLE_NUMBERS = tuple(path for path, one in FIELDS.items() if one.kind is Kind.NUMBER and "*" not in path)
NEW = "_new"
"""A cell that keeps a row nobody has filled in yet."""


@dataclass(frozen=True)
class Part:
    """One input of a control: the whole of a number, or one end of its range."""

    name: str
    value: str
    label: str


@dataclass(frozen=True)
class Control:
    """A field as the form shows it."""

    path: str
    label: str
    hint: str
    kind: str
    unit: str
    parts: tuple[Part, ...]
    choices: tuple[tuple[str, str], ...] = ()
    placeholder: str = ""
    may_range: bool = False
    may_baseline: bool = False
    basic: bool = False
    is_long: bool = False
    """Text of more than a line."""
    suggestions: str = ""
    """The id of a list of values that may be picked."""
    blank: str = ""
    """What the choice of nothing is called."""

    @property
    def declared(self) -> str:
        """The path by which the field is declared, whatever member or row it stands in."""
        return pattern_of(self.path)

    @property
    def is_accelerator(self) -> bool:
        return self.declared in ACCELERATORS

    @property
    def id(self) -> str:
        return element_id("field", self.path)

    @property
    def said_id(self) -> str:
        return element_id("said", self.path)

    @property
    def value(self) -> str:
        return self.parts[0].value

    @property
    def is_range(self) -> bool:
        return len(self.parts) == 3

    @property
    def is_given(self) -> bool:
        return any(part.value for part in self.parts)


def words(of: Words | None) -> str:
    """The words of the engine in the language of the moment."""
    return of.in_language(translation.get_language() or "en") if of else ""


def words_of(en: str, zh: str) -> str:
    return Words(en, zh).in_language(translation.get_language() or "en")


# ---- from a document to controls


def control(declared: Field, document: Document, path: str | None = None) -> Control:
    """The control of a field, filled in from the document. `path` has the row's number where the field has `*`."""
    place = path or declared.path
    value = figure_of(value_at(document, place), declared)
    currency = str(document.get("currency") or "USD")
    return Control(
        path=place,
        label=words(declared.label),
        hint="" if value not in (None, "") else words(declared.hint),
        kind=declared.kind.value,
        unit=unit_text(declared.unit, currency) if declared.kind is Kind.NUMBER else "",
        parts=parts_of(value, declared, place),
        choices=choices_of(declared, document, place),
        placeholder=placeholder(declared),
        may_range=declared.kind is Kind.NUMBER and declared.ranged,
        may_baseline=declared.baseline,
        basic=declared.basic,
        is_long=declared.kind is Kind.TEXT and declared.longest > LINE,
        suggestions=SUGGESTIONS.get(declared.path, ""),
        blank=_("the life begins") if declared.path == AFTER else "",
    )


def choices_of(declared: Field, document: Document, place: str) -> tuple[tuple[str, str], ...]:
    """The words that may be chosen; a member follows one that stands before it, and is no life itself."""
    start = member_start(place)
    if declared.path == AFTER:
        earlier = member_starts(document)[: int(start.split(".")[1])]
        names = [str(value_at(document, f"{one}name") or "") for one in earlier]
        return tuple((name, name) for name in names if name)
    offered = [(word, words(label)) for word, label in declared.choices.items()]
    return tuple(pair for pair in offered if not (start and declared.path == "task" and pair[0] == "life"))


def figure_of(value: Any, declared: Field) -> Any:
    """The number or range itself, where the document keeps its convention beside it."""
    if isinstance(value, Mapping) and declared.kind is Kind.NUMBER:
        return value.get("value", value)
    return value


def parts_of(value: Any, declared: Field, path: str) -> tuple[Part, ...]:
    """One input, or three for a range."""
    name = PREFIX + path
    if declared.kind is Kind.NUMBER and isinstance(value, Mapping):
        keys = QUANTILES if any(key in value for key in QUANTILES) else PERT
        labels = range_labels()
        return tuple(Part(name + PART + key, number_text(value.get(key), declared), labels[key]) for key in keys)
    return (Part(name, shown(value, declared), ""),)


def range_labels() -> dict[str, str]:
    return {
        "low": pgettext("end of a range", "low"),
        "mode": pgettext("middle of a range", "likely"),
        "high": pgettext("end of a range", "high"),
        "p10": "P10",
        "p50": "P50",
        "p90": "P90",
    }


def shown(value: Any, declared: Field) -> str:
    if value is None:
        return ""
    if declared.kind is Kind.NUMBER:
        return number_text(value, declared)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(str(item) for item in value)
    return str(value)


def placeholder(declared: Field) -> str:
    """What holds when nothing is given."""
    if declared.default is None or declared.kind is not Kind.NUMBER:
        return ""
    if declared.default == "baseline":
        return _("from history")
    if declared.default == declared.word:
        return pgettext("a value the product finds", "best") if declared.word == "auto" else declared.word
    return number_text(declared.default, declared)


MAIN_COLUMNS = {
    "experiments": ("name", "parameters", "tokens", "runs"),
    "compute.pools": ("accelerator", "count", "share", "mfu"),
    "inference.tiers": ("name", "share", "mode", "peak_cover"),
}
"""Columns that a list with many of them shows first."""


@dataclass(frozen=True)
class Row:
    """One row of a list: what is usually given, and the rest."""

    number: int
    controls: tuple[Control, ...]
    more: tuple[Control, ...] = ()


@dataclass(frozen=True)
class RowTable:
    """A list of rows as the form shows it."""

    path: str
    label: str
    hint: str
    rows: tuple[Row, ...]

    @property
    def declared(self) -> str:
        return pattern_of(self.path)

    @property
    def said_id(self) -> str:
        return element_id("said", self.path)


def row_table(declared: Table, document: Document, start: str = "") -> RowTable:
    """The rows of a list; `start` is where its plan begins, `members.2.` in a life plan."""
    path = start + declared.path
    rows = value_at(document, path)
    count = len(rows) if isinstance(rows, list) else 0
    columns = [one for one in FIELDS.values() if one.path.startswith(f"{declared.path}.*.")]
    return RowTable(
        path=path,
        label=words(declared.label),
        hint=words(declared.hint),
        rows=tuple(row_of(path, number, columns, document) for number in range(count)),
    )


def row_of(path: str, number: int, columns: Sequence[Field], document: Document) -> Row:
    main = MAIN_COLUMNS.get(pattern_of(path), tuple(one.key for one in columns))
    made = [(one.key in main, control(one, document, f"{path}.{number}.{one.key}")) for one in columns]
    return Row(
        number,
        tuple(one for is_main, one in made if is_main or one.is_given),
        tuple(one for is_main, one in made if not is_main and not one.is_given),
    )


# ---- from what was posted to a document


def document_of(post: QueryDict) -> Document:
    """The document that the posted form describes. Nothing is judged here; the parser of plans does that."""
    document: Document = {}
    for name in sorted(post, key=order_of):
        if name.startswith(PREFIX):
            put_posted(document, name.removeprefix(PREFIX), str(post[name]))
    for name in post:
        if name.startswith(OFF) and post[name] and pattern_of(name.removeprefix(OFF)) in MAY_BE_OFF:
            switch_off(document, name.removeprefix(OFF))
    return tidy(document)


def switch_off(document: Document, section: str) -> None:
    """Say `none` for a section of the plan or of a member, whatever else was sent for it."""
    start = member_start(section)
    plan: Any = document
    if start:
        put(document, [*start.split(".")[:-1], NEW], True)
        plan = value_at(document, start.removesuffix("."))
        plan.pop(NEW)
    plan[section.removeprefix(start)] = "none"


def order_of(name: str) -> tuple[int, str]:
    """As the fields are declared: figures before their conventions, rows in their order."""
    pattern = pattern_of(name.removeprefix(PREFIX).partition(PART)[0])
    return (PLACES.get(pattern, len(PLACES)), name)


def put_posted(document: Document, name: str, text: str) -> None:
    path, _mark, part = name.partition(PART)
    declared = FIELDS.get(pattern_of(path))
    if declared is None or not text.strip():
        return
    if part:
        put(document, [*path.split("."), part], typed_number(text))
    else:
        put(document, path.split("."), posted_value(text, declared))


def posted_value(text: str, declared: Field) -> Any:
    cleaned = text.strip()
    if declared.kind is Kind.PROFILE:
        return [typed_number(item) for item in re.split(r"[\s,;]+", cleaned)]
    if declared.kind is not Kind.NUMBER:
        return cleaned
    ends = [typed_number(end) for end in DOTS.split(cleaned)]
    if len(ends) == 3:
        return dict(zip(PERT, ends, strict=True))
    if len(ends) == 2 and all(ends):
        return {"low": ends[0], "high": ends[1]}
    return typed_number(cleaned)


def put(document: Document, steps: list[str], value: Any) -> None:
    """Set a value at a place, making the sections and rows on the way."""
    here: Any = document
    for step, following in zip(steps, [*steps[1:], ""], strict=True):
        last = following == ""
        if isinstance(here, list):
            here = row_at(here, int(step))
            continue
        if last:
            existing = here.get(step)
            here[step] = merged(existing, value) if isinstance(existing, dict) else value
            return
        deeper = here.get(step)
        if following.isdigit():
            deeper = deeper if isinstance(deeper, list) else []
        elif not isinstance(deeper, dict | list):
            deeper = {} if deeper is None else {"value": deeper}
        here[step] = deeper
        here = deeper


def merged(section: dict[str, Any], value: Any) -> dict[str, Any]:
    return {**value, **section} if isinstance(value, dict) else {"value": value, **section}


def row_at(rows: list[Any], number: int) -> dict[str, Any]:
    while len(rows) <= min(number, MOST_ROWS):
        rows.append({})
    return rows[min(number, MOST_ROWS)]


def tidy(document: Document) -> Document:
    """Without rows that nobody filled in at the end of a list, half ranges, and conventions of no figure."""
    for start in ("", *member_starts(document)):
        for path in TABLES:
            rows = value_at(document, start + path)
            while isinstance(rows, list) and rows and not rows[-1]:
                rows.pop()
        for path in SINGLE_NUMBERS:
            figure = value_at(document, start + path)
            if isinstance(figure, dict):
                tidy_figure(document, start + path, figure)
    return document


def tidy_figure(document: Document, path: str, figure: dict[str, Any]) -> None:
    """A range with nothing but its middle is that number; a convention alone goes with what history says."""
    declared = FIELDS[pattern_of(path)]
    given = RANGE_KEYS & figure.keys()
    if given in ({"mode"}, {"p50"}):
        middle = figure.pop(given.pop())
        set_figure(document, path, {"value": middle, **figure} if figure else middle)
    elif not given and declared.baseline:
        figure["value"] = "baseline"
    elif not given:
        value_at(document, path.rpartition(".")[0]).pop(declared.key)


def set_figure(document: Document, path: str, figure: Any) -> None:
    """Another number or range for a field; its convention stays."""
    kept = value_at(document, path)
    convention = {key: word for key, word in kept.items() if key not in RANGE_KEYS} if isinstance(kept, dict) else {}
    section = value_at(document, path.rpartition(".")[0]) if "." in path else document
    if isinstance(section, dict):
        section[path.rpartition(".")[2]] = merged(convention, figure) if convention else figure
    else:
        put(document, path.split("."), figure)
