"""What of an answer no price moves. It is kept apart, so that a price change neither computes nor writes it again.

No quantity of a unit without money depends on a price, in any of its variants; the tests go through all of them. A life
plan keeps everything together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Part = Mapping[str, Any]
SECTIONS = ("four_factors", "memory", "hours_by_month", "assumptions")


def is_lasting(unit: str) -> bool:
    """Whether prices leave a quantity of this unit alone."""
    return "money" not in unit


def split(answer: Part) -> tuple[Part, Part]:
    """What prices move, and what lasts."""
    if "members" in answer:
        return answer, {}
    quantities = answer["quantities"]
    lasting = {name: found for name, found in quantities.items() if is_lasting(found["unit"])}
    moved = {name: found for name, found in quantities.items() if name not in lasting}
    priced = {name: found for name, found in answer.items() if name not in SECTIONS}
    return {**priced, "quantities": moved}, {name: answer[name] for name in SECTIONS} | {"quantities": lasting}


def joined(priced: Part, lasting: Part) -> dict[str, Any]:
    """The whole answer."""
    return {**priced, **lasting, "quantities": {**lasting.get("quantities", {}), **priced["quantities"]}}
