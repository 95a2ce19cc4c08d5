"""Lines whose period is closed: what was official then, what became known since, and which open line it counts on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from django.db.models import Q, QuerySet

from core.money import EXACT

from .actuals import Metered, metered
from .models import BudgetLine, ClosedCost, LineClosing


def closings_in_force(line_ids: Iterable[int], *, until: datetime | None = None) -> QuerySet[LineClosing]:
    """The closings of the lines that stand now, or stood just before a moment."""
    return standing(LineClosing.objects.filter(line__among=line_ids), until)


def closings_in_force_of(project_ids: Iterable[int], *, until: datetime | None = None) -> QuerySet[LineClosing]:
    """The same of all lines of some projects."""
    return standing(LineClosing.objects.filter(line__project__among=project_ids), until)


def standing(closings: QuerySet[LineClosing], until: datetime | None) -> QuerySet[LineClosing]:
    found = closings.select_related("line")
    if until is None:
        return found.filter(reopened_at__isnull=True)
    return found.filter(Q(reopened_at__isnull=True) | Q(reopened_at__gte=until), at__lt=until)


def official_costs(closings: Iterable[LineClosing]) -> dict[int, list[Metered]]:
    """Per closed line the cost that counted on it when it was closed: its own, and what was late of earlier periods."""
    by_closing = {closing.pk: closing.line_id for closing in closings}
    found: dict[int, list[Metered]] = {line_id: [] for line_id in by_closing.values()}
    for cost in ClosedCost.objects.filter(closing__among=by_closing):
        line_id = by_closing[cost.closing_id]
        found[line_id].append(Metered(line_id, cost.reference, cost.currency, cost.month, cost.amount))
    return found


def own_costs(closings: Iterable[LineClosing]) -> list[Metered]:
    """What is accounted for of each closed period: on its own line, and late on lines that were closed after it."""
    ids = [closing.pk for closing in closings]
    own = ClosedCost.objects.filter(closing__among=ids, origin__isnull=True).select_related("closing")
    late = ClosedCost.objects.filter(origin__among=ids, closing__reopened_at__isnull=True).select_related("origin")
    rows = [(cost.closing.line_id, cost) for cost in own]
    rows += [(cost.origin.line_id, cost) for cost in late if cost.origin is not None]
    return [Metered(line_id, cost.reference, cost.currency, cost.month, cost.amount) for line_id, cost in rows]


def costs_from_records(closing: LineClosing) -> list[Metered]:
    """What was known of the line at its closing, made again from the records themselves."""
    return metered([closing.line_id], known_at=closing.at, project_ids=[closing.line.project_id])


def differences(official: Iterable[Metered], known: Iterable[Metered]) -> list[Metered]:
    """What is known beyond what was official, by line, reference, currency and month; nothing where they agree."""
    return [Metered._make((*key, amount)) for key, amount in known_beyond(official, known).items()]


def known_beyond(official: Iterable[tuple], known: Iterable[tuple]) -> dict[tuple, Decimal]:
    """Of rows that end with an amount, by all that stands before it: what is known less what was official."""
    found = {tuple(key): amount for *key, amount in known}
    for *key, amount in official:
        found[tuple(key)] = EXACT.subtract(found.get(tuple(key), Decimal(0)), amount)
    return {key: amount for key, amount in found.items() if amount}


def heir_of(closed: BudgetLine, open_lines: Sequence[BudgetLine]) -> BudgetLine | None:
    """On which of the open lines of its project late cost of a closed one counts: the next of its kind, else the next
    wider one."""
    following = [
        line
        for line in open_lines
        if line.category == closed.category
        and line.task_type in (closed.task_type, "")
        and line.subcategory in (closed.subcategory, "")
        and line.start >= closed.end
    ]
    following.sort(
        key=lambda line: (line.subcategory != closed.subcategory, line.task_type != closed.task_type, line.start)
    )
    return following[0] if following else None


def late_costs(
    lines: Sequence[BudgetLine], *, on: date | None = None, known_at: datetime | None = None, until: datetime | None
) -> dict[int, list[tuple[LineClosing, Metered]]]:
    """Per open line what became known of closed periods since they were closed, each with the closing it comes from."""
    heirs = heirs_among({line.pk: line.project_id for line in lines}, until=until)
    if not heirs:
        return {}
    known = metered(heirs, on=on, known_at=known_at, project_ids={line.project_id for line in lines})
    found: dict[int, list[tuple[LineClosing, Metered]]] = defaultdict(list)
    for cost in differences(own_costs(closing for closing, _heir in heirs.values()), known):
        closing, heir = heirs[cost.line_id]
        found[heir].append((closing, cost))
    return found


def heirs_among(asked: Mapping[int, int], *, until: datetime | None) -> dict[int, tuple[LineClosing, int]]:
    """By closed line its closing, and on which of these lines its late cost counts; they come with their projects."""
    projects = set(asked.values())
    closings = list(closings_in_force_of(projects, until=until))
    if not closings:
        return {}
    closed = [closing.line_id for closing in closings]
    open_lines: dict[int, list[BudgetLine]] = defaultdict(list)
    for line in BudgetLine.objects.filter(project__among=projects).exclude(pk__among=closed):
        open_lines[line.project_id].append(line)
    heirs = {}
    for closing in closings:
        heir = heir_of(closing.line, open_lines[closing.line.project_id])
        if heir is not None and heir.pk in asked:
            heirs[closing.line_id] = (closing, heir.pk)
    return heirs


def restatements(line: BudgetLine) -> list[Metered]:
    """What is known of a closed line's own period beyond what was official when it was closed."""
    closings = closings_in_force([line.pk])
    own = ClosedCost.objects.filter(closing__in=closings, origin__isnull=True)
    official = [Metered(line.pk, cost.reference, cost.currency, cost.month, cost.amount) for cost in own]
    return differences(official, metered([line.pk]))
