"""Words of budgets in the texts people are sent: the names behind the keys that notifications keep."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from core.vocabulary import Category
from teams.labels import CATEGORIES

register = template.Library()


@register.filter
def category_name(key: str) -> str:
    """`people_platform` as people read it, in the language of the moment."""
    return str(CATEGORIES[Category(key)]) if key in list(Category) else key


@register.filter
def share_text(share: str | None) -> str:
    """`0.8021` as `80.2 %`, in Chinese as `80.2%`."""
    return _("%(share)s %%") % {"share": f"{float(share) * 100:.1f}"} if share else ""
