"""From the bytes of a plan to plain keys and values: YAML with every scalar as text, or JSON with exact numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import yaml

from estimates.engine.messages import Phrase, PlanFault, plan_fault, printable

MOST_BYTES = 262_144
MOST_DEPTH = 20
MOST_VALUES = 20_000
NULLS = frozenset({"", "~", "null", "Null", "NULL"})
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Used for its parser only; no constructor or resolver of YAML is ever asked."""

Tree = dict[str, Any]


class Unreadable(Exception):
    """The document cannot be taken apart, so that nothing more can be said about it than this one fault."""

    def __init__(self, fault: PlanFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def read_document(document: str | bytes | Mapping[str, Any]) -> tuple[Tree, list[PlanFault]]:
    """The keys and values of a document, and the faults of its keys; Unreadable when it has no such thing."""
    if isinstance(document, str | bytes):
        return _read_text(_decoded(document))
    return _as_tree(document)


def _decoded(document: str | bytes) -> str:
    try:
        raw = document.encode() if isinstance(document, str) else document
        if len(raw) > MOST_BYTES:
            raise Unreadable(plan_fault("", None, "too_long", (Phrase("at_most", {"high": "256 KB"}),), size=len(raw)))
        return raw.decode("utf-8-sig")
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise Unreadable(plan_fault("", None, "not_utf8", (Phrase("utf8"),), position=error.start)) from None


class NumberText(str):
    """The digits of a number of JSON, as they were written."""


class Pairs(list[tuple[str, Any]]):
    """The keys and values of one JSON object, in order, with those that stand twice."""


def _read_text(text: str) -> tuple[Tree, list[PlanFault]]:
    if not text.strip():
        raise Unreadable(plan_fault("", None, "empty", (Phrase("document"),)))
    if text.lstrip()[:1] == "{" and text.lstrip()[1:].lstrip()[:1] in ('"', "}"):
        return _read_json(text)
    return _read_yaml(text)


def _read_json(text: str) -> tuple[Tree, list[PlanFault]]:
    try:
        value = json.loads(
            text, object_pairs_hook=Pairs, parse_float=NumberText, parse_int=NumberText, parse_constant=NumberText
        )
    except RecursionError:
        raise Unreadable(plan_fault("", None, "too_deep")) from None
    except json.JSONDecodeError as error:
        place = {"line": error.lineno, "column": error.colno}
        allowed = (Phrase("document"),)
        raise Unreadable(plan_fault("", None, "broken_json", allowed, problem=error.msg, **place)) from None
    return _as_tree(value)


def _as_tree(value: Any) -> tuple[Tree, list[PlanFault]]:
    """Plain dictionaries and lists, with keys that are text; a key that stands twice is a fault."""
    copy = _PlainCopy()
    tree = copy.of(value, "", 1)
    if not isinstance(tree, dict):
        raise Unreadable(plan_fault("", value, "not_a_mapping", (Phrase("document"),)))
    return tree, copy.faults


class _PlainCopy:
    """Copies a parsed document and counts its levels and values, before anything else looks at it."""

    def __init__(self) -> None:
        self.faults: list[PlanFault] = []
        self.values = 0

    def of(self, value: Any, path: str, depth: int) -> Any:
        self.values += 1
        if self.values > MOST_VALUES:
            raise Unreadable(plan_fault("", None, "too_many_values"))
        if value is None or isinstance(value, str | int | float | Decimal):
            return value
        if depth > MOST_DEPTH:
            raise Unreadable(plan_fault("", None, "too_deep"))
        if isinstance(value, Pairs):
            return self._of_pairs(value, path, depth)
        if isinstance(value, Mapping):
            return self._of_pairs(value.items(), path, depth)
        if isinstance(value, list | tuple):
            return [self.of(item, below(path, index), depth + 1) for index, item in enumerate(value)]
        self.faults.append(plan_fault(path, None, "not_json", type=type(value).__name__))
        return None

    def _of_pairs(self, pairs: Iterable[tuple[Any, Any]], path: str, depth: int) -> Tree:
        tree: Tree = {}
        for key, item in pairs:
            if not isinstance(key, str):
                self.faults.append(plan_fault(path, str(key), "key_not_text"))
            elif key in tree:
                self.faults.append(plan_fault(below(path, key), None, "duplicate_json_key", (Phrase("once"),)))
            else:
                tree[key] = self.of(item, below(path, key), depth + 1)
        return tree


def _read_yaml(text: str) -> tuple[Tree, list[PlanFault]]:
    try:
        return _YamlReader(text).read()
    except yaml.MarkedYAMLError as error:
        raise Unreadable(_broken_yaml(error)) from None
    except yaml.YAMLError as error:
        raise Unreadable(_unreadable_character(text, error)) from None


def _broken_yaml(error: yaml.MarkedYAMLError) -> PlanFault:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    problem = printable(str(error.problem or error.context or "unexpected text"))[:120]
    return plan_fault("", None, "broken_yaml", (Phrase("document"),), line=line, column=column, problem=problem)


def _unreadable_character(text: str, error: yaml.YAMLError) -> PlanFault:
    """YAML refuses control characters with a position only; say where that is."""
    position = getattr(error, "position", None)
    if not isinstance(position, int):
        position = next((at for at, char in enumerate(text) if not char.isprintable() and char not in "\n\r\t"), 0)
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    problem = printable(str(getattr(error, "reason", "") or "a character that is not allowed"))[:120]
    return plan_fault("", None, "broken_yaml", (Phrase("document"),), line=line, column=column, problem=problem)


class _YamlReader:
    """Builds keys and values from the events of the YAML parser: no types, no anchors, no tags, no second document."""

    def __init__(self, text: str) -> None:
        self.events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        self.faults: list[PlanFault] = []
        self.values = 0

    def read(self) -> tuple[Tree, list[PlanFault]]:
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                break
        else:
            raise Unreadable(plan_fault("", None, "empty", (Phrase("document"),)))
        tree = self._node(next(self.events), "", 1)
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                mark: Any = event.start_mark
                allowed = (Phrase("document"),)
                raise Unreadable(plan_fault("", None, "several_documents", allowed, line=mark.line + 1))
        if tree is None:
            raise Unreadable(plan_fault("", None, "empty", (Phrase("document"),)))
        if not isinstance(tree, dict):
            raise Unreadable(plan_fault("", tree, "not_a_mapping", (Phrase("document"),)))
        return tree, self.faults

    def _node(self, event: Any, path: str, depth: int) -> Any:
        self.values += 1
        if self.values > MOST_VALUES:
            raise Unreadable(plan_fault("", None, "too_many_values"))
        if isinstance(event, yaml.AliasEvent):
            self._refuse("anchor", event, path)
            return None
        if event.anchor is not None:
            self._refuse("anchor", event, path)
        if event.tag is not None:
            self._refuse("tag", event, path)
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            return None if plain and event.value in NULLS else event.value
        if depth > MOST_DEPTH:
            raise Unreadable(plan_fault(path, None, "too_deep"))
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path, depth)
        return self._mapping(path, depth)

    def _sequence(self, path: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, below(path, len(items)), depth + 1))
        return items

    def _mapping(self, path: str, depth: int) -> Tree:
        tree: Tree = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            mark = event.start_mark
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key is None:
                self.faults.append(plan_fault(path, None, "key_not_text"))
            if key is None or event.anchor is not None or event.tag is not None:
                self._node(event, path, depth + 1)
            value = self._node(next(self.events), below(path, key or "?"), depth + 1)
            if key in tree:
                self.faults.append(
                    plan_fault(
                        below(path, key),
                        value if isinstance(value, str) else None,
                        "duplicate_key",
                        (Phrase("once"),),
                        line=mark.line + 1,
                        column=mark.column + 1,
                    )
                )
            elif key is not None:
                tree[key] = value
        return tree

    def _refuse(self, code: str, event: Any, path: str) -> None:
        mark = event.start_mark
        self.faults.append(
            plan_fault(path, None, code, (Phrase("plain_yaml"),), line=mark.line + 1, column=mark.column + 1)
        )


def below(path: str, key: str | int) -> str:
    """The path of a key or a row under another path; made printable, because keys come from outside."""
    step = str(key)
    if not (step.isprintable() and len(step) <= 60):
        step = printable(step[:57] + "..." if len(step) > 60 else step)
    return f"{path}.{step}" if path else step
