"""One plan, read into a draft: its short forms spelled out, its keys walked, its rules checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from estimates.engine.cells import PERT_KEYS, QUANTILE_KEYS, accepted
from estimates.engine.consistency import check_together
from estimates.engine.fields import ALIASES, FIELDS
from estimates.engine.messages import Phrase
from estimates.engine.reading import Tree, below
from estimates.engine.requirements import check_exclusive, check_required
from estimates.engine.walking import Draft, walk


def read_plan(tree: Tree, prefix: str, start: date | None = None) -> Draft:
    """A draft of one plan, with all its faults. `prefix` is where it stands in a life plan."""
    draft = Draft()
    walk(spelled_out(tree, prefix, draft), prefix, draft)
    dotted = f"{prefix}." if prefix else ""
    if draft.has("members"):
        draft.refuse(f"{dotted}members", None, "members_without_life", (Phrase("word", {"word": "task: life"}),))
    if draft.has("task"):
        if "task" in draft.words:
            check_required(draft, draft.words["task"], dotted)
    else:
        draft.refuse(f"{dotted}task", None, "missing", accepted(FIELDS["task"]))
    check_exclusive(draft, dotted)
    check_together(draft, dotted, start)
    return draft


def spelled_out(tree: Tree, prefix: str, draft: Draft) -> Tree:
    """The document without its short forms: keys that belong elsewhere, and a bare number as `model_error`."""
    spelled = dict(tree)
    for short, path in ALIASES.items():
        raw = spelled.pop(short, None)
        section, _, key = path.partition(".")
        if raw is None:
            continue
        inner = spelled.get(section)
        if isinstance(inner, Mapping) and inner.get(key) is not None:
            draft.refuse(below(prefix, short), raw, "given_twice", (Phrase("leave_out"),), other=below(prefix, path))
        elif isinstance(inner, Mapping) or inner is None:
            spelled[section] = {**(inner or {}), key: raw}
        else:
            draft.refuse(below(prefix, short), raw, "exclusive", (Phrase("leave_out"),), other=below(prefix, section))
    error = spelled.get("model_error")
    is_range = isinstance(error, Mapping) and any(key in error for key in (*PERT_KEYS, *QUANTILE_KEYS))
    is_none = isinstance(error, str) and error.strip().lower() == "none"
    if error is not None and not is_none and (is_range or not isinstance(error, Mapping | list)):
        spelled["model_error"] = {"sigma": error}
    return spelled
