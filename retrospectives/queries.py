"""Questions about retrospectives."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import Avg, Count, F, Max, Min, Q, QuerySet, Sum

from budgets.models import Proposal
from core.vocabulary import Category, TaskType
from estimates.models import Estimate
from teams.models import User
from usage.models import DailyUsage, RunMetric, Source
from usage.runs.queries import MFU_SERIES

from .models import Measurement, Retrospective


def retrospectives_of(user: User) -> QuerySet[Retrospective]:
    """What the person may see, open ones first, each with how many of its actions are done."""
    return (
        Retrospective.objects.visible_to(user)
        .select_related("project__team", "crossing__flag__line", "proposal", "owner")
        .annotate(actions_all=Count("actions"), actions_done=Count("actions", filter=Q(actions__done_at__isnull=False)))
        .order_by(F("closed_at").desc(nulls_first=True), "due_on", "id")
    )


def measured_like(proposal: Proposal, user: User, *, most: int = 5) -> list[Measurement]:
    """What was measured of finished work of the same task, newest first: what a closed retrospective stands by."""
    closed = Retrospective.objects.visible_to(user).filter(state=Retrospective.State.CLOSED)
    same_task = Q(retrospective__proposal__task_type=proposal.task_type) | Q(
        retrospective__proposal__isnull=True, retrospective__project__task_type=proposal.task_type
    )
    return list(
        Measurement.objects.filter(same_task, retrospective__in=closed, accelerator_hours__gt=0)
        .exclude(retrospective__proposal=proposal)
        .select_related("retrospective__project")
        .order_by("-retrospective__closed_at")[:most]
    )


def proposal_of(found: Retrospective) -> Proposal | None:
    """What was approved for the work one looks back at: the proposal itself, or the largest promise on the line."""
    if found.proposal is not None or found.crossing is None:
        return found.proposal
    held = found.crossing.flag.line.entries.filter(kind="commit").order_by("-amount").first()
    return held.proposal if held else None


def estimate_of(found: Retrospective) -> Estimate | None:
    """The estimate of what was approved."""
    proposal = proposal_of(found)
    version = proposal.versions.select_related("estimate").order_by("-number").first() if proposal else None
    return version.estimate if version else None


def measured_so_far(found: Retrospective) -> dict[str, Any]:
    """What bills, job logs and run metrics say by themselves of the project's work; only what is known."""
    used = DailyUsage.objects.filter(project=found.project, accelerator_hours__gt=0).exclude(
        meter__source__in=split_sources(found)
    )
    sums = used.aggregate(
        hours=Sum("accelerator_hours"),
        small=Sum("accelerator_hours", filter=Q(task_type=TaskType.ABLATION)),
        since=Min("day"),
        until=Max("day"),
    )
    known: dict[str, Any] = {"since": sums["since"], "until": sums["until"], **run_figures(found)}
    if sums["hours"]:
        known["accelerator_hours"] = sums["hours"]
        known["experiment_share"] = (sums["small"] or Decimal(0)) / sums["hours"]
        known["price_per_accelerator_hour"] = price_paid(found, sums["hours"])
    estimate = estimate_of(found)
    if estimate is not None:
        known["accelerator"] = (estimate.plan.get("compute") or {}).get("accelerator") or ""
    return {name: value for name, value in known.items() if value is not None}


def split_sources(found: Retrospective) -> QuerySet[Source]:
    """Bills whose hours the job logs of the project tell again: the logs know more."""
    told = DailyUsage.objects.filter(project=found.project, accelerator_hours__gt=0).values("meter__source")
    return Source.objects.filter(parts__in=told)


def price_paid(found: Retrospective, hours: Decimal) -> Decimal | None:
    """Effective cost of computing ÷ accelerator-hours, where it was all paid in the retrospective's currency."""
    cost = DailyUsage.objects.filter(project=found.project, category=Category.COMPUTE).exclude(currency="")
    sums = {row["currency"]: row["cost"] for row in cost.values("currency").annotate(cost=Sum("effective"))}
    return sums[found.currency] / hours if sums.keys() == {found.currency} and sums[found.currency] > 0 else None


def run_figures(found: Retrospective) -> dict[str, Any]:
    """From the metrics of the project's runs: their number, MFU, interruptions, and steps computed again."""
    metrics = RunMetric.objects.filter(run__project=found.project)
    attempts = list(metrics.values("run").annotate(attempts=Max("attempt")).values_list("attempts", flat=True))
    if not attempts:
        return {}
    mfu = metrics.filter(name__iregex=MFU_SERIES).aggregate(mean=Avg("value"))["mean"]
    return {
        "runs": len(attempts),
        "interruptions": Decimal(sum(attempts) - len(attempts)),
        "mfu": None if mfu is None else Decimal(repr(round(mfu, 6))),
        "rollback_share": steps_again(metrics),
    }


def steps_again(metrics: QuerySet[RunMetric]) -> Decimal | None:
    """Of all steps that were computed, the share that an earlier attempt had computed before."""
    computed = metrics.values("run", "step", "attempt").distinct().count()
    kept = metrics.values("run", "step").distinct().count()
    return Decimal(computed - kept) / Decimal(computed) if computed else None
