"""Words of the usage pages: states of imports, kinds of warnings, conditions of rules."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from teams import labels
from usage.models import Import, Scope
from usage.overview import CurrencyCost
from web import figures, imports, rules
from web.templatetags.headroom import state

register = template.Library()


WARNINGS = {
    "older": gettext_lazy("Older than what is live: stored, not activated"),
    "rows_short": gettext_lazy("Every row lacks the same last fields: read as empty"),
    "offset_in_time": gettext_lazy("Times with an offset were converted to UTC"),
    "tags_unreadable": gettext_lazy("Tags that cannot be read: kept as text"),
    "tag_repeated": gettext_lazy("A tag stands twice: the last one counts"),
    "service_category_unknown": gettext_lazy("A service category that FOCUS does not know"),
    "instance_type_unknown": gettext_lazy("Instance types without a known number of accelerators"),
    "bytes_replaced": gettext_lazy("Bytes that are no text were replaced in free text"),
    "effective_far_from_billed": gettext_lazy("Effective and billed cost differ without a commitment that explains it"),
    "latency_in_milliseconds": gettext_lazy("A latency without a unit was taken as milliseconds"),
    "totals_of_the_hour": gettext_lazy("Columns called total were taken as what the hour added"),
    "more_than_requests": gettext_lazy("More timeouts or cache hits than requests"),
    "blocks_of_1024": gettext_lazy("Blocks of du were taken as 1,024 bytes"),
    "places_cut": gettext_lazy("Very many places: they were summed by their first folder"),
    "runs_cut": gettext_lazy("Very many runs with checkpoints: only the largest are kept apart"),
    "copies_cut": gettext_lazy("Very many copies: only those that waste most are kept"),
    "copies_of_large_objects_only": gettext_lazy("Very many objects: copies of small ones were not looked for"),
    "snapshot_without_a_day": gettext_lazy("The list holds no time; set issued_at to say when it was taken"),
    "cut_at_the_window": gettext_lazy("Jobs look cut at the window: ask sacct without -T"),
    "accelerator_hours_unknown": gettext_lazy("Cards were asked for and the log is silent: hours are unknown"),
    "shares_of_a_card_unknown": gettext_lazy("Shares of cards of unknown size: set shares_per_card"),
    "price_missing": gettext_lazy("No price for the day of use: the row carries no money"),
}


CAUSES = {
    "node_failure": gettext_lazy("the node failed"),
    "preemption": gettext_lazy("pre-empted"),
    "requeue": gettext_lazy("requeued"),
    "timeout": gettext_lazy("out of time"),
    "out_of_memory": gettext_lazy("out of memory"),
    "job_failure": gettext_lazy("the job failed"),
    "cancellation": gettext_lazy("cancelled"),
}


@register.simple_tag
def failure_cause(cause: str) -> str:
    """Why hours were lost, in words."""
    return str(CAUSES.get(cause, cause))


@register.simple_tag
def import_state(delivery: Import) -> SafeString:
    """The state of an import, as a word with a colour."""
    return state(imports.KINDS.get(delivery.status, ""), delivery.get_status_display())  # type: ignore[call-overload]


@register.simple_tag
def warning_text(kind: str) -> str:
    """What a kind of warning means."""
    return str(WARNINGS.get(kind) or kind.replace("_", " "))


@register.simple_tag
def how_many(number: Decimal | None) -> str:
    """How many: all digits below ten thousand, then three and a word; a dash where nobody knows."""
    if number is None:
        return figures.NOTHING
    return figures.compact_text(number.quantize(Decimal(1)) if abs(number) < 10_000 else number)


FILE_KINDS = {
    "checkpoint": gettext_lazy("checkpoints"),
    "dataset": gettext_lazy("data sets"),
    "media": gettext_lazy("pictures, sound and film"),
    "log": gettext_lazy("logs"),
    "code": gettext_lazy("code"),
    "image": gettext_lazy("container images"),
}
UNITS_OF_BYTES = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


@register.simple_tag
def file_kind(kind: str) -> str:
    """What kind of files."""
    return str(FILE_KINDS.get(kind) or _("other files"))


@register.simple_tag
def bytes(number: Decimal | int) -> str:
    """An amount of data in units of a thousand: `3.20 TB`."""
    value, unit = Decimal(number), 0
    while value >= 1000 and unit + 1 < len(UNITS_OF_BYTES):
        value, unit = value / 1000, unit + 1
    return f"{figures.grouped(value, 2 if unit and value < 100 else 0)} {UNITS_OF_BYTES[unit]}"


@register.simple_tag
def milliseconds(number: Decimal | None) -> str:
    """A latency as read: `850 ms`, `2.40 s`."""
    if number is None:
        return figures.NOTHING
    if number >= 1000:
        return f"{figures.grouped(number / 1000, 2)} s"
    return f"{figures.grouped(number, 0)} ms"


@register.simple_tag
def time_span(seconds: float) -> str:
    """How long something took: `45 s`, `12 min`, `3.5 h`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{figures.grouped(Decimal(str(seconds)) / 3600, 1)} h"


@register.simple_tag
def condition_text(condition: Mapping[str, Any]) -> SafeString:
    """A condition as a sentence."""
    name = str(dict(rules.FIELDS).get(condition["field"], condition["field"]))
    if condition["field"] == "tag":
        name = _("tag %(name)s") % {"name": condition.get("tag", "")}
    operator = str(dict(rules.OPERATORS).get(condition["operator"], _("is one of")))
    return format_html("{} {} <b>{}</b>", name, operator, ", ".join(condition.get("values") or ()))


@register.filter
def by_category(amounts: Mapping[str, Decimal]) -> list[tuple[Any, Decimal]]:
    """Amounts with the names of their categories, the largest first."""
    named = {str(category): label for category, label in labels.CATEGORIES.items()}
    return sorted(((named.get(name, name), amount) for name, amount in amounts.items()), key=lambda pair: -pair[1])


@register.filter
def share_of(amount: Decimal, whole: CurrencyCost) -> Decimal | None:
    return whole.share(amount)


@register.simple_tag
def count(number: int) -> str:
    """A number of things, with thousands separators."""
    return figures.grouped(number, 0)


@register.simple_tag
def category_word(name: str) -> str:
    """The name of a budget category."""
    return str({str(category): label for category, label in labels.CATEGORIES.items()}.get(name, name))


PERIODS = {"open": "", "provisional": "info", "final": "ok", "reopened": "warn"}


@register.simple_tag
def period_state(scope: Scope) -> SafeString:
    """The state of a source's period, as a word with a colour."""
    return state(PERIODS[scope.state], scope.get_state_display())


@register.simple_tag
def place_name(row: Any) -> SafeString:
    """Where cost lies: a project with its team, shared, or unallocated."""
    if row.project is not None:
        address = reverse("project", args=[row.project.slug])
        return format_html('<a href="{}">{}</a><span class="sub">{}</span>', address, row.project, row.project.team)
    return format_html("{}", _("shared cost") if row.is_shared else _("unallocated"))
