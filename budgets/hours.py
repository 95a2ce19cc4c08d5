"""Accelerator-hours of lines: granted, promised, used and left, by the same rules as money, and never turned into it.

Real hours are what meters say. Equivalent hours are those of the reference card: real hours times the dense peak of
the accelerator ÷ that of the reference. An accelerator whose peak nobody knows is left out, and named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from core.money import EXACT
from core.months import end_of_day
from core.vocabulary import Category
from estimates.engine.books import AcceleratorBook
from estimates.engine.facts import REFERENCE_PEAK_TFLOPS
from estimates.queries import accelerator_book
from teams.models import Organisation
from usage.runs.queries import jobs_seen

from .closed_hours import MeteredHours, hours_used, late_hours, official_hours, restated_hours
from .consumption import Commitment
from .models import BudgetLine, ClosedPromise, Hold, HoursEntry, ProposalVersion
from .status import LedgerFacts, LineStatus, Spent, is_own_work, status_of

ZERO = Decimal(0)
REFERENCE = Decimal(repr(REFERENCE_PEAK_TFLOPS))


class Counted(NamedTuple):
    """Metered hours in the unit of a line; `hours` is None where the accelerator has no known peak."""

    reference: str
    accelerator: str
    hours: Decimal | None


@dataclass(frozen=True)
class LineHours:
    """The hours of one line; the figures of `status` are hours of `unit`. `unknown`: accelerators without a peak."""

    unit: str
    status: LineStatus
    unknown: tuple[str, ...] = ()


def hours_of_lines(
    lines: Sequence[BudgetLine], *, now: datetime, on: date | None = None, known_at: datetime | None = None
) -> dict[int, LineHours]:
    """What stands in hours, now or at the end of a day, on the lines that have a budget of hours; others are left out.
    As it was known at a time it is read from the records.

    The hours of a closed line are what was known when it was closed; what became known later counts on the line that
    follows it, where that has a budget of hours.
    """
    until = known_at or (end_of_day(on, Organisation.current().zone) if on is not None else None)
    entries = entries_by_line(lines, until=until)
    if not entries:
        return {}
    kept = [line for line in lines if line.pk in entries]
    closed = official_hours(entries, until=until) if until or any(line.closed_at for line in kept) else {}
    used: dict[int, list[MeteredHours]] = defaultdict(list)
    open_ids, projects = [key for key in entries if key not in closed], {line.project_id for line in kept}
    for row in hours_used(open_ids, on=on, known_at=known_at, project_ids=projects):
        used[row.line_id].append(row)
    late = late_hours(kept, on=on, until=until, known_at=known_at)
    book = accelerator_book()
    own_at_closing = own_hours_at_closing(entries, until=until)
    held = hours_held(list(entries), book, now=now)
    found = {}
    for line in kept:
        unit = entries[line.pk][0].unit
        came_late = [(closing.pk, counted_in(unit, hours, book)) for closing, hours in late.get(line.pk, [])]
        counted = [Counted(row.reference, row.accelerator, row.counted) for row in closed.get(line.pk, [])]
        counted += [counted_in(unit, row, book) for row in used[line.pk]]
        found[line.pk] = line_hours(
            line,
            ledger_of(entries[line.pk], own_at_closing.get(line.pk, {}), until=until),
            [*counted, *(row for _closing, row in came_late)],
            unit,
            held=held.get(line.pk, ZERO),
            restated=sums((key, row.hours) for key, row in came_late),
        )
    return found


def entries_by_line(lines: Sequence[BudgetLine], *, until: datetime | None) -> dict[int, list[HoursEntry]]:
    """The entries of hours of the lines, the oldest first, up to a moment."""
    found: dict[int, list[HoursEntry]] = defaultdict(list)
    entries = HoursEntry.objects.filter(line__among=[line.pk for line in lines]).select_related("proposal")
    for entry in entries if until is None else entries.filter(at__lt=until):
        found[entry.line_id].append(entry)
    return dict(found)


def counted_in(unit: str, row: MeteredHours, book: AcceleratorBook) -> Counted:
    return Counted(row.reference, row.accelerator, in_unit(row.hours, row.accelerator, unit, book))


def sums(parts: Iterable[tuple[Any, Decimal | None]]) -> dict[Any, Decimal]:
    """The sum of the parts of each key; what is not known counts as nothing."""
    found: dict[Any, Decimal] = {}
    for key, hours in parts:
        found[key] = EXACT.add(found.get(key, ZERO), hours or ZERO)
    return found


def line_hours(
    line: BudgetLine,
    ledger: LedgerFacts,
    counted: Sequence[Counted],
    unit: str,
    *,
    held: Decimal,
    restated: Mapping[int, Decimal],
) -> LineHours:
    """The hours of one line from its entries and what its meters say."""
    own = sums((row.reference, row.hours) for row in counted if is_own_work(row.reference))
    others = sums(("", row.hours) for row in counted if not is_own_work(row.reference))
    status = status_of(
        unit,
        ledger,
        Spent(own, others.get("", ZERO)),
        others_consume=line.consumes_open_commitments,
        held=held,
        restated=restated,
    )
    unknown = {row.accelerator or "?" for row in counted if row.hours is None}
    return LineHours(unit, status, tuple(sorted(unknown)))


def ledger_of(
    entries: Sequence[HoursEntry], own_at_closing: Mapping[str, Decimal], *, until: datetime | None
) -> LedgerFacts:
    """What the entries say, read as those of money are."""
    kinds = HoursEntry.Kind
    return LedgerFacts(
        budget=sum((entry.hours for entry in entries if entry.kind in HoursEntry.BUDGET), ZERO),
        commitments=[
            Commitment(f"P-{entry.proposal_id}", entry.hours, entry.others_spent or ZERO)
            for entry in entries
            if entry.kind == kinds.COMMIT
        ],
        released=sums((f"P-{entry.proposal_id}", entry.hours) for entry in entries if entry.kind == kinds.RELEASE),
        own_at_closing=own_at_closing,
        closed=frozenset(
            f"P-{entry.proposal_id}"
            for entry in entries
            if entry.proposal is not None
            and entry.proposal.closed_at is not None
            and (until is None or entry.proposal.closed_at < until)
        ),
    )


def own_hours_at_closing(line_ids: Iterable[int], *, until: datetime | None) -> dict[int, dict[str, Decimal]]:
    """Per line what the own work of closed proposals had used when they were closed."""
    promises = ClosedPromise.objects.filter(line__among=set(line_ids), own_hours__isnull=False)
    if until is not None:
        promises = promises.filter(proposal__closed_at__lt=until)
    found: dict[int, dict[str, Decimal]] = defaultdict(dict)
    for line_id, number, hours in promises.values_list("line", "proposal", "own_hours"):
        found[line_id][f"P-{number}"] = hours or ZERO
    return found


def hours_held(line_ids: Sequence[int], book: AcceleratorBook, *, now: datetime) -> dict[int, Decimal]:
    """What is set aside on each line for jobs. A proposal's own hours cover its own jobs."""
    holds = Hold.objects.in_force(now).filter(line__among=line_ids, proposal__isnull=True, hours__isnull=False)
    found = list(holds.select_related("line"))
    return sums((hold.line_id, rest) for hold, rest in zip(found, hours_rests(found, book), strict=True))


def hours_rests(holds: Sequence[Hold], book: AcceleratorBook) -> list[Decimal]:
    """What each hold still keeps free in hours: of a job that has started, what it has not been metered for yet."""
    started = {(hold.line.project_id, hold.job) for hold in holds if hold.started_at}
    seen = jobs_seen(started) if started else {}
    units = dict(HoursEntry.objects.filter(line__in=[hold.line_id for hold in holds]).values_list("line", "unit"))
    rests = []
    for hold in holds:
        job = seen.get((hold.line.project_id, hold.job)) if hold.started_at else None
        unit = units.get(hold.line_id, HoursEntry.Unit.REAL)
        used = [in_unit(hours, card, unit, book) or ZERO for card, hours in job.hours.items()] if job else []
        rests.append(max(ZERO, EXACT.subtract(hold.hours or ZERO, sum(used, ZERO))))
    return rests


def late_of(line: BudgetLine, unit: str) -> Decimal:
    """What is known of a closed line's own hours beyond what was official, in its unit."""
    book = accelerator_book()
    late = [counted_in(unit, row, book) for row in restated_hours(line)]
    return sums(("", row.hours) for row in late).get("", ZERO)


def in_unit(hours: Decimal, accelerator: str, unit: str, book: AcceleratorBook) -> Decimal | None:
    """Hours of an accelerator in the unit of a line; None where its peak is not known."""
    if unit == HoursEntry.Unit.REAL:
        return hours
    card = book.find(accelerator)
    peak = (card.peaks.get("bf16") or card.peaks.get("fp16")) if card else None
    return None if peak is None else EXACT.divide(EXACT.multiply(hours, Decimal(repr(peak))), REFERENCE)


def hours_asked(version: ProposalVersion, unit: str) -> Decimal | None:
    """The mean accelerator-hours of the version's frozen estimate; None where the plan has none."""
    quantities: Mapping[str, Any] = version.estimate.answer.get("quantities") or {}
    name = "total_accelerator_hours" if unit == HoursEntry.Unit.REAL else "equivalent_accelerator_hours"
    mean = (quantities.get(name) or {}).get("mean")
    return Decimal(repr(mean)).quantize(Decimal("0.0001")) if mean else None


def may_have_hours(line: BudgetLine) -> bool:
    """Only computing is counted in accelerator-hours."""
    return line.category == Category.COMPUTE
