"""The amount matrix: which roles have to decide an ask. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

FIRST_ROLE = "manager"
NOBODY = "nobody"
"""The role of a rule whose band is approved by itself."""


@dataclass(frozen=True)
class Rule:
    """Above an amount (None: always) this role decides; of one task type or category where those are named."""

    step: int
    role: str
    above: Decimal | None
    task_type: str = ""
    category: str = ""
    deadline_days: int | None = None
    up_to: Decimal | None = None


@dataclass(frozen=True)
class Needed:
    """One decision that is needed, and the amount above which it is."""

    role: str
    above: Decimal | None
    deadline_days: int | None = None


def is_in_force(rule: Rule, task_type: str, amounts: Mapping[str, Decimal]) -> bool:
    """Does the rule ask for its decision, for amounts by category in the reporting currency?"""
    if rule.task_type not in ("", task_type):
        return False
    amount = amounts.get(rule.category, Decimal(0)) if rule.category else sum(amounts.values(), Decimal(0))
    if rule.up_to is not None and amount > rule.up_to:
        return False
    return amount > rule.above if rule.above is not None else not rule.category or amount > 0


def decisions_needed(rules: Sequence[Rule], task_type: str, amounts: Mapping[str, Decimal]) -> list[Needed]:
    """The roles that decide, in order, each once. No rule in force: a manager decides all the same.

    A rule of nobody takes what lies in its band away from everybody else.
    """
    if any(rule.role == NOBODY and is_in_force(rule, task_type, amounts) for rule in rules):
        return [Needed(NOBODY, None)]
    needed: dict[str, Needed] = {}
    for rule in sorted(rules, key=lambda rule: (rule.step, rule.above or Decimal(0))):
        if is_in_force(rule, task_type, amounts):
            needed.setdefault(rule.role, Needed(rule.role, rule.above, rule.deadline_days))
    return list(needed.values()) or [Needed(FIRST_ROLE, None)]
