"""Accelerator-hours of lines: granted, promised, used and left, by the same rules as money, and never turned into it.

Real hours are what meters say. Equivalent hours are those of the reference card: real hours times the dense peak of
the accelerator ÷ that of the reference. An accelerator whose peak nobody knows is left out, and named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Sum

from core.money import EXACT
from core.vocabulary import Category
from estimates.engine.books import AcceleratorBook
from estimates.engine.facts import REFERENCE_PEAK_TFLOPS
from estimates.queries import accelerator_book

from .actuals import COST
from .consumption import Commitment
from .models import BudgetLine, Hold, HoursEntry, ProposalVersion
from .status import LedgerFacts, LineStatus, Spent, is_own_work, status_of

ZERO = Decimal(0)
REFERENCE = Decimal(repr(REFERENCE_PEAK_TFLOPS))
TOLD_AGAIN = """
    JOIN usage_meter meter ON meter.id = used.meter_id AND meter.charge_category = ANY (line.charge_categories)
     AND NOT EXISTS (
        SELECT 1 FROM usage_source part JOIN usage_meter of_part ON of_part.source_id = part.id
        JOIN usage_dailyusage told ON told.meter_id = of_part.id AND told.project_id = line.project_id
         AND told.accelerator_hours > 0
        WHERE part.part_of_id = meter.source_id)
"""
"""Hours of a bill that job logs tell again for the project are counted once: by the logs."""
HOURS = COST.format(rollup="usage_dailyusage", meter=TOLD_AGAIN).replace(
    "used.currency <> ''", "used.accelerator_hours <> 0"
)


@dataclass(frozen=True)
class LineHours:
    """The hours of one line; the figures of `status` are hours of `unit`. `unknown`: accelerators without a peak."""

    unit: str
    status: LineStatus
    unknown: tuple[str, ...] = ()


def hours_of_lines(lines: Sequence[BudgetLine], *, now: datetime) -> dict[int, LineHours]:
    """What stands in hours on the lines that have a budget of hours; others are left out."""
    entries: dict[int, list[HoursEntry]] = defaultdict(list)
    for entry in HoursEntry.objects.filter(line__in=[line.pk for line in lines]).select_related("proposal"):
        entries[entry.line_id].append(entry)
    if not entries:
        return {}
    used = hours_used(list(entries))
    held = Hold.objects.in_force(now).filter(line__in=entries, proposal__isnull=True, hours__isnull=False)
    holds = dict(held.values_list("line").annotate(sum=Sum("hours")).order_by())
    book = accelerator_book()
    return {
        line.pk: line_hours(line, entries[line.pk], used.get(line.pk, []), book, held=holds.get(line.pk, ZERO))
        for line in lines
        if line.pk in entries
    }


def line_hours(
    line: BudgetLine,
    entries: Sequence[HoursEntry],
    used: Sequence[tuple[str, str, Decimal]],
    book: AcceleratorBook,
    *,
    held: Decimal,
) -> LineHours:
    """The hours of one line from its entries and what its meters say."""
    unit = entries[0].unit
    own: dict[str, Decimal] = defaultdict(lambda: ZERO)
    others, unknown = ZERO, set()
    for reference, accelerator, hours in used:
        counted = in_unit(hours, accelerator, unit, book)
        if counted is None:
            unknown.add(accelerator or "?")
        elif is_own_work(reference):
            own[reference] = EXACT.add(own[reference], counted)
        else:
            others = EXACT.add(others, counted)
    status = status_of(
        unit,
        ledger_of(entries),
        Spent(own, others),
        others_consume=line.consumes_open_commitments,
        held=held,
    )
    return LineHours(unit, status, tuple(sorted(unknown)))


def ledger_of(entries: Sequence[HoursEntry]) -> LedgerFacts:
    """What the entries say, read as those of money are."""
    kinds = HoursEntry.Kind
    released: dict[str, Decimal] = defaultdict(lambda: ZERO)
    for entry in entries:
        if entry.kind == kinds.RELEASE:
            released[f"P-{entry.proposal_id}"] += entry.hours
    return LedgerFacts(
        budget=sum((entry.hours for entry in entries if entry.kind == kinds.GRANT), ZERO),
        commitments=[
            Commitment(f"P-{entry.proposal_id}", entry.hours, entry.others_spent or ZERO)
            for entry in entries
            if entry.kind == kinds.COMMIT
        ],
        released=dict(released),
        closed=frozenset(
            f"P-{entry.proposal_id}" for entry in entries if entry.proposal is not None and entry.proposal.closed_at
        ),
    )


def hours_used(line_ids: Sequence[int]) -> dict[int, list[tuple[str, str, Decimal]]]:
    """Per line the metered hours by reference and accelerator."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT line.id, used.reference, meter.accelerator, sum(used.accelerator_hours) {HOURS} GROUP BY 1, 2, 3",
            {"lines": sorted(set(line_ids)), "since": date.min, "on": date.max},
        )
        rows = cursor.fetchall()
    found: dict[int, list[tuple[str, str, Decimal]]] = defaultdict(list)
    for line_id, reference, accelerator, hours in rows:
        found[line_id].append((reference, accelerator, hours))
    return found


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
