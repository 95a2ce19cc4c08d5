"""Which project a key set's usage belongs to, day by day: the ordered rules, applied. Pure."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

FIRST_DAY, LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
FIELDS = (
    "payer",
    "account",
    "account_name",
    "service",
    "service_category",
    "sku",
    "region",
    "resource",
    "resource_name",
    "resource_type",
    "user",
    "partition",
    "cluster",
    "namespace",
    "provider",
    "charge_category",
    "accelerator",
    "tag",
)
"""What a condition may look at; `tag` needs the tag's name beside it."""
OPERATORS = ("equals", "prefix", "glob", "list", "present", "absent")


@dataclass(frozen=True)
class Condition:
    """One test of a key set: a field, how it is compared, with what."""

    field: str
    operator: str
    values: tuple[str, ...] = ()
    tag: str = ""

    def matches(self, keys: Mapping[str, Any]) -> bool:
        found = keys["tags"].get(self.tag, "") if self.field == "tag" else keys[self.field] or ""
        if self.operator == "equals" or self.operator == "list":
            return found in self.values
        if self.operator == "prefix":
            return found.startswith(self.values)
        if self.operator == "glob":
            return any(fnmatch.fnmatchcase(found, pattern) for pattern in self.values)
        return bool(found) == (self.operator == "present")


@dataclass(frozen=True)
class Target:
    """Where a rule puts what it matches."""

    project_id: int | None = None
    is_shared: bool = False
    category: str = ""
    task_type: str = ""
    stage: str = ""
    experiment: str = ""
    reference: str = ""
    shares: tuple[tuple[int, Decimal], ...] = ()
    """Projects and weights of a rule that splits."""


@dataclass(frozen=True)
class Rule:
    """An allocation rule as the arithmetic sees it."""

    id: int
    conditions: tuple[Condition, ...]
    target: Target
    source_id: int | None = None
    starts_on: date = FIRST_DAY
    ends_on: date = LAST_DAY

    def matches(self, keys: Mapping[str, Any]) -> bool:
        return (self.source_id is None or self.source_id == keys["source_id"]) and all(
            condition.matches(keys) for condition in self.conditions
        )


@dataclass(frozen=True)
class Place:
    """A key set's place for some days: one row of `Placement`."""

    starts_on: date
    ends_on: date
    project_id: int | None = None
    is_shared: bool = False
    share: Decimal = Decimal(1)
    is_first: bool = True
    category: str = ""
    task_type: str = ""
    stage: str = ""
    experiment: str = ""
    reference: str = ""
    rule_id: int | None = None


SHARE_DIGITS = Decimal("1e-12")


def places_of(keys: Mapping[str, Any], rules: Sequence[Rule], task_types: Mapping[int, str]) -> list[Place]:
    """Every place of a key set over all time, in order. The first rule that matches on a day wins.

    `keys` are the columns of the key set and its meter; `task_types` the main task type of each project.
    """
    matching = [rule for rule in rules if rule.matches(keys)]
    cuts = {FIRST_DAY, LAST_DAY}
    for rule in matching:
        cuts |= {max(rule.starts_on, FIRST_DAY), min(rule.ends_on, LAST_DAY)}
    days = sorted(cuts)
    found: list[Place] = []
    for start, end in itertools.pairwise(days):
        first = next((rule for rule in matching if rule.starts_on <= start and rule.ends_on >= end), None)
        places = _places(keys, first, start, end, task_types)
        if found and _joins(found, places):
            found = [replace(place, ends_on=end) if place.ends_on == start else place for place in found]
        else:
            found += places
    return found


def _places(
    keys: Mapping[str, Any], rule: Rule | None, start: date, end: date, task_types: Mapping[int, str]
) -> list[Place]:
    target = rule.target if rule else Target()
    shared: dict[str, Any] = {
        "category": target.category or keys["category"],
        "stage": target.stage,
        "experiment": target.experiment,
        "reference": target.reference or keys["reference"],
        "rule_id": rule.id if rule else None,
    }
    if target.shares:
        parts = exact_shares([weight for _project, weight in target.shares])
        return [
            Place(
                start,
                end,
                project_id=project,
                share=part,
                is_first=index == 0,
                task_type=target.task_type or task_types.get(project, ""),
                **shared,
            )
            for index, ((project, _weight), part) in enumerate(zip(target.shares, parts, strict=True))
        ]
    task_type = target.task_type or (task_types.get(target.project_id, "") if target.project_id else "")
    return [Place(start, end, project_id=target.project_id, is_shared=target.is_shared, task_type=task_type, **shared)]


def exact_shares(weights: Sequence[Decimal]) -> list[Decimal]:
    """Weights as decimals that add up to exactly 1; the last takes what rounding left."""
    whole = sum(weights)
    cuts, passed = [Decimal(0)], Decimal(0)
    for weight in weights[:-1]:
        passed += weight
        cuts.append((passed / whole).quantize(SHARE_DIGITS))
    cuts.append(Decimal(1))
    return [later - earlier for earlier, later in itertools.pairwise(cuts)]


def _joins(found: list[Place], places: list[Place]) -> bool:
    before = [place for place in found if place.ends_on == places[0].starts_on]
    return [_timeless(place) for place in before] == [_timeless(place) for place in places]


def _timeless(place: Place) -> Place:
    return replace(place, starts_on=FIRST_DAY, ends_on=LAST_DAY)


def within(places: Sequence[Place], start: date, end: date) -> list[Place]:
    """The places cut to the days from `start` up to, and without, `end`."""
    cut = [replace(place, starts_on=max(place.starts_on, start), ends_on=min(place.ends_on, end)) for place in places]
    return [place for place in cut if place.starts_on < place.ends_on]
