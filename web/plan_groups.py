"""The parts of the plan form: which controls stand where for a task, and how each part is doing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.errors import Fault
from estimates.engine.field_kinds import Field
from estimates.engine.fields import FIELDS, MAY_BE_OFF, SECTIONS, TABLES
from estimates.engine.life import LIFE_KEYS, OF_THE_WHOLE, SHARED
from web.plan_fields import Control, Document, RowTable, control, row_table, words
from web.plan_places import MEMBERS, OF_MEMBERS, element_id, member_start, pattern_of, value_at

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
        {"pretrain", "continued_pretrain", "ablation", "finetune", "evaluation", "data_work", "inference", "life", ""}
    ),
    "compute": None,
    "finetune": frozenset({"finetune"}),
    "inference": frozenset({"inference"}),
    "vectors": frozenset({"vector_store"}),
}
"""Parts that stand open, for these tasks or, with None, for all; the others open on demand."""
OPEN_FOR_A_LIFE = ("goal", "work")
SPECIAL = ("finetune", "inference", "vectors")
"""Parts that stand last where the task does not need them."""
MOVED = {"reliability.checkpoint_interval_hours": "compute"}
"""Fields that one looks for in another part."""
WIDE_ENOUGH = 2
MOST_FIGURES = 3
OFFERED = ("people", "experiments")
"""Lists that are offered before they have a row."""
OF_A_LIFE = frozenset(LIFE_KEYS)
LIFE_GROUPS = ("goal", "work", "compute", "reliability")
"""Parts of a life plan itself; all others are its members'."""
LIFE_TITLES: Mapping[str, Any] = {"work": gettext_lazy("Model")}
OF_THE_WHOLE_ONLY = frozenset({*OF_THE_WHOLE, "currency"})
"""Keys that a member has from the life it belongs to."""
MEMBER_FIRST = ("name", "task", *(f"{MEMBERS}.*.{key}" for key in reversed(OF_MEMBERS)))
"""What is said of a member before anything else."""


@dataclass(frozen=True)
class Group:
    """One part of the form."""

    name: str
    key: str
    """Its name and, in a member of a life plan, that member's place before it: `members.2.compute`."""
    title: str
    stays: str
    """By what name it is known again when the form is drawn again: a member may have moved meanwhile."""
    is_open: bool
    controls: tuple[Control, ...]
    wide: tuple[Control, ...]
    """Controls that need half the width: ranges, and one more that fills the row."""
    more: tuple[Control, ...]
    tables: tuple[RowTable, ...]
    more_tables: tuple[RowTable, ...] = ()
    switches: tuple[Switch, ...] = ()
    inherited: tuple[Inherited, ...] = ()
    """Sections that a member has from the whole."""
    own: tuple[Inherited, ...] = ()
    """Sections that a member has of its own, though the whole has one."""
    is_shared: bool = False
    """Whether it holds for all members of a life plan that do not say otherwise."""

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


@dataclass(frozen=True)
class Inherited:
    """A section that the whole life has too, and what it says there."""

    path: str
    label: str
    figures: str = ""


def groups_of(document: Document, faults: Sequence[Fault] = (), start: str = "") -> list[Group]:
    """The parts of the form, filled in: of the plan or, with `start` such as `members.2.`, of that member of it."""
    task = str(value_at(document, f"{start}task") or "")
    at_fault = {field_path(fault.path) for fault in faults}
    keys = LIFE_GROUPS if task == "life" else GROUPS
    groups = [group_of(key, document, task, at_fault, start) for key in keys]
    return sorted(groups, key=lambda group: group.name in SPECIAL and not group.is_open)


def group_of(name: str, document: Document, task: str, at_fault: set[str], start: str = "") -> Group:
    title = LIFE_TITLES.get(name, GROUPS[name][0]) if task == "life" else GROUPS[name][0]
    key = start + name
    from_whole = inherited(document, start) if start else ()
    declared = [one for one in fields_of(name, start) if first_step(one.path) not in from_whole]
    controls = [(one, control(one, document, place_of(one.path, start))) for one in declared]
    controls = [(one, made) for one, made in controls if made.is_given or belongs(one.path, task, start)]
    first = [made for one, made in controls if is_first(one, made, name, task, at_fault)]
    more = tuple(made for _one, made in controls if made not in first)
    wide = [made for made in first if made.is_range or made.is_long]
    narrow = [made for made in first if not made.is_range and not made.is_long]
    if wide and len(wide) % WIDE_ENOUGH and narrow:
        wide.append(narrow.pop())
    tables = [
        row_table(table, document, start)
        for path, table in TABLES.items()
        if path != MEMBERS and group_name(path) == name and belongs(path, task, start)
        if first_step(path) not in from_whole
    ]
    return Group(
        name=name,
        key=key,
        title=str(title),
        stays=f"{value_at(document, f'{start}name') if start else ''}/{task}/{name}",
        is_open=is_open(name, task) or any(group_key(path) == key for path in at_fault),
        controls=tuple(narrow),
        wide=tuple(wide),
        more=more,
        tables=tuple(table for table in tables if table.rows or table.declared in OFFERED),
        more_tables=tuple(table for table in tables if not table.rows and table.declared not in OFFERED),
        switches=tuple(
            Switch(f"off.{start}{one}", switch_label(one), value_at(document, start + one) == "none")
            for one in MAY_BE_OFF
            if group_name(one) == name and belongs(one, task, start) and one not in from_whole
        ),
        inherited=tuple(
            Inherited(start + section, words(SECTIONS[section]), section_words(document, section))
            for section in from_whole
            if section in sections_of(name)
        ),
        own=tuple(
            Inherited(start + section, words(SECTIONS[section]))
            for section in SHARED
            if start and section in sections_of(name) and document.get(section) and section not in from_whole
        ),
        is_shared=task == "life" and name != "goal",
    )


def fields_of(name: str, start: str) -> list[Field]:
    """The fields of a part that stand in no list; of a member, what it is and when it begins come first."""
    found = [one for one in FIELDS.values() if "*" not in one.path and group_name(one.path) == name]
    if not start or name != "goal":
        return found
    return [*(FIELDS[path] for path in MEMBER_FIRST), *(one for one in found if one.path not in MEMBER_FIRST)]


def place_of(path: str, start: str) -> str:
    return start + path.removeprefix(f"{MEMBERS}.*.") if start else path


def first_step(path: str) -> str:
    return path.partition(".")[0]


def belongs(path: str, task: str, start: str) -> bool:
    """Whether a key can be said here: a life has its own keys, a member all but those of the whole."""
    if start:
        return first_step(path) not in OF_THE_WHOLE_ONLY or path in MEMBER_FIRST
    return task != "life" or first_step(path) in OF_A_LIFE


def inherited(document: Document, start: str) -> tuple[str, ...]:
    """Sections that a member has from the whole, because it has none of its own."""
    return tuple(one for one in SHARED if document.get(one) and not value_at(document, start + one))


def section_words(document: Document, section: str) -> str:
    """The first figures of a section, in short: `7B, 32, 4096`."""
    if document.get(section) == "none":
        return _("left out")
    made = [
        control(one, document) for one in FIELDS.values() if first_step(one.path) == section and "*" not in one.path
    ]
    shown = [f"{one.label} {one.value}" for one in made if one.is_given and not one.is_range]
    return ", ".join(shown[:MOST_FIGURES])


def switch_label(name: str) -> str:
    return {
        "reliability": _("Leave failures and checkpoints out"),
        "experiments": _("Leave experiments out"),
        "model_error": _("Leave the error of the method out"),
    }[name]


def is_open(key: str, task: str) -> bool:
    if key not in OPEN_FOR or (task == "life" and key not in OPEN_FOR_A_LIFE):
        return False
    tasks = OPEN_FOR[key]
    return tasks is None or task in tasks


def is_first(declared: Field, made: Control, key: str, task: str, at_fault: set[str]) -> bool:
    """Shown without opening anything: basic for the task, given, or wrong."""
    if made.is_given or made.path in at_fault or declared.path in MEMBER_FIRST:
        return True
    fits = not declared.tasks or task in declared.tasks
    if key in ("goal", "work", "compute"):
        return declared.basic and fits
    return fits and (declared.basic or bool(declared.tasks))


def group_key(path: str) -> str:
    """The part of the form a place of the document belongs to, with the member it lies in."""
    return member_start(path) + group_name(path)


def group_name(path: str) -> str:
    pattern = pattern_of(path)
    if pattern in MOVED:
        return MOVED[pattern]
    known = FIELDS.get(pattern) or TABLES.get(pattern)
    section = known.section if known else {"model_error": "goal"}.get(pattern, first_step(pattern))
    return next((key for key, (_title, sections) in GROUPS.items() if section in sections), "goal")


def sections_of(name: str) -> tuple[str, ...]:
    return GROUPS[name][1]


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
    return state_for(mine, warnings) or (
        State("ok", _("complete")) if is_given(key, document) else State("", _("from defaults"))
    )


def state_for(faults: Sequence[Fault], warnings: int) -> State | None:
    """What there is to correct, to fill in or to think about."""
    wrong = [fault for fault in faults if not is_missing(fault)]
    if wrong:
        return State(
            "over", ngettext("%(count)s to correct", "%(count)s to correct", len(wrong)) % {"count": len(wrong)}
        )
    if faults:
        return State(
            "info", ngettext("%(count)s to fill in", "%(count)s to fill in", len(faults)) % {"count": len(faults)}
        )
    if warnings:
        return State("warn", ngettext("%(count)s warning", "%(count)s warnings", warnings) % {"count": warnings})
    return None


def is_given(key: str, document: Document) -> bool:
    """Whether a part says anything of its own."""
    start = member_start(key)
    sections = sections_of(key.removeprefix(start))
    declared = [one.path for one in FIELDS.values() if "*" not in one.path and one.section in sections]
    declared += [path for path, table in TABLES.items() if table.section in sections]
    return any(value_at(document, start + path) not in (None, "", []) for path in declared)
