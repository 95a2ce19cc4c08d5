"""The parts of the plan form: which controls stand where for a task, and how each part is doing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.errors import Fault
from estimates.engine.field_kinds import Field
from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from web.plan_fields import Control, Document, RowTable, control, element_id, pattern_of, row_table, value_at

GROUPS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "goal": (gettext_lazy("Goal"), ("goal",)),
    "work": (gettext_lazy("Model and data"), ("model", "data")),
    "finetune": (gettext_lazy("Fine-tuning"), ("finetune",)),
    "inference": (gettext_lazy("Inference"), ("inference",)),
    "vectors": (gettext_lazy("Vectors"), ("vectors",)),
    "compute": (gettext_lazy("Compute"), ("compute", "own")),
    "reliability": (gettext_lazy("Failures and checkpoints"), ("reliability",)),
    "experiments": (gettext_lazy("Experiments and evaluation"), ("experiments", "evaluation")),
    "keeping": (gettext_lazy("Storage and network"), ("storage", "network")),
    "people": (gettext_lazy("People and platform"), ("people",)),
}
"""Title and sections of each part, in order."""
OPEN_FOR = {
    "goal": None,
    "work": frozenset(
        {"pretrain", "continued_pretrain", "ablation", "finetune", "evaluation", "data_work", "inference", ""}
    ),
    "compute": None,
    "finetune": frozenset({"finetune"}),
    "inference": frozenset({"inference"}),
    "vectors": frozenset({"vector_store"}),
}
"""Parts that stand open, for these tasks or, with None, for all; the others open on demand."""
SPECIAL = ("finetune", "inference", "vectors")
"""Parts that stand last where the task does not need them."""
MOVED = {"reliability.checkpoint_interval_hours": "compute"}
"""Fields that one looks for in another part."""
WIDE_ENOUGH = 2
OFFERED = ("people", "experiments")
"""Lists that are offered before they have a row."""
LIFE = "members"
"""Members of a life plan are plans of their own; it is edited as text."""


@dataclass(frozen=True)
class Group:
    """One part of the form."""

    key: str
    title: str
    is_open: bool
    controls: tuple[Control, ...]
    wide: tuple[Control, ...]
    """Controls that need half the width: ranges, and one more that fills the row."""
    more: tuple[Control, ...]
    tables: tuple[RowTable, ...]
    more_tables: tuple[RowTable, ...] = ()
    switches: tuple[Switch, ...] = ()

    @property
    def id(self) -> str:
        return element_id("group", self.key)

    @property
    def state_id(self) -> str:
        return element_id("state", self.key)

    @property
    def notices_id(self) -> str:
        return element_id("notices", self.key)


@dataclass(frozen=True)
class Switch:
    """A part of the plan that can be left out altogether."""

    name: str
    label: str
    is_on: bool


@dataclass(frozen=True)
class State:
    kind: str
    text: str


def groups_of(document: Document, faults: Sequence[Fault] = ()) -> list[Group]:
    """The parts of the form for the document's task, filled in."""
    task = str(document.get("task") or "")
    at_fault = {field_path(fault.path) for fault in faults}
    groups = [group_of(key, document, task, at_fault) for key in GROUPS]
    return sorted(groups, key=lambda group: group.key in SPECIAL and not group.is_open)


def group_of(key: str, document: Document, task: str, at_fault: set[str]) -> Group:
    title, _sections = GROUPS[key]
    declared = [one for one in FIELDS.values() if "*" not in one.path and group_key(one.path) == key]
    controls = [(one, control(one, document)) for one in declared]
    first = [made for one, made in controls if is_first(one, made, key, task, at_fault)]
    more = tuple(made for _one, made in controls if made not in first)
    wide = [made for made in first if made.is_range or made.is_long]
    narrow = [made for made in first if not made.is_range and not made.is_long]
    if len(wide) % WIDE_ENOUGH and narrow:
        wide.append(narrow.pop())
    tables = [row_table(table, document) for path, table in TABLES.items() if path != LIFE and group_key(path) == key]
    return Group(
        key=key,
        title=str(title),
        is_open=is_open(key, task) or any(group_key(path) == key for path in at_fault),
        controls=tuple(narrow),
        wide=tuple(wide),
        more=more,
        tables=tuple(table for table in tables if table.rows or table.path in OFFERED),
        more_tables=tuple(table for table in tables if not table.rows and table.path not in OFFERED),
        switches=tuple(
            Switch(f"off.{name}", switch_label(name), document.get(name) == "none")
            for name in MAY_BE_OFF
            if group_key(name) == key
        ),
    )


def switch_label(name: str) -> str:
    return {
        "reliability": _("Leave failures and checkpoints out"),
        "experiments": _("Leave experiments out"),
        "model_error": _("Leave the error of the method out"),
    }[name]


def is_open(key: str, task: str) -> bool:
    if key not in OPEN_FOR:
        return False
    tasks = OPEN_FOR[key]
    return tasks is None or task in tasks


def is_first(declared: Field, made: Control, key: str, task: str, at_fault: set[str]) -> bool:
    """Shown without opening anything: basic for the task, given, or wrong."""
    if made.is_given or declared.path in at_fault:
        return True
    fits = not declared.tasks or task in declared.tasks
    if key in ("goal", "work", "compute"):
        return declared.basic and fits
    return fits and (declared.basic or bool(declared.tasks))


def group_key(path: str) -> str:
    """The part of the form a place of the document belongs to."""
    pattern = pattern_of(path)
    if pattern in MOVED:
        return MOVED[pattern]
    known = FIELDS.get(pattern) or TABLES.get(pattern)
    section = known.section if known else {"model_error": "goal"}.get(pattern, pattern.split(".")[0])
    return next((key for key, (_title, sections) in GROUPS.items() if section in sections), "goal")


def field_path(path: str) -> str:
    """The field or table a place belongs to: `compute.mfu.low` is in `compute.mfu`; what is unknown is in nothing."""
    steps = path.split(".")
    while steps:
        place = ".".join(steps)
        if pattern_of(place) in FIELDS or pattern_of(place) in TABLES:
            return place
        steps.pop()
    return ""


def is_missing(fault: Fault) -> bool:
    return getattr(fault, "code", "") in ("missing", "missing_for_task")


def state_of(key: str, document: Document, faults: Iterable[Fault], warnings: int) -> State:
    """How a part of the form is doing, as a word and a colour."""
    mine = [fault for fault in faults if group_key(fault.path) == key]
    wrong = [fault for fault in mine if not is_missing(fault)]
    if wrong:
        return State(
            "over", ngettext("%(count)s to correct", "%(count)s to correct", len(wrong)) % {"count": len(wrong)}
        )
    if mine:
        return State("info", ngettext("%(count)s to fill in", "%(count)s to fill in", len(mine)) % {"count": len(mine)})
    if warnings:
        return State("warn", ngettext("%(count)s warning", "%(count)s warnings", warnings) % {"count": warnings})
    _title, sections = GROUPS[key]
    given = any(
        value_at(document, one.path) not in (None, "")
        for one in FIELDS.values()
        if "*" not in one.path and one.section in sections
    ) or any(value_at(document, path) for path, table in TABLES.items() if table.section in sections)
    return State("ok", _("complete")) if given else State("", _("from defaults"))
