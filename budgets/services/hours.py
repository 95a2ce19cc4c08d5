"""Accelerator-hours of lines: granted, moved between lines, given back, and promised with the money of a proposal."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import EXACT, exact_text
from core.vocabulary import Category
from teams import activity, permissions
from teams.models import User

from ..funding import Funding
from ..hours import LineHours, hours_asked, hours_of_lines, may_have_hours
from ..locks import lock_lines
from ..models import BudgetLine, Decision, HoursEntry, Proposal, ProposalVersion
from .ledger import check_reason
from .lines import check_open, facts_of, touch

ZERO = Decimal(0)
SMALLEST = Decimal("0.0001")
LARGEST = Decimal(10) ** 15


@transaction.atomic
def grant_hours(
    line: BudgetLine, *, by: User, hours: Decimal, unit: str, reason: str, now: datetime | None = None
) -> HoursEntry:
    """Accelerator-hours for a line, real or equivalent as its first grant says; a negative number takes back."""
    moment = now or timezone.now()
    locked = lock_lines([line.pk])[line.pk]
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("Hours come from managers of the team, directors and finance."))
    check_open(locked)
    check_hours(locked, hours, unit)
    check_reason(reason)
    standing = hours_of_lines([locked], now=moment).get(locked.pk)
    check_unit(standing, unit)
    if hours < 0:
        check_free(locked, standing, -hours)
    entry = HoursEntry.objects.create(
        line=locked, kind=HoursEntry.Kind.GRANT, unit=unit, hours=hours, by=by, at=moment, reason=reason.strip()
    )
    touch([locked])
    activity.record(
        "line.hours_granted",
        by=by,
        project=locked.project,
        subject=locked,
        hours=exact_text(hours),
        reason=reason.strip(),
        **facts_of(locked),
    )
    return entry


@transaction.atomic
def transfer_hours(
    source: BudgetLine, target: BudgetLine, *, by: User, hours: Decimal, reason: str, now: datetime | None = None
) -> uuid.UUID:
    """Move free hours from one line to another that is kept in the same unit, or has no hours yet."""
    if source.pk == target.pk:
        raise DomainError(_("Choose two different lines."))
    moment = now or timezone.now()
    locked = lock_lines([source.pk, target.pk])
    giver, taker = locked[source.pk], locked[target.pk]
    for team in {giver.project.team, taker.project.team}:
        if not permissions.may_transfer(by, team):
            raise NotAllowed(_("Hours of %(team)s are moved by its managers and finance.") % {"team": team})
    check_open(giver, taker)
    check_compute(giver)
    check_compute(taker)
    check_number(hours)
    check_above_zero(hours)
    check_reason(reason)
    standings = hours_of_lines([giver, taker], now=moment)
    standing = check_free(giver, standings.get(giver.pk), hours)
    check_unit(standings.get(taker.pk), standing.unit)
    number = uuid.uuid4()
    common = {"unit": standing.unit, "transfer": number, "by": by, "at": moment, "reason": reason.strip()}
    HoursEntry.objects.bulk_create(
        HoursEntry(line=line, kind=HoursEntry.Kind.TRANSFER, hours=part, **common)
        for line, part in ((giver, -hours), (taker, hours))
    )
    touch([giver, taker])
    for project in dict.fromkeys([giver.project, taker.project]):
        activity.record(
            "line.hours_transferred",
            by=by,
            project=project,
            subject=giver,
            hours=exact_text(hours),
            target_line=taker.pk,
            reason=reason.strip(),
            **facts_of(giver),
        )
    return number


@transaction.atomic
def release_hours(
    line: BudgetLine,
    proposal: Proposal,
    *,
    by: User,
    hours: Decimal,
    reason: str,
    now: datetime | None = None,
) -> HoursEntry:
    """Give back part of the hours that a proposal holds on a line and will not need."""
    moment = now or timezone.now()
    locked = lock_lines([line.pk])[line.pk]
    if by != proposal.requester and not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("Hours are released by who asked for them, managers of the team, directors and finance."))
    check_open(locked)
    check_number(hours)
    check_above_zero(hours)
    check_reason(reason)
    standing = hours_of_lines([locked], now=moment).get(locked.pk)
    held = standing.status.promises.get(proposal.reference) if standing else None
    if standing is None or held is None or held.remaining < hours:
        raise DomainError(
            _("%(proposal)s holds only %(held)s hours on this line.")
            % {"proposal": proposal.reference, "held": exact_text(held.remaining if held else ZERO)},
            code="more_than_held",
        )
    entry = HoursEntry.objects.create(
        line=locked,
        kind=HoursEntry.Kind.RELEASE,
        unit=standing.unit,
        hours=hours,
        proposal=proposal,
        by=by,
        at=moment,
        reason=reason.strip(),
    )
    touch([locked])
    activity.record(
        "line.hours_released",
        by=by,
        project=locked.project,
        subject=proposal,
        hours=exact_text(hours),
        reason=reason.strip(),
        **facts_of(locked),
    )
    return entry


def check_hours(line: BudgetLine, hours: Decimal, unit: str) -> None:
    check_compute(line)
    if unit not in HoursEntry.Unit.values:
        raise DomainError(
            _("Hours are real or equivalent."),
            faults=[Fault("unit", unit, _("is not known"), ", ".join(HoursEntry.Unit.values))],
        )
    check_number(hours)


def check_compute(line: BudgetLine) -> None:
    if not may_have_hours(line):
        raise DomainError(_("Only compute lines have accelerator-hours."), code="wrong_category")


def check_number(hours: Decimal) -> None:
    if not hours.is_finite() or hours == 0 or abs(hours) >= LARGEST or hours != hours.quantize(SMALLEST, context=EXACT):
        raise DomainError(
            _("This is no number of hours."),
            faults=[Fault("hours", str(hours), _("must not be zero, with at most four decimals"), "0.0001 – 1e15")],
        )


def check_above_zero(hours: Decimal) -> None:
    if hours < 0:
        raise DomainError(
            _("The hours must be above zero."),
            faults=[Fault("hours", exact_text(hours), _("must be above zero"), "0.0001")],
        )


def check_free(line: BudgetLine, standing: LineHours | None, needed: Decimal) -> LineHours:
    """What stands on the line, if that many hours are free."""
    if standing is None or standing.status.free < needed:
        free = standing.status.free if standing else ZERO
        raise DomainError(
            _("%(line)s has %(free)s hours that are free, less than %(hours)s.")
            % {"line": line, "free": exact_text(free), "hours": exact_text(needed)},
            code="headroom_too_small",
        )
    return standing


def check_unit(standing: LineHours | None, unit: str) -> None:
    if standing is not None and standing.unit != unit:
        raise DomainError(
            _("The line is kept in %(unit)s; the two are not added.") % {"unit": HoursEntry.Unit(standing.unit).label},
            faults=[Fault("unit", unit, _("is not the unit of the line"), standing.unit)],
        )


def promise_hours(
    version: ProposalVersion,
    decision: Decision,
    plan: Sequence[Funding],
    *,
    by: User | None,
    now: datetime,
) -> None:
    """With the money of an approval, the hours it buys: as much of the estimate's as of the money that was asked for.

    Part of the decision, which holds the locks. Lines without a budget of hours promise none.
    """
    compute = [each for each in plan if each.category == Category.COMPUTE and each.line is not None]
    lines = [each.line for each in compute if each.line is not None]
    standings = hours_of_lines(lines, now=now) if lines else {}
    asked = sum((row.amount for row in version.ask_lines.all() if row.category == Category.COMPUTE), ZERO)
    for each in compute:
        standing = standings.get(each.line.pk) if each.line else None
        hours = hours_asked(version, standing.unit) if standing else None
        if each.line is None or standing is None or hours is None or not asked:
            continue
        wanted = EXACT.divide(EXACT.multiply(hours, each.amount), asked).quantize(SMALLEST, ROUND_HALF_EVEN)
        promise_on(each.line, version.proposal, standing, wanted, by=by, reason=decision.reason, now=now)


def promise_on(
    line: BudgetLine,
    proposal: Proposal,
    standing: LineHours,
    wanted: Decimal,
    *,
    by: User | None,
    reason: str,
    now: datetime,
) -> None:
    """Commit what the proposal needs more than it holds on the line, or release what it needs less."""
    promise = standing.status.promises.get(proposal.reference)
    change = wanted - (promise.committed - promise.released if promise else ZERO)
    if change > standing.status.free:
        raise DomainError(
            _("%(line)s is short by %(short)s accelerator-hours: grant hours first.")
            % {"line": line, "short": exact_text(change - standing.status.free)},
            code="short_of_hours",
        )
    common = {"line": line, "unit": standing.unit, "proposal": proposal, "by": by, "at": now, "reason": reason}
    if change > 0:
        spent = standing.status.others_spent
        HoursEntry.objects.create(kind=HoursEntry.Kind.COMMIT, hours=change, others_spent=spent, **common)
    elif promise is not None and change < 0 and promise.remaining:
        rest = min(-change, promise.remaining).quantize(SMALLEST, ROUND_HALF_EVEN)
        if rest:
            HoursEntry.objects.create(kind=HoursEntry.Kind.RELEASE, hours=rest, **common)
