"""The plan document as YAML that a person would write: `7B`, `40%`, no quotes that are not needed."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import yaml

from estimates.engine.fields import FIELDS
from estimates.engine.reading import NULLS
from web.plan_numbers import number_text, plain_text
from web.plan_places import pattern_of


class PlanDumper(yaml.SafeDumper):
    """Writes every scalar as plain text: plans are read so. Only what would be read as nothing is quoted."""

    yaml_implicit_resolvers: dict = {}


def text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if text in NULLS else ">" if len(text) > WIDTH else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


WIDTH = 100
PlanDumper.add_representer(str, text_node)


def yaml_of(document: Mapping[str, Any]) -> str:
    """The document as text, in the order in which its keys stand."""
    return yaml.dump(as_text(document, ""), Dumper=PlanDumper, allow_unicode=True, sort_keys=False, width=WIDTH)


def as_text(value: Any, path: str) -> Any:
    """Every number and yes/no as one would type it."""
    if isinstance(value, Mapping):
        return {key: as_text(inner, f"{path}.{key}" if path else str(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_text(inner, f"{path}.{number}") for number, inner in enumerate(value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return typed(value, path)
    return value


def typed(number: int | float, path: str) -> str:
    """A number as its field, or the field of which it is an end or the figure, is written."""
    declared = FIELDS.get(pattern_of(path)) or FIELDS.get(pattern_of(path.rpartition(".")[0]))
    if declared is None:
        return plain_text(Decimal(str(number)))
    return number_text(number, declared).replace(" ", "")
