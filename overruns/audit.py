"""The audit: every figure worked out once more by another way, and every difference reported.

A line is read as pages read it, from its entries and the daily rollup, and as of this moment from the records
themselves; its accelerator-hours, where it has a budget of them, like its money. The rollup is held against the records
row by row, and the whole against the sources.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.urls import reverse

from budgets.hours import hours_of_lines
from budgets.models import BudgetLine, Entry, HoursEntry
from budgets.queries import line_statuses
from budgets.status import LineStatus
from core.money import EXACT, exact_text
from core.vocabulary import Basis
from teams import activity, notifications, permissions
from teams.models import Role
from usage.pipeline.rollup import differing_days
from usage.queries import conservation

from .models import Audit

ZERO = Decimal(0)
AT_ONCE = 500
MOST_KEPT = 200


@dataclass(frozen=True)
class Difference:
    """One figure that two ways of working it out do not agree on."""

    of: str
    figure: str
    kept: str
    recomputed: str
    line: int | None = None


def run_audit(*, now: datetime) -> Audit:
    """Work everything out again, keep what was found, and tell operators and finance of differences."""
    begun = time.monotonic()
    ids = list(BudgetLine.objects.order_by("pk").values_list("pk", flat=True))
    found = [*lasting(ids, now=now), *rollup_differences(), *conservation_differences(), *transfer_differences()]
    return keep(found, lines=len(ids), seconds=time.monotonic() - begun, now=now)


@transaction.atomic
def keep(found: Sequence[Difference], *, lines: int, seconds: float, now: datetime) -> Audit:
    audit = Audit.objects.create(
        at=now,
        lines=lines,
        seconds=round(seconds),
        count=len(found),
        differences=[asdict(difference) for difference in found[:MOST_KEPT]],
    )
    if found:
        activity.record("audit.differs", by=None, subject=audit, count=len(found))
        people = [*permissions.people_with_role(Role.OPERATOR), *permissions.people_with_role(Role.FINANCE)]
        notifications.notify(
            people,
            kind="audit_differs",
            url=reverse("audit-list"),
            email=True,
            count=len(found),
            lines=lines,
            examples=[f"{each.of}, {each.figure}: {each.kept} / {each.recomputed}" for each in found[:5]],
        )
    return audit


def lasting(line_ids: Sequence[int], *, now: datetime) -> list[Difference]:
    """Differences of lines that are there on a second look too: between two readings an import may have come."""
    found: list[Difference] = []
    for start in range(0, len(line_ids), AT_ONCE):
        first = list(line_differences(line_ids[start : start + AT_ONCE], now=now))
        if first:
            again = {(each.line, each.figure) for each in line_differences({each.line for each in first}, now=now)}
            found += [each for each in first if (each.line, each.figure) in again]
    return found


def line_differences(line_ids: Iterable[int | None], *, now: datetime) -> Iterator[Difference]:
    """What the two readings of these lines do not agree on, of money and of accelerator-hours."""
    lines = list(BudgetLine.objects.filter(pk__among=set(line_ids)).select_related("project").order_by("pk"))
    kept = line_statuses(lines, now=now)
    recomputed = line_statuses(lines, now=now, known_at=now)
    budgets = sums_by_line(Entry.objects.filter(line__in=lines, kind__in=Entry.BUDGET), "amount")
    hours = hours_of_lines(lines, now=now)
    hours_recomputed = hours_of_lines(lines, now=now, known_at=now)
    granted = sums_by_line(HoursEntry.objects.filter(line__in=hours, kind__in=HoursEntry.BUDGET), "hours")
    for line in lines:
        found = list(figures(kept[line.pk], recomputed[line.pk], budgets.get(line.pk, ZERO)))
        if line.pk in hours and line.pk in hours_recomputed:
            one, other = hours[line.pk].status, hours_recomputed[line.pk].status
            of_hours = figures(one, other, granted.get(line.pk, ZERO))
            found += [(f"hours, {name}", before, after) for name, before, after in of_hours]
        for figure, before, after in found:
            if before != after:
                yield Difference(f"{line.project}: {line}", figure, exact_text(before), exact_text(after), line.pk)


def sums_by_line(entries: QuerySet, amount: str) -> dict[int, Decimal]:
    """The sum of the entries of each line."""
    return dict(entries.order_by().values_list("line").annotate(whole=Sum(amount)))


def figures(kept: LineStatus, other: LineStatus, budget: Decimal) -> Iterator[tuple[str, Decimal, Decimal]]:
    """Each figure of a line, worked out both ways."""
    yield "budget", kept.budget, budget
    yield "actual", kept.actual, other.actual
    yield "committed", kept.committed, other.committed
    promised = sum((promise.remaining for promise in other.promises.values()), ZERO)
    yield "committed of promises", kept.committed, promised
    yield "headroom", kept.headroom, EXACT.subtract(EXACT.subtract(budget, other.actual), other.committed)
    for reference, promise in other.promises.items():
        before = kept.promises.get(reference)
        yield f"consumed of {reference}", before.consumed if before else ZERO, promise.consumed


def rollup_differences() -> list[Difference]:
    """Days whose rollup is not what the records add up to: in cost, or else in hours."""
    found = []
    for each in differing_days():
        figure, kept, recomputed = str(each.day), each.kept, each.recomputed
        if kept == recomputed and each.hours_kept != each.hours_recomputed:
            figure, kept, recomputed = f"{each.day}, hours", each.hours_kept, each.hours_recomputed
        found.append(Difference(f"rollup, {each.source}", figure, exact_text(kept), exact_text(recomputed)))
    return found


def conservation_differences() -> list[Difference]:
    """Currencies in which projects, shared and unallocated do not add up to the sources."""
    found = []
    for basis in (Basis.BILLED, Basis.EFFECTIVE):
        for each in conservation(basis):
            if not each.holds:
                placed = EXACT.add(each.sources, each.difference)
                figure = f"{each.currency}, {basis}"
                found.append(Difference("conservation", figure, exact_text(placed), exact_text(each.sources)))
    return found


def transfer_differences() -> list[Difference]:
    """Transfers, of money and of hours, whose two sides do not add up to nothing."""
    return [
        Difference(f"transfer {number}", figure, exact_text(whole), "0")
        for model, amount, figure in ((Entry, "amount", "sum"), (HoursEntry, "hours", "hours, sum"))
        for number, whole in model.objects.filter(transfer__isnull=False)
        .order_by()
        .values_list("transfer")
        .annotate(whole=Sum(amount))
        .exclude(whole=0)
    ]
