"""Forms of clusters: a new one, its cards, windows and partitions, and which month is shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.months import Month
from estimates.models import Accelerator, PriceMode
from teams.models import CURRENCY_CHOICES, Team
from usage.models import CardLot, CardWindow, Cluster, Source
from web.forms import MoneyField


def day_input() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"})


def moment_input() -> forms.DateTimeInput:
    return forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class ClusterForm(forms.ModelForm):
    """A new cluster."""

    class Meta:
        model = Cluster
        fields = ["slug", "name", "team", "source", "log_name", "mode", "provider", "region"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"].queryset = Team.objects.order_by("name")  # type: ignore[attr-defined]
        self.fields["source"].queryset = Source.objects.filter(idle_of=None)  # type: ignore[attr-defined]


class CardsForm(forms.ModelForm):
    """Cards from a day on."""

    capital = MoneyField(label=gettext_lazy("Price paid for all"), required=False)
    residual = MoneyField(label=gettext_lazy("Residual value of all at the end"), required=False)
    currency = forms.ChoiceField(label=gettext_lazy("Currency"), required=False, choices=[("", "–"), *CURRENCY_CHOICES])

    class Meta:
        model = CardLot
        fields = [
            "accelerator", "cards", "cards_per_node", "ordered_on", "starts_on", "ends_on", "capital", "residual",
            "life_months", "currency",
        ]  # fmt: skip
        widgets = {name: day_input() for name in ("ordered_on", "starts_on", "ends_on")}


class WindowForm(forms.ModelForm):
    """Hours in which cards stand still on purpose, or are kept for somebody."""

    starts_at = forms.DateTimeField(label=gettext_lazy("From"), widget=moment_input())
    ends_at = forms.DateTimeField(label=gettext_lazy("Until"), widget=moment_input())

    class Meta:
        model = CardWindow
        fields = ["kind", "accelerator", "cards", "starts_at", "ends_at", "reason"]


class PartitionForm(forms.Form):
    """Which cards a partition hands out."""

    name = forms.CharField(label=gettext_lazy("Partition"), max_length=200)
    accelerator = forms.ModelChoiceField(Accelerator.objects.none(), label=gettext_lazy("Accelerator"))
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), choices=PriceMode.choices)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["accelerator"].queryset = Accelerator.objects.order_by("name")  # type: ignore[attr-defined]


class MonthForm(forms.Form):
    """Which month, and which piece of cards is asked for."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )

    piece = forms.IntegerField(
        label=pgettext_lazy("of accelerators", "Piece of cards"), required=False, min_value=1, max_value=1024,
        widget=forms.NumberInput(attrs={"placeholder": gettext_lazy("a node")}),
    )  # fmt: skip

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error
