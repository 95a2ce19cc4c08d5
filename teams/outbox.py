"""Sending what stands in the outbox. A message is claimed by one conditional update, so that two workers never send it
twice; a worker that died while sending leaves a claim that runs out."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.mail import EmailMultiAlternatives
from django.db.models import F, QuerySet

from core.errors import DomainError

from .delivery.letters import letter_of, told_of
from .delivery.payloads import payload_for, refusal_of
from .delivery.posting import NotAccepted, post
from .models import Organisation, OutboxMessage, QuietProject, User, Webhook

CLAIM = timedelta(minutes=2)
ATTEMPTS = 8
AT_ONCE = 500


def due_messages(now: datetime) -> QuerySet[OutboxMessage]:
    """Messages whose next attempt has come, oldest first."""
    open_states = [OutboxMessage.State.WAITING, OutboxMessage.State.SENDING]
    return OutboxMessage.objects.filter(state__in=open_states, next_attempt_at__lte=now).order_by("id")


def deliver_due(now: datetime) -> int:
    """Send the e-mails that are due; answers how many went out."""
    keep_quiet(now)
    due = due_messages(now).filter(person__isnull=False).select_related("person", "project")
    return sum(deliver(message, now) for message in due[:AT_ONCE])


def deliver_due_webhooks(now: datetime) -> int:
    """Post what is due. A webhook that fails is left alone until its message is due again, so that one that hangs
    does not hold up the others for long."""
    keep_quiet(now)
    due = due_messages(now).filter(webhook__disabled_at__isnull=True, webhook__isnull=False)
    failed: set[int | None] = set()
    sent = 0
    for message in due.select_related("webhook", "project__team")[:AT_ONCE]:
        if message.webhook_id in failed:
            continue
        if deliver(message, now):
            sent += 1
        else:
            failed.add(message.webhook_id)
    return sent


def keep_quiet(now: datetime) -> int:
    """What is due for projects that are kept quiet stays in the house."""
    quiet = QuietProject.objects.filter(until__gt=Organisation.current().today(now))
    due = due_messages(now).filter(is_urgent=False, project__in=quiet.values("project"))
    return due.update(state=OutboxMessage.State.QUIET)


def deliver(message: OutboxMessage, now: datetime) -> bool:
    """Claim and send one message. A failure waits longer each time and is given up, visibly, after eight attempts."""
    claimed = due_messages(now).filter(pk=message.pk, attempts=message.attempts)
    if not claimed.update(state=OutboxMessage.State.SENDING, attempts=F("attempts") + 1, next_attempt_at=now + CLAIM):
        return False
    try:
        if message.webhook:
            post_to(message.webhook, message, now)
        elif message.person:
            send(message, message.person)
    except (OSError, DomainError) as error:  # what mail back ends and sockets raise for every network fault
        postpone(message, now, error)
        return False
    OutboxMessage.objects.filter(pk=message.pk).update(state=OutboxMessage.State.SENT, sent_at=now, error="")
    return True


def send(message: OutboxMessage, person: User) -> None:
    written = letter_of(message, person)
    letter = EmailMultiAlternatives(written.subject, written.text, to=[written.recipient])
    letter.attach_alternative(written.html, "text/html")
    letter.send()


def post_to(webhook: Webhook, message: OutboxMessage, now: datetime) -> None:
    """Send to a webhook; NotAccepted where it does not take it."""
    payload = payload_for(
        webhook.form,
        told_of(message, webhook),
        secret=webhook.secret,
        timestamp=int(now.timestamp()),
        language=webhook.language,
    )
    answer = post(webhook.url, payload.body, payload.headers)
    refusal = refusal_of(webhook.form, answer.status, answer.body)
    if refusal:
        raise NotAccepted(refusal)


def postpone(message: OutboxMessage, now: datetime, error: Exception) -> None:
    attempts = message.attempts + 1
    given_up = attempts >= ATTEMPTS
    OutboxMessage.objects.filter(pk=message.pk).update(
        state=OutboxMessage.State.DEAD if given_up else OutboxMessage.State.WAITING,
        next_attempt_at=now + timedelta(minutes=2**attempts),
        error=str(error)[:2000],
    )


def send_again(messages: Iterable[OutboxMessage], now: datetime) -> int:
    """Messages that were given up get all their attempts once more."""
    again = OutboxMessage.objects.filter(pk__in=[message.pk for message in messages], state=OutboxMessage.State.DEAD)
    return again.update(state=OutboxMessage.State.WAITING, attempts=0, next_attempt_at=now, error="")
