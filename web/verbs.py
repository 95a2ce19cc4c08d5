"""The activity log as sentences: what each verb says, and where its subject is found."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from teams.models import Activity
from web import figures

PRODUCT = _("Headroom")
"""Who did what no person did."""

SENTENCES: dict[str, str | Promise] = {
    "project.opened": _("{who} opened {project}"),
    "person.renamed": _("{who} changed the name from {old} to {name}"),
    "token.issued": _("{who} made the key {name}"),
    "token.revoked": _("{who} revoked the key {name}"),
}
"""Every verb that a service records. A test holds the list complete; `{who}`, `{project}`, `{subject}` are links or
names, the rest are the facts of the row, and `{money}` is its fact `amount` in its `currency`."""


class Words(dict):
    """Facts for a sentence; one that the row lacks is a dash."""

    def __missing__(self, key: str) -> str:
        return figures.NOTHING


def sentence(row: Activity) -> SafeString:
    """What happened, in the language of the moment, with links to what it happened to."""
    words = Words({name: conditional_escape(shown(value)) for name, value in row.facts.items()})
    words["who"] = format_html("<b>{}</b>", row.by or PRODUCT)
    words["money"] = conditional_escape(money_of(row.facts))
    words["project"] = project_link(row)
    words["subject"] = subject_link(row)
    pattern = SENTENCES.get(row.verb)
    if pattern is None:
        return format_html("{}: {}", words["who"], row.verb)
    return mark_safe(str(pattern).format_map(words))  # every word is escaped above, the pattern is ours


def shown(value: Any) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def money_of(facts: dict[str, Any]) -> str:
    try:
        return figures.money_text(Decimal(str(facts.get("amount"))), str(facts.get("currency") or ""))
    except InvalidOperation:
        return figures.NOTHING


def project_link(row: Activity) -> SafeString | str:
    if row.project is None:
        return figures.NOTHING
    return link("project", (row.project.slug,), str(row.project))


def link(name: str, arguments: tuple, text: str) -> SafeString:
    try:
        address = reverse(name, args=arguments)
    except NoReverseMatch:
        return conditional_escape(text)
    return format_html('<a href="{}">{}</a>', address, text)


SUBJECTS: dict[str, Callable[[Activity], SafeString | str]] = {
    "teams.project": project_link,
}


def subject_link(row: Activity) -> SafeString | str:
    """The thing itself, as a link where it has a page."""
    find = SUBJECTS.get(row.subject_type)
    return find(row) if find else conditional_escape(shown(row.facts.get("name", figures.NOTHING)))
