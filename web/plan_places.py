"""Places of the plan document as the form names them. A member of a life plan is a plan: its keys are declared once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MEMBERS = "members"
IN_MEMBER = re.compile(rf"{MEMBERS}\.\d+\.(?=.)")
OF_MEMBERS = ("start_month", "after")
"""Keys that only a member has."""


def member_start(path: str) -> str:
    """`members.2.` where a place lies in a member of a life plan; else nothing."""
    found = IN_MEMBER.match(path)
    return found.group() if found else ""


def pattern_of(path: str) -> str:
    """How a place is declared: `people.0.fte` as `people.*.fte`; in a member as in a plan of its own."""
    start = member_start(path)
    inner = path.removeprefix(start)
    if start and inner in OF_MEMBERS:
        return f"{MEMBERS}.*.{inner}"
    return ".".join("*" if step.isdigit() else step for step in inner.split("."))


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """What stands at a place; None where there is nothing."""
    value: Any = document
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def member_starts(document: Mapping[str, Any]) -> list[str]:
    """`members.0.`, `members.1.` … of a life plan."""
    rows = document.get(MEMBERS)
    return [f"{MEMBERS}.{number}." for number in range(len(rows))] if isinstance(rows, list) else []


def element_id(kind: str, path: str) -> str:
    """An id without the characters that a selector reads otherwise."""
    return f"{kind}-{path.replace('.', '-').replace('*', 'x')}"
