"""What the frame of every page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from teams.models import Notification


@dataclass(frozen=True)
class Place:
    """A link of the rail; `pages` are the beginnings of the names of the addresses that belong to it."""

    name: str
    label: str | Promise
    pages: tuple[str, ...]


PLACES: list[Place | None] = [
    Place("home", _("Home"), ("home",)),
    Place("project-list", _("Projects"), ("project", "line")),
    Place("proposal-list", _("Proposals"), ("proposal",)),
    Place("usage", _("Usage"), ("usage", "import", "rule", "source")),
    Place("warning-list", _("Warnings"), ("warning", "flag")),
    Place("retrospective-list", _("Retrospectives"), ("retrospective",)),
    None,
    Place("price-list", _("Prices"), ("price",)),
    Place("activity", _("Activity"), ("activity",)),
]


def frame(request: HttpRequest) -> dict[str, Any]:
    """The links of the rail with their counts; nothing for who is not signed in."""
    if not getattr(request, "user", None) or not request.user.is_authenticated:
        return {}
    user = request.user
    return {
        "rail": SimpleLazyObject(lambda: rail(request)),
        "unread": SimpleLazyObject(lambda: Notification.objects.filter(user=user, read_at=None).count()),
    }


def rail(request: HttpRequest) -> list[dict[str, Any] | None]:
    here = request.resolver_match.url_name or "" if request.resolver_match else ""
    links: list[dict[str, Any] | None] = []
    for place in PLACES:
        if place is None:
            links.append(None)
            continue
        try:
            url = reverse(place.name)
        except NoReverseMatch:
            continue
        links.append({"url": url, "label": place.label, "current": here.startswith(place.pages)})
    return links
