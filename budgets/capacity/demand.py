"""Accelerator-hours that are approved, asked for and drafted, by project, kind of card and month.

The hours are those of the frozen estimates, on the months of their plans. Of a proposal that was approved in part, or
gave some back, the hours count in proportion to the money of computing that it still holds. An amendment asks for what
it adds to the approved version, month by month and card by card.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Case, F, Sum, When

from core.months import Month
from core.vocabulary import Category
from estimates.engine.books import AcceleratorBook
from estimates.hours import CardHours, hours_by_month

from ..models import AskHours, AskLine, Entry, Proposal, ProposalVersion
from ..models.proposals import ProposalQuerySet

APPROVED, ASKED, DRAFTED = "approved", "asked", "draft"
STATES = (APPROVED, ASKED, DRAFTED)
ZERO, ONE = Decimal(0), Decimal(1)
WAITING = ProposalVersion.State.SUBMITTED
DECIDED = (ProposalVersion.State.APPROVED, ProposalVersion.State.PARTLY_APPROVED)
AT_WORK = (ProposalVersion.State.DRAFT, ProposalVersion.State.CHANGES_REQUESTED)
OPEN = (Proposal.State.SUBMITTED, Proposal.State.APPROVED, Proposal.State.PARTLY_APPROVED)

CardMonthKey = tuple[str, Month]
Hours = dict[CardMonthKey, CardHours]


@dataclass(frozen=True)
class Demand:
    """Hours that one proposal wants of one kind of card in one month."""

    project: int
    proposal: int
    state: str
    accelerator: str
    month: Month
    hours: CardHours


def demand_by_month(start: Month, end: Month) -> list[Demand]:
    """What is approved and what is asked for, of all projects, from a month up to and without another."""
    counting = versions_that_count()
    of_versions: dict[int, Hours] = defaultdict(dict)
    rows = AskHours.objects.filter(version__in=counting, month__gte=start.start, month__lt=end.start)
    names = ("version", "accelerator", "month", "hours", "rented", "reserved")
    for version, accelerator, month, *hours in rows.values_list(*names):
        of_versions[version][accelerator, Month.of(month)] = CardHours(*hours)
    kept = kept_shares(counting)
    approved: dict[int, Hours] = {}
    found: list[Demand] = []
    for version, (state, proposal, project) in sorted(counting.items(), key=lambda item: item[1]):
        wanted = of_versions.get(version, {})
        if state == APPROVED:
            share = kept.get(proposal, ONE)
            wanted = approved[proposal] = {key: each.scaled(share) for key, each in wanted.items()}
        else:
            wanted = beyond(wanted, approved.get(proposal, {}))
        found += demands(project, proposal, state, wanted)
    return found


def versions_that_count() -> dict[int, tuple[str, int, int]]:
    """The version each open proposal was last approved in, and the one that waits: state, proposal, project."""
    rows = (
        ProposalVersion.objects.filter(proposal__state__in=OPEN, state__in=[WAITING, *DECIDED])
        .order_by("proposal_id", "number")
        .values_list("pk", "state", "proposal", "proposal__project")
    )
    newest: dict[tuple[int, str], tuple[int, int]] = {}
    for version, state, proposal, project in rows:
        newest[proposal, ASKED if state == WAITING else APPROVED] = (version, project)
    return {version: (state, proposal, project) for (proposal, state), (version, project) in newest.items()}


def kept_shares(counting: Mapping[int, tuple[str, int, int]]) -> dict[int, Decimal]:
    """By approved proposal how much of the money it asked for computing it holds, or has used: one, or less."""
    versions = {version: proposal for version, (state, proposal, _project) in counting.items() if state == APPROVED}
    asks = AskLine.objects.filter(version__in=versions, category=Category.COMPUTE).order_by()
    asked = {versions[row["version"]]: row["whole"] for row in asks.values("version").annotate(whole=Sum("amount"))}
    moves = Entry.objects.filter(proposal__in=asked, line__category=Category.COMPUTE).order_by()
    moves = moves.filter(kind__in=[Entry.Kind.COMMIT, Entry.Kind.RELEASE])
    signed = Sum(Case(When(kind=Entry.Kind.COMMIT, then=F("amount")), default=-F("amount")))
    held = dict(moves.values_list("proposal").annotate(whole=signed))
    return {
        proposal: min(ONE, max(ZERO, held.get(proposal, ZERO)) / amount) for proposal, amount in asked.items() if amount
    }


def drafted_by_month(
    proposals: ProposalQuerySet, start: Month, end: Month, accelerators: AcceleratorBook, approved: Iterable[Demand]
) -> list[Demand]:
    """What drafts of these proposals would ask for; those beside an approved version only what they add."""
    newest = ProposalVersion.objects.filter(proposal__in=proposals.exclude(state__in=Proposal.FINISHED))
    newest = newest.order_by("proposal_id", "-number").distinct("proposal_id")
    at_work = [version for version, state in newest.values_list("pk", "state") if state in AT_WORK]
    answers = ProposalVersion.objects.filter(pk__in=at_work).values_list(
        "proposal", "proposal__project", "estimate__lasting__hours_by_month", "estimate__priced__hours_by_month"
    )
    already: dict[int, Hours] = defaultdict(dict)
    for each in approved:
        if each.state == APPROVED:
            already[each.proposal][each.accelerator, each.month] = each.hours
    found: list[Demand] = []
    for proposal, project, lasting, priced in answers:
        hours = hours_by_month({"hours_by_month": lasting or priced or []}, {}, accelerators)
        inside = {key: each for key, each in hours.items() if start <= key[1] < end}
        found += demands(project, proposal, DRAFTED, beyond(inside, already[proposal]))
    return found


def demands(project: int, proposal: int, state: str, wanted: Hours) -> Iterator[Demand]:
    for (accelerator, month), hours in wanted.items():
        if hours.hours > 0:
            yield Demand(project, proposal, state, accelerator, month, hours)


def beyond(wanted: Hours, already: Hours) -> Hours:
    """What is wanted on top of what is there already, card by card and month by month."""
    none = CardHours()
    return {key: hours.without(already.get(key, none)) for key, hours in wanted.items()}
