"""The JSON Schema of training plans inside the OpenAPI document, so that a generated client knows every key."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from estimates.engine.schema import plan_schema

Schema = dict[str, Any]

PLAN = {"$ref": "#/components/schemas/TrainingPlan"}
"""What a body or a field refers to that holds a plan."""
PLAN_OR_YAML = {"anyOf": [PLAN, {"type": "string", "description": "The same as YAML."}]}

SHARED = ("#/properties/", "#/$defs/")
"""What the schema of plans refers to within itself."""


@extend_schema_field(PLAN_OR_YAML)
class PlanField(serializers.JSONField):
    """A plan document, or its YAML as text."""


def add_plan(result: Schema, **_: Any) -> Schema:
    """A hook of the generator: put the components of a plan beside those of the endpoints."""
    result["components"]["schemas"] |= plan_components()
    return result


@lru_cache(maxsize=1)
def plan_components() -> dict[str, Schema]:
    """The schema of a plan, taken apart into named components that refer to each other."""
    whole = plan_schema()
    properties, definitions = whole["properties"], whole["$defs"]
    parts = {component_name(key): referring(part) for key, part in (properties | definitions).items()}
    root = {key: value for key, value in whole.items() if key not in ("$schema", "$defs", "properties")}
    keys = {key: {"$ref": f"#/components/schemas/{component_name(key)}"} for key in properties}
    return {"TrainingPlan": {**root, "properties": keys}} | parts


def component_name(name: str) -> str:
    """`Plan` and the words of the name: components are called by letters, digits, dots and dashes."""
    words = re.split(r"[^A-Za-z0-9.\-]+", name.replace("-", "minus "))
    return "Plan" + "".join(word[:1].upper() + word[1:] for word in words)


def referring(part: Any) -> Any:
    """The same with references that hold in the OpenAPI document."""
    if isinstance(part, list):
        return [referring(item) for item in part]
    if not isinstance(part, dict):
        return part
    target = part.get("$ref", "")
    if isinstance(target, str) and target.startswith(SHARED):
        return {**part, "$ref": f"#/components/schemas/{component_name(unquote(target.rpartition('/')[2]))}"}
    return {key: referring(value) for key, value in part.items()}
