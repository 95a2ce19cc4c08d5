"""Questions about lines and proposals. The status of many lines costs the same number of queries as that of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils import timezone

from core.money import exact_sum
from core.months import Month, end_of_day, midnight
from teams.models import Organisation, Project, User
from teams.rates import RateTable, rate_table
from usage.runs.queries import jobs_seen

from . import approvers
from .actuals import Metered, metered
from .closed import closings_in_force, late_costs, official_costs, restatements
from .consumption import Commitment
from .models import BudgetLine, ClosedPromise, Entry, Hold, LineClosing, Proposal
from .periods import calendar_period
from .status import LedgerFacts, LineStatus, Spent, convert, status_of

ZERO = Decimal(0)


def line_status(
    line: BudgetLine, *, on: date | None = None, now: datetime | None = None, known_at: datetime | None = None
) -> LineStatus:
    """The figures of a line now, or at the end of a day, or as they were known at a time."""
    return line_statuses([line], on=on, now=now, known_at=known_at)[line.pk]


def project_status(project: Project, *, on: date | None = None) -> dict[BudgetLine, LineStatus]:
    """The lines of a project with their figures, in order."""
    lines = list(project.lines.all())
    statuses = line_statuses(lines, on=on)
    return {line: statuses[line.pk] for line in lines}


def line_statuses(
    lines: Sequence[BudgetLine],
    *,
    on: date | None = None,
    now: datetime | None = None,
    known_at: datetime | None = None,
    read: Iterable[Metered] | None = None,
) -> dict[int, LineStatus]:
    """The figures of many lines by their ids.

    The actual of a closed line is what was known when it was closed. What became known later counts on the open line
    that follows it. `read` is what the meters say of the lines now, where that has been read already.
    """
    if not lines:
        return {}
    ids = [line.pk for line in lines]
    until = known_at or (end_of_day(on, Organisation.current().zone) if on is not None else None)
    ledgers = ledger_facts(ids, until=until)
    costs = costs_of_lines(lines, on=on, known_at=known_at, until=until, read=read)
    late = late_costs(lines, on=on, known_at=known_at, until=until)
    held = held_for_jobs(ids, now=now or timezone.now())
    paid_in = {cost.currency for of_line in costs.values() for cost in of_line}
    paid_in |= {cost.currency for of_line in late.values() for _closing, cost in of_line}
    rates = rates_for(lines, paid_in, now=now, known_at=known_at)
    return {
        line.pk: status_of(
            line.currency,
            ledgers[line.pk],
            converted([*costs[line.pk], *(cost for _closing, cost in late.get(line.pk, []))], line.currency, rates),
            others_consume=line.consumes_open_commitments,
            held=held.get(line.pk, ZERO),
            restated=restated_by_closing(late.get(line.pk, []), line.currency, rates),
        )
        for line in lines
    }


def costs_of_lines(
    lines: Sequence[BudgetLine],
    *,
    on: date | None,
    known_at: datetime | None,
    until: datetime | None,
    read: Iterable[Metered] | None = None,
) -> dict[int, list[Metered]]:
    """Per line its cost: of a closed one what was official, of an open one what is known, or was `read` already."""
    ids = [line.pk for line in lines]
    is_any_closed = until is not None or any(line.closed_at for line in lines)
    costs = defaultdict(list, official_costs(closings_in_force(ids, until=until)) if is_any_closed else {})
    open_ids = {line_id for line_id in ids if line_id not in costs}
    if read is None and open_ids:
        projects = {line.project_id for line in lines}
        read = metered(open_ids, on=on, known_at=known_at, project_ids=projects)
    for cost in read or ():
        if cost.line_id in open_ids:
            costs[cost.line_id].append(cost)
    return costs


def converted(costs: Iterable[Metered], currency: str, rates: RateTable) -> Spent:
    return convert(((cost.reference, cost.currency, cost.month, cost.amount) for cost in costs), currency, rates)


def late_of(line: BudgetLine, *, now: datetime | None = None) -> Decimal:
    """What is known of a closed line's own period beyond what was official, in its currency."""
    late = restatements(line)
    rates = rates_for([line], {cost.currency for cost in late}, now=now)
    return converted(late, line.currency, rates).total


def restated_by_closing(
    late: Iterable[tuple[LineClosing, Metered]], currency: str, rates: RateTable
) -> dict[int, Decimal]:
    """By closing what became known of its period since, in the currency of the line it counts on."""
    by_closing: dict[int, list[Metered]] = defaultdict(list)
    for closing, cost in late:
        by_closing[closing.pk].append(cost)
    return {key: converted(costs, currency, rates).total for key, costs in by_closing.items()}


def held_for_jobs(line_ids: Sequence[int], *, now: datetime) -> dict[int, Decimal]:
    """What is set aside on each line for jobs that are about to start. A proposal's own money covers its own jobs."""
    holds = list(Hold.objects.in_force(now).filter(line__among=line_ids, proposal__isnull=True).select_related("line"))
    found: dict[int, Decimal] = defaultdict(Decimal)
    for hold, rest in zip(holds, rests_of_holds(holds), strict=True):
        found[hold.line_id] += rest
    return found


def rests_of_holds(holds: Sequence[Hold]) -> list[Decimal]:
    """What each hold still keeps free: of a job that has started, what its own metered cost has not used up."""
    started = {(hold.line.project_id, hold.job) for hold in holds if hold.started_at}
    seen = jobs_seen(started) if started else {}
    rests = []
    for hold in holds:
        job = seen.get((hold.line.project_id, hold.job)) if hold.started_at else None
        rests.append(max(ZERO, hold.amount - (job.costs.get(hold.line.currency, ZERO) if job else ZERO)))
    return rests


def rates_for(
    lines: Iterable[BudgetLine],
    paid_in: Iterable[str],
    *,
    now: datetime | None = None,
    known_at: datetime | None = None,
) -> RateTable:
    """The rates between the currencies of the cost and those of the lines."""
    currencies = {line.currency for line in lines} | set(paid_in)
    today = Organisation.current().today(now or timezone.now())
    return rate_table(currencies, this_month=Month.of(today), known_at=known_at)


class LedgerRow(NamedTuple):
    """An entry, as far as the figures of its line need it. `reference` names its proposal."""

    kind: str
    amount: Decimal
    others_spent: Decimal | None
    reference: str
    closed_at: datetime | None


def ledger_facts(line_ids: Iterable[int], *, until: datetime | None = None) -> dict[int, LedgerFacts]:
    """What the entries say of each line, up to a moment."""
    entries = Entry.objects.filter(line__among=line_ids).order_by("at", "id")
    if until is not None:
        entries = entries.filter(at__lt=until)
    by_line: dict[int, list[LedgerRow]] = defaultdict(list)
    for line_id, kind, amount, others_spent, number, closed_at in entries.values_list(
        "line", "kind", "amount", "others_spent", "proposal", "proposal__closed_at"
    ):
        by_line[line_id].append(LedgerRow(kind, amount, others_spent, f"P-{number}", closed_at))
    own: dict[int, dict[str, Decimal]] = defaultdict(dict)
    for line_id, number, spent in own_at_closing(line_ids, until=until):
        own[line_id][f"P-{number}"] = spent
    return {line_id: read_ledger(by_line[line_id], own[line_id], until=until) for line_id in line_ids}


def own_at_closing(line_ids: Iterable[int], *, until: datetime | None) -> QuerySet:
    """What the own work of closed proposals had cost on each line when they were closed."""
    found = ClosedPromise.objects.filter(line__among=line_ids)
    if until is not None:
        found = found.filter(proposal__closed_at__lt=until)
    return found.values_list("line_id", "proposal_id", "own_spent")


def read_ledger(
    entries: Sequence[LedgerRow], own_at_closing: Mapping[str, Decimal], *, until: datetime | None = None
) -> LedgerFacts:
    """The sums of a line's entries, and its commitments oldest first; proposals closed later are still open then."""
    released: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for entry in entries:
        if entry.kind == Entry.Kind.RELEASE:
            released[entry.reference] += entry.amount
    return LedgerFacts(
        budget=exact_sum([entry.amount for entry in entries if entry.kind in Entry.BUDGET]),
        amortised=exact_sum([entry.amount for entry in entries if entry.kind == Entry.Kind.AMORTISE]),
        commitments=[
            Commitment(entry.reference, entry.amount, entry.others_spent or ZERO)
            for entry in entries
            if entry.kind == Entry.Kind.COMMIT
        ],
        released=dict(released),
        own_at_closing=own_at_closing,
        closed=frozenset(
            entry.reference
            for entry in entries
            if entry.closed_at is not None and (until is None or entry.closed_at < until)
        ),
    )


def approved_before(proposal: Proposal, today: date) -> dict[str, Decimal]:
    """What the project's other proposals were approved in this fiscal year, by category, in its currency.

    What one gives back lessens its own approvals of the year, never those of others.
    """
    organisation = Organisation.current()
    year = calendar_period("year", Month.of(today), fiscal_year_starts_in=organisation.fiscal_year_starts_in)
    entries = Entry.objects.filter(
        line__project=proposal.project_id,
        kind__in=[Entry.Kind.COMMIT, Entry.Kind.RELEASE],
        at__gte=midnight(year.start, organisation.zone),
    ).exclude(proposal=proposal)
    approved: dict[tuple[str, int], Decimal] = defaultdict(lambda: ZERO)
    for category, number, kind, amount in entries.values_list("line__category", "proposal", "kind", "amount"):
        approved[category, number] += amount if kind == Entry.Kind.COMMIT else -amount
    sums: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for (category, _number), amount in approved.items():
        sums[category] += max(ZERO, amount)
    return dict(sums)


def category_totals(proposal: Proposal) -> dict[str, Decimal]:
    """What the proposal was promised in each category and has not given back."""
    sums: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for category, kind, amount in proposal.entries.values_list("line__category", "kind", "amount"):
        if kind in (Entry.Kind.COMMIT, Entry.Kind.RELEASE):
            sums[category] += amount if kind == Entry.Kind.COMMIT else -amount
    return dict(sums)


def proposals_waiting_for(user: User, *, now: datetime | None = None) -> QuerySet[Proposal]:
    """Proposals whose next step this person may decide, oldest first."""
    today = Organisation.current().today(now or timezone.now())
    steps = approvers.steps_for(user, today)
    return Proposal.objects.filter(pk__in=steps.values("version__proposal")).order_by("id")
