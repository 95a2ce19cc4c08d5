"""Changes to where warnings go: webhooks, quiet projects, messages that were given up."""

from __future__ import annotations

import secrets
from datetime import date, datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, outbox, permissions
from teams.models import Organisation, OutboxMessage, Project, QuietProject, Team, User, Webhook

from .addresses import check_literal, target_of
from .sealing import sealed

LONGEST_QUIET = timedelta(days=92)


@transaction.atomic
def add_webhook(
    *, by: User, team: Team | None, name: str, form: str, url: str, secret: str = "", language: str = "en"
) -> tuple[Webhook, str]:
    """A new webhook of a team, or of all where none is named; and, for signed JSON, the secret, shown this once."""
    if not permissions.may_keep_webhooks(by, team):
        raise NotAllowed(_("Webhooks are kept by managers for their team, and by finance."))
    target = target_of(url)
    check_literal(target)
    if form == Webhook.Form.JSON:
        secret = secret or "hw_" + secrets.token_urlsafe(32)
    webhook = Webhook.objects.create(
        team=team,
        name=name,
        form=form,
        language=language,
        host=target.host,
        sealed_url=sealed(url),
        sealed_secret=sealed(secret) if secret else "",
        created_by=by,
    )
    activity.record("webhook.added", by=by, team=team, subject=webhook, name=name, host=target.host)
    return webhook, secret if form == Webhook.Form.JSON else ""


@transaction.atomic
def disable_webhook(webhook: Webhook, *, by: User, now: datetime) -> Webhook:
    """Nothing is sent there any more; what waits is given up."""
    locked = Webhook.objects.select_for_update(of=("self",)).get(pk=webhook.pk)
    check_may_keep(locked, by)
    if locked.disabled_at:
        raise DomainError(_("This webhook is disabled already."), code="wrong_state")
    locked.disabled_at = now
    locked.save()
    waiting = locked.messages.filter(state=OutboxMessage.State.WAITING)
    waiting.update(state=OutboxMessage.State.DEAD, error=_("The webhook was disabled."))
    activity.record("webhook.disabled", by=by, team=locked.team, subject=locked, name=locked.name)
    return locked


@transaction.atomic
def enable_webhook(webhook: Webhook, *, by: User) -> Webhook:
    """Send there again from now on."""
    locked = Webhook.objects.select_for_update(of=("self",)).get(pk=webhook.pk)
    check_may_keep(locked, by)
    if not locked.disabled_at:
        raise DomainError(_("This webhook is not disabled."), code="wrong_state")
    locked.disabled_at = None
    locked.save()
    activity.record("webhook.enabled", by=by, team=locked.team, subject=locked, name=locked.name)
    return locked


@transaction.atomic
def try_webhook(webhook: Webhook, *, by: User) -> OutboxMessage:
    """A message that says nothing but that it came; the door sends it at once."""
    check_may_keep(webhook, by)
    if webhook.disabled_at:
        raise DomainError(_("This webhook is disabled."), code="wrong_state")
    return OutboxMessage.objects.create(
        webhook=webhook,
        kind="webhook_test",
        url="/webhooks/",
        facts={"name": webhook.name, "by": str(by)},
        attempts=outbox.ATTEMPTS - 1,
    )


@transaction.atomic
def send_again(messages: list[OutboxMessage], *, by: User, now: datetime) -> int:
    """Try once more what was given up."""
    sent = outbox.send_again(messages, now)
    if not sent:
        raise DomainError(_("Nothing of this was given up."), code="wrong_state")
    activity.record("messages.sent_again", by=by, count=sent)
    return sent


@transaction.atomic
def keep_quiet(project: Project, *, by: User, until: date, now: datetime) -> QuietProject:
    """Until a day, warnings of a project are in the product only. That a limit is reached goes out all the same."""
    if not permissions.may_keep_quiet(by, project.team):
        raise NotAllowed(_("Managers of %(team)s and finance keep its projects quiet.") % {"team": project.team})
    today = Organisation.current().today(now)
    if not today < until <= today + LONGEST_QUIET:
        raise DomainError(
            _("Choose a day within the next three months."),
            faults=[
                Fault("until", str(until), _("is not within the next three months"), str(today + timedelta(days=14)))
            ],
        )
    quiet, _made = QuietProject.objects.update_or_create(project=project, defaults={"until": until, "by": by})
    activity.record("project.quiet", by=by, project=project, subject=project, muted_until=until)
    return quiet


@transaction.atomic
def end_quiet(project: Project, *, by: User) -> None:
    """Warnings of the project leave the house again from now on."""
    if not permissions.may_keep_quiet(by, project.team):
        raise NotAllowed(_("Managers of %(team)s and finance keep its projects quiet.") % {"team": project.team})
    QuietProject.objects.filter(project=project).delete()
    activity.record("project.heard", by=by, project=project, subject=project)


def check_may_keep(webhook: Webhook, by: User) -> None:
    if not permissions.may_keep_webhooks(by, webhook.team):
        raise NotAllowed(_("Webhooks are kept by managers for their team, and by finance."))
