"""A baseline as people read it."""

from __future__ import annotations

from decimal import Decimal

from django import template
from django.utils import formats

from estimates.baselines.models import SHARES, Baseline
from web import figures

register = template.Library()


@register.simple_tag
def baseline(row: Baseline) -> str:
    """Its value, with its range where it has one; shares in percent."""
    middle = figure_text(row, row.mode)
    return middle if row.low == row.high else f"{middle} ({figure_text(row, row.low)} – {figure_text(row, row.high)})"


def figure_text(row: Baseline, value: Decimal) -> str:
    if row.quantity in SHARES:
        return figures.percent_text(value, 1)
    return formats.number_format(value, 0 if value >= 1000 else 2, force_grouping=True)
