"""The e-mails that wait to be sent, as their readers would read them."""

from __future__ import annotations

from teams.delivery.letters import Letter, letter_of
from teams.models import OutboxMessage, User


def letters(to: User | None = None) -> list[Letter]:
    """Those to a person, or all, the oldest first."""
    waiting = OutboxMessage.objects.filter(person__isnull=False).select_related("person", "project").order_by("pk")
    return [letter_of(message, message.person) for message in (waiting.filter(person=to) if to else waiting)]
