"""Plain makers of lines, proposals and metered cost, with amounts that the test states."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import yaml

from budgets.models import ApprovalRule, ApprovalStep, AskLine, BudgetLine, Entry, Proposal, ProposalVersion
from budgets.services import lines as line_services
from budgets.services import proposals
from core.months import Month, Period
from core.vocabulary import LINES
from estimates.models import Estimate
from teams.models import Project, User
from usage.models import DailyUsage, Meter, Source

YEAR = Period(date(2027, 1, 1), date(2028, 1, 1))
PLAN = {
    "name": "small",
    "task": "pretrain",
    "currency": "USD",
    "start": "2027-01-01",
    "model": {"parameters": "1B", "layers": 16, "hidden_size": 2048, "sequence_length": 2048},
    "data": {"tokens": "20B", "licence_cost": 1000},
    "compute": {
        "accelerator": "own-card",
        "count": 8,
        "mfu": 0.4,
        "peak_tflops": 989,
        "memory_gb": 80,
        "price_per_accelerator_hour": 2,
    },
    "reliability": "none",
    "experiments": "none",
    "model_error": "none",
    "storage": {"log_gb_per_day": 0, "corpus_replicas": 0, "keep_last": 0, "keep_milestones": 0},
    "contingency": 0.1,
}
"""Figures instead of prices, so that the catalogue has no say."""
NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)


def line(
    project: Project,
    category: str = "compute",
    *,
    granted: int | str = 0,
    period: Period = YEAR,
    period_kind: str = "year",
    **fields,
) -> BudgetLine:
    """A line with its default thresholds and, where granted, money on it."""
    opened = line_services.add_line(
        project, category, period_kind, period, fields.pop("task_type", ""), subcategory=fields.pop("subcategory", "")
    )
    for name, value in fields.items():
        setattr(opened, name, value)
    opened.save()
    if granted:
        entry(opened, "grant", granted)
    return opened


def entry(on: BudgetLine, kind: str, amount: int | str, **fields) -> Entry:
    if kind == "commit":
        fields.setdefault("others_spent", Decimal(0))
    return Entry.objects.create(line=on, kind=kind, amount=Decimal(amount), **fields)


def estimate(
    project: Project, by: User, asks: Mapping[tuple[str, str], int], *, frozen: bool = False, hours: int = 0
) -> Estimate:
    """An estimate whose means are the asked amounts; P10 is 10 % less, P90 20 % more. `hours`: of accelerators."""
    total = sum(asks.values())
    by_line: dict[str, int] = {}
    by_month: dict[str, dict[str, float]] = {}
    for (category, month), amount in asks.items():
        by_line[category] = by_line.get(category, 0) + amount
        by_month.setdefault(month, dict.fromkeys(map(str, LINES), 0.0))[category] = float(amount)
    spread = {"mean": 1.0, "p10": 0.9, "p50": 1.0, "p80": 1.1, "p90": 1.2}
    answer = {
        "plan": "base",
        "price_keys": [],
        "prices": [],
        "warnings": [],
        "quantities": {"total_accelerator_hours": {"mean": float(hours)}} if hours else {},
        "cost": {
            "total": {name: total * factor for name, factor in spread.items()},
            "by_line": {
                category: {name: amount * factor for name, factor in spread.items()}
                for category, amount in by_line.items()
            },
            "by_cause": {},
            "by_month": [
                {"month": month, "mean": sum(lines.values()), "by_line": lines}
                for month, lines in sorted(by_month.items())
            ],
        },
        "ask": {
            "level": "mean",
            "total": float(total),
            "by_line": {category: float(amount) for category, amount in by_line.items()},
            "levels": {name: {"total": total * factor} for name, factor in spread.items()},
        },
    }
    return Estimate.objects.create(
        project=project,
        name="base",
        plan={**PLAN, "currency": project.currency},
        priced=answer,
        currency=project.currency,
        state=Estimate.State.FROZEN if frozen else Estimate.State.DRAFT,
        prices_on=date(2027, 1, 1),
        engine_version="1",
        samples=100,
        total_mean=total,
        total_p10=total,
        total_p50=total,
        total_p90=total,
        ask_total=total,
        created_by=by,
        computed_at=NOON,
    )


def draft(project: Project, by: User, asks: Mapping[tuple[str, str], int], *, title: str = "Base") -> Proposal:
    """A draft proposal with its first version."""
    proposal = Proposal.objects.create(project=project, requester=by, title=title, task_type="pretrain")
    made = estimate(project, by, asks)
    ProposalVersion.objects.create(proposal=proposal, number=1, estimate=made, currency=project.currency)
    return proposal


def submitted(
    project: Project, by: User, asks: Mapping[tuple[str, str], int], *, title: str = "Base", hours: int = 0
) -> tuple[Proposal, ApprovalStep]:
    """A proposal that waits for its first decision, with the amounts asked by (category, month)."""
    if not ApprovalRule.objects.exists():
        ApprovalRule.objects.create(step=1, role="manager")
        ApprovalRule.objects.create(step=2, role="director", above=500_000)
    proposal = Proposal.objects.create(
        project=project, requester=by, title=title, task_type="pretrain", state=Proposal.State.SUBMITTED
    )
    return proposal, amended(proposal, by, asks, hours=hours)


def amended(proposal: Proposal, by: User, asks: Mapping[tuple[str, str], int], *, hours: int = 0) -> ApprovalStep:
    """The next version of a proposal, submitted; answers the first step it waits for."""
    version = ProposalVersion.objects.create(
        proposal=proposal,
        number=proposal.versions.count() + 1,
        estimate=estimate(proposal.project, by, asks, frozen=True, hours=hours),
        currency=proposal.project.currency,
        state=ProposalVersion.State.SUBMITTED,
        ask_total=sum(asks.values()),
        submitted_by=by,
        submitted_at=NOON,
    )
    by_category: dict[str, Decimal] = {}
    for (category, month), amount in asks.items():
        AskLine.objects.create(version=version, category=category, month=Month.parse(month).start, amount=amount)
        by_category[category] = by_category.get(category, Decimal(0)) + amount
    proposals.lay_out_steps(proposal, version, by_category, by=by, now=NOON)
    version.save()
    return version.steps.order_by("number")[0]


def source(slug: str = "bill") -> Source:
    return Source.objects.get_or_create(
        slug=slug, defaults={"name": slug, "meaning": "statement", "money": "own", "format": "focus"}
    )[0]


def cost(
    project: Project,
    amount: int | str,
    *,
    day: date = date(2027, 1, 10),
    category: str = "compute",
    reference: str = "",
    currency: str = "USD",
    task_type: str = "",
    stage: str = "",
    charge_category: str = "Usage",
    billed: int | str | None = None,
    billing_month: date | None = None,
    hours: int | str = 0,
) -> DailyUsage:
    """Metered cost of one day, as an import would have rolled it up."""
    meter = Meter.objects.get_or_create(
        source=source(),
        digest=uuid.uuid5(uuid.NAMESPACE_OID, charge_category),
        defaults={"charge_category": charge_category},
    )[0]
    return DailyUsage.objects.create(
        meter=meter,
        day=day,
        billing_month=billing_month or day.replace(day=1),
        currency=currency,
        project=project,
        category=category,
        task_type=task_type,
        stage=stage,
        reference=reference,
        rows=1,
        billed=Decimal(amount if billed is None else billed),
        effective=Decimal(amount),
        list_cost=0,
        contracted=0,
        quantity=0,
        accelerator_hours=Decimal(hours),
        cpu_core_hours=0,
    )


def plan_text(**changes) -> str:
    """The plan as one would type it, with parts of it changed."""
    return yaml.safe_dump({**PLAN, **changes})
