"""The JSON Schema of the plan document and the table of its keys, made from the declared fields.

`python -m estimates.engine.schema` writes `docs/plan.schema.json` and `docs/plan-keys.md`; a test keeps them current.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from estimates.engine.cells import HOURS_OF_DAY, PERT_KEYS, QUANTILE_KEYS, written_bound
from estimates.engine.field_kinds import Field, Kind
from estimates.engine.fields import ALIASES, FIELDS, MAY_BE_OFF, RUNG_SECTIONS, SECTIONS, TABLES
from estimates.engine.life import LIFE_KEYS, OF_THE_WHOLE
from estimates.engine.walking import CONVENTION_KEYS, ROOT, Branch

NUMBER_TEXT = r"^ *[+-]?([0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)? ?(%|[kKMBbTt])? *$"
DOCS = Path(__file__).resolve().parents[2] / "docs"

Schema = dict[str, Any]


def plan_schema() -> Schema:
    """JSON Schema 2020-12 of the document.

    It checks keys, types and the range of plain numbers. What one key asks of another, and the range of numbers that
    are written as text, only the parser knows.
    """
    shapes = _Shapes()
    root = shapes.section(ROOT)
    properties = root["properties"]
    properties["task"]["anyOf"].remove({"type": "null"})
    for key, path in ALIASES.items():
        properties[key] = {**shapes.field(FIELDS[path]), "description": f"The same as {path}."}
    member = {key: {"$ref": f"#/properties/{key}"} for key in properties if key not in OF_THE_WHOLE}
    member |= {key: shapes.field(FIELDS[f"members.*.{key}"]) for key in ("start_month", "after")}
    most = TABLES["members"].most_rows
    properties["members"] = {"type": ["array", "null"], "maxItems": most, "items": {"$ref": "#/$defs/member"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Training plan",
        "description": "The inputs of an estimate. Any number may be a range; null means not given.",
        **root,
        "required": ["task"],
        "$defs": {**shapes.definitions, "member": _mapping(member, ("name", "task"))},
    }


class _Shapes:
    """Builds the schema of fields, and keeps the number shapes they share as definitions."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {"number_text": {"type": "string", "pattern": NUMBER_TEXT}}

    def section(self, branch: Branch) -> Schema:
        """A set of keys, and none but these."""
        return _mapping({key: self.branch(branch.children[key]) for key in branch.keys}, ())

    def branch(self, branch: Branch) -> Schema:
        """Whatever may stand at a place."""
        if branch.declared is not None:
            return self.field(branch.declared)
        ways: list[Schema] = [self.section(branch)] if branch.keys else []
        if branch.table is not None:
            ways.append({"type": "array", "maxItems": branch.table.most_rows, "items": self.row(branch)})
        if branch.path in MAY_BE_OFF:
            ways.append({"const": "none"})
        if branch.path == "model_error":
            ways.extend(self.number_ways(FIELDS["model_error.sigma"]))
        return {"anyOf": [*ways, {"type": "null"}]}

    def row(self, branch: Branch) -> Schema:
        """One row of a list."""
        columns = branch.children["*"]
        row = self.section(columns)
        row["required"] = [key for key, child in columns.children.items() if child.declared and child.declared.required]
        if branch.path == "experiments":
            row["properties"] |= {section: {"type": "object"} for section in RUNG_SECTIONS}
        return row

    def field(self, field: Field) -> Schema:
        """One key, with its words in both languages."""
        words: Schema = {"title": field.label.en, "x-title-zh": field.label.zh}
        if field.hint:
            words |= {"description": field.hint.en, "x-description-zh": field.hint.zh}
        if field.unit:
            words["x-unit"] = field.unit
        if field.default is not None:
            words["default"] = field.default
        return {**words, "anyOf": [*self.ways(field), {"type": "null"}]}

    def ways(self, field: Field) -> list[Schema]:
        match field.kind:
            case Kind.CHOICE:
                return [{"enum": list(field.choices)}]
            case Kind.TEXT:
                return [{"type": "string", "maxLength": field.longest}]
            case Kind.FLAG:
                return [{"type": "boolean"}, {"enum": ["true", "false", "yes", "no"]}]
            case Kind.DAY:
                return [{"type": "string", "pattern": "^20[0-9]{2}-[0-9]{2}-[0-9]{2}$"}]
            case Kind.PROFILE:
                hours = {"minItems": HOURS_OF_DAY, "maxItems": HOURS_OF_DAY}
                return [{"type": "array", **hours, "items": self.number(field)}]
            case _:
                return self.number_ways(field)

    def number_ways(self, field: Field) -> list[Schema]:
        """A number, a word, a range, or any of them with what it counts."""
        words = [word for word in ("baseline" if field.baseline else "", field.word) if word]
        ways = [self.number(field), *([{"enum": words}] if words else [])]
        if not field.ranged:
            return ways
        ways.append(self.range(field))
        convention = {
            key: self.field(FIELDS[f"{field.path}.{key}"])
            for key in CONVENTION_KEYS
            if field.convention and f"{field.path}.{key}" in FIELDS
        }
        if convention:
            number = self.number(field)
            ways += [
                _mapping({**dict.fromkeys(keys, number), **convention}, keys) for keys in (PERT_KEYS, QUANTILE_KEYS)
            ]
            ways.append(_mapping({"value": {"anyOf": ways[:3]}, **convention}, ("value",)))
        return ways

    def number(self, field: Field) -> Schema:
        """A reference to a number within the range of the field."""
        bounds = field.bounds
        plain = {
            "type": "integer" if field.whole else "number",
            "exclusiveMinimum" if bounds.open_low else "minimum": bounds.low,
            "exclusiveMaximum" if bounds.open_high else "maximum": bounds.high,
        }
        return self._defined(_shape_name(field), {"anyOf": [plain, {"$ref": "#/$defs/number_text"}]})

    def range(self, field: Field) -> Schema:
        """A reference to a range of such numbers."""
        number = self.number(field)
        ways = [_mapping(dict.fromkeys(keys, number), keys) for keys in (PERT_KEYS, QUANTILE_KEYS)]
        return self._defined(f"range of {_shape_name(field)}", {"anyOf": ways})

    def _defined(self, name: str, shape: Schema) -> Schema:
        self.definitions.setdefault(name, shape)
        return {"$ref": "#/$defs/" + name.replace(" ", "%20")}


def _shape_name(field: Field) -> str:
    """Such as `number above 0 to 1`."""
    bounds = field.bounds
    low = f"{'above ' if bounds.open_low else ''}{written_bound(bounds.low)}"
    high = f"{'below ' if bounds.open_high else ''}{written_bound(bounds.high)}"
    return f"{'whole ' if field.whole else ''}number {low} to {high}"


def _mapping(properties: Schema, required: tuple[str, ...]) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(required)}


def keys_page() -> str:
    """The table of all keys, as Markdown."""
    lines = [
        "# Every key of a plan",
        "",
        "Made by `python -m estimates.engine.schema` from `estimates/engine/field_tables/`; do not edit.",
        "`*` stands for the number of a row. How plans are written: [plan.md](plan.md).",
        "Keys of a life plan itself: " + ", ".join(f"`{key}`" for key in LIFE_KEYS) + ".",
    ]
    for section, words in SECTIONS.items():
        lines += [
            "",
            f"## {words.en} · {words.zh}",
            "",
            "| key | what | unit | accepted | default |",
            "|---|---|---|---|---|",
        ]
        lines += [_key_line(field) for field in FIELDS.values() if field.section == section]
    return "\n".join(lines) + "\n"


def _key_line(field: Field) -> str:
    what = f"{field.label.en} · {field.label.zh}"
    if field.hint:
        what += f"<br>{field.hint.en}"
    default = "" if field.default is None else f"`{written_default(field.default)}`"
    return f"| `{field.path}` | {what} | {field.unit} | {_accepted_words(field)} | {default} |"


def _accepted_words(field: Field) -> str:
    match field.kind:
        case Kind.CHOICE:
            return "currency code" if len(field.choices) > 30 else ", ".join(f"`{word}`" for word in field.choices)
        case Kind.NUMBER:
            low, high = ("(" if field.bounds.open_low else "["), (")" if field.bounds.open_high else "]")
            words = f"{low}{written_bound(field.bounds.low)}, {written_bound(field.bounds.high)}{high}"
            words += " whole" if field.whole else ""
            words += ", range" if field.ranged else ""
            words += ", `baseline`" if field.baseline else ""
            return words + (f", `{field.word}`" if field.word else "")
        case _:
            return {"text": "text", "flag": "true, false", "day": "day", "profile": "24 numbers"}[field.kind.value]


def written_default(default: float | str | bool) -> str:
    """A default as a document writes it."""
    if isinstance(default, bool):
        return "true" if default else "false"
    return default if isinstance(default, str) else written_bound(default)


def write_docs() -> None:
    """Write the generated pages anew."""
    DOCS.joinpath("plan.schema.json").write_text(schema_text(), encoding="utf-8")
    DOCS.joinpath("plan-keys.md").write_text(keys_page(), encoding="utf-8")


def schema_text() -> str:
    return json.dumps(plan_schema(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    write_docs()
