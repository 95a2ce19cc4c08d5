"""What the frame of every page shows: the links of the rail, and how much waits behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from budgets.queries import proposals_waiting_for
from overruns.queries import open_flags
from teams import permissions
from teams.models import Notification, User
from web.requests import PersonRequest


@dataclass(frozen=True)
class Place:
    """A link of the rail; `pages` are the beginnings of the names of the addresses that belong to it."""

    name: str
    label: str | Promise
    pages: tuple[str, ...]
    count: Callable[[User], int] | None = None
    count_label: str | Promise = ""
    may_see: Callable[[User], bool] | None = None


@dataclass(frozen=True)
class Link:
    """A place as this person sees it from this page."""

    url: str
    label: str | Promise
    current: bool
    count: int
    count_label: str | Promise


def decisions_waiting(user: User) -> int:
    return proposals_waiting_for(user).count()


def warnings_unanswered(user: User) -> int:
    return open_flags(user).count()


def notifications_unread(user: User) -> int:
    return Notification.objects.filter(user=user, read_at=None).count()


PLACES: list[Place | None] = [
    Place("home", _("Home"), ("home",)),
    Place("project-list", _("Projects"), ("project", "line")),
    Place("proposal-list", _("Proposals"), ("proposal", "plan"), decisions_waiting, _("wait for your decision")),
    Place("usage", _("Usage"), ("usage", "import", "rule", "source", "booking", "recurring")),
    Place("run-list", _("Runs"), ("run",)),
    Place("warning-list", _("Warnings"), ("warning", "flag", "webhook"), warnings_unanswered, _("not answered yet")),
    Place("retrospective-list", _("Retrospectives"), ("retrospective",)),
    None,
    Place("asset-list", _("Assets"), ("asset",)),
    Place("price-list", _("Prices"), ("price", "accelerator")),
    Place("closing", _("Closing"), ("closing",), may_see=permissions.may_see_all_usage),
    Place("activity", _("Activity"), ("activity",)),
]
"""None is the line between daily work and reference."""


def frame(request: HttpRequest) -> dict[str, object]:
    """Asked for lazily: an answer to htmx that draws no frame counts nothing."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "rail": SimpleLazyObject(lambda: rail(cast(PersonRequest, request))),
        "unread": SimpleLazyObject(lambda: notifications_unread(user)),
    }


def rail(request: PersonRequest) -> list[Link | None]:
    links: list[Link | None] = []
    for place in PLACES:
        if place and place.may_see and not place.may_see(request.user):
            continue
        try:
            links.append(link_to(place, request) if place else None)
        except NoReverseMatch:
            continue
    return links


def link_to(place: Place, request: PersonRequest) -> Link:
    here = (request.resolver_match.url_name or "") if request.resolver_match else ""
    return Link(
        url=reverse(place.name),
        label=place.label,
        current=here.startswith(place.pages),
        count=place.count(request.user) if place.count else 0,
        count_label=place.count_label,
    )
