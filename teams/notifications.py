"""Telling people: a row for the page, and an outbox row for the e-mail, written with what caused them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.html import escape

from .activity import as_json
from .models import Notification, OutboxMessage, Project, User


@dataclass(frozen=True)
class Word:
    """Something to tell some people: its kind, what it is about, where it leads, the facts that fill its words."""

    people: Sequence[User]
    kind: str
    project: Project | None = None
    url: str = ""
    email: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


def notify(
    people: Iterable[User],
    *,
    kind: str,
    project: Project | None = None,
    url: str = "",
    email: bool = False,
    **facts: Any,
) -> list[Notification]:
    """Write one notification a person and, with `email`, one message each in the person's language.

    The words stand in `templates/notifications/<kind>.subject.txt`, `.txt` and `.html`; `facts` fill them.
    """
    return notify_all([Word(list(people), kind, project, url, email, facts)])


def notify_all(words: Iterable[Word]) -> list[Notification]:
    """Tell many things at once, each to its people, in two writes."""
    notifications, letters = [], []
    for word in words:
        kept = {name: as_json(value) for name, value in word.facts.items()}
        unique = list({person.pk: person for person in word.people}.values())
        notifications += [
            Notification(user=person, kind=word.kind, project=word.project, url=word.url, facts=kept)
            for person in unique
        ]
        if word.email:
            letters += compose(unique, kind=word.kind, project=word.project, url=word.url, facts=kept)
    OutboxMessage.objects.bulk_create(letters)
    return Notification.objects.bulk_create(notifications)


NAME, ADDRESS = "\ue000name\ue001", "\ue000address\ue001"
"""Stand for a person while a text is rendered, so that it is rendered once for everybody who reads one language."""


def compose(
    people: Sequence[User], *, kind: str, project: Project | None, url: str, facts: dict[str, Any]
) -> list[OutboxMessage]:
    """The e-mails for these people, not yet saved."""
    letters: dict[str, tuple[str, str, str]] = {}
    for language in {person.language for person in people}:
        somebody = User(name=NAME, email=ADDRESS, language=language)
        words = {"person": somebody, "project": project, "url": settings.SITE_URL.rstrip("/") + url, **facts}
        with translation.override(language):
            letters[language] = (
                " ".join(render_to_string(f"notifications/{kind}.subject.txt", words).split()),
                render_to_string(f"notifications/{kind}.txt", words).strip() + "\n",
                render_to_string(f"notifications/{kind}.html", words),
            )
    return [addressed(person, *letters[person.language]) for person in people]


def addressed(person: User, subject: str, text: str, html: str) -> OutboxMessage:
    """The letter with the person's name in it."""

    def named(words: str) -> str:
        return words.replace(NAME, str(person)).replace(ADDRESS, person.email)

    in_html = html.replace(NAME, escape(str(person))).replace(ADDRESS, escape(person.email))
    return OutboxMessage(recipient=person.email, subject=named(subject), text=named(text), html=in_html)


def headline(notification: Notification) -> str:
    """The notification in one line, in the language of the moment."""
    words = {"project": notification.project, "person": notification.user, **notification.facts}
    return " ".join(render_to_string(f"notifications/{notification.kind}.subject.txt", words).split())
