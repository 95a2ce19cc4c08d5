"""What the tables of this app share: digits of money, the words of their choices, and protection of added rows."""

from __future__ import annotations

from typing import Any

import pgtrigger

from core.vocabulary import LINES
from teams import labels

from .. import subcategories

LINE_CHOICES = [(str(category), labels.CATEGORIES[category]) for category in LINES]
SUBCATEGORY_CHOICES = subcategories.choices()
TASK_CHOICES = labels.choices(labels.TASK_TYPES)
MONEY: dict[str, Any] = {"max_digits": 30, "decimal_places": 4}
"""Amounts people decide on, in whole smallest units of a currency."""


def only_added(name: str) -> pgtrigger.Protect:
    """The database itself refuses to change or remove a row of this table."""
    return pgtrigger.Protect(name=name, operation=pgtrigger.Update | pgtrigger.Delete)
