"""Telling people: a row for the page, and rows of the outbox, written with what caused them. The words of a letter are
found when it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.template.loader import render_to_string

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
    """Write one notification a person and, with `email`, one message each, sent in the person's language.

    The words stand in `templates/notifications/<kind>.subject.txt`, `.txt` and `.html`; `facts` fill them.
    """
    return notify_all([Word(list(people), kind, project, url, email, facts)])


def notify_all(words: Iterable[Word]) -> list[Notification]:
    """Tell many things at once, each to its people, in two writes."""
    notifications, letters = [], []
    for word in words:
        kept = {name: as_json(value) for name, value in word.facts.items()}
        about: dict[str, Any] = {"kind": word.kind, "project": word.project, "url": word.url, "facts": kept}
        people = {person.pk: person for person in word.people}.values()
        notifications += [Notification(user=person, **about) for person in people]
        if word.email:
            letters += [OutboxMessage(person=person, **about) for person in people]
    OutboxMessage.objects.bulk_create(letters)
    return Notification.objects.bulk_create(notifications)


def headline(notification: Notification) -> str:
    """The notification in one line, in the language of the moment."""
    words = {"project": notification.project, "person": notification.user, **notification.facts}
    return " ".join(render_to_string(f"notifications/{notification.kind}.subject.txt", words).split())
