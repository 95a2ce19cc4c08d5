"""The words of what is told, in the language of who reads it: `templates/notifications/<kind>.*`, filled with facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from .models import OutboxMessage, Webhook
from .payloads import Told

if TYPE_CHECKING:
    from teams.models import User


@dataclass(frozen=True)
class Letter:
    """An e-mail, ready to be sent."""

    recipient: str
    subject: str
    text: str
    html: str


def letter_of(message: OutboxMessage, person: User) -> Letter:
    """The e-mail that a message is, as its reader reads it now."""
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


def told_of(message: OutboxMessage, webhook: Webhook) -> Told:
    """What a webhook is told, in its language: the subject, and the words of the letter without greeting and link."""
    about = {"project": message.project, "url": "", "person": "", **message.facts}
    with translation.override(webhook.language):
        title = " ".join(render_to_string(f"notifications/{message.kind}.subject.txt", about).split())
        text = render_to_string(f"notifications/{message.kind}.txt", about)
    project = message.project
    return Told(
        number=message.pk,
        kind=message.kind,
        title=title,
        text="\n".join(paragraph.strip() for paragraph in text.split("\n\n")[1:] if paragraph.strip()),
        url=address_of(message),
        project={"slug": project.slug, "name": project.name, "team": project.team.slug} if project else None,
        facts=message.facts,
        at=message.created_at.isoformat(),
    )
