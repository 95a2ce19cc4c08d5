"""Sending what stands in the outbox. A message is claimed by one conditional update, so that two workers never send it
twice; a worker that died while sending leaves a claim that runs out."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.core.mail import EmailMultiAlternatives
from django.db.models import F, QuerySet

from .delivery.letters import letter_of
from .models import OutboxMessage

CLAIM = timedelta(minutes=2)
ATTEMPTS = 8


def due_messages(now: datetime) -> QuerySet[OutboxMessage]:
    """Messages whose next attempt has come, oldest first."""
    open_states = [OutboxMessage.State.WAITING, OutboxMessage.State.SENDING]
    return OutboxMessage.objects.filter(state__in=open_states, next_attempt_at__lte=now).order_by("id")


def deliver_due(now: datetime, *, limit: int = 500) -> int:
    """Send what is due; answers how many messages went out."""
    return sum(deliver(message, now) for message in due_messages(now).select_related("person", "project")[:limit])


def deliver(message: OutboxMessage, now: datetime) -> bool:
    """Claim and send one message. A failure waits longer each time and is given up, visibly, after eight attempts."""
    claimed = due_messages(now).filter(pk=message.pk, attempts=message.attempts)
    if not claimed.update(state=OutboxMessage.State.SENDING, attempts=F("attempts") + 1, next_attempt_at=now + CLAIM):
        return False
    try:
        send(message)
    except OSError as error:  # what mail back ends raise for every network and protocol fault
        postpone(message, now, error)
        return False
    OutboxMessage.objects.filter(pk=message.pk).update(state=OutboxMessage.State.SENT, sent_at=now, error="")
    return True


def send(message: OutboxMessage) -> None:
    written = letter_of(message)
    letter = EmailMultiAlternatives(written.subject, written.text, to=[written.recipient])
    letter.attach_alternative(written.html, "text/html")
    letter.send()


def postpone(message: OutboxMessage, now: datetime, error: Exception) -> None:
    attempts = message.attempts + 1
    given_up = attempts >= ATTEMPTS
    OutboxMessage.objects.filter(pk=message.pk).update(
        state=OutboxMessage.State.DEAD if given_up else OutboxMessage.State.WAITING,
        next_attempt_at=now + timedelta(minutes=2**attempts),
        error=str(error)[:2000],
    )
