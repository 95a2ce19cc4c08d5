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

from .judge import CROSSED, UNCROSSED, Earlier, Verdict, Watched, judge
from .measuring import currency_of, figures_of_guard
from .models import Guard

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
    stops_jobs: bool = False,
) -> Guard:
    """Watch a run, a project, a team, or all of them. Managers, directors and finance may."""
    watched = project or (run.project if run else None)
    check_may_set(by, watched.team if watched else team)
    check_sense(measure, share, amount, unit, project=project, team=team, run=run, stops_jobs=stops_jobs)
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


@transaction.atomic
def end_guard(guard: Guard, *, by: User, now: datetime) -> None:
    """Watch no more. A stop it made stays until it is lifted."""
    locked = Guard.objects.select_for_update(of=("self",)).get(pk=guard.pk)
    project = locked.project or (locked.run.project if locked.run else None)
    check_may_set(by, project.team if project else locked.team)
    locked.ended_at = now
    locked.save(update_fields=["ended_at"])
    activity.record("guard.ended", by=by, project=project, team=locked.team, guard=str(locked))


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
        earlier = {guard.pk: Earlier(guard.state, guard.told_share)}
        for verdict in judge([watched_of(guard)], figures, earlier, today):
            apply(guard, verdict, now)
            if verdict.transition == CROSSED:
                reached.append(guard)
    return reached


def watched_of(guard: Guard) -> Watched:
    basis = str(guard.measure) if guard.measure in (*MONEY, Guard.Measure.MFU) else "actual"
    return Watched(guard.pk, basis, guard.share, guard.amount, guard.quantile)


def apply(guard: Guard, verdict: Verdict, now: datetime) -> None:
    """Take over the verdict; tell people, and stop jobs, when it was reached just now."""
    guard.state, guard.value, guard.limit = verdict.state, verdict.value, verdict.limit
    if verdict.transition == CROSSED:
        guard.crossed_at = now
        if guard.stops_jobs:
            guard.stop = stop_for(guard, verdict, now)
    if verdict.transition == UNCROSSED and guard.measure == Guard.Measure.MFU:
        guard.told_share = None  # the next slump is another
    if verdict.tell:
        guard.told_share = verdict.share
        tell(guard, verdict)
    guard.save()


def stop_for(guard: Guard, verdict: Verdict, now: datetime) -> Stop | None:
    project = guard.project or (guard.run.project if guard.run else None)
    if project is None:
        return None
    words = {"guard": guard, "value": exact_text(verdict.value)}
    job = guard.run.job if guard.run else ""
    return stop_jobs(project, job=job, reason=_("The guard %(guard)s was reached: %(value)s.") % words, now=now)


def tell(guard: Guard, verdict: Verdict) -> None:
    project = guard.project or (guard.run.project if guard.run else None)
    team = project.team if project else guard.team
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
                url=reverse("guard-list"),
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
