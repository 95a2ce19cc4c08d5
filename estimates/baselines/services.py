"""Writing down what finished runs taught. A figure, and the staleness of the drafts that looked for it, are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from estimates.models import Estimate
from estimates.services import lock_prices
from teams import activity, permissions
from teams.models import Organisation, Project, Role, Team, User

from .bounds import ends, is_possible
from .models import Baseline, BaselineQuantity


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure with what it was learned from: a value alone, or between a low and a high one."""

    quantity: str
    value: Decimal
    low: Decimal | None = None
    high: Decimal | None = None
    runs: int
    since: date
    until: date
    source: str
    link: str = ""
    task_type: str = ""
    accelerator_family: str = ""
    note: str = ""


def record_baseline(
    figure: Figure,
    *,
    by: User,
    team: Team | None,
    project: Project | None = None,
    valid_from: date | None = None,
    withdrawn: bool = False,
    now: datetime | None = None,
) -> Baseline:
    """Write one figure down for a team, or for the whole organisation where no team is named."""
    return record_baselines(
        [figure], by=by, team=team, project=project, valid_from=valid_from, withdrawn=withdrawn, now=now
    )[0]


@transaction.atomic
def record_baselines(
    figures: Sequence[Figure],
    *,
    by: User,
    team: Team | None,
    project: Project | None = None,
    valid_from: date | None = None,
    withdrawn: bool = False,
    now: datetime | None = None,
) -> list[Baseline]:
    """Write figures down, all or none, and mark the drafts that looked for one of them stale."""
    lock_prices()
    _check_may_record(by, team, project)
    moment = now or timezone.now()
    today = Organisation.current().today(moment)
    since = valid_from or today
    faults = [fault for figure in figures for fault in faults_of(figure)]
    if since > today:
        faults.append(Fault("valid_from", since, _("lies ahead"), _("today, or a day before")))
    if faults:
        raise DomainError(_("These figures cannot be right."), code="baseline_refused", faults=faults)
    added = [
        Baseline.objects.create(
            by=by, team=team, project=project, valid_from=since, withdrawn=withdrawn, **_columns(figure)
        )
        for figure in figures
    ]
    looked_under = {row.quantity for row in added} | ({"predecessor"} if project else set())
    _mark_stale(looked_under, team, now=moment)
    for row in added:
        activity.record(
            "baseline.recorded",
            by=by,
            team=team,
            project=project,
            subject=row,
            quantity=row.quantity,
            value=row.mode,
            runs=row.runs,
            withdrawn=withdrawn,
        )
    return added


def _check_may_record(by: User, team: Team | None, project: Project | None) -> None:
    if team is None:
        allowed = permissions.has_role(by, Role.DIRECTOR) or permissions.has_role(by, Role.FINANCE)
        if not allowed:
            raise NotAllowed(_("Baselines of the whole organisation are written by directors and finance."))
    elif not permissions.may_fund(by, team):
        raise NotAllowed(
            _("Baselines of %(team)s are written by its managers, directors and finance.") % {"team": team}
        )
    if project is not None and team is not None and project.team_id != team.pk:
        raise DomainError(_("This project belongs to another team."), code="wrong_team")


def faults_of(figure: Figure) -> list[Fault]:
    """What is wrong with a figure."""
    if figure.quantity not in BaselineQuantity.values:
        return [Fault("quantity", figure.quantity, _("cannot be right"), ", ".join(BaselineQuantity.values))]
    low, high = _ends(figure)
    checks = (
        (low <= figure.value <= high, "value", figure.value, _("low, value and high in this order")),
        (figure.runs >= 1, "runs", figure.runs, _("at least one run")),
        (figure.until >= figure.since, "until", figure.until, _("a day after the period begins")),
        (bool(figure.source.strip()), "source", figure.source, _("where the figure comes from")),
    )
    impossible = [
        Fault(path, value, _("cannot be right"), accepted_text(figure.quantity))
        for path, value in (("low", figure.low), ("value", figure.value), ("high", figure.high))
        if value is not None and not is_possible(figure.quantity, value)
    ]
    return impossible + [
        Fault(path, value, _("cannot be right"), accepted) for is_right, path, value, accepted in checks if not is_right
    ]


def accepted_text(quantity: str) -> str:
    """Which figures a quantity can have."""
    low, high, open_low, open_high = ends(quantity)
    words = {"low": low, "high": high}
    if open_low:
        return _("a number above %(low)s, up to %(high)s") % words
    if open_high:
        return _("a number from %(low)s, below %(high)s") % words
    return _("a number from %(low)s to %(high)s") % words


def _ends(figure: Figure) -> tuple[Decimal, Decimal]:
    low = figure.value if figure.low is None else figure.low
    return low, figure.value if figure.high is None else figure.high


def _columns(figure: Figure) -> dict[str, Any]:
    low, high = _ends(figure)
    return {
        "quantity": figure.quantity,
        "low": low,
        "mode": figure.value,
        "high": high,
        "runs": figure.runs,
        "since": figure.since,
        "until": figure.until,
        "source": figure.source.strip(),
        "link": figure.link,
        "task_type": figure.task_type,
        "accelerator_family": figure.accelerator_family,
        "note": figure.note,
    }


def _mark_stale(keys: Iterable[str], team: Team | None, *, now: datetime) -> None:
    """The drafts that looked for one of these figures, or for a predecessor, wait for recomputation."""
    looked = Q(pk__in=[])
    for key in keys:
        looked |= Q(priced__baseline_keys__contains=[key])
    theirs = Q() if team is None else Q(project__team=team)
    Estimate.objects.drafts().filter(looked, theirs).update(stale_since=Coalesce("stale_since", Value(now)), refusal="")
