"""Inputs of a plan as the proposal pages name them."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from django import template

from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from web.figures import NOTHING
from web.plan_fields import words

register = template.Library()


@register.filter
def input_name(path: str) -> str:
    """`compute.mfu` as people read it; also a table of rows, and a section that `none` switches off."""
    declared = FIELDS.get(path) or TABLES.get(path)
    if declared:
        return words(declared.label)
    return words(MAY_BE_OFF[path]) if path in MAY_BE_OFF else path


@register.filter
def input_value(value: Any) -> str:
    """A number, a range or a list, in a few words."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, dict):
        return " · ".join(f"{key} {item}" for key, item in value.items())
    if isinstance(value, list):
        return f"{len(value)} ×"
    return short_number(str(value))


def short_number(text: str) -> str:
    """`1600000000000` as `1.6T`, the way plans are written; what is no great number as it is."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    for exponent, word in ((12, "T"), (9, "B"), (6, "M")):
        if abs(number) >= 10**exponent:
            return f"{number.scaleb(-exponent).normalize():f}{word}"
    return text
