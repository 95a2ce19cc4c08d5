"""The words of what is told, in the language of who reads it: `templates/notifications/<kind>.*`, filled with facts."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from .models import OutboxMessage


@dataclass(frozen=True)
class Letter:
    """An e-mail, ready to be sent."""

    recipient: str
    subject: str
    text: str
    html: str


def letter_of(message: OutboxMessage) -> Letter:
    """The e-mail that a message is, as its reader reads it now."""
    person = message.person
    words = {"person": person, "project": message.project, "url": address_of(message), **message.facts}
    with translation.override(person.language):
        return Letter(
            recipient=person.email,
            subject=" ".join(render_to_string(f"notifications/{message.kind}.subject.txt", words).split()),
            text=render_to_string(f"notifications/{message.kind}.txt", words).strip() + "\n",
            html=render_to_string(f"notifications/{message.kind}.html", words),
        )


def address_of(message: OutboxMessage) -> str:
    return settings.SITE_URL.rstrip("/") + message.url
