"""Small questions about a plan, by which a quantity says for which plans it is there."""

from __future__ import annotations

from estimates.engine.graph import Condition

TRAINING = ("pretrain", "continued_pretrain", "ablation", "finetune")
"""Tasks that have a training run, be it one that an ablation only prepares."""
BUILDING = ("pretrain", "continued_pretrain", "finetune")
"""Tasks whose training run is paid for."""


def is_task(*tasks: str) -> Condition:
    """The plan is of one of these task types."""
    return lambda plan: plan.task in tasks


def has_word(path: str, *words: str) -> Condition:
    """The plan says one of these words at a path."""
    return lambda plan: plan.text(path) in words


def lacks_word(path: str, *words: str) -> Condition:
    """The plan says none of these words at a path."""
    return lambda plan: plan.text(path) not in words


def is_off(part: str) -> Condition:
    """The plan switches a part off (`reliability: none`)."""
    return lambda plan: plan.is_off(part)


def is_on(part: str) -> Condition:
    """The plan does not switch a part off."""
    return lambda plan: not plan.is_off(part)


def has_rows(path: str) -> Condition:
    """The plan gives a list at a path."""
    return lambda plan: bool(plan.rows(path))


def lacks_rows(path: str) -> Condition:
    """The plan gives no list at a path."""
    return lambda plan: not plan.rows(path)


def has_any(*paths: str) -> Condition:
    """The plan gives a figure other than zero at one of these paths."""
    return lambda plan: any(plan.number(path) not in (None, 0) for path in paths)


def every(*conditions: Condition) -> Condition:
    """All of several conditions."""
    return lambda plan: all(condition(plan) for condition in conditions)


def owns() -> Condition:
    """A part of the computing runs on own cards."""
    return lambda plan: plan.text("compute.mode") == "own" or plan.number("compute.mix.own") not in (None, 0)


def gives(path: str) -> Condition:
    """The plan gives a figure at a path, zero too."""
    return lambda plan: path in plan.inputs


def lacks(path: str) -> Condition:
    """The plan does not give a figure at a path."""
    return lambda plan: path not in plan.inputs


def has_flag(path: str) -> Condition:
    """The plan says yes at a path."""
    return lambda plan: plan.flag(path)
