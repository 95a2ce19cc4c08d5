"""The design system as tags: docs/design-system.md shows each with its call."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import template
from django.core.paginator import Page
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect
from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from core.money import exact_text
from web import figures
from web.charts import breakdown, choices
from web.charts.bar import headroom_bar
from web.charts.burn import Burn
from web.charts.burn import burn_chart as draw_burn
from web.charts.run_course import CourseChart
from web.charts.stack import Column, stack_chart

register = template.Library()
KINDS = ("ok", "warn", "over", "info", "")


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> SafeString | str:
    """The person's choice as an attribute of the page; nothing where the system decides."""
    chosen = getattr(context.get("user"), "theme", "auto")
    return format_html(' data-theme="{}"', chosen) if chosen in ("light", "dark") else ""


@register.simple_tag
def icon(name: str, extra: str = "", label: str = "") -> SafeString:
    """One symbol of static/icons/tabler.svg; decoration unless it is given a label."""
    said = format_html('role="img" aria-label="{}"', label) if label else SafeString('aria-hidden="true"')
    address = static("icons/tabler.svg")
    return format_html('<svg class="icon {}" {}><use href="{}#{}"/></svg>', extra, said, address, name)


@register.simple_tag
def money(amount: Decimal | None, currency: str = "", signed: bool = False) -> SafeString:
    """An amount as read, with the exact one for whoever points at it or copies it."""
    if amount is None:
        return format_html('<span class="muted">{}</span>', figures.NOTHING)
    value = figures.decimal_of(amount)
    plus = "+" if signed and value > 0 else ""
    exact = exact_text(value)
    title = f"{exact} {currency}".strip()
    text = figures.money_text(value, currency)
    return format_html('<data value="{}" title="{}">{}{}</data>', exact, title, plus, text)


@register.simple_tag
def compact(amount: Decimal | None, currency: str = "") -> str:
    return figures.compact_text(amount, currency)


@register.simple_tag
def exact(amount: Decimal | str | None) -> str:
    """All digits, grouped; for sums that must be seen to be right."""
    return figures.exact_text(amount)


@register.simple_tag
def percent(share: Decimal | float | None, digits: int = 1) -> str:
    return figures.percent_text(share, digits)


@register.simple_tag
def state(kind: str, text: str) -> SafeString:
    """A word with a colour: ok, warn, over, info, or plain."""
    if kind not in KINDS:
        raise ValueError(f"state {kind!r} is none of {KINDS}")
    return format_html('<span class="state {}">{}</span>', kind, text)


@register.inclusion_tag("web/_field.html")
def field(bound: BoundField, unit: str = "", hint: str = "", optional: bool = True) -> dict[str, Any]:
    """Label, input, errors and hints of one form field; `unit` stands behind the input."""
    widget = bound.field.widget
    kind = ""
    if isinstance(widget, CheckboxSelectMultiple | RadioSelect):
        kind = "group"
    elif isinstance(widget, CheckboxInput):
        kind = "check"
    return {"field": bound, "unit": unit, "hint": hint, "optional": optional, "kind": kind}


@register.inclusion_tag("web/_pagination.html", takes_context=True)
def pagination(context: template.Context, page: Page, parameter: str = "page") -> dict[str, Any]:
    """Links to the other pages of a list, keeping the rest of the address."""
    request: HttpRequest = context["request"]

    def address(number: int) -> str:
        query = request.GET.copy()
        query[parameter] = str(number)
        return f"?{query.urlencode()}"

    numbers = page.paginator.get_elided_page_range(page.number, on_each_side=2, on_ends=1)
    return {
        "page": page,
        "pages": [(number, address(number) if isinstance(number, int) else None) for number in numbers],
        "previous": address(page.number - 1) if page.has_previous() else "",
        "next": address(page.number + 1) if page.has_next() else "",
    }


@register.inclusion_tag("web/_empty.html")
def empty(title: str, text: str = "", url: str = "", label: str = "", symbol: str = "inbox") -> dict[str, Any]:
    """Nothing here yet: what would stand here, and the one thing to do."""
    return {"title": title, "text": text, "url": url, "label": label, "symbol": symbol}


@register.inclusion_tag("web/_legend.html")
def legend() -> dict[str, Any]:
    """What the colours of the headroom bar mean."""
    return {}


@register.inclusion_tag("web/charts/bar.svg")
def bar(status: Any, forecast: Any = None, warning: Decimal | None = None) -> dict[str, Any]:
    """The headroom bar of a line's status; forecast and warning share come with the status or beside it."""
    return {
        "bar": headroom_bar(
            budget=status.budget,
            actual=status.actual,
            committed=status.committed,
            forecast=forecast or getattr(status, "forecast", None),
            warning=warning or getattr(status, "warning_share", None) or Decimal("0.8"),
        )
    }


@register.inclusion_tag("web/charts/burn.svg")
def burn_chart(burn: Burn) -> dict[str, Any]:
    """Plan, actual and forecast of a line over its period, against warning line and limit."""
    return {"chart": draw_burn(burn)}


@register.inclusion_tag("web/charts/run_course.svg")
def run_course(chart: CourseChart) -> dict[str, Any]:
    """The course of one series of a run."""
    return {"chart": chart}


@register.inclusion_tag("web/charts/stack.svg")
def stack(columns: Sequence[Column], label: str) -> dict[str, Any]:
    """Stacked columns against the room they have."""
    return {"chart": stack_chart(columns, label)}


@register.inclusion_tag("web/charts/shares.svg")
def share_bar(parts: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The parts of a total: pairs of a name and an amount."""
    return {"chart": breakdown.share_bar(parts)}


@register.inclusion_tag("web/charts/choices.svg")
def choice_bars(options: Sequence[choices.Choice]) -> dict[str, Any]:
    """A few choices side by side."""
    return {"chart": choices.choice_bars(options)}


@register.inclusion_tag("web/charts/course.svg")
def course(asked: choices.Course) -> dict[str, Any]:
    """How amounts run over a row of choices."""
    return {"chart": choices.course(asked)}


@register.inclusion_tag("web/charts/tornado.svg")
def tornado(drivers: Sequence[breakdown.Driver], middle: Any, currency: str = "") -> dict[str, Any]:
    """What moves a total most, around its middle."""
    return {"chart": breakdown.tornado(drivers, middle, currency)}


@register.inclusion_tag("web/charts/strip.svg")
def range_strip(outcomes: Sequence[breakdown.Outcome]) -> dict[str, Any]:
    """Estimated ranges and what they came to."""
    return {"chart": breakdown.range_strip(outcomes)}


@register.inclusion_tag("web/charts/spark.svg")
def spark(values: Sequence[Any], label: str) -> dict[str, Any]:
    """The course of a few values, as small as a word."""
    return {"d": breakdown.spark(values), "label": label}
