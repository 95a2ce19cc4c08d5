"""The members of a life plan on the form: each a plan of its own, opened when it is wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.errors import Fault
from estimates.answers import as_money
from estimates.engine.field_tables.goal import TASKS
from estimates.engine.fields import FIELDS, MAY_BE_OFF, TABLES
from estimates.engine.life import LIFE_KEYS, OF_THE_WHOLE, SHARED
from web.plan_fields import NEW, OFF, Document, Part, control, row_table, words_of
from web.plan_groups import Group, State, groups_of, inherited, state_for
from web.plan_places import MEMBERS, element_id, member_start, member_starts, value_at

SHOWN = "shown"
"""The name of the inputs that say which members stand open."""
NAMED = "named."
"""Before the place of a member in the input that says what it was called when the form was drawn."""
SERVING = ("inference", "vector_store")
"""Work that goes on while what comes after it begins."""
KEPT_FOR_THE_WHOLE = frozenset({*LIFE_KEYS} - {"compute", "reliability"})
"""What stays with the life when a plan becomes its first member."""
COPIED = ("acceptance", "justification")
"""What both say then."""


@dataclass(frozen=True)
class MemberForm:
    """One member as the form shows it; without `groups` it is closed, and carries its figures along."""

    place: str
    name: str
    task: str
    begins: str
    is_last: bool
    groups: tuple[Group, ...]
    carried: tuple[Part, ...]

    @property
    def key(self) -> str:
        return self.place

    @property
    def number(self) -> int:
        return int(self.place.split(".")[1])

    @property
    def id(self) -> str:
        return element_id("member", self.place)

    @property
    def named(self) -> str:
        return NAMED + self.place


def members_of(document: Document, faults: Sequence[Fault], shown: Iterable[str]) -> list[MemberForm]:
    """The members of a life plan, those that are shown or wrong with all their parts."""
    starts = member_starts(document) if document.get("task") == "life" else []
    wrong = {member_start(fault.path) for fault in faults}
    open_places = {*shown, *(start.removesuffix(".") for start in wrong)}
    return [
        member_of(document, start, faults if start.removesuffix(".") in open_places else None, start == starts[-1])
        for start in starts
    ]


def member_of(document: Document, start: str, faults: Sequence[Fault] | None, is_last: bool) -> MemberForm:
    """One member; without faults to show it is closed."""
    place = start.removesuffix(".")
    return MemberForm(
        place=place,
        name=str(value_at(document, f"{start}name") or ""),
        task=task_words(str(value_at(document, f"{start}task") or "")),
        begins=beginning(document, start),
        is_last=is_last,
        groups=() if faults is None else tuple(groups_of(document, faults, start)),
        carried=tuple(given_parts(document, start)) if faults is None else (),
    )


def task_words(task: str) -> str:
    return words_of(*TASKS[task]) if task in TASKS else ""


def beginning(document: Document, start: str) -> str:
    """When a member begins: `from the start`, `after base`, `2 months after base`."""
    after = value_at(document, f"{start}after") or _("the start")
    months = str(value_at(document, f"{start}start_month") or "0")
    if months.isdigit() and int(months):
        facts = {"months": months, "name": after}
        return ngettext("%(months)s month after %(name)s", "%(months)s months after %(name)s", int(months)) % facts
    return _("after %(name)s") % {"name": after} if value_at(document, f"{start}after") else _("from the start")


def given_parts(document: Document, start: str) -> list[Part]:
    """Everything a plan says, as the names and values of inputs."""
    plain = [one for path, one in FIELDS.items() if "*" not in path and value_at(document, start + path) is not None]
    if start:
        plain += [FIELDS[f"{MEMBERS}.*.start_month"], FIELDS[f"{MEMBERS}.*.after"]]
    controls = [control(one, document, start + one.path.removeprefix(f"{MEMBERS}.*.")) for one in plain]
    tables = [row_table(one, document, start) for path, one in TABLES.items() if value_at(document, start + path)]
    controls += [one for table in tables for row in table.rows for one in (*row.controls, *row.more)]
    switched = [
        Part(f"{OFF}{start}{one}", "none", "") for one in MAY_BE_OFF if value_at(document, start + one) == "none"
    ]
    return [part for one in controls for part in one.parts if part.value] + switched


def kept_parts(document: Document) -> list[Part]:
    """Members that a plan had before it became one of another task: carried along, so that nothing is lost."""
    if document.get("task") == "life":
        return []
    return [part for start in member_starts(document) for part in given_parts(document, start)]


def fitting(document: Document) -> Document:
    """Without the members that only a life plan has."""
    return document if document.get("task") == "life" else {key: document[key] for key in document if key != MEMBERS}


MEMBER_TASKS = tuple(task for task in TASKS if task != "life")


def member_tasks() -> list[tuple[str, str]]:
    """What a member may be of."""
    return [(task, task_words(task)) for task in MEMBER_TASKS]


# ---- changes to the list of members


def add_member(document: Document, task: str) -> str:
    """One member more, after the last that does not go on and on; where it stands."""
    rows = document.setdefault(MEMBERS, [])
    before = [str(row["name"]) for row in rows if row.get("name") and row.get("task") not in SERVING]
    rows.append({"name": free_name(task, rows), "task": task, **({"after": before[-1]} if before else {})})
    return f"{MEMBERS}.{len(rows) - 1}"


def free_name(task: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The task's words, with a number where a member is called so already."""
    name, taken, number = task_words(task) or task, {str(row.get("name")) for row in rows}, 2
    candidate = name
    while candidate in taken:
        candidate, number = f"{name} {number}", number + 1
    return candidate


def drop_member(document: Document, place: str) -> None:
    """Without a member; what followed it follows the one it followed."""
    number = number_of(document, place)
    if number is None:
        return
    gone = document[MEMBERS].pop(number)
    for row in document[MEMBERS]:
        if gone.get("name") and row.get("after") == gone["name"]:
            row.pop("after")
            row.update({"after": gone["after"]} if gone.get("after") else {})


def swap_members(document: Document, place: str, step: int) -> None:
    """A member one place further up or down."""
    number = number_of(document, place)
    if number is None or not 0 <= number + step < len(document[MEMBERS]):
        return
    rows = document[MEMBERS]
    rows[number], rows[number + step] = rows[number + step], rows[number]


def number_of(document: Document, place: str) -> int | None:
    """The number in `members.2`, if there is such a member."""
    head, _dot, number = place.rpartition(".")
    rows = document.get(MEMBERS)
    known = head == MEMBERS and number.isdigit() and isinstance(rows, list) and int(number) < len(rows)
    return int(number) if known else None


def moved(shown: Iterable[str], ask: Mapping[str, Any]) -> list[str]:
    """Which members stand open after one was removed or changed places with its neighbour."""
    numbers = [int(place.rpartition(".")[2]) for place in shown if place.rpartition(".")[2].isdigit()]
    for key, step in (("up", -1), ("down", 1)):
        if (number := ask.get(key, "").rpartition(".")[2]).isdigit():
            places = {int(number): int(number) + step, int(number) + step: int(number)}
            numbers = [places.get(one, one) for one in numbers]
    dropped = ask.get("drop", "")
    if dropped.startswith(f"{MEMBERS}.") and dropped.count(".") == 1:
        gone = int(dropped.rpartition(".")[2])
        numbers = [one - (one > gone) for one in numbers if one != gone]
    return [f"{MEMBERS}.{number}" for number in numbers]


def own_section(document: Document, place: str) -> None:
    """A section of a member's own, beginning with the figures of the whole."""
    start = member_start(place)
    section = place.removeprefix(start)
    if start and section in SHARED and value_at(document, start.removesuffix(".")) is not None:
        value_at(document, start.removesuffix("."))[section] = document.get(section) or {NEW: True}


def whole_section(document: Document, place: str) -> None:
    """A member without a section of its own."""
    start = member_start(place)
    member = value_at(document, start.removesuffix(".")) if start else None
    if isinstance(member, dict):
        member.pop(place.removeprefix(start), None)


def wrapped(document: Document, task: str) -> Document:
    """A plan that becomes a life: what it said of its own work is its first member."""
    own = {key: value for key, value in document.items() if key not in KEPT_FOR_THE_WHOLE and key not in OF_THE_WHOLE}
    whole = {key: value for key, value in document.items() if key in KEPT_FOR_THE_WHOLE}
    if own:
        copied = {key: document[key] for key in COPIED if document.get(key)}
        rows = whole.get(MEMBERS, [])
        whole[MEMBERS] = [{"name": free_name(task, rows), "task": task, **copied, **own}, *rows]
    return whole


def renamed(document: Document, post: QueryDict) -> Document:
    """What follows a member goes on following it under its new name."""
    names = {}
    for start in member_starts(document):
        before, now = post.get(NAMED + start.removesuffix("."), ""), value_at(document, f"{start}name")
        if before and now and before != now:
            names[before] = now
    for row in document.get(MEMBERS, []) if names else []:
        if row.get("after") in names:
            row["after"] = names[row["after"]]
    return document


# ---- what the estimate says of them


def with_places(faults: Iterable[Fault], document: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Faults of what a member has from the whole, told where the whole says it."""
    return tuple(at_its_field(fault, document) for fault in faults)


def at_its_field(fault: Fault, document: Mapping[str, Any]) -> Fault:
    start = member_start(fault.path)
    inner = fault.path.removeprefix(start)
    if start and inner.partition(".")[0] in inherited(dict(document), start):
        return replace(fault, path=inner)
    return fault


def member_state(place: str, faults: Iterable[Fault], warnings: int) -> State:
    """How a member is doing as a whole."""
    mine = [fault for fault in faults if fault.path == place or fault.path.startswith(f"{place}.")]
    return state_for(mine, warnings) or State("ok", _("complete"))


def member_totals(answer: Mapping[str, Any] | None, currency: str) -> dict[str, Decimal | None]:
    """What each member costs on average, by its place."""
    found = answer.get("members", ()) if answer else ()
    return {f"{MEMBERS}.{number}": as_money(one["cost"]["total"]["mean"], currency) for number, one in enumerate(found)}


def is_on_form(path: str, document: Document, shown: Iterable[str]) -> bool:
    """Whether a place has its field on the form that was sent: those of a closed member have none."""
    start = member_start(path)
    if not start:
        return path != MEMBERS or document.get("task") == "life"
    section = path.removeprefix(start).partition(".")[0]
    return start.removesuffix(".") in shown and section not in inherited(document, start)
