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
from web.plan_fields import Control, words
from web.plan_groups import GROUPS, field_path, group_key, group_name, is_missing
from web.plan_places import element_id, member_start, pattern_of, value_at

register = template.Library()


@register.simple_tag
def value(of: Mapping[str, Any], key: str) -> Any:
    """One entry of a mapping, by a key that the template computes."""
    return of.get(key)


@register.filter
def state_id(key: str) -> str:
    """The id of the word that says how a part is doing."""
    return element_id("state", key)


@register.filter
def notices_id(key: str) -> str:
    """The id of the warnings of a part."""
    return element_id("notices", key)


@register.filter
def total_id(key: str) -> str:
    """The id of what a member costs."""
    return element_id("total", key)


@register.simple_tag
def choice_options(control: Control) -> SafeString:
    """The words that may be chosen; the first stands for the default where nothing is given."""
    chosen = control.value
    default = FIELDS[control.declared].default
    named = control.blank or dict(control.choices).get(str(default), "–")
    blank = SafeString("") if chosen and default is not None else format_html('<option value="">{}</option>', named)
    offered = [pair for pair in control.choices if chosen or pair[0] != default]
    if chosen and chosen not in dict(offered):
        offered.append((chosen, chosen))
    return blank + options(offered, chosen)


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
def fault_link(fault: Fault, document: Mapping[str, Any]) -> SafeString:
    """What is wrong, in which member of a life plan, and a way to its field or to the part it lies in."""
    place = field_path(fault.path)
    declared = FIELDS.get(pattern_of(place))
    said = "" if is_missing(fault) and declared else fault.message
    name = value_at(document, f"{member_start(fault.path)}name") if member_start(fault.path) else ""
    whose = format_html("{}: ", name) if name else ""
    if declared:
        target, label = element_id("field", place), words(declared.label)
    elif fault.path:
        target, label = element_id("group", group_key(fault.path)), GROUPS[group_name(fault.path)][0]
    else:
        return format_html("<span>{}</span>", said)
    return format_html('{}<a href="#{}">{}</a> <span class="muted">{}</span>', whose, target, label, said)
