"""Was this done before? Proposals and runs that are like a proposal, and the models and data there are already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from core.vocabulary import TaskType
from estimates.engine.numbers import NotANumber, parse_number
from teams.models import Project, User
from usage.models import Run

from .amortising import part_of_rest
from .assets import standings
from .models import Asset, Proposal, ProposalVersion

LOOKED_AT = 300
"""So many of the newest proposals of the same task are compared."""
ABOUT_AS_LARGE = 0.2
"""Two models whose parameters differ by less than this share are of one size."""
WORDS_OF_THE_REQUEST = ("name", "start", "justification", "deadline", "budget", "contingency", "prices_on")
"""Keys of a plan that say what is wanted around an experiment, and not what it is."""
DECIDED = [state for state in Proposal.State.values if state not in (Proposal.State.DRAFT, Proposal.State.WITHDRAWN)]


class Why(StrEnum):
    """In what something is like the proposal, the closest first."""

    PLAN = "plan"
    NAME = "name"
    SIZE = "size"


@dataclass(frozen=True)
class Precedent:
    """A proposal or a run that is like another proposal."""

    why: Why
    proposal: Proposal | None = None
    run: Run | None = None


def fingerprint(plan: Mapping[str, Any]) -> str:
    """The same for two plans of one experiment, whatever they are called and whenever they start."""
    kept = {key: value for key, value in plan.items() if key not in WORDS_OF_THE_REQUEST}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def size_of(plan: Mapping[str, Any]) -> float | None:
    """Parameters of the plan's model; None where it states none, or a range."""
    model = plan.get("model")
    stated = model.get("parameters") if isinstance(model, Mapping) else None
    if stated is None or isinstance(stated, Mapping | list):
        return None
    try:
        return float(parse_number(stated).amount)
    except NotANumber:
        return None


def likeness(plan: Mapping[str, Any], other: Mapping[str, Any]) -> Why | None:
    """In what two plans of one task are alike."""
    if fingerprint(plan) == fingerprint(other):
        return Why.PLAN
    if is_name(plan.get("name")) and name_of(plan) == name_of(other):
        return Why.NAME
    size, known = size_of(plan), size_of(other)
    if size and known and abs(size - known) <= ABOUT_AS_LARGE * size:
        return Why.SIZE
    return None


def name_of(plan: Mapping[str, Any]) -> str:
    return str(plan.get("name") or "").strip().casefold()


def is_name(text: object) -> bool:
    return bool(str(text or "").strip())


def precedents(version: ProposalVersion, user: User, *, most: int = 5) -> list[Precedent]:
    """Proposals that were submitted, and runs, that are like this version, as far as the person may see them."""
    plan = version.estimate.plan
    others = (
        ProposalVersion.objects.filter(
            proposal__in=Proposal.objects.visible_to(user).filter(state__in=DECIDED),
            proposal__task_type=version.proposal.task_type,
            ask_total__isnull=False,
        )
        .exclude(proposal=version.proposal_id)
        .order_by("-pk")
        .values_list("proposal", "estimate__plan")[:LOOKED_AT]
    )
    found: dict[int, Why] = {}
    for number, other in others:
        why = likeness(plan, other)
        if why and (number not in found or list(Why).index(why) < list(Why).index(found[number])):
            found[number] = why
    proposals = Proposal.objects.select_related("project").in_bulk(found)
    of_proposals = [Precedent(why, proposal=proposals[number]) for number, why in found.items()]
    of_runs = [Precedent(Why.NAME, run=run) for run in runs_named(names_in(plan), version, user)[:most]]
    return sorted([*of_proposals, *of_runs], key=lambda each: list(Why).index(each.why))[:most]


def names_in(plan: Mapping[str, Any]) -> set[str]:
    """What the plan and its experiments are called."""
    rows = plan.get("experiments")
    named = [plan, *(row for row in rows if isinstance(row, Mapping))] if isinstance(rows, list) else [plan]
    return {str(each["name"]).strip() for each in named if is_name(each.get("name"))}


def runs_named(names: Iterable[str], version: ProposalVersion, user: User) -> list[Run]:
    """Runs of the team that are called like the plan or one of its experiments, and are not this proposal's own."""
    own_team = Project.objects.filter(team=version.proposal.project.team_id)
    runs = Run.objects.visible_to(user).filter(project__in=own_team).exclude(reference=version.proposal.reference)
    named = Run.objects.none()
    for name in sorted(names):
        named = named | runs.filter(name__iexact=name) | runs.filter(experiment__iexact=name)
    return list(named.select_related("project").order_by("-id"))


@dataclass(frozen=True)
class Reusable:
    """An asset that could be used instead, and what one month or task of it costs."""

    asset: Asset
    part: Decimal


def reusable_assets(proposal: Proposal, user: User, *, most: int = 3) -> list[Reusable]:
    """Models that there are already, for work that would train one from nothing; data sets for work on data."""
    kinds = {TaskType.PRETRAIN: Asset.Kind.MODEL, TaskType.DATA_WORK: Asset.Kind.DATA_SET}
    kind = kinds.get(TaskType(proposal.task_type))
    if kind is None:
        return []
    visible = Asset.objects.visible_to(user).filter(kind=kind, currency=proposal.project.currency)
    assets = list(visible.exclude(proposal=proposal)[:most])
    stands = standings(assets)
    return [
        Reusable(asset, part_of_rest(stands[asset.pk].rest, 1, stands[asset.pk].units_left, asset.currency))
        for asset in assets
    ]
