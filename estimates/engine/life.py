"""A life plan: member plans with relative starts, and what they share, read into drafts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from estimates.engine.cells import accepted, read_cell
from estimates.engine.consistency import check_together
from estimates.engine.drafting import read_plan, spelled_out
from estimates.engine.fields import FIELDS, TABLES
from estimates.engine.messages import Phrase, PlanFault
from estimates.engine.reading import Tree, below
from estimates.engine.requirements import check_exclusive
from estimates.engine.walking import Draft, walk

LIFE_KEYS = (
    "name task currency start deadline budget acceptance justification predecessor contingency model_error"
    " model compute reliability members"
).split()
SHARED = ("model_error", "model", "compute", "reliability")
"""Sections that a life plan may give for all members; a member that has the section has it whole."""
OF_THE_WHOLE = ("start", "budget", "contingency", "model_error", "members")
"""What a member must not have."""
SECTION_KEYS = frozenset(path.partition(".")[0] for path in (*FIELDS, *TABLES))


@dataclass(frozen=True)
class MemberDraft:
    """A member that was read, and when it begins."""

    name: str
    draft: Draft
    start_month: int
    after: str | None
    document: Tree
    """As it stands in the normalised life plan: without what it has from the whole."""


def read_life(tree: Tree) -> tuple[Draft, list[MemberDraft]]:
    """A draft of the whole, which also collects the faults of its members."""
    draft = Draft()
    top = spelled_out(tree, "", draft)
    rows = top.pop("members", None)
    for key in [key for key in top if (key in FIELDS or key in SECTION_KEYS) and key not in LIFE_KEYS]:
        if top.pop(key) is not None:
            draft.refuse(key, None, "shared_only", (Phrase("keys", {"keys": ", ".join(LIFE_KEYS)}),))
    walk(top, "", draft)
    check_exclusive(draft, "")
    check_together(draft, "", None)
    if not isinstance(rows, list) or not rows or len(rows) > TABLES["members"].most_rows:
        code = "missing" if not rows else "wrong_type_list" if not isinstance(rows, list) else "too_many_rows"
        limit = (Phrase("list", {"rows": TABLES["members"].most_rows}),)
        draft.refuse("members", rows, code, limit, **({"rows": len(rows)} if code == "too_many_rows" else {}))
        return draft, []
    shared = {key: top[key] for key in SHARED if top.get(key) is not None}
    members: list[MemberDraft] = []
    for index, row in enumerate(rows):
        member = _read_member(row, f"members.{index}", shared, draft, [known.name for known in members])
        if member is not None:
            members.append(member)
    draft.document["members"] = [member.document for member in members]
    draft.seen["members"] = rows
    return draft, members


def _read_member(row: Any, path: str, shared: Tree, whole: Draft, earlier: list[str]) -> MemberDraft | None:
    """One member of a life plan; its faults go to the draft of the whole."""
    if not isinstance(row, Mapping):
        whole.refuse(path, row, "wrong_type_row", (Phrase("section", {"example": "name, task, start_month"}),))
        return None
    known = len(whole.faults)
    own = dict(row)
    when = {}
    for key in ("start_month", "after"):
        raw = own.pop(key, None)
        cell = None if raw is None else read_cell(raw, FIELDS[f"members.*.{key}"], below(path, key), whole.faults)
        if cell is not None:
            when[key] = cell
    for key in OF_THE_WHOLE:
        if own.pop(key, None) is not None:
            whole.refuse(below(path, key), None, "whole_only", (Phrase("leave_out"),))
    currency = whole.words.get("currency", "USD")
    given_currency = own.setdefault("currency", currency)
    draft = read_plan({**shared, **own}, path, whole.days.get("start"))
    whole.faults.extend(fault for fault in draft.faults if not _is_shared_fault(fault, path, shared, own, whole))
    if draft.words.get("currency", currency) != currency:
        whole.refuse(
            below(path, "currency"), given_currency, "other_currency", (Phrase("leave_out"),), currency=currency
        )
    if draft.words.get("task") == "life":
        whole.refuse(below(path, "task"), "life", "life_in_life", accepted(FIELDS["task"]))
    name = draft.words.get("name")
    after = when["after"].written if "after" in when else None
    if name is None and not draft.has("name"):
        whole.refuse(below(path, "name"), None, "missing", accepted(FIELDS["name"]))
    if name in earlier:
        whole.refuse(below(path, "name"), name, "member_twice")
    if after is not None and after not in earlier:
        whole.refuse(below(path, "after"), after, "member_unknown", (Phrase("one_of", {"words": ", ".join(earlier)}),))
    if len(whole.faults) > known or name is None:
        return None
    starts = int(when["start_month"].written) if "start_month" in when else 0
    kept = {key: inner for key, inner in draft.document.items() if key in own or key not in shared}
    if "currency" not in row:
        kept.pop("currency")
    document = {**kept, **{key: cell.written for key, cell in when.items()}}
    return MemberDraft(name, draft, starts, after, document)


def _is_shared_fault(fault: PlanFault, path: str, shared: Tree, own: Tree, whole: Draft) -> bool:
    """Whether a fault lies in a section the member has from the whole, where it is told already."""
    section = fault.path.removeprefix(f"{path}.").partition(".")[0]
    if section not in shared or section in own:
        return False
    return any(other.path.partition(".")[0] == section for other in whole.faults)
