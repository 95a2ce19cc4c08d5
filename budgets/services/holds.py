"""May this job start? Answered from the headroom of its line; with a hold, if one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError
from core.money import EXACT, exact_text
from core.months import Month
from estimates.queries import accelerator_book
from teams import activity
from teams.models import Organisation, Project, User
from usage.runs.queries import jobs_seen

from ..hours import LineHours, hours_of_lines, hours_rests, in_unit
from ..locks import lock_lines
from ..models import BudgetLine, Hold, Proposal, Stop, Threshold
from ..placing import LinePlace, line_for
from ..queries import line_status, rests_of_holds
from ..status import LineStatus
from ..subcategories import subcategory_of
from .ledger import check_amount

HOLD_LIFE = timedelta(hours=6)


@dataclass(frozen=True)
class Job:
    """What asks to start: its name, what it will cost, of what kind, and for which proposal."""

    name: str
    amount: Decimal
    category: str = "compute"
    task_type: str = ""
    proposal: Proposal | None = None
    accelerator_hours: Decimal | None = None
    accelerator: str = ""


@dataclass(frozen=True)
class Start:
    """The answer: yes, warn or no; why; from which line."""

    answer: str
    reason: str
    line: BudgetLine | None = None
    headroom: Decimal | None = None
    hold: Hold | None = None
    hours: Decimal | None = None
    """What the line has left for it in the hours it is kept in; nothing where it has no budget of hours."""


def line_of_job(project: Project, job: Job, now: datetime) -> BudgetLine | None:
    """The open line that the job's cost will count on today."""
    today = Organisation.current().today(now)
    lines = [line for line in project.lines.open().filter(category=job.category) if today in line.period]
    places = [LinePlace(line.pk, line.task_type, line.period_kind, line.period, line.subcategory) for line in lines]
    place = line_for(places, job.task_type, Month.of(today), subcategory_of(job.category, job.task_type))
    return next((line for line in lines if place is not None and line.pk == place.key), None)


@transaction.atomic
def ask_to_start(project: Project, job: Job, *, by: User, hold: bool, now: datetime) -> Start:
    """Answer, and hold the money where that is asked and the answer is not no. Asking again for the same job renews
    its hold, and never counts it twice."""
    check_amount(job.amount, project.currency)
    stop = Stop.objects.in_force().filter(project=project, job__in=["", job.name]).first()
    if stop:
        return Start("no", stop.reason)
    found = line_of_job(project, job, now)
    if found is None:
        return Start(
            settings.CAN_START_WITHOUT_LINE,
            _("There is no open budget line for %(category)s today.") % {"category": job.category},
        )
    line = lock_lines([found.pk])[found.pk]
    Hold.objects.filter(line=line, job=job.name, ended_at__isnull=True).update(ended_at=now)
    status = line_status(line, now=now)
    room = room_for(job, status, line, now)
    answer, reason = answer_for(job, status, line, room)
    standing = hours_of_lines([line], now=now).get(line.pk)
    needed = hours_needed(job, standing)
    hours = hours_room(job, standing, line, now) if standing else None
    answer, reason = also_in_hours(answer, reason, line, standing, needed, hours)
    if answer == "no" or not hold:
        return Start(answer, reason, line, room, hours=hours)
    kept = Hold.objects.create(
        line=line,
        job=job.name,
        amount=job.amount,
        hours=needed,
        proposal=job.proposal,
        by=by,
        at=now,
        expires_at=now + HOLD_LIFE,
    )
    return Start(answer, reason, line, room, kept, hours)


def hours_needed(job: Job, standing: LineHours | None) -> Decimal | None:
    """The job's hours in the unit of the line; None where the job states none, or its accelerator has no known peak."""
    if standing is None or job.accelerator_hours is None:
        return None
    found = in_unit(job.accelerator_hours, job.accelerator, standing.unit, accelerator_book())
    return None if found is None else found.quantize(Decimal("0.0001"), rounding=ROUND_CEILING, context=EXACT)


def hours_room(job: Job, standing: LineHours, line: BudgetLine, now: datetime) -> Decimal:
    """As `room_for`, in hours."""
    if job.proposal is None:
        return standing.status.free
    promise = standing.status.promises.get(job.proposal.reference)
    others = Hold.objects.in_force(now).filter(line=line, proposal=job.proposal, hours__isnull=False)
    held = sum(hours_rests(list(others.select_related("line")), accelerator_book()), Decimal(0))
    own = max(Decimal(0), (promise.remaining if promise else Decimal(0)) - held)
    return max(standing.status.free, Decimal(0)) + own


def also_in_hours(
    answer: str,
    reason: str,
    line: BudgetLine,
    standing: LineHours | None,
    needed: Decimal | None,
    room: Decimal | None,
) -> tuple[str, str]:
    """The answer of the money, made stricter where the line has a budget of hours: both have to have room."""
    if answer == "no" or standing is None or room is None:
        return answer, reason
    facts = {"line": line, "room": exact_text(room), "hours": exact_text(needed or Decimal(0))}
    if needed is None:
        return "warn", _("%(line)s has a budget of accelerator-hours; the hours of this job are not known.") % facts
    if needed > room:
        return "no", _("%(line)s has %(room)s accelerator-hours left for it, less than %(hours)s.") % facts
    return answer, reason


def room_for(job: Job, status: LineStatus, line: BudgetLine, now: datetime) -> Decimal:
    """What the job may draw on: what is free, and what its own proposal still holds beyond its other jobs."""
    if job.proposal is None:
        return status.free
    promise = status.promises.get(job.proposal.reference)
    others = list(Hold.objects.in_force(now).filter(line=line, proposal=job.proposal).select_related("line"))
    held = sum(rests_of_holds(others), Decimal(0))
    own = max(Decimal(0), (promise.remaining if promise else Decimal(0)) - held)
    return max(status.free, Decimal(0)) + own


def answer_for(job: Job, status: LineStatus, line: BudgetLine, room: Decimal) -> tuple[str, str]:
    facts = {"line": line, "room": exact_text(room), "currency": line.currency, "amount": exact_text(job.amount)}
    if line.frozen_at:
        return "no", _("%(line)s is frozen since its limit was reached.") % facts
    if job.amount > room:
        return "no", _("%(line)s has %(room)s %(currency)s left for it, less than %(amount)s.") % facts
    if status.rates_missing:
        return "warn", _("%(line)s has cost whose exchange rate is not stored; less may be left than it seems.") % facts
    warning = (
        Threshold.objects.filter(line=line, active=True, basis=Threshold.Basis.ACTUAL, share__lt=1)
        .order_by("share")
        .values_list("share", flat=True)
        .first()
    )
    if warning is not None and status.actual + job.amount >= warning * status.budget:
        return "warn", _("With it, %(line)s passes its warning line.") % facts
    return "yes", _("%(line)s has %(room)s %(currency)s left for it.") % facts


@transaction.atomic
def start_hold(project: Project, job: str, *, by: User, now: datetime) -> int:
    """The job runs: what was held for it is committed now, and runs out no more."""
    waiting = Hold.objects.in_force(now).filter(line__project=project, job=job, started_at__isnull=True)
    started = waiting.update(started_at=now)
    if not started:
        raise DomainError(_("No hold of the job %(job)s waits for its start.") % {"job": job}, code="not_found")
    activity.record("hold.started", by=by, project=project, job=job)
    return started


def notice_jobs(*, now: datetime) -> int:
    """Holds whose jobs the logs show: running ones are committed now, those that are over are let go. Answers how many
    changed."""
    holds = list(Hold.objects.in_force(now).select_related("line"))
    seen = jobs_seen({(hold.line.project_id, hold.job) for hold in holds}) if holds else {}
    over, running = [], []
    for hold in holds:
        job = seen.get((hold.line.project_id, hold.job))
        if job and job.is_over:
            over.append(hold.pk)
        elif job and not hold.started_at:
            running.append(hold.pk)
    Hold.objects.filter(pk__in=running).update(started_at=now)
    Hold.objects.filter(pk__in=over).update(ended_at=now)
    return len(running) + len(over)


@transaction.atomic
def end_hold(project: Project, job: str, *, by: User, now: datetime) -> int:
    """The job is over and metered, or will not run: its hold is over."""
    ended = Hold.objects.filter(line__project=project, job=job, ended_at__isnull=True).update(ended_at=now)
    if not ended:
        raise DomainError(_("No hold of the job %(job)s is in force.") % {"job": job}, code="not_found")
    activity.record("hold.ended", by=by, project=project, job=job)
    return ended
