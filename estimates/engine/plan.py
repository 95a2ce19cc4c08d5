"""A training plan: the inputs of an estimate, read from YAML, JSON or a form, and refused with all faults at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from core.errors import DomainError
from estimates.engine.cells import Typed
from estimates.engine.drafting import read_plan
from estimates.engine.fields import FIELDS
from estimates.engine.life import read_life
from estimates.engine.messages import PlanFault, plan_fault
from estimates.engine.reading import Tree, Unreadable, read_document
from estimates.engine.requirements import EFFICIENCIES, FAILURE_MODEL
from estimates.engine.values import Baseline, Value
from estimates.engine.walking import Draft, default_of

Row = Mapping[str, Typed]

MOST_FAULTS = 200
OF_A_LIFE = ("currency", "contingency", "model_error")
"""Sections whose defaults a life plan has itself; the others are its members'."""


class PlanRefused(DomainError):
    """A plan document that cannot be estimated; `faults` names every place, value and what is accepted."""

    def __init__(self, faults: list[PlanFault]) -> None:
        more = len(faults) - MOST_FAULTS
        shown = faults[:MOST_FAULTS] + ([plan_fault("", None, "many_more", count=more)] if more > 0 else [])
        first = shown[0]
        place = f"{first.path}: " if first.path else ""
        rest = "" if len(faults) == 1 else f" (and {len(faults) - 1} more)"
        super().__init__(f"{place}{first.message}{rest}", code="plan_refused", faults=list(shown))


@dataclass(frozen=True)
class Member:
    """One plan inside a life plan, and when it begins."""

    name: str
    plan: Plan
    start_month: int = 0
    """Months after the start of the life plan or, with `after`, after the end of that member."""
    after: str | None = None


@dataclass(frozen=True)
class Plan:
    """A document that was understood. Immutable; two documents that mean the same are equal plans.

    `inputs`, `words`, `flags` and `days` are flat, by path (`compute.mfu`, `people.0.fte`), and hold what the document
    gives and the constant defaults of `fields.py`. A path that is in none of them was not given and has no constant
    default: `model.active_parameters` is then `model.parameters`, for instance. `given` are the paths the document
    itself gives; the rest are defaults. `switched_off` are the parts set to `none`: reliability, experiments,
    model_error; their fields are absent.
    """

    document: Mapping[str, Any]
    name: str
    task: str
    currency: str
    inputs: Mapping[str, Value]
    words: Mapping[str, str]
    flags: Mapping[str, bool]
    days: Mapping[str, date]
    tables: Mapping[str, tuple[Row, ...]]
    """Lists of rows by path: people, experiments, compute.pools, model.stages, inference.events, inference.tiers."""
    profiles: Mapping[str, tuple[float, ...]]
    """Weights of the 24 hours of a day: `inference.profile`."""
    given: frozenset[str]
    switched_off: frozenset[str] = frozenset()
    members: tuple[Member, ...] = field(default=())
    """Only a life plan has them."""

    def number(self, path: str) -> float | None:
        """The typical value of an input: the number, the mode, or the median; None when absent or `baseline`."""
        value = self.inputs.get(path)
        return None if value is None or isinstance(value, Baseline) else value.typical

    def text(self, path: str) -> str | None:
        return self.words.get(path)

    def flag(self, path: str) -> bool:
        return self.flags.get(path, False)

    def day(self, path: str) -> date | None:
        return self.days.get(path)

    def rows(self, path: str) -> tuple[Row, ...]:
        """The rows of a list; every cell is a Value, text, a yes/no or a day; constant defaults are filled in.

        The numbers of row i are also in `inputs` as `PATH.i.KEY`.
        """
        return self.tables.get(path, ())

    def is_off(self, part: str) -> bool:
        """Whether a part (`reliability`, `experiments`, `model_error`) was set to `none`."""
        return part in self.switched_off


def parse_plan(document: str | bytes | Mapping[str, Any]) -> Plan:
    """Read a plan from YAML or JSON text, or from JSON already parsed; PlanRefused lists every fault."""
    try:
        tree, faults = read_document(document)
    except Unreadable as unreadable:
        raise PlanRefused([unreadable.fault]) from None
    draft, members = read_life(tree) if _is_life(tree) else (read_plan(tree, ""), [])
    faults.extend(draft.faults)
    if faults:
        raise PlanRefused(faults)
    return _finished(
        draft,
        tuple(Member(member.name, _finished(member.draft), member.start_month, member.after) for member in members),
    )


def _is_life(tree: Tree) -> bool:
    return isinstance(tree.get("task"), str) and tree["task"].strip().lower() == "life"


def _finished(draft: Draft, members: tuple[Member, ...] = ()) -> Plan:
    """The plan of a draft without faults, constant defaults filled in."""
    filled = _defaults(_settled(draft, bool(members)))
    understood = {*draft.inputs, *draft.words, *draft.flags, *draft.days, *draft.profiles, *draft.tables}
    return Plan(
        document=draft.document,
        name=draft.words.get("name", ""),
        task=draft.words["task"],
        currency=draft.words.get("currency", filled.words["currency"]),
        inputs=filled.inputs | draft.inputs,
        words=filled.words | draft.words,
        flags=filled.flags | draft.flags,
        days=draft.days,
        tables={path: tuple(rows) for path, rows in draft.tables.items()},
        profiles=draft.profiles,
        given=frozenset(draft.seen.keys() & understood),
        switched_off=frozenset(draft.off),
        members=members,
    )


def _settled(draft: Draft, is_life: bool) -> frozenset[str]:
    """Fields and sections whose defaults would contradict what the document says."""
    settled = set(draft.off)
    if is_life:
        settled |= {path.partition(".")[0] for path in FIELDS} - set(OF_A_LIFE)
    if any(draft.has(path) for path in EFFICIENCIES[1:]):
        settled.add("compute.mfu")
    if draft.has("reliability.goodput"):
        settled.update(FAILURE_MODEL)
    if "experiments" in draft.tables:
        settled.add("experiments.ratio")
    if draft.has("model.training_flops"):
        settled.add("model.flops_per_parameter_token")
    if not draft.has("model.attention_window"):
        settled.add("model.attention_window")
    return frozenset(settled)


@lru_cache(maxsize=256)
def _defaults(settled: frozenset[str]) -> Draft:
    """The constant defaults of all fields but those that are settled. Shared by plans, never changed."""
    filled = Draft()
    for path, declared in FIELDS.items():
        if declared.default is None or "*" in path:
            continue
        if not any(path == other or path.startswith(f"{other}.") for other in settled):
            filled.keep(path, default_of(declared))
    return filled
