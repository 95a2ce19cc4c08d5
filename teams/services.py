"""Changes to the organisation: projects, people's settings, tokens; and conversion between currencies."""

from __future__ import annotations

import secrets
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from core.months import Month

from . import activity, permissions
from .models import ApiToken, ClosedMonth, CostCentre, ExchangeRate, Notification, Project, Team, User

TOKEN_LIFE = timedelta(days=30)
SCOPES = ("read", "plans", "usage", "metrics", "can_start")


@transaction.atomic
def open_project(
    *,
    by: User,
    team: Team,
    name: str,
    currency: str,
    task_type: str,
    cost_centre: CostCentre | None = None,
    starts_on: date | None = None,
    ends_on: date | None = None,
) -> Project:
    """Open a project of a team. Managers of the team and finance may."""
    if not permissions.may_open_projects(by, team):
        raise NotAllowed(_("Only a manager of %(team)s or finance opens its projects.") % {"team": team})
    if starts_on and ends_on and ends_on <= starts_on:
        raise DomainError(
            _("A project must end after it starts."),
            faults=[Fault("ends_on", str(ends_on), _("must be after %(start)s") % {"start": starts_on})],
        )
    project = Project.objects.create(
        team=team,
        name=name,
        slug=free_slug(name),
        currency=currency,
        task_type=task_type,
        cost_centre=cost_centre,
        starts_on=starts_on,
        ends_on=ends_on,
    )
    activity.record("project.opened", by=by, project=project, subject=project, name=name)
    return project


@transaction.atomic
def enter_rate(*, by: User, month: Month, base: str, quote: str, rate: Decimal, source: str) -> ExchangeRate:
    """Write down what one unit of `base` was worth in `quote` in a month; it stands before what was entered earlier."""
    if not permissions.may_close_books(by):
        raise NotAllowed(_("Exchange rates are entered by finance."))
    faults = []
    if base == quote:
        faults.append(Fault("quote", quote, _("must differ from the first currency")))
    if not rate.is_finite() or rate <= 0:
        faults.append(Fault("rate", rate, _("must be more than nothing")))
    if not source.strip():
        faults.append(Fault("source", "", _("is missing"), _("where the rate was read")))
    if faults:
        raise DomainError(_("The rate cannot be kept."), faults=faults)
    if ClosedMonth.objects.filter(month=month.start).exists():
        raise DomainError(
            _("%(month)s is closed, and its rates with it. Open it again first.") % {"month": month},
            code="wrong_state",
            faults=[Fault("month", str(month), _("is closed"))],
        )
    row = ExchangeRate.objects.create(month=month.start, base=base, quote=quote, rate=rate, source=source.strip())
    activity.record("rate.entered", by=by, subject=row, month=str(month), base=base, quote=quote, rate=exact_text(rate))
    return row


def free_slug(name: str) -> str:
    """A short name for addresses and commands that no project has yet."""
    stem = slugify(name)[:50] or "project"
    taken = set(Project.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    candidates = [stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))]
    return next(slug for slug in candidates if slug not in taken)


@transaction.atomic
def issue_token(*, by: User, now: datetime, name: str = "", scopes: tuple[str, ...] = SCOPES) -> tuple[ApiToken, str]:
    """A new key for the person, and its secret, which is shown this once. It lives 30 days."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown:
        raise DomainError(_("Unknown scope."), faults=[Fault("scopes", unknown, _("unknown scope"), ", ".join(SCOPES))])
    secret = "hr_" + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=by, name=name, digest=ApiToken.digest_of(secret), scopes=list(scopes), expires_at=now + TOKEN_LIFE
    )
    activity.record("token.issued", by=by, subject=token, name=name, scopes=list(scopes))
    return token, secret


@transaction.atomic
def revoke_token(token: ApiToken, *, by: User) -> None:
    """Make a key useless at once. Only its owner may."""
    if token.user_id != by.pk:
        raise NotAllowed(_("A token is revoked by the person it belongs to."))
    activity.record("token.revoked", by=by, subject=token, name=token.name)
    token.delete()


@transaction.atomic
def choose_look(*, by: User, language: str | None = None, theme: str | None = None) -> None:
    """Keep the person's language and theme."""
    chosen = {name: value for name, value in {"language": language, "theme": theme}.items() if value}
    for name, value in chosen.items():
        setattr(by, name, value)
    by.full_clean(exclude=["password", "email", "name"])
    by.save(update_fields=list(chosen) or None)


@transaction.atomic
def rename_person(*, by: User, name: str) -> None:
    """Change one's own name."""
    old, by.name = by.name, name
    by.save(update_fields=["name"])
    activity.record("person.renamed", by=by, subject=by, old=old, name=name)


@transaction.atomic
def read_notifications(*, by: User, now: datetime, ids: list[int] | None = None) -> int:
    """Mark one's notifications as read: those named, or all; how many that were."""
    unread = Notification.objects.filter(user=by, read_at=None)
    return (unread if ids is None else unread.filter(pk__in=ids)).update(read_at=now)
