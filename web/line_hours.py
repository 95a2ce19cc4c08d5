"""Accelerator-hours on the page of a line: what stands, what is late, every entry, and the forms that grant, move and
give back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Subquery
from django.utils.translation import gettext_lazy

from budgets.consumption import Promise
from budgets.hours import hours_of_lines, late_of, may_have_hours
from budgets.models import BudgetLine, HoursEntry, Proposal
from core.vocabulary import Category
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


class TransferHoursForm(forms.Form):
    target = forms.ModelChoiceField(
        BudgetLine.objects.none(), label=gettext_lazy("To the line"), empty_label=gettext_lazy("choose a line")
    )
    hours = MoneyField(label=gettext_lazy("Accelerator-hours"), min_value=0)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)

    def __init__(self, *arguments: Any, line: BudgetLine, **options: Any) -> None:
        super().__init__(*arguments, **options)
        target: Any = self.fields["target"]
        target.queryset = hours_targets(line)
        target.label_from_instance = line_label


class ReleaseHoursForm(forms.Form):
    proposal = forms.ModelChoiceField(
        Proposal.objects.none(), label=gettext_lazy("Proposal"), empty_label=gettext_lazy("choose a proposal")
    )
    hours = MoneyField(label=gettext_lazy("Accelerator-hours"), min_value=0)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)

    def __init__(self, *arguments: Any, line: BudgetLine, **options: Any) -> None:
        super().__init__(*arguments, **options)
        proposal: Any = self.fields["proposal"]
        proposal.queryset = Proposal.objects.filter(hours_entries__line=line, closed_at=None).distinct()


def hours_targets(line: BudgetLine) -> Any:
    """Open compute lines of the project, but for those that are kept in the other unit."""
    own_unit = HoursEntry.objects.filter(line=line).values("unit")[:1]
    other_unit = HoursEntry.objects.filter(line=OuterRef("pk")).exclude(unit=Subquery(own_unit))
    return (
        BudgetLine.objects.open()
        .filter(~Exists(other_unit), project=line.project_id, category=Category.COMPUTE)
        .exclude(pk=line.pk)
    )


def line_label(line: BudgetLine) -> str:
    return f"{line} · {line.start:%Y-%m-%d} – {line.end:%Y-%m-%d}"


def hours_words(found: BudgetLine, bound: Mapping[str, forms.Form], *, now: datetime) -> dict[str, Any]:
    """What stands in accelerator-hours beside the money, and the forms; one that was refused comes bound."""
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
        "hours_form": bound.get("hours")
        or HoursForm(initial={"unit": hours.unit if hours else HoursEntry.Unit.REAL}, auto_id="hours_%s"),
        "transfer_hours": bound.get("transfer_hours") or TransferHoursForm(line=found, auto_id="transfer_hours_%s"),
        "release_hours": bound.get("release_hours") or ReleaseHoursForm(line=found, auto_id="release_hours_%s"),
        "has_hours": True,
    }


def promises_of(promises: Mapping[str, Promise]) -> list[dict[str, Any]]:
    """Each proposal that was promised something, with what it was promised, has used and still holds."""
    proposals = Proposal.objects.in_bulk([int(reference.removeprefix("P-")) for reference in promises])
    return [
        {"proposal": proposals[int(reference.removeprefix("P-"))], "promise": promise}
        for reference, promise in promises.items()
    ]
