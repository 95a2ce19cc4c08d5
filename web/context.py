"""What the frame of every page shows: the links of the rail, and how much waits behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from teams import permissions
from teams.models import User
from web.requests import PersonRequest
from web.waiting import waiting_for


@dataclass(frozen=True)
class Place:
    """A link of the rail or a tab of such a place; `pages` are the beginnings of the names of its addresses."""

    name: str
    label: str | Promise
    pages: tuple[str, ...]
    count: str = ""
    """What of `Waiting` is counted beside it."""
    count_label: str | Promise = ""
    may_see: Callable[[User], bool] | None = None
    tabs: tuple[Place, ...] = ()

    def is_shown_to(self, user: User) -> bool:
        return self.may_see is None or self.may_see(user)

    def is_around(self, page: str) -> bool:
        return page.startswith(self.pages) or any(tab.is_around(page) for tab in self.tabs)


@dataclass(frozen=True)
class Link:
    """A place as this person sees it from this page."""

    url: str
    label: str | Promise
    current: bool
    count: int
    count_label: str | Promise


PROPOSALS = (
    Place("proposal-list", _("Proposals"), ("proposal", "plan")),
    Place("capacity", _("Capacity"), ("capacity",), may_see=permissions.may_see_capacity),
)
USAGE = (
    Place("usage", _("Overview"), ("usage",)),
    Place("import-list", _("Imports"), ("import",), may_see=permissions.may_see_all_usage),
    Place("source-list", _("Sources"), ("source", "mapping", "period"), may_see=permissions.may_see_all_usage),
    Place("rule-list", _("Allocation"), ("rule", "reassign", "unallocated"), may_see=permissions.may_see_all_usage),
    Place("cluster-list", _("Clusters"), ("cluster",)),
    Place("service-list", _("Services"), ("service",)),
    Place("storage", _("Storage"), ("storage",), may_see=permissions.may_see_all_usage),
)
WARNINGS = (
    Place("warning-list", _("Warnings"), ("warning", "flag")),
    Place("guard-list", _("Guards"), ("guard",)),
    Place("growth-list", _("Growth"), ("growth",)),
    Place("audit-list", _("Audits"), ("audit",), may_see=permissions.may_see_all_usage),
    Place("webhook-list", _("Where they go"), ("webhook",), may_see=permissions.may_enter_webhooks),
)
BOOKS = (
    Place("booking-list", _("Bookings"), ("booking",)),
    Place("recurring-list", _("Every month"), ("recurring",)),
    Place("statement-list", _("Statements"), ("statement",)),
    Place("restatement-list", _("Restatements"), ("restatement",)),
    Place("rate-list", _("Exchange rates"), ("rate",)),
    Place("closing", _("Closing"), ("closing",), may_see=permissions.may_see_all_usage),
)
PLACES: list[Place | None] = [
    Place("home", _("Home"), ("home",)),
    Place("project-list", _("Projects"), ("project", "line")),
    Place("proposal-list", _("Proposals"), (), "decisions", _("wait for your decision"), tabs=PROPOSALS),
    Place("usage", _("Usage"), ("usage",), tabs=USAGE),
    Place("run-list", _("Runs"), ("run",)),
    Place("warning-list", _("Warnings"), (), "warnings", _("not answered yet"), tabs=WARNINGS),
    Place("retrospective-list", _("Retrospectives"), ("retrospective",)),
    None,
    Place("asset-list", _("Assets"), ("asset",)),
    Place("booking-list", _("Books"), (), tabs=BOOKS),
    Place(
        "price-list",
        _("Prices"),
        ("price",),
        tabs=(Place("price-list", _("Prices"), ("price",)), Place("baseline-list", _("Baselines"), ("baseline",))),
    ),
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
        "tabs": SimpleLazyObject(lambda: tabs(cast(PersonRequest, request))),
        "unread": SimpleLazyObject(lambda: waiting_for(request).unread),
    }


def rail(request: PersonRequest) -> list[Link | None]:
    shown = [place for place in PLACES if place is None or place.is_shown_to(request.user)]
    return [link_to(place, request) if place else None for place in shown]


def tabs(request: PersonRequest) -> list[Link]:
    """The other parts of the place this page belongs to."""
    here = page_of(request)
    around = next((place for place in PLACES if place and here and place.is_around(here)), None)
    shown = [tab for tab in around.tabs if tab.is_shown_to(request.user)] if around else []
    return [link_to(tab, request) for tab in shown] if len(shown) > 1 else []


def page_of(request: PersonRequest) -> str:
    return (request.resolver_match.url_name or "") if request.resolver_match else ""


def link_to(place: Place, request: PersonRequest) -> Link:
    return Link(
        url=reverse(place.name),
        label=place.label,
        current=place.is_around(page_of(request)),
        count=getattr(waiting_for(request), place.count) if place.count else 0,
        count_label=place.count_label,
    )
