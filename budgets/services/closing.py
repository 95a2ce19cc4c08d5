"""Closing months, and opening them again. Finance closes; what is known at that moment is official from then on."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import EXACT, exact_text, quantum
from core.months import Month
from teams import activity, permissions
from teams.models import ClosedMonth, Organisation, User
from usage.standstill import stand_still

from ..actuals import metered
from ..closed import late_costs
from ..closing import Checklist, checklist, months_to_close
from ..locks import lock_lines, lock_project
from ..models import BudgetLine, ClosedCost, Entry, Hold, LineClosing, Threshold
from ..periods import calendar_period, free_part
from ..queries import line_status, line_statuses
from ..rollover import Policy, carried, promises_carried, whole_units
from ..status import LineStatus
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
    closings = list(LineClosing.objects.filter(month=month.start, reopened_at__isnull=True).order_by("line_id"))
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
    closings = keep_costs(lines, month, by=by, now=now)
    Hold.objects.in_force(now).filter(line__in=lines).update(ended_at=now)
    for line in lines:
        line.closed_at = now
    BudgetLine.objects.bulk_update(lines, ["closed_at"])
    for line in lines:
        carry_over(line, closings[line.pk], statuses[line.pk], by=by, now=now)
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


def carry_over(line: BudgetLine, closing: LineClosing, status: LineStatus, *, by: User, now: datetime) -> None:
    """Release what proposals still hold, and carry money, and what can be promised again, to the next period."""
    remaining = {reference: held.remaining for reference, held in status.promises.items() if held.remaining > 0}
    carry = carried_by(line, status)
    following = next_line(line) if carry else None
    common = {
        "closing": closing,
        "by": by,
        "at": now,
        "reason": _("%(month)s was closed.") % {"month": period_text(line)},
    }
    release_all(line, remaining, common)
    if following is not None:
        move_money(line, following, carry, common)
        promise_again(following, promises_carried(remaining, carry, line.currency), common, now=now)
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
        carried=carry,
        promised=sum(remaining.values(), ZERO),
        **facts_of(line),
    )


def carried_by(line: BudgetLine, status: LineStatus) -> Decimal:
    """What the line would carry over as it stands; nothing comes after the life of a project."""
    if line.period_kind == BudgetLine.PeriodKind.PROJECT:
        return ZERO
    policy = Policy(line.rollover, line.rollover_share, line.rollover_amount, line.carries_overspend)
    return carried(policy, status.budget, status.actual, line.currency)


def period_text(line: BudgetLine) -> str:
    """How people name the period: its month, or its first and last day."""
    if line.period_kind == BudgetLine.PeriodKind.MONTH:
        return str(Month.of(line.start))
    return f"{line.start} – {line.last_day}"


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
        "carries_overspend",
    ):
        setattr(made, name, getattr(line, name))
    made.save()
    copy_thresholds(line, made)
    activity.record("line.opened", by=None, project=project, subject=made, **facts_of(made))
    return made


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


def release_all(line: BudgetLine, remaining: dict[str, Decimal], common: dict) -> None:
    """Nothing is held on a period that is over."""
    Entry.objects.bulk_create(
        Entry(
            line=line,
            kind=Entry.Kind.RELEASE,
            amount=amount.quantize(quantum(line.currency), rounding=decimal.ROUND_CEILING, context=EXACT),
            proposal_id=int(reference.removeprefix("P-")),
            **common,
        )
        for reference, amount in remaining.items()
    )


def move_money(source: BudgetLine, target: BudgetLine, amount: Decimal, common: dict) -> None:
    """Two rollover entries that balance."""
    number = uuid.uuid4()
    Entry.objects.bulk_create(
        Entry(line=line, kind=Entry.Kind.ROLLOVER, amount=part, transfer=number, **common)
        for line, part in ((source, -amount), (target, amount))
    )


def promise_again(line: BudgetLine, going: dict[str, Decimal], common: dict, *, now: datetime) -> None:
    """What proposals held and the carried money covers, they hold on the next line."""
    if not going:
        return
    others = line_status(line, now=now).others_spent
    Entry.objects.bulk_create(
        Entry(
            line=line,
            kind=Entry.Kind.COMMIT,
            amount=amount,
            others_spent=others,
            proposal_id=int(reference.removeprefix("P-")),
            **common,
        )
        for reference, amount in going.items()
    )


# ---- opening again


def take_back(closing: LineClosing, lines: dict[int, BudgetLine], *, by: User, reason: str, now: datetime) -> None:
    """Contrary entries for what the closing carried over, and the line is open."""
    line = lines[closing.line_id]
    common = {"closing": closing, "by": by, "at": now, "reason": reason.strip()}
    entries = list(closing.entries.select_related("proposal"))
    if closing.carried_to_id is not None:
        take_back_from(lines[closing.carried_to_id], line, entries, common, now=now)
    closing.reopened_at, closing.reopened_by, closing.reopen_reason = now, by, reason.strip()
    closing.save(update_fields=["reopened_at", "reopened_by", "reopen_reason"])
    line.closed_at = None
    line.save(update_fields=["closed_at"])
    hold_again(line, entries, common, now=now)
    activity.record("line.reopened", by=by, project=line.project, subject=line, reason=reason.strip(), **facts_of(line))


def take_back_from(
    following: BudgetLine, line: BudgetLine, entries: Sequence[Entry], common: dict, *, now: datetime
) -> None:
    """What was carried leaves the next line again; refused where it is spent or promised by now."""
    promises = line_status(following, now=now).promises
    going = {}
    for entry in entries:
        if entry.kind == Entry.Kind.COMMIT and entry.line_id == following.pk and entry.proposal is not None:
            held = promises.get(entry.proposal.reference)
            part = whole_units(min(entry.amount, held.remaining), line.currency) if held else ZERO
            if part > 0:
                going[entry.proposal.reference] = part
    release_all(following, going, common)
    carry = sum(
        (entry.amount for entry in entries if entry.kind == Entry.Kind.ROLLOVER and entry.line_id == following.pk), ZERO
    )
    free = line_status(following, now=now).free
    if carry > 0 and free < carry:
        raise DomainError(
            _("%(short)s of the %(carry)s %(currency)s carried to %(line)s are used: grant or transfer first.")
            % {
                "carry": exact_text(carry),
                "currency": line.currency,
                "line": f"{following} {period_text(following)}",
                "short": exact_text(carry - max(free, ZERO)),
            },
            code="short",
        )
    move_money(following, line, carry, common)


def hold_again(line: BudgetLine, entries: Sequence[Entry], common: dict, *, now: datetime) -> None:
    """What the closing released, proposals that are still open hold again, as far as the line has room for it."""
    status = line_status(line, now=now)
    gone = {
        entry.proposal.reference: entry.amount
        for entry in entries
        if entry.kind == Entry.Kind.RELEASE
        and entry.line_id == line.pk
        and entry.proposal is not None
        and entry.proposal.closed_at is None
    }
    used = {}
    for entry in entries:
        if entry.kind == Entry.Kind.COMMIT and entry.proposal is not None:
            taken_back = Entry.objects.filter(
                closing=entry.closing, line=entry.line_id, proposal=entry.proposal, kind=Entry.Kind.RELEASE
            ).first()
            used[entry.proposal.reference] = entry.amount - (taken_back.amount if taken_back else ZERO)
    wanted = {reference: amount - used.get(reference, ZERO) for reference, amount in gone.items()}
    promise_again(line, promises_carried(wanted, max(ZERO, status.headroom), line.currency), common, now=now)
