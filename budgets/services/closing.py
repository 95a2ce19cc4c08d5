"""Closing months, and opening them again. Finance closes; what is known at that moment is official from then on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from core.months import Month
from estimates.queries import accelerator_book
from teams import activity, permissions
from teams.models import ClosedMonth, Organisation, User
from usage.standstill import stand_still

from ..actuals import metered
from ..closed import late_costs
from ..closed_hours import MeteredHours, hours_used, late_hours
from ..closing import Checklist, checklist, months_to_close
from ..hours import LineHours, counted_in, hours_of_lines
from ..locks import lock_lines, lock_project
from ..models import BudgetLine, ClosedCost, ClosedHours, Hold, LineClosing, Threshold
from ..periods import calendar_period, free_part
from ..queries import line_statuses
from ..status import LineStatus
from . import carrying
from .carrying import HOURS, MONEY
from .ledger import check_reason
from .lines import add_line, facts_of, touch

LOCK_OF_BOOKS = 724_010
ZERO = Decimal(0)


@transaction.atomic
def close_month(
    month: Month, *, by: User, accepted: Collection[str] = (), reason: str = "", now: datetime | None = None
) -> ClosedMonth:
    """Close the books of a month, and of every open month before it. Lines whose period has ended are closed; what is
    left on them goes where their rollover says. Points of the checklist that are not in order have to be accepted."""
    lock_books()
    check_may_close(by)
    today = Organisation.current().today(now or timezone.now())
    months = months_to_close(month, today=today)
    known = stand_still()
    moment = now or known
    check_checklist(checklist(months, now=moment), accepted, reason)
    lines = lock_for_closing(month)
    for end in sorted({line.end for line in lines}):
        close_lines([line for line in lines if line.end == end], month, by=by, now=moment)
    ClosedMonth.objects.bulk_create(
        ClosedMonth(month=each.start, closed_at=moment, by=by, accepted=sorted(accepted), reason=reason.strip())
        for each in months
    )
    activity.record(
        "month.closed",
        by=by,
        month=str(month),
        months=[str(each) for each in months],
        lines=len(lines),
        accepted=sorted(accepted),
        reason=reason.strip(),
    )
    return ClosedMonth.objects.get(month=month.start)


@transaction.atomic
def reopen_month(month: Month, *, by: User, reason: str, now: datetime | None = None) -> None:
    """Open the month that was closed last. What was rolled over comes back by contrary entries."""
    lock_books()
    check_may_close(by)
    latest = ClosedMonth.objects.order_by("-month").first()
    if latest is None or latest.month != month.start:
        raise DomainError(
            _("Only the month closed last is opened again: %(month)s.")
            % {"month": Month.of(latest.month) if latest else _("none is closed")},
            code="wrong_state",
        )
    check_reason(reason)
    moment = now or stand_still()
    closings = list(
        LineClosing.objects.filter(line__end__gt=month.start, reopened_at__isnull=True).order_by(
            "-line__end", "line_id"
        )
    )
    ids = {closing.line_id for closing in closings} | {each.carried_to_id for each in closings if each.carried_to_id}
    lines = lock_lines(ids)
    for closing in closings:
        take_back(closing, lines, by=by, reason=reason, now=moment)
    latest.delete()
    touch(lines.values())
    activity.record("month.reopened", by=by, month=str(month), lines=len(closings), reason=reason.strip())


def lock_books() -> None:
    """Two people never close or reopen at once."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [LOCK_OF_BOOKS])


def check_may_close(by: User) -> None:
    if not permissions.may_close_books(by):
        raise NotAllowed(_("Months are closed, and opened again, by finance."))


def check_checklist(found: Checklist, accepted: Collection[str], reason: str) -> None:
    """Everything is in order, or accepted with a reason; some things have to be in order."""
    unknown = set(accepted) - {item.key for item in found.items}
    if unknown:
        raise DomainError(
            _("There is no such point on the checklist."),
            faults=[Fault("accepted", sorted(unknown), _("is not on the checklist"), ", ".join(found.acceptable))],
        )
    missing = [item for item in found.items if not item.is_done and not (item.may_accept and item.key in accepted)]
    if missing:
        raise DomainError(
            _("The month is not ready to be closed: %(points)s.")
            % {"points": ", ".join(str(item.name) for item in missing)},
            code="not_ready",
            faults=[
                Fault(
                    item.key,
                    item.count,
                    _("%(point)s is not in order") % {"point": item.name},
                    _("in order, or accepted with a reason") if item.may_accept else _("in order"),
                )
                for item in missing
            ],
        )
    if any(not item.is_done for item in found.items):
        check_reason(reason)


# ---- closing lines


def lock_for_closing(month: Month) -> list[BudgetLine]:
    """The lines that a closing closes, locked with the projects and the lines to which something may be carried."""
    ending = BudgetLine.objects.open().filter(end__lte=month.end)
    carrying = ending.exclude(rollover=BudgetLine.Rollover.NONE, carries_overspend=False)
    projects = sorted(set(carrying.values_list("project", flat=True)))
    for project_id in projects:
        lock_project(project_id)
    ids = set(ending.values_list("pk", flat=True))
    takers = BudgetLine.objects.open().filter(project__in=projects).values_list("pk", flat=True)
    return [line for key, line in lock_lines(ids | set(takers)).items() if key in ids]


def close_lines(lines: Sequence[BudgetLine], month: Month, *, by: User, now: datetime) -> None:
    """Keep what was known of lines that end on one day, close them, and carry over what their policies say."""
    statuses = line_statuses(lines, now=now)
    hours = hours_of_lines(lines, now=now)
    used = hours_to_keep([line for line in lines if line.pk in hours])
    closings = keep_costs(lines, month, by=by, now=now)
    keep_hours(used, hours, closings)
    Hold.objects.in_force(now).filter(line__in=lines).update(ended_at=now)
    for line in lines:
        line.closed_at = now
    BudgetLine.objects.bulk_update(lines, ["closed_at"])
    for line in lines:
        carry_over(line, closings[line.pk], statuses[line.pk], hours.get(line.pk), by=by, now=now)
    touch(lines)


def keep_costs(lines: Sequence[BudgetLine], month: Month, *, by: User, now: datetime) -> dict[int, LineClosing]:
    """The rows that say what was official: a line's own cost, and late cost of earlier periods that it carried."""
    own = [(cost.line_id, None, cost) for cost in metered([line.pk for line in lines])]
    late = [
        (line_id, origin, cost) for line_id, costs in late_costs(lines, until=None).items() for origin, cost in costs
    ]
    closings = {
        closing.line_id: closing
        for closing in LineClosing.objects.bulk_create(
            LineClosing(line=line, month=month.start, at=now, by=by) for line in lines
        )
    }
    ClosedCost.objects.bulk_create(
        ClosedCost(
            closing=closings[line_id],
            origin=origin,
            reference=cost.reference,
            currency=cost.currency,
            month=cost.month,
            amount=cost.amount,
        )
        for line_id, origin, cost in [*own, *late]
    )
    return closings


def hours_to_keep(lines: Sequence[BudgetLine]) -> list[tuple[MeteredHours, LineClosing | None]]:
    """The hours of lines that are about to be closed: their own, and late ones with the closing they come from."""
    if not lines:
        return []
    own: list[tuple[MeteredHours, LineClosing | None]] = [(row, None) for row in hours_used(line.pk for line in lines)]
    late = late_hours(lines, on=None, until=None)
    return own + [(row._replace(line_id=heir), origin) for heir, rows in late.items() for origin, row in rows]


def keep_hours(
    used: Sequence[tuple[MeteredHours, LineClosing | None]],
    hours: Mapping[int, LineHours],
    closings: Mapping[int, LineClosing],
) -> None:
    """The rows that say how many hours were official, of the lines that have a budget of them."""
    book = accelerator_book()
    ClosedHours.objects.bulk_create(
        ClosedHours(
            closing=closings[row.line_id],
            origin=origin,
            reference=row.reference,
            accelerator=row.accelerator,
            hours=row.hours,
            counted=counted_in(hours[row.line_id].unit, row, book).hours,
        )
        for row, origin in used
    )


def carry_over(
    line: BudgetLine,
    closing: LineClosing,
    status: LineStatus,
    hours: LineHours | None,
    *,
    by: User,
    now: datetime,
) -> None:
    """Release what proposals still hold, and carry what is left, and what can be promised again, to the next period."""
    amount = carrying.carried_by(MONEY, line, status)
    number = carrying.carried_by(HOURS, line, hours.status) if hours else ZERO
    following = next_line(line) if amount or number else None
    common = {
        "closing": closing,
        "by": by,
        "at": now,
        "reason": _("%(month)s was closed.") % {"month": carrying.period_text(line)},
    }
    carrying.carry(MONEY, line, following, status, common, now=now)
    carried_hours = carrying.carry(HOURS, line, following, hours.status, common, now=now) if hours else None
    if following is not None:
        closing.carried_to = following
        closing.save(update_fields=["carried_to"])
        touch([following])
    activity.record(
        "line.closed",
        by=by,
        project=line.project,
        subject=line,
        actual=status.actual,
        budget=status.budget,
        carried=amount,
        carried_hours=None if carried_hours is None else exact_text(carried_hours),
        promised=sum(carrying.remaining_promises(status).values(), ZERO),
        **facts_of(line),
    )


def next_line(line: BudgetLine) -> BudgetLine:
    """The line of the same kind in the period that follows, locked; made like this one where it is missing."""
    project = lock_project(line.project_id)
    same = BudgetLine.objects.open().filter(**kind_of(line))
    found = same.filter(start__gte=line.end).order_by("start").first()
    if found is not None and found.start == line.end:
        return lock_lines([found.pk])[found.pk]
    month = Month.of(line.end)
    wanted = calendar_period(
        line.period_kind, month, fiscal_year_starts_in=Organisation.current().fiscal_year_starts_in
    )
    taken = [each.period for each in BudgetLine.objects.filter(**kind_of(line))]
    made = add_line(
        project,
        line.category,
        line.period_kind,
        free_part(wanted, taken, month),
        line.task_type,
        line.basis,
        line.charge_categories,
        subcategory=line.subcategory,
    )
    for name in (
        "consumes_open_commitments",
        "freezes_at_limit",
        "rollover",
        "rollover_share",
        "rollover_amount",
        "rollover_hours",
        "carries_overspend",
    ):
        setattr(made, name, getattr(line, name))
    made.save()
    copy_thresholds(line, made)
    activity.record("line.opened", by=None, project=project, subject=made, **facts_of(made))
    return made


def hours_can_follow(line: BudgetLine) -> bool:
    """Whether the next line counts accelerator-hours as this one does, or counts none yet; others are not carried."""
    found = BudgetLine.objects.open().filter(**kind_of(line), start=line.end).first()
    return found is None or HOURS.takes(found, HOURS.unit(line))


def kind_of(line: BudgetLine) -> dict[str, object]:
    """What lines of one kind have in common; they follow each other in time."""
    return {
        "project": line.project_id,
        "category": line.category,
        "subcategory": line.subcategory,
        "task_type": line.task_type,
    }


def copy_thresholds(line: BudgetLine, made: BudgetLine) -> None:
    """The new line is watched as the old one was."""
    made.thresholds.all().delete()
    Threshold.objects.bulk_create(
        Threshold(line=made, basis=each.basis, share=each.share, amount=each.amount, quantile=each.quantile)
        for each in line.thresholds.filter(active=True)
    )


# ---- opening again


def take_back(closing: LineClosing, lines: dict[int, BudgetLine], *, by: User, reason: str, now: datetime) -> None:
    """Contrary entries for what the closing carried over, and the line is open."""
    line = lines[closing.line_id]
    common = {"closing": closing, "by": by, "at": now, "reason": reason.strip()}
    if closing.carried_to_id is not None:
        for book in carrying.BOOKS:
            carrying.take_back(book, closing, line, lines[closing.carried_to_id], common, now=now)
    closing.reopened_at, closing.reopened_by, closing.reopen_reason = now, by, reason.strip()
    closing.save(update_fields=["reopened_at", "reopened_by", "reopen_reason"])
    line.closed_at = None
    line.save(update_fields=["closed_at"])
    for book in carrying.BOOKS:
        carrying.hold_again(book, closing, line, common, now=now)
    activity.record("line.reopened", by=by, project=line.project, subject=line, reason=reason.strip(), **facts_of(line))
