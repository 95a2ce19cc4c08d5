"""Accelerator-hours on the page of a line: what stands, what is late, every entry, and the form that grants more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from budgets.consumption import Promise
from budgets.hours import hours_of_lines, late_of, may_have_hours
from budgets.models import BudgetLine, HoursEntry, Proposal
from web.forms import MoneyField

MOST_ENTRIES = 50


class HoursForm(forms.Form):
    hours = MoneyField(
        label=gettext_lazy("Accelerator-hours"),
        help_text=gettext_lazy("A negative number takes back what is still free."),
    )
    unit = forms.ChoiceField(
        label=gettext_lazy("Counted in"),
        choices=HoursEntry.Unit.choices,
        help_text=gettext_lazy("Equivalent: of an H100, by dense peak. A line keeps the unit of its first hours."),
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)


def hours_words(found: BudgetLine, form: forms.Form | None, *, now: datetime) -> dict[str, Any]:
    """What stands in accelerator-hours beside the money, and the form that grants more."""
    if not may_have_hours(found):
        return {}
    hours = hours_of_lines([found], now=now).get(found.pk)
    entries = HoursEntry.objects.filter(line=found).select_related("by", "proposal").order_by("-at", "-id")
    return {
        "hours": hours,
        "hours_unit": HoursEntry.Unit(hours.unit).label if hours else "",
        "hours_held": promises_of(hours.status.promises) if hours else [],
        "hours_late": late_of(found, hours.unit) if hours and found.closed_at else Decimal(0),
        "hours_restated": sum(hours.status.restated.values(), Decimal(0)) if hours else Decimal(0),
        "hours_entries": entries[:MOST_ENTRIES],
        "hours_form": form
        or HoursForm(initial={"unit": hours.unit if hours else HoursEntry.Unit.REAL}, auto_id="hours_%s"),
        "has_hours": True,
    }


def promises_of(promises: Mapping[str, Promise]) -> list[dict[str, Any]]:
    """Each proposal that was promised something, with what it was promised, has used and still holds."""
    proposals = Proposal.objects.in_bulk([int(reference.removeprefix("P-")) for reference in promises])
    return [
        {"proposal": proposals[int(reference.removeprefix("P-"))], "promise": promise}
        for reference, promise in promises.items()
    ]
