"""What a plan brings forward for itself, read from its frozen estimate: the gate by evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from core.vocabulary import TaskType

from .models import Decision, Entry, Proposal, ProposalVersion
from .models.proposals import ProposalQuerySet

ZERO = Decimal(0)


@dataclass(frozen=True)
class Evidence:
    """What an approver looks for; None: not stated."""

    acceptance: Mapping[str, Any] | None
    rungs: int
    redundancy: float | None
    justification: str
    needs_justification: bool
    compliance: float
    price_age_days: int | None
    over_budget: float | None
    misses_deadline: float | None


def evidence_of(version: ProposalVersion) -> Evidence:
    plan, answer = version.estimate.plan, version.estimate.answer
    experiments = plan.get("experiments")
    probability = answer.get("probability") or {}
    return Evidence(
        acceptance=plan.get("acceptance") or None,
        rungs=len(experiments) if isinstance(experiments, list) else 0,
        redundancy=(answer.get("quantities", {}).get("redundancy_factor") or {}).get("p50"),
        justification=str(plan.get("justification") or ""),
        needs_justification=version.proposal.task_type == TaskType.PRETRAIN,
        compliance=(answer.get("quantities", {}).get("compliance_cost") or {}).get("mean") or 0.0,
        price_age_days=price_age(answer, version.estimate.prices_on),
        over_budget=probability.get("over_budget"),
        misses_deadline=probability.get("misses_deadline"),
    )


def price_age(answer: Mapping[str, Any], prices_on: date) -> int | None:
    """How old the oldest price was that the estimate used."""
    days = [date.fromisoformat(price["valid_from"]) for price in answer.get("prices") or []]
    return (prices_on - min(days)).days if days else None


@dataclass(frozen=True)
class LikeRun:
    """A closed proposal of the same kind: its range, and what it came to."""

    proposal: Proposal
    p10: Decimal
    p50: Decimal
    p90: Decimal
    outcome: Decimal

    @property
    def is_inside(self) -> bool:
        return self.p10 <= self.outcome <= self.p90


def like_runs(proposal: Proposal, visible: ProposalQuerySet, *, most: int = 5) -> list[LikeRun]:
    """What finished work like this really cost: closed proposals of the same task and currency, newest first."""
    closed = list(
        visible.filter(
            state=Proposal.State.CLOSED, task_type=proposal.task_type, project__currency=proposal.project.currency
        )
        .exclude(pk=proposal.pk)
        .select_related("project")
        .order_by("-closed_at")[:most]
    )
    used: dict[int, Decimal] = {}
    entries = Entry.objects.filter(proposal__in=closed, kind__in=[Entry.Kind.COMMIT, Entry.Kind.RELEASE])
    for entry in entries.exclude(line__category="contingency"):
        sign = 1 if entry.kind == Entry.Kind.COMMIT else -1
        used[entry.proposal_id or 0] = used.get(entry.proposal_id or 0, ZERO) + sign * entry.amount
    approved = ProposalVersion.objects.filter(
        proposal__in=closed, steps__decision__outcome__in=[Decision.Outcome.APPROVE, Decision.Outcome.APPROVE_PART]
    ).select_related("estimate")
    estimates = {version.proposal_id: version.estimate for version in approved.order_by("number")}
    return [
        LikeRun(each, estimate.total_p10, estimate.total_p50, estimate.total_p90, used.get(each.pk, ZERO))  # type: ignore[arg-type]
        for each in closed
        if (estimate := estimates.get(each.pk)) is not None and estimate.total_p10 is not None
    ]
