"""Judging lines, and what people answer to a flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta

from django.db import transaction
from django.db.models import prefetch_related_objects
from django.utils import timezone
from django.utils.translation import gettext as _

from budgets.actuals import prices_missing
from budgets.locks import lock_lines
from budgets.models import BudgetLine, Threshold, TouchedLine
from budgets.services.holds import notice_jobs
from budgets.services.lines import facts_of
from core.errors import DomainError, NotAllowed
from core.money import round_money
from teams import activity, permissions
from teams.models import Organisation, User
from usage import services as usage

from .answers import quiet_until, written_cause
from .guards import guards_of_projects, judge_guards
from .judge import Earlier, Figures, Watched, judge
from .models import Flag, Forecast
from .outlook import Sight, sight_of
from .queries import latest_forecasts, touched_line_ids
from .writing import Judged, Writing

STALE = timedelta(hours=48)
"""Cost that is older than this is not fresh: forecasts wait."""
AT_ONCE = 500
"""How many lines are judged in one transaction."""


def judge_lines(line_ids: Iterable[int], *, now: datetime) -> Judged:
    """Judge these lines, some hundred in one transaction."""
    ids = sorted(set(line_ids))
    total = Judged()
    with Organisation.kept():
        for start in range(0, len(ids), AT_ONCE):
            total.add(judge_some(ids[start : start + AT_ONCE], now=now))
    return total


@transaction.atomic
def judge_touched(*, now: datetime) -> Judged:
    """Judge the lines that imports, rules, entries or thresholds have touched. If this fails they stay touched."""
    notice_jobs(now=now)
    moved = usage.take_touched()
    ids = touched_line_ids(moved)
    touches = list(
        TouchedLine.objects.select_for_update(skip_locked=True, of=("self",))
        .order_by("pk")
        .values_list("pk", "line_id")
    )
    TouchedLine.objects.filter(pk__in=[pk for pk, _line in touches]).delete()
    lines = ids | {line for _pk, line in touches}
    judged = judge_lines(lines, now=now)
    projects = {project for project, _category, _month in moved if project is not None}
    projects |= set(BudgetLine.objects.filter(pk__among=lines).values_list("project", flat=True))
    if projects:
        judge_guards(guards_of_projects(projects), now=now)
    return judged


@transaction.atomic
def judge_some(line_ids: Sequence[int], *, now: datetime) -> Judged:
    """Hold the figures of the lines against their thresholds, and write what changed: flags, crossings, and word of
    them to people, in one transaction. Lines that freeze at their limit are locked first, then the thresholds."""
    lock_lines(BudgetLine.objects.filter(pk__among=line_ids, freezes_at_limit=True).values_list("pk", flat=True))
    watched = watched_on(line_ids)
    lines = list(BudgetLine.objects.filter(pk__among=line_ids).order_by("pk"))
    sight, unpriced = sight_of(lines, now=now), prices_missing(line_ids)
    keep_forecasts(lines, sight, now=now)
    flags = {flag.threshold_id: flag for flag in Flag.objects.filter(line__among=line_ids)}
    earlier = {key: Earlier(flag.state, flag.told_value_share, flag.muted_until) for key, flag in flags.items()}
    today = Organisation.current().today(now)
    verdicts = []
    for line in lines:
        figures = figures_of(line, sight, now, today, is_priced=line.pk not in unpriced)
        verdicts += [(line, verdict) for verdict in judge(watched.get(line.pk, []), figures, earlier, today)]
    prefetch_related_objects([line for line, _verdict in verdicts], "project__team")
    thresholds = Threshold.objects.in_bulk([verdict.watched.key for _line, verdict in verdicts])
    writing = Writing(now=now)
    for line, verdict in verdicts:
        key = verdict.watched.key
        writing.add(line, thresholds[key], flags.get(key), verdict, sight.outlooks.get(line.pk))
    return writing.write(Judged(lines=len(lines)))


def watched_on(line_ids: Sequence[int]) -> dict[int, list[Watched]]:
    """What is watched on each line; nobody else judges it until the end of the transaction."""
    rows = Threshold.objects.select_for_update(of=("self",)).filter(line__among=line_ids, active=True).order_by("pk")
    found: dict[int, list[Watched]] = {}
    columns = ("line", "pk", "basis", "share", "amount", "quantile")
    for line_id, key, basis, share, amount, quantile in rows.values_list(*columns):
        found.setdefault(line_id, []).append(Watched(key, basis, share, amount, quantile))
    return found


def figures_of(line: BudgetLine, sight: Sight, now: datetime, today: date, *, is_priced: bool) -> Figures:
    status, outlook, fresh = sight.statuses[line.pk], sight.outlooks.get(line.pk), sight.fresh.get(line.pk)
    return Figures(
        budget=status.budget,
        actual=status.actual,
        committed=status.committed,
        forecast={"p10": outlook.p10, "p50": outlook.p50, "p90": outlook.p90} if outlook else {},
        is_known=is_priced and not status.rates_missing,
        is_fresh=fresh is None or now - fresh <= STALE or line.end <= today,
        is_closed=line.closed_at is not None,
    )


def keep_forecasts(lines: Sequence[BudgetLine], sight: Sight, *, now: datetime) -> None:
    """Keep each forecast that says something new."""
    latest = latest_forecasts(sight.outlooks)
    rows = []
    for line in lines:
        outlook = sight.outlooks.get(line.pk)
        if outlook is None:
            continue
        amounts = {
            name: round_money(getattr(outlook, name), line.currency)
            for name in ("p10", "p50", "p90", "to_come", "baseline")
        }
        day = outlook.passes(sight.statuses[line.pk].budget)
        known, before = sight.fresh.get(line.pk), latest.get(line.pk)
        same = before is not None and (before.fresh_until, before.passes_limit_on) == (known, day)
        if same and all(getattr(before, name) == amount for name, amount in amounts.items()):
            continue
        rows.append(Forecast(line=line, at=now, fresh_until=known, passes_limit_on=day, **amounts))
    Forecast.objects.bulk_create(rows)


# ---- what people answer


@transaction.atomic
def acknowledge_flag(flag: Flag, *, by: User, cause: str, now: datetime | None = None) -> Flag:
    """State in writing why a threshold was reached. It stays quiet until it falls and is reached again."""
    locked = lock_flag(flag)
    check_may_answer(locked, by)
    check_standing(locked)
    locked.cause = written_cause(cause)
    locked.state = Flag.State.ACKNOWLEDGED
    locked.acknowledged_by, locked.acknowledged_at = by, now or timezone.now()
    locked.muted_until = None
    locked.save()
    activity.record(
        "flag.acknowledged",
        by=by,
        project=locked.line.project,
        subject=locked,
        cause=locked.cause,
        **facts_of(locked.line),
    )
    return locked


@transaction.atomic
def mute_flag(flag: Flag, *, by: User, until: date, now: datetime | None = None) -> Flag:
    """Keep a flag quiet until a day. Then it stands again, if the threshold is still reached."""
    locked = lock_flag(flag)
    check_may_answer(locked, by)
    check_standing(locked)
    locked.muted_until = quiet_until(until, now=now or timezone.now())
    locked.state = Flag.State.MUTED
    locked.save()
    activity.record(
        "flag.muted", by=by, project=locked.line.project, subject=locked, muted_until=until, **facts_of(locked.line)
    )
    return locked


def lock_flag(flag: Flag) -> Flag:
    """The flag as it is now, with the lock that the judge takes."""
    Threshold.objects.select_for_update(of=("self",)).get(pk=flag.threshold_id)
    return Flag.objects.select_related("line__project__team", "threshold").get(pk=flag.pk)


def check_may_answer(flag: Flag, by: User) -> None:
    team = flag.line.project.team
    if not (permissions.may_write_plans(by, team) or permissions.may_fund(by, team)):
        raise NotAllowed(_("Warnings of %(team)s are answered by its members, managers and finance.") % {"team": team})


def check_standing(flag: Flag) -> None:
    if flag.state not in (Flag.State.ABOVE, Flag.State.ACKNOWLEDGED, Flag.State.MUTED):
        raise DomainError(_("This warning does not stand any more."), code="wrong_state")
