"""Small parts of the plan form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from core.errors import Fault
from estimates.engine.fields import FIELDS
from web.plan_fields import Control, element_id, words
from web.plan_groups import field_path, is_missing, pattern_of

register = template.Library()


@register.simple_tag
def value(of: Mapping[str, Any], key: str) -> Any:
    """One entry of a mapping, by a key that the template computes."""
    return of.get(key)


@register.simple_tag
def choice_options(control: Control) -> SafeString:
    """The words that may be chosen; the first stands for the default where nothing is given."""
    chosen = control.value
    default = FIELDS[pattern_of(control.path)].default
    blank = format_html('<option value="">{}</option>', dict(control.choices).get(str(default), "–"))
    offered = [pair for pair in control.choices if chosen or pair[0] != default]
    return (SafeString("") if chosen else blank) + options(offered, chosen)


@register.simple_tag
def accelerator_options(accelerators: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    """The catalogue, and the one the plan names where the catalogue lacks it."""
    known = [("", _("choose one")), *accelerators]
    if chosen and chosen not in dict(known):
        known.append((chosen, chosen))
    return options(known, chosen)


def options(pairs: Sequence[tuple[str, str]], chosen: str) -> SafeString:
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((word, SafeString(" selected") if word == chosen else "", label) for word, label in pairs),
    )


@register.simple_tag
def fault_link(fault: Fault) -> SafeString:
    """What is wrong, and a way to its field."""
    place = field_path(fault.path)
    declared = FIELDS.get(pattern_of(place))
    if declared is None:
        return format_html("<span>{} {}</span>", fault.path, fault.message)
    said = "" if is_missing(fault) else fault.message
    return format_html(
        '<a href="#{}">{}</a> <span class="muted">{}</span>', element_id("field", place), words(declared.label), said
    )
