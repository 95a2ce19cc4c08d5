"""Opening retrospectives from overruns and finished proposals, writing them, closing them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from budgets.models import Proposal
from core.errors import DomainError, Fault, NotAllowed
from core.money import round_money
from core.vocabulary import TaskType
from estimates.baselines.models import OF_ACCELERATORS, Baseline
from estimates.baselines.services import Figure, record_baselines
from estimates.engine.recorded import family
from overruns.models import Crossing
from teams import activity, notifications, permissions
from teams.models import Organisation, Project, Role, User

from . import queries
from .measured import MEASURED, Measured, Planned, fewest_hours, lessons, main_hours, planned_in
from .models import Action, Measurement, Retrospective

SHARES = ("experiment_share", "mfu", "goodput", "rollback_share")
DAYS_TO_WRITE = timedelta(days=14)


def open_for_overruns(*, now: datetime) -> list[Retrospective]:
    """One retrospective for every overrun that has none; owned by a manager of the team, due in two weeks.

    A limit that is reached again while its retrospective is still open belongs to that one.
    """
    waiting = (
        Crossing.objects.filter(is_overrun=True, kind=Crossing.Kind.CROSSED, retrospective__isnull=True, told=True)
        .exclude(flag__crossings__retrospective__state=Retrospective.State.OPEN)
        .values_list("pk", flat=True)
    )
    return [opened for pk in waiting.order_by("pk") if (opened := open_for_crossing(pk, now=now))]


@transaction.atomic
def open_for_crossing(crossing_id: int, *, now: datetime) -> Retrospective | None:
    """The retrospective of one overrun; None where another worker has opened it meanwhile."""
    crossing = (
        Crossing.objects.select_for_update(of=("self",)).select_related("flag__line__project__team").get(pk=crossing_id)
    )
    if Retrospective.objects.filter(crossing=crossing).exists():
        return None
    line = crossing.flag.line
    return open_retrospective(
        line.project,
        currency=line.currency,
        difference=round_money(crossing.value - crossing.limit, line.currency),
        crossing=crossing,
        now=now,
    )


@transaction.atomic
def open_for_proposal(proposal: Proposal, *, by: User, now: datetime | None = None) -> Retrospective:
    """Look back at a proposal whose work is done."""
    moment = now or timezone.now()
    if not permissions.may_fund(by, proposal.project.team) and by != proposal.requester:
        raise NotAllowed(_("A retrospective is opened by who asked, managers of the team, directors and finance."))
    if proposal.state != Proposal.State.CLOSED:
        raise DomainError(_("Close the proposal first: then what it used stands still."), code="wrong_state")
    known = Retrospective.objects.filter(proposal=proposal).first()
    if known is not None:
        return known
    held = proposal.entries.filter(kind="commit").values_list("amount", flat=True)
    released = proposal.entries.filter(kind="release").values_list("amount", flat=True)
    used = sum(held, Decimal(0)) - sum(released, Decimal(0))
    asked = proposal.versions.filter(ask_total__isnull=False).order_by("-number")[0].ask_total or Decimal(0)
    return open_retrospective(
        proposal.project,
        currency=proposal.project.currency,
        difference=used - asked,
        proposal=proposal,
        by=by,
        now=moment,
    )


def open_retrospective(
    project: Project,
    *,
    currency: str,
    difference: Decimal,
    now: datetime,
    by: User | None = None,
    crossing: Crossing | None = None,
    proposal: Proposal | None = None,
) -> Retrospective:
    """The row, and word of it to its owner."""
    owner = permissions.people_with_role(Role.MANAGER, project.team).order_by("pk").first()
    opened = Retrospective.objects.create(
        project=project,
        crossing=crossing,
        proposal=proposal,
        owner=owner,
        opened_at=now,
        due_on=Organisation.current().today(now) + DAYS_TO_WRITE,
        currency=currency,
        difference=difference,
    )
    activity.record(
        "retrospective.opened",
        by=by,
        project=project,
        subject=opened,
        due_on=opened.due_on,
        difference=difference,
        currency=currency,
        category=crossing.flag.line.category if crossing else None,
    )
    notifications.notify(
        [owner] if owner else permissions.people_with_role(Role.FINANCE),
        kind="retrospective_opened",
        project=project,
        url=reverse("retrospective", args=[opened.pk]),
        email=True,
        due_on=opened.due_on,
        difference=difference,
        currency=currency,
        category=crossing.flag.line.category if crossing else "",
        title=proposal.title if proposal else "",
    )
    return opened


def lock(retrospective: Retrospective) -> Retrospective:
    return (
        Retrospective.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=retrospective.pk)
    )


def check_may_write(retrospective: Retrospective, by: User) -> None:
    team = retrospective.project.team
    if not (permissions.may_write_plans(by, team) or permissions.may_fund(by, team)):
        raise NotAllowed(
            _("Retrospectives of %(team)s are written by its members, managers and finance.") % {"team": team}
        )
    if retrospective.state == Retrospective.State.CLOSED:
        raise DomainError(_("This retrospective is closed."), code="wrong_state")


@transaction.atomic
def write_retrospective(
    retrospective: Retrospective,
    *,
    by: User,
    cause: str,
    acceptance: str = "",
    acceptance_note: str = "",
) -> Retrospective:
    """Keep what is known so far."""
    locked = lock(retrospective)
    check_may_write(locked, by)
    locked.cause = cause.strip()
    locked.acceptance = acceptance
    locked.acceptance_note = acceptance_note.strip()
    locked.save(update_fields=["cause", "acceptance", "acceptance_note"])
    activity.record("retrospective.written", by=by, project=locked.project, subject=locked)
    return locked


@transaction.atomic
def write_measurement(
    retrospective: Retrospective,
    *,
    by: User,
    measured: Measured,
    runs: int = 1,
    since: date | None = None,
    until: date | None = None,
    accelerator: str = "",
) -> Measurement:
    """Keep what was measured; when the retrospective is closed, it becomes what the next estimate starts from."""
    locked = lock(retrospective)
    check_may_write(locked, by)
    faults = list(faults_of(measured)) or list(contradictions(measured, planned_for(locked)))
    if runs < 1:
        faults.append(Fault("runs", runs, _("cannot be right"), _("at least one run")))
    if since and until and until < since:
        faults.append(Fault("until", until, _("cannot be right"), _("a day after the period begins")))
    if faults:
        raise DomainError(_("These figures cannot be right."), faults=faults)
    columns = {name: getattr(measured, name) for name in MEASURED}
    facts = {"runs": runs, "since": since, "until": until, "accelerator": accelerator}
    written, _created = Measurement.objects.update_or_create(retrospective=locked, defaults={**columns, **facts})
    return written


def faults_of(measured: Measured) -> Iterator[Fault]:
    """Shares lie between nothing and all, and nothing is negative."""
    for name in MEASURED:
        value = getattr(measured, name)
        if value is None:
            continue
        if not value.is_finite() or value < 0:
            yield Fault(name, value, _("cannot be right"), _("a number that is not negative"))
        elif name in SHARES and value > 1:
            yield Fault(name, value, _("cannot be right"), _("a share: from 0 to 1"))


def contradictions(measured: Measured, planned: Planned) -> Iterator[Fault]:
    """Figures that no run can have, each with what it would have to be: they would teach the next estimate nonsense."""
    for name in ("accelerator_hours", "mfu", "goodput"):
        if getattr(measured, name) == 0:
            yield Fault(name, Decimal(0), _("cannot be right"), _("above 0; leave it empty where it was not measured"))
    if measured.rollback_share == 1:
        yield Fault("rollback_share", measured.rollback_share, _("cannot be right"), _("below 1: something was kept"))
    most = None if measured.rollback_share is None else 1 - measured.rollback_share
    if measured.goodput and most and measured.goodput > most:
        yield Fault(
            "goodput",
            measured.goodput,
            _("cannot be right beside what was rolled back, which counts as lost"),
            _("at most %(most)s") % {"most": f"{most.normalize():f}"},
        )
    hours, fewest = main_hours(measured) or measured.accelerator_hours, fewest_hours(measured, planned)
    if hours and fewest and hours < fewest:
        yield Fault(
            "accelerator_hours",
            measured.accelerator_hours,
            _("cannot be right: the planned work would have been done faster than these accelerators can"),
            _("at least %(hours)s for the main run; leave it empty where less was done than planned")
            % {"hours": f"{fewest.to_integral_value(ROUND_CEILING):f}"},
        )


def planned_for(retrospective: Retrospective) -> Planned:
    """What the estimate of the approved plan reckoned with."""
    estimate = queries.estimate_of(retrospective)
    return planned_in(estimate.answer.get("quantities", {}) if estimate else {})


@transaction.atomic
def add_action(retrospective: Retrospective, *, by: User, text: str, owner: User, due_on: date | None = None) -> Action:
    """Something to do differently, and who does it."""
    locked = lock(retrospective)
    check_may_write(locked, by)
    if not text.strip():
        raise DomainError(_("Say what is to be done."), faults=[Fault("text", text, _("is missing"))])
    if not permissions.may_see_project(owner, locked.project):
        raise DomainError(_("Choose someone who may see this project."))
    action = Action.objects.create(retrospective=locked, text=text.strip(), owner=owner, due_on=due_on)
    activity.record("action.added", by=by, project=locked.project, subject=locked, text=action.text, owner=str(owner))
    if owner != by:
        notifications.notify(
            [owner],
            kind="action_assigned",
            project=locked.project,
            url=reverse("retrospective", args=[locked.pk]),
            email=True,
            text=action.text,
            due_on=due_on,
            by=str(by),
        )
    return action


@transaction.atomic
def finish_action(action: Action, *, by: User, now: datetime | None = None) -> None:
    """It is done. Also after the retrospective was closed."""
    locked = (
        Action.objects.select_for_update(of=("self",)).select_related("retrospective__project__team").get(pk=action.pk)
    )
    team = locked.retrospective.project.team
    if by != locked.owner and not (permissions.may_write_plans(by, team) or permissions.may_fund(by, team)):
        raise NotAllowed(_("Only its owner, or the team, says that this is done."))
    if locked.done_at is None:
        locked.done_at = now or timezone.now()
        locked.save(update_fields=["done_at"])
        activity.record(
            "action.done", by=by, project=locked.retrospective.project, subject=locked.retrospective, text=locked.text
        )


@transaction.atomic
def close_retrospective(retrospective: Retrospective, *, by: User, now: datetime | None = None) -> Retrospective:
    """Close it. It says why, and whether the work reached its goal."""
    locked = lock(retrospective)
    check_may_write(locked, by)
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("A retrospective is closed by a manager of the team, a director or finance."))
    faults = []
    if not locked.cause:
        faults.append(Fault("cause", "", _("is missing"), _("why it went otherwise than approved")))
    if not locked.acceptance:
        faults.append(Fault("acceptance", "", _("is missing"), _("met, not met, or not to be said yet")))
    if faults:
        raise DomainError(_("Before it is closed, write the cause and whether the goal was reached."), faults=faults)
    locked.state = Retrospective.State.CLOSED
    locked.closed_at, locked.closed_by = now or timezone.now(), by
    locked.save(update_fields=["state", "closed_at", "closed_by"])
    activity.record("retrospective.closed", by=by, project=locked.project, subject=locked)
    teach(locked, by=by)
    return locked


def teach(closed: Retrospective, *, by: User) -> list[Baseline]:
    """Write down what the measured figures say to the next estimate of the team."""
    measurement = Measurement.objects.filter(retrospective=closed).first()
    if measurement is None or closed.closed_at is None:
        return []
    proposal = queries.proposal_of(closed)
    found = lessons(measurement.measured, planned_for(closed))
    task_type = proposal.task_type if proposal else closed.project.task_type
    day = Organisation.current().today(closed.closed_at)
    figures = [
        Figure(
            quantity=quantity,
            value=value,
            runs=measurement.runs,
            since=measurement.since or measurement.until or day,
            until=measurement.until or max(day, measurement.since or day),
            source=f"{closed.project}, {day}",
            link=reverse("retrospective", args=[closed.pk]),
            task_type="" if task_type == TaskType.OTHER else task_type,
            accelerator_family=family(measurement.accelerator) if quantity in OF_ACCELERATORS else "",
        )
        for quantity, value in found.items()
    ]
    return record_baselines(figures, by=by, team=closed.project.team, project=closed.project, now=closed.closed_at)
