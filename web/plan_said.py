"""What is said beside each field and in each part of the form: hints, faults, warnings, how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from core.errors import Fault
from estimates.engine.plan import Plan
from web.plan_fields import Document, words_of
from web.plan_groups import GROUPS, LIFE_GROUPS, State, field_path, group_key, is_missing, state_of
from web.plan_hints import Said, hints_of
from web.plan_members import member_state
from web.plan_places import MEMBERS, member_start, member_starts

PLACES = {
    "undertrained": "data.tokens",
    "overtrained": "data.tokens",
    "tokens_before_quality": "data.tokens",
    "duplicate_share_high": "data.duplicate_share",
    "compliance_missing": "data.compliance_cost",
    "no_acceptance": "acceptance.metric",
    "no_justification": "justification",
    "reuse_is_cheaper": "justification",
    "misses_deadline": "deadline",
    "no_ladder": "experiments",
    "experiments_missing": "experiments",
    "experiment_repeated": "experiments",
    "redundancy_below_history": "experiments",
    "redundancy_by_feeling": "experiments",
    "interval_far_from_optimum": "reliability.restart_hours",
    "restore_untested": "reliability.restore_tested",
    "infeasible": "reliability",
    "all_checkpoints_kept": "storage.keep_last",
    "too_few_checkpoints": "storage.keep_last",
    "checkpoint_size_unknown": "model.parameters",
    "peak_held_all_day": "inference",
    "one_peak_only": "inference",
    "below_peak_or_service_level": "inference",
    "full_finetune_avoidable": "finetune",
    "label_quality_unknown": "finetune",
}
"""Where a warning belongs, by its code; the others belong to the hardware."""


def said_of(plan: Plan | None, answer: Mapping[str, Any] | None, faults: Sequence[Fault]) -> dict[str, Said]:
    """A sentence for every field that has one, by its path. A fault wins over a hint."""
    said = all_hints_of(plan, answer) if plan is not None and answer is not None else {}
    for fault in faults:
        place = field_path(fault.path)
        if place and is_missing(fault):
            said[place] = Said(_("needed"), "warn")
        elif place and not (place in said and said[place].kind == "error"):
            sentence = f"{fault.message} {accepted_text(fault)}".strip()
            said[place] = Said(sentence, "error")
    return said


def all_hints_of(plan: Plan, answer: Mapping[str, Any]) -> dict[str, Said]:
    """The hints of a plan, or those of every member of a life plan at its place."""
    if not plan.members:
        return hints_of(plan, answer)
    found = zip(plan.members, answer["members"], strict=True)
    return {
        f"{MEMBERS}.{number}.{path}": said
        for number, (member, own) in enumerate(found)
        for path, said in hints_of(member.plan, own).items()
    }


def accepted_text(fault: Fault) -> str:
    return f"({fault.accepted})" if fault.accepted else ""


def warning_group(warning: Mapping[str, Any]) -> str:
    return group_key(PLACES.get(warning["code"], "compute.mode"))


def notices_of(answer: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """The warnings of an answer as sentences, by the part of the form they belong to."""
    found: dict[str, list[str]] = {key: [] for key in GROUPS}
    members = answer.get("members") if answer else None
    if answer and members is None:
        put_notices(found, answer["warnings"], "")
    for number, member in enumerate(members or ()):
        put_notices(found, member["warnings"], f"{MEMBERS}.{number}.")
    return found


def put_notices(found: dict[str, list[str]], warnings: Sequence[Mapping[str, Any]], start: str) -> None:
    for warning in warnings:
        sentence = words_of(warning["message"], warning["message_zh"])
        found.setdefault(start + warning_group(warning), []).append(sentence)


def states_of(
    document: Document, notices: Mapping[str, Sequence[str]], faults: Sequence[Fault], shown: Iterable[str] = ()
) -> dict[str, State]:
    """How each part of the form is doing, and each member of a life plan; of those that are shown, each part."""
    if document.get("task") != "life":
        return {key: state_of(key, document, faults, len(notices[key])) for key in GROUPS}
    states = {key: state_of(key, document, faults, 0) for key in LIFE_GROUPS}
    for start in member_starts(document):
        own = {key: len(said) for key, said in notices.items() if member_start(key) == start}
        states[start.removesuffix(".")] = member_state(start.removesuffix("."), faults, sum(own.values()))
        if start.removesuffix(".") in shown:
            keys = [start + key for key in GROUPS]
            states |= {key: state_of(key, document, faults, own.get(key, 0)) for key in keys}
    return states
