"""Telling people: a row for the page, and rows of the outbox, written with what caused them. The words of a letter are
found when it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.template.loader import render_to_string

from .activity import as_json
from .models import Notification, OutboxMessage, Project, User, Webhook


@dataclass(frozen=True)
class Word:
    """Something to tell some people: its kind, what it is about, where it leads, the facts that fill its words."""

    people: Sequence[User]
    kind: str
    project: Project | None = None
    url: str = ""
    email: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    is_warning: bool = False
    """Goes to webhooks too, and stays in the house where its project is kept quiet, unless it is urgent."""
    is_urgent: bool = False


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
    """Tell many things at once, each to its people and webhooks, in two writes."""
    said = list(words)
    webhooks = active_webhooks() if any(word.is_warning for word in said) else []
    notifications, messages = [], []
    for word in said:
        kept = {name: as_json(value) for name, value in word.facts.items()}
        about: dict[str, Any] = {"kind": word.kind, "project": word.project, "url": word.url, "facts": kept}
        people = {person.pk: person for person in word.people}.values()
        notifications += [Notification(user=person, **about) for person in people]
        about["is_urgent"] = word.is_urgent or not word.is_warning
        if word.email:
            messages += [OutboxMessage(person=person, **about) for person in people]
        if word.is_warning:
            team = word.project.team_id if word.project else None
            messages += [
                OutboxMessage(webhook=webhook, **about) for webhook in webhooks if webhook.team_id in (None, team)
            ]
    OutboxMessage.objects.bulk_create(messages)
    return Notification.objects.bulk_create(notifications)


def active_webhooks() -> list[Webhook]:
    return list(Webhook.objects.active().order_by("pk"))


def headline(notification: Notification) -> str:
    """The notification in one line, in the language of the moment."""
    words = {"project": notification.project, "person": notification.user, **notification.facts}
    return " ".join(render_to_string(f"notifications/{notification.kind}.subject.txt", words).split())
