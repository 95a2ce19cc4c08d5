"""Granting accelerator-hours, and promising them with the money of a proposal."""

from __future__ import annotations

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
    if hours < 0 and (standing is None or standing.status.free < -hours):
        free = standing.status.free if standing else ZERO
        raise DomainError(
            _("%(line)s has %(free)s hours that are free, less than %(hours)s.")
            % {"line": locked, "free": exact_text(free), "hours": exact_text(-hours)},
            code="headroom_too_small",
        )
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


def check_hours(line: BudgetLine, hours: Decimal, unit: str) -> None:
    if not may_have_hours(line):
        raise DomainError(_("Only compute lines have accelerator-hours."), code="wrong_category")
    if unit not in HoursEntry.Unit.values:
        raise DomainError(
            _("Hours are real or equivalent."),
            faults=[Fault("unit", unit, _("is not known"), ", ".join(HoursEntry.Unit.values))],
        )
    if not hours.is_finite() or hours == 0 or abs(hours) >= LARGEST or hours != hours.quantize(SMALLEST, context=EXACT):
        raise DomainError(
            _("This is no number of hours."),
            faults=[Fault("hours", str(hours), _("must not be zero, with at most four decimals"), "0.0001 – 1e15")],
        )


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
