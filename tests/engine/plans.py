"""Small plans for tests of the parser."""

from __future__ import annotations

import copy
from typing import Any

SMALL: dict[str, Any] = {
    "name": "base-7b",
    "task": "pretrain",
    "model": {"parameters": 7e9},
    "data": {"tokens": 2e12},
    "compute": {"accelerator": "h100-sxm-80gb", "count": 256, "mfu": 0.4},
}


def small_plan(**changes: Any) -> dict[str, Any]:
    """A plan that is whole, with values set by path: `small_plan(compute__mfu=0.5)`. None takes a key away."""
    document = copy.deepcopy(SMALL)
    for path, value in changes.items():
        *sections, key = path.split("__")
        place = document
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
    return document
