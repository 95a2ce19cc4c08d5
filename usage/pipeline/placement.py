"""Which project a key set's usage belongs to, day by day: the ordered rules, applied. Pure."""

from __future__ import annotations

import fnmatch
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

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
SHARED_COST, NOBODY = 0, -1
"""In the place of a project in a split: the part that stays shared, and the part that no rule placed."""


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


class Share(NamedTuple):
    """One part of a split: whose it is, how much it weighs, and the proposal that it is the work of."""

    owner: int
    """A project, SHARED_COST or NOBODY."""
    weight: Decimal
    reference: str = ""


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
    shares: tuple[Share, ...] = ()
    """Of a rule that splits."""
    monthly: tuple[tuple[date, date, tuple[Share, ...]], ...] | None = None
    """Of a rule that splits by usage: half-open months with the weights of each; in other months it is shared."""

    def on(self, day: date) -> Target:
        """The target with the weights of a day's month."""
        if self.monthly is None:
            return self
        shares = next((shares for start, end, shares in self.monthly if start <= day < end), ())
        return replace(self, shares=shares, is_shared=not shares)


@dataclass(frozen=True)
class Rule:
    """An allocation rule as the arithmetic sees it."""

    id: int
    """Zero for one that nobody wrote."""
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
class Override:
    """What a person decided for some key sets and days; what it leaves empty stays as the rules say."""

    id: int
    key_sets: frozenset[int]
    target: Target
    starts_on: date = FIRST_DAY
    ends_on: date = LAST_DAY

    def over(self, target: Target) -> Target:
        """A rule's target with what the person decided in its place."""
        own = self.target
        if own.project_id or own.is_shared:
            target = replace(target, project_id=own.project_id, is_shared=own.is_shared, shares=(), task_type="")
        return replace(
            target,
            category=own.category or target.category,
            task_type=own.task_type or target.task_type,
            stage=own.stage or target.stage,
            experiment=own.experiment or target.experiment,
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
    reassignment_id: int | None = None


SHARE_DIGITS = Decimal("1e-12")


def places_of(
    keys: Mapping[str, Any], rules: Sequence[Rule], task_types: Mapping[int, str], overrides: Sequence[Override] = ()
) -> list[Place]:
    """Every place of a key set over all time, in order. The first rule that matches on a day wins.

    `keys` are the columns of the key set and its meter; `task_types` the main task type of each project; of
    `overrides` the first that holds the key set goes over the rule.
    """
    matching = [rule for rule in rules if rule.matches(keys)]
    decided = [each for each in overrides if keys["id"] in each.key_sets]
    cuts = {FIRST_DAY, LAST_DAY}
    for start, end in [(each.starts_on, each.ends_on) for each in matching] + [
        (each.starts_on, each.ends_on) for each in decided
    ]:
        cuts |= {max(start, FIRST_DAY), min(end, LAST_DAY)}
    for rule in matching:
        cuts |= {day for start, end, _shares in rule.target.monthly or () for day in (start, end)}
    days = sorted(cuts)
    found: list[Place] = []
    for start, end in itertools.pairwise(days):
        first = next((rule for rule in matching if rule.starts_on <= start and rule.ends_on >= end), None)
        over = next((each for each in decided if each.starts_on <= start and each.ends_on >= end), None)
        places = _places(keys, first, start, end, task_types, over)
        if found and _joins(found, places):
            found = [replace(place, ends_on=end) if place.ends_on == start else place for place in found]
        else:
            found += places
    return found


def _places(
    keys: Mapping[str, Any],
    rule: Rule | None,
    start: date,
    end: date,
    task_types: Mapping[int, str],
    over: Override | None,
) -> list[Place]:
    target = rule.target.on(start) if rule else Target()
    target = over.over(target) if over else target
    shared: dict[str, Any] = {
        "category": target.category or keys["category"],
        "stage": target.stage,
        "experiment": target.experiment,
        "reference": target.reference or keys["reference"],
        "rule_id": (rule.id or None) if rule else None,
        "reassignment_id": over.id if over else None,
    }
    if target.shares:
        parts = exact_shares([each.weight for each in target.shares])
        return [
            Place(
                start,
                end,
                project_id=each.owner if each.owner > 0 else None,
                is_shared=each.owner == SHARED_COST,
                share=part,
                is_first=index == 0,
                task_type=target.task_type or task_types.get(each.owner, ""),
                **shared | ({"reference": each.reference} if each.reference else {}),
            )
            for index, (each, part) in enumerate(zip(target.shares, parts, strict=True))
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
