"""Guards: set, judged, ended. Judged by the same comparison as the thresholds of lines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _

from budgets.models import Stop
from budgets.services.stops import stop_jobs
from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from teams import activity, notifications, permissions
from teams.models import Organisation, Project, Role, Team, User
from usage.models import Run

from .answers import quiet_until, written_cause
from .judge import CROSSED, UNCROSSED, Earlier, Verdict, Watched, judge
from .measuring import currency_of, figures_of_guard
from .models import Flag, Guard

QUANTITIES = (Guard.Measure.ACCELERATOR_HOURS, Guard.Measure.QUANTITY)
MONEY = (Guard.Measure.ACTUAL, Guard.Measure.COMMITTED, Guard.Measure.FORECAST)


@transaction.atomic
def set_guard(
    *,
    by: User,
    measure: str,
    project: Project | None = None,
    team: Team | None = None,
    run: Run | None = None,
    share: Decimal | None = None,
    amount: Decimal | None = None,
    quantile: str = "",
    unit: str = "",
    since: date | None = None,
    period: str = "",
    stops_jobs: bool = False,
) -> Guard:
    """Watch a run, a project, a team, or all of them. Managers, directors and finance may."""
    watched = project or (run.project if run else None)
    check_may_set(by, watched.team if watched else team)
    check_sense(measure, share, amount, unit, project=project, team=team, run=run, stops_jobs=stops_jobs)
    check_days(measure, since, period, run)
    guard = Guard.objects.create(
        by=by,
        project=project,
        team=team,
        run=run,
        measure=measure,
        share=share,
        amount=amount,
        quantile=(quantile or "p50") if measure == Guard.Measure.FORECAST else "",
        unit=unit if measure == Guard.Measure.QUANTITY else "",
        since=since,
        period=period,
        stops_jobs=stops_jobs,
    )
    activity.record("guard.set", by=by, project=watched, team=team, guard=str(guard))
    return guard


def check_may_set(by: User, team: Team | None) -> None:
    if team is None:
        if not (permissions.has_role(by, Role.FINANCE) or permissions.has_role(by, Role.DIRECTOR)):
            raise NotAllowed(_("What is watched over all teams is set by directors and finance."))
    elif not permissions.may_fund(by, team):
        raise NotAllowed(_("Guards of %(team)s are set by its managers, directors and finance.") % {"team": team})


def check_sense(
    measure: str, share: Decimal | None, amount: Decimal | None, unit: str, *, stops_jobs: bool, **watched: Any
) -> None:
    """One thing is watched, at one level, that its measure can have."""
    faults = []
    if sum(each is not None for each in watched.values()) > 1:
        faults.append(Fault("project", "", _("is one of several"), _("a run, a project, a team, or none of them")))
    if (share is None) == (amount is None) or (share or amount or 0) <= 0:
        faults.append(Fault("amount", "", _("is missing"), _("an amount or a share, above zero")))
    if share is not None and (measure not in MONEY or watched["run"]):
        faults.append(Fault("share", exact_text(share), _("fits money on lines only"), _("an amount")))
    if measure == Guard.Measure.QUANTITY and not unit:
        faults.append(Fault("unit", unit, _("is missing"), _("the unit as the bill names it")))
    if measure == Guard.Measure.MFU and (amount or 0) > 1:
        faults.append(Fault("amount", exact_text(amount or Decimal(0)), _("is no MFU"), "0.3"))
    if measure == Guard.Measure.MFU and not (watched["run"] or watched["project"]):
        faults.append(Fault("project", "", _("is missing"), _("a run or a project")))
    if watched["run"] and measure in (Guard.Measure.COMMITTED, Guard.Measure.FORECAST, Guard.Measure.QUANTITY):
        faults.append(Fault("measure", measure, _("is not known of a run"), "actual, accelerator_hours, mfu"))
    if stops_jobs and not (watched["run"] or watched["project"]):
        faults.append(Fault("stops_jobs", True, _("fits a run or a project only"), ""))
    if faults:
        raise DomainError(_("This cannot be watched."), faults=faults)


def check_days(measure: str, since: date | None, period: str, run: Run | None) -> None:
    """Quantities count from a day, or anew in each period of the calendar; other measures have days of their own."""
    faults = []
    if period and since:
        faults.append(Fault("period", period, _("stands beside a day to count from"), _("one of them, or none")))
    if (period or since) and (measure not in QUANTITIES or run):
        given = "period" if period else "since"
        faults.append(Fault(given, period or str(since), _("fits quantities of projects and teams only"), ""))
    if faults:
        raise DomainError(_("This cannot be watched."), faults=faults)


@transaction.atomic
def end_guard(guard: Guard, *, by: User, now: datetime) -> None:
    """Watch no more. A stop it made stays until it is lifted."""
    locked = lock_guard(guard)
    check_may_set(by, locked.watched_team)
    locked.ended_at = now
    locked.save(update_fields=["ended_at"])
    record("guard.ended", locked, by)


def lock_guard(guard: Guard) -> Guard:
    """The guard as it is now, with the lock that the judge takes."""
    locked = Guard.objects.active().select_for_update(of=("self",)).filter(pk=guard.pk).first()
    if locked is None:
        raise DomainError(_("This guard watches no more."), code="wrong_state")
    return locked


def record(verb: str, guard: Guard, by: User, **facts: Any) -> None:
    activity.record(verb, by=by, project=guard.watched_project, team=guard.team, guard=str(guard), **facts)


def guards_of_projects(project_ids: Iterable[int]) -> list[int]:
    """The guards that what happened in these projects may move."""
    ids = list(project_ids)
    teams = Project.objects.filter(pk__in=ids).values("team")
    wide = Q(project__isnull=True, team__isnull=True, run__isnull=True)
    of_these = Q(project__in=ids) | Q(run__project__in=ids) | Q(team__in=teams) | wide
    return list(Guard.objects.active().filter(of_these).values_list("pk", flat=True))


@transaction.atomic
def judge_guards(guard_ids: Iterable[int], *, now: datetime) -> list[Guard]:
    """Hold each against its measure; answers those that were reached just now."""
    rows = Guard.objects.active().select_for_update(of=("self",)).filter(pk__in=list(guard_ids)).order_by("pk")
    reached = []
    today = Organisation.current().today(now)
    for guard in rows.select_related("project__team", "team", "run__project__team"):
        figures = figures_of_guard(guard, now)
        if figures is None:
            continue
        begin_period(guard, figures.begins_on)
        earlier = {guard.pk: Earlier(guard.state, guard.told_share, guard.muted_until)}
        for verdict in judge([watched_of(guard)], figures, earlier, today):
            apply(guard, verdict, now)
            if verdict.transition == CROSSED:
                reached.append(guard)
    return reached


def begin_period(guard: Guard, begins_on: date | None) -> None:
    """Where other days count than before, people hear of them anew: of a quantity's new period whatever was answered
    in the last one, of lines once the guard has fallen and new ones run."""
    if begins_on == guard.begins_on or not (guard.period or guard.state == Flag.State.BELOW):
        return
    guard.begins_on, guard.told_share = begins_on, None
    if guard.period:
        guard.state = Flag.State.BELOW
        forget_answer(guard)


def forget_answer(guard: Guard) -> None:
    guard.cause, guard.acknowledged_by, guard.acknowledged_at, guard.muted_until = "", None, None, None


def watched_of(guard: Guard) -> Watched:
    basis = str(guard.measure) if guard.measure in (*MONEY, Guard.Measure.MFU) else "actual"
    return Watched(guard.pk, basis, guard.share, guard.amount, guard.quantile)


def apply(guard: Guard, verdict: Verdict, now: datetime) -> None:
    """Take over the verdict; tell people, and stop jobs, when it was reached just now."""
    guard.state, guard.value, guard.limit = verdict.state, verdict.value, verdict.limit
    if verdict.state != Flag.State.MUTED:
        guard.muted_until = None
    if verdict.transition == CROSSED:
        guard.crossed_at = now
        forget_answer(guard)
        if guard.stops_jobs:
            guard.stop = stop_for(guard, verdict, now)
    if verdict.transition == UNCROSSED and guard.measure == Guard.Measure.MFU:
        guard.told_share = None  # the next slump is another
    if verdict.tell:
        guard.told_share = verdict.share
        tell(guard, verdict)
    guard.save()


def stop_for(guard: Guard, verdict: Verdict, now: datetime) -> Stop | None:
    project = guard.watched_project
    if project is None:
        return None
    words = {"guard": guard, "value": exact_text(verdict.value)}
    job = guard.run.job if guard.run else ""
    return stop_jobs(project, job=job, reason=_("The guard %(guard)s was reached: %(value)s.") % words, now=now)


def tell(guard: Guard, verdict: Verdict) -> None:
    project, team = guard.watched_project, guard.watched_team
    people = list(permissions.people_with_role(Role.FINANCE, team))
    people += list(permissions.people_with_role(Role.MANAGER, team)) if team else []
    people += list(permissions.people_with_role(Role.MEMBER, team)) if project else []
    people += [] if team else list(permissions.people_with_role(Role.DIRECTOR))
    is_money = guard.measure in MONEY
    notifications.notify_all(
        [
            notifications.Word(
                people=people,
                kind="guard_reached",
                project=project,
                url=reverse("guard", args=[guard.pk]),
                email=True,
                is_warning=True,
                is_urgent=guard.stops_jobs,
                facts={
                    "of": guard.of,
                    "measure": guard.measure,
                    "value": verdict.value,
                    "limit": verdict.limit,
                    "unit": currency_of(guard) if is_money else guard.unit,
                    "stops": guard.stops_jobs,
                    "incomplete": verdict.is_incomplete,
                },
            )
        ]
    )


# ---- what people answer


@transaction.atomic
def acknowledge_guard(guard: Guard, *, by: User, cause: str, now: datetime) -> Guard:
    """State in writing why it was reached. It stays quiet until it falls, or counts anew, and is reached again."""
    locked = hold_for_answer(guard, by)
    locked.cause = written_cause(cause)
    locked.state = Flag.State.ACKNOWLEDGED
    locked.acknowledged_by, locked.acknowledged_at, locked.muted_until = by, now, None
    locked.save()
    record("guard.acknowledged", locked, by, cause=locked.cause)
    return locked


@transaction.atomic
def mute_guard(guard: Guard, *, by: User, until: date, now: datetime) -> Guard:
    """Keep it quiet until a day. Then it stands again, if it is still reached. A stop it made stays."""
    locked = hold_for_answer(guard, by)
    locked.muted_until = quiet_until(until, now=now)
    locked.state = Flag.State.MUTED
    locked.save()
    record("guard.muted", locked, by, muted_until=until)
    return locked


def hold_for_answer(guard: Guard, by: User) -> Guard:
    locked = lock_guard(guard)
    if not may_answer(locked, by):
        raise NotAllowed(_("A guard is answered by members and managers of what it watches, directors and finance."))
    if not locked.is_standing:
        raise DomainError(_("This warning does not stand any more."), code="wrong_state")
    return locked


def may_answer(guard: Guard, by: User) -> bool:
    """Those who may set it; of a team or a project also who writes its plans."""
    team = guard.watched_team
    if team is None:
        return permissions.has_role(by, Role.FINANCE) or permissions.has_role(by, Role.DIRECTOR)
    return permissions.may_write_plans(by, team) or permissions.may_fund(by, team)
