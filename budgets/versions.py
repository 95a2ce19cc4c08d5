"""Comparing versions of a proposal: what changed in the plan, and what that costs, adding up exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import Q

from core.money import round_money
from estimates import queries as estimate_queries
from estimates import services as estimates
from estimates.baselines.queries import history_of
from estimates.engine import difference as engine
from estimates.engine.plan import PlanRefused, parse_plan
from estimates.models import Price

from .models import Proposal, ProposalVersion

ZERO = Decimal(0)
APPROVED = (ProposalVersion.State.APPROVED, ProposalVersion.State.PARTLY_APPROVED)


@dataclass(frozen=True)
class InputChange:
    """One input of the plan that is not what it was; None where it was not stated."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True)
class CauseChange:
    """What one cause adds to the ask, and the inputs that moved. Cause `rest`: contingency, level, later prices."""

    cause: str
    amount: Decimal
    inputs: tuple[InputChange, ...] = ()


@dataclass(frozen=True)
class VersionDifference:
    """From one submitted version to another."""

    before: ProposalVersion
    after: ProposalVersion
    causes: tuple[CauseChange, ...]

    @property
    def amount(self) -> Decimal:
        return (self.after.ask_total or ZERO) - (self.before.ask_total or ZERO)

    @property
    def share(self) -> Decimal | None:
        return self.amount / self.before.ask_total if self.before.ask_total else None


def version_before(version: ProposalVersion) -> ProposalVersion | None:
    """What a version is compared with: the version approved before it, else the one submitted before it, else the
    last submitted version of the proposal it was cloned from."""
    known = None
    if version.number > 1:
        earlier = version.proposal.versions.filter(number__lt=version.number, ask_total__isnull=False).select_related(
            "estimate"
        )
        known = earlier.filter(state__in=APPROVED).order_by("-number").first() or earlier.order_by("-number").first()
    if known is None and version.proposal.cloned_from is not None:
        origin: Proposal = version.proposal.cloned_from
        known = (
            origin.versions.filter(ask_total__isnull=False, currency=version.currency)
            .select_related("estimate")
            .order_by("-number")
            .first()
        )
    return known


def version_difference(before: ProposalVersion, after: ProposalVersion) -> VersionDifference:
    """What moved the ask, by cause; the causes and the rest add up to the difference of the two asks."""
    changes = list(input_changes(before.estimate.plan, after.estimate.plan))
    try:
        found = engine.difference(
            parse_plan(before.estimate.plan),
            parse_plan(after.estimate.plan),
            prices=estimate_queries.price_book(),
            accelerators=estimate_queries.accelerator_book(),
            prices_on=after.estimate.prices_on,
            prices_on_before=before.estimate.prices_on,
            samples=after.estimate.samples,
            baseline=history_of(estimates.team_of(after.estimate), on=after.estimate.prices_on),
        )["causes"]
    except PlanRefused:
        found = []
    causes = []
    for row in found:
        amount = round_money(Decimal(repr(row["amount"] or 0.0)), after.currency)
        inputs = tuple(change for change in changes if engine.cause_of(change.path) == row["cause"])
        if amount or inputs:
            causes.append(CauseChange(row["cause"], amount, inputs))
    rest = (after.ask_total or ZERO) - (before.ask_total or ZERO) - sum((each.amount for each in causes), ZERO)
    if rest:
        causes.append(CauseChange("rest", rest))
    return VersionDifference(before, after, tuple(causes))


def ask_at_todays_prices(version: ProposalVersion, *, today: date) -> Decimal | None:
    """What a submitted version would ask for at the prices of today; None where no price has changed since, or the
    plan has no total today."""
    estimate = version.estimate
    changed = Price.objects.filter(
        Q(entered_at__gt=estimate.computed_at) | Q(valid_from__gt=estimate.prices_on, valid_from__lte=today)
    )
    if version.ask_total is None or not changed.exists():
        return None
    try:
        plan = parse_plan(estimate.plan)
        answer = estimate_queries.answer_for(
            plan, prices_on=today, samples=estimate.samples, team=estimates.team_of(estimate)
        )
    except PlanRefused:
        return None
    total = ((answer["ask"].get("levels") or {}).get(version.ask_level) or {}).get("total")
    return None if total is None else round_money(Decimal(repr(total)), version.currency)


def input_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[InputChange]:
    """Every input that differs between two plan documents, in the order of the later one."""
    old, new = dict(leaves(before)), dict(leaves(after))
    for path in [*new, *(path for path in old if path not in new)]:
        if old.get(path) != new.get(path):
            yield InputChange(path, old.get(path), new.get(path))


def leaves(document: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """The inputs of a plan document by their paths; a range and a list are one input."""
    for key, value in document.items():
        path = f"{start}{key}"
        if isinstance(value, Mapping) and not {"low", "mode", "p10", "value"} & value.keys():
            yield from leaves(value, f"{path}.")
        else:
            yield path, value
