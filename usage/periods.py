"""The states of a source's period: what moves each, by delivery, by hand, and by the calendar."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.months import Month
from teams import activity, permissions
from teams.models import Organisation, User

from .models import Import, Scope, Source

State = Scope.State


def move(scope: Scope, to: State, *, by: User | None, reason: str, now: datetime) -> None:
    """One allowed move, written into the scope; the caller holds its lock."""
    if to not in Scope.MOVES[State(scope.state)]:
        raise DomainError(
            _("A period that is %(state)s does not become %(to)s.")
            % {"state": scope.get_state_display(), "to": to.label}
        )
    scope.state, scope.state_at, scope.state_by, scope.state_reason = to, now, by, reason
    scope.save(update_fields=["state", "state_at", "state_by", "state_reason"])


def delivered(scope: Scope, delivery: Import, *, changed: bool, is_final: bool) -> None:
    """What a delivery that went live makes of its period: the first opens it, one that changes a final one reopens
    it, and one that says it is final closes it.
    """
    now, by, reason = timezone.now(), delivery.confirmed_by, delivery.name
    if scope.state == State.OPEN:
        move(scope, State.PROVISIONAL, by=None, reason=reason, now=now)
    elif scope.state == State.FINAL and changed:
        move(scope, State.REOPENED, by=by, reason=reason, now=now)
    if is_final and scope.state in (State.PROVISIONAL, State.REOPENED):
        move(scope, State.FINAL, by=delivery.received_by, reason=reason, now=now)


@transaction.atomic
def finalise_period(given: Scope, *, by: User, reason: str) -> Scope:
    """Say that a period is final: from now on a delivery that changes it waits for a person."""
    return _moved_by_hand(given, State.FINAL, by=by, reason=reason, verb="period.final")


@transaction.atomic
def reopen_period(given: Scope, *, by: User, reason: str) -> Scope:
    """Say that a period is not final after all: deliveries change it again without asking."""
    return _moved_by_hand(given, State.REOPENED, by=by, reason=reason, verb="period.reopened")


def _moved_by_hand(given: Scope, to: State, *, by: User, reason: str, verb: str) -> Scope:
    scope = Scope.objects.select_for_update(of=["self"]).select_related("source").get(pk=given.pk)
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator or finance says whether a period is final."))
    if scope.month is None:
        raise DomainError(_("A log has no billing month that could be final."))
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    move(scope, to, by=by, reason=reason.strip(), now=timezone.now())
    activity.record(verb, by=by, subject=scope, source=scope.source.slug, period=scope.key, reason=reason)
    return scope


@transaction.atomic
def finalise_due(*, now: datetime) -> int:
    """Periods whose month ended as many days ago as their source waits for the final bill."""
    today, count = Organisation.current().today(now), 0
    live = Scope.objects.filter(state__in=[State.PROVISIONAL, State.REOPENED], month__isnull=False)
    due = live.filter(source__settings__has_key="final_after_days").select_related("source")
    for scope in due.select_for_update(of=["self"]).order_by("pk"):
        days = int(scope.source.settings["final_after_days"])
        if scope.month and Month.of(scope.month).end + timedelta(days=days) <= today and _rested(scope, days, now):
            move(scope, State.FINAL, by=None, reason=_("%(days)s days after the month") % {"days": days}, now=now)
            count += 1
    return count


def _rested(scope: Scope, days: int, now: datetime) -> bool:
    """A reopened period gets as many days again."""
    return scope.state == State.PROVISIONAL or scope.state_at is None or scope.state_at + timedelta(days=days) <= now


@transaction.atomic
def wait_for_final(source: Source, days: int | None, *, by: User) -> Source:
    """How many days after its end a month of this source becomes final by itself; None: by hand alone."""
    row = Source.objects.select_for_update(of=["self"]).get(pk=source.pk)
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account changes a source."))
    if days is not None and not 0 <= days <= 366:
        raise DomainError(_("Give a number of days from 0 to 366."), faults=[Fault("days", days, _("is too many"))])
    kept = {name: value for name, value in row.settings.items() if name != "final_after_days"}
    row.settings = kept if days is None else {**kept, "final_after_days": str(days)}
    row.save(update_fields=["settings"])
    activity.record("source.final_after", by=by, subject=row, slug=row.slug, days=days)
    return row


@dataclass
class MonthOfSource:
    """One month of a source's calendar: what it cost, and its periods with their states."""

    month: date
    sums: list[tuple[str, Decimal, Decimal]] = field(default_factory=list)
    """Currency, billed, effective."""
    scopes: list[Scope] = field(default_factory=list)


def calendar_of(source: Source, *, most: int = 24) -> list[MonthOfSource]:
    """The billing months of a source, the newest first, with what is live in each."""
    scopes = list(
        source.scopes.filter(month__isnull=False).select_related("live", "state_by").order_by("-month", "key")
    )
    months = sorted({scope.month for scope in scopes if scope.month}, reverse=True)[:most]
    found = {month: MonthOfSource(month) for month in months}
    for scope in scopes:
        if scope.month in found:
            found[scope.month].scopes.append(scope)
    for month, sums in _sums(source, months).items():
        found[month].sums = sums
    return list(found.values())


def _sums(source: Source, months: Sequence[date]) -> dict[date, list[tuple[str, Decimal, Decimal]]]:
    found: dict[date, list[tuple[str, Decimal, Decimal]]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT u.billing_month, u.currency, sum(u.billed), sum(u.effective)
               FROM usage_dailyusage u JOIN usage_meter m ON m.id = u.meter_id
               WHERE m.source_id = %s AND u.billing_month = ANY(%s) AND u.currency <> '' GROUP BY 1, 2 ORDER BY 1, 2""",
            [source.pk, list(months)],
        )
        for month, *sums in cursor.fetchall():
            found[month].append(tuple(sums))
    return found
