"""Inputs of a plan as the proposal pages name them."""

from __future__ import annotations

from typing import Any

from django import template

from estimates.engine.fields import FIELDS
from web.figures import NOTHING
from web.plan_fields import words

register = template.Library()


@register.filter
def input_name(path: str) -> str:
    """`compute.mfu` as people read it."""
    declared = FIELDS.get(path)
    return words(declared.label) if declared else path


@register.filter
def input_value(value: Any) -> str:
    """A number, a range or a list, in a few words."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, dict):
        return " · ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return f"{len(value)} ×"
    return str(value)
