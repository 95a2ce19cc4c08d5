"""Telling people: a row for the page, and an outbox row for the e-mail, written with what caused them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from .activity import as_json
from .models import Notification, OutboxMessage, Project, User


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
    kept = {name: as_json(value) for name, value in facts.items()}
    unique = {person.pk: person for person in people}.values()
    rows = Notification.objects.bulk_create(
        Notification(user=person, kind=kind, project=project, url=url, facts=kept) for person in unique
    )
    if email:
        OutboxMessage.objects.bulk_create(
            compose(person, kind=kind, project=project, url=url, facts=kept) for person in unique
        )
    return rows


def compose(person: User, *, kind: str, project: Project | None, url: str, facts: dict[str, Any]) -> OutboxMessage:
    """The e-mail for one person, not yet saved."""
    words = {"person": person, "project": project, "url": settings.SITE_URL.rstrip("/") + url, **facts}
    with translation.override(person.language):
        return OutboxMessage(
            recipient=person.email,
            subject=" ".join(render_to_string(f"notifications/{kind}.subject.txt", words).split()),
            text=render_to_string(f"notifications/{kind}.txt", words).strip() + "\n",
            html=render_to_string(f"notifications/{kind}.html", words),
        )


def headline(notification: Notification) -> str:
    """The notification in one line, in the language of the moment."""
    words = {"project": notification.project, "person": notification.user, **notification.facts}
    return " ".join(render_to_string(f"notifications/{notification.kind}.subject.txt", words).split())
