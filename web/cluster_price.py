"""The price of an own card's hour: worked out on a page, and entered into the price table with one click."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import DomainError
from estimates import tasks as estimates
from overruns import tasks as overruns
from teams import permissions
from usage.clusters import idle, prices
from usage.clusters.models import HOURS_A_MONTH
from usage.clusters.own_price import HourPrice, Running
from usage.models import CardLot
from web.cluster_forms import day_input
from web.clusters import found_cluster
from web.forms import MoneyField, NumberField, refuse
from web.requests import PersonRequest

WATTS = 1000


class OwnPriceForm(forms.Form):
    """What cards cost beside their purchase, and from when the price counts."""

    power_kw = NumberField(
        label=gettext_lazy("Power of a card, kW"), min_value=0, max_value=100, max_digits=9, decimal_places=4,
        help_text=gettext_lazy("With its share of the server, at the plug."),
    )  # fmt: skip
    pue = NumberField(
        label=gettext_lazy("PUE"), min_value=1, max_value=5, max_digits=6, decimal_places=4,
        help_text=gettext_lazy("Energy of the building divided by that of the machines."),
    )  # fmt: skip
    electricity_price = MoneyField(label=gettext_lazy("Electricity, per kWh"), min_value=0, decimal_places=6)
    people_per_month = MoneyField(
        label=gettext_lazy("People, per month"), min_value=0, help_text=gettext_lazy("For all these cards together.")
    )
    other_per_month = MoneyField(
        label=gettext_lazy("Other, per month"), min_value=0,
        help_text=gettext_lazy("Space, maintenance contracts, networks; for all these cards together."),
    )  # fmt: skip
    valid_from = forms.DateField(label=gettext_lazy("Valid from"), widget=day_input())
    reason = forms.CharField(
        label=gettext_lazy("Reason"), required=False, max_length=300,
        help_text=gettext_lazy("Where it corrects a price of the same day."),
    )  # fmt: skip

    @property
    def running(self) -> Running:
        return Running(**{name: self.cleaned_data[name] for name in Running.__dataclass_fields__})


@dataclass(frozen=True)
class PartRow:
    """One part of the price, how it comes about, and its amount."""

    name: str
    formula: str
    amount: Decimal


@login_required
def own_price(request: PersonRequest, slug: str, lot: int) -> HttpResponse:
    """Work the price out with GET, enter it with POST."""
    found = found_cluster(request, slug)
    cards = get_object_or_404(CardLot.objects.select_related("accelerator", "cluster__source"), pk=lot, cluster=found)
    enters = permissions.may_keep_prices(request.user)
    if not (enters or permissions.may_keep_clusters(request.user)):
        raise PermissionDenied
    given = request.POST if request.method == "POST" else request.GET
    form = OwnPriceForm(given if "power_kw" in given else None, initial=first_guess(cards))
    price = None
    if form.is_valid():
        try:
            price = prices.derived_price(cards, form.running)
            if request.method == "POST":
                return enter(request, cards, form)
        except DomainError as refused:
            refuse(form, refused)
    words: dict[str, Any] = {
        "cluster": found,
        "lot": cards,
        "form": form,
        "price": price,
        "parts": parts_of(cards, form.running, price) if price else [],
        "now": idle.price_of(found, cards.accelerator.slug, form.cleaned_data["valid_from"]) if price else None,
        "key": idle.key_of(found, cards.accelerator.slug, cards.currency),
        "enters": enters,
    }
    return render(request, "web/clusters/own_price.html", words, status=422 if form.errors else 200)


def enter(request: PersonRequest, cards: CardLot, form: OwnPriceForm) -> HttpResponse:
    """What the click does."""
    asked = form.cleaned_data
    prices.enter_price(
        cards, form.running, valid_from=asked["valid_from"], reason=asked["reason"], by=request.user
    )  # fmt: skip
    messages.success(request, _("The price is entered. Open months of the log, and idle hours, are priced by it."))
    estimates.recompute_soon()
    overruns.derive_soon()
    return redirect("cluster", cards.cluster.slug)


def first_guess(cards: CardLot) -> dict[str, Any]:
    """What is known before anybody writes: the board's power and the first day of the cards."""
    watts = cards.accelerator.board_w
    return {
        "power_kw": watts / WATTS if watts is not None else None,
        "people_per_month": 0,
        "other_per_month": 0,
        "valid_from": cards.starts_on,
    }


def parts_of(cards: CardLot, running: Running, price: HourPrice) -> list[PartRow]:
    """The formula with its numbers, part by part."""
    hours = f"{HOURS_A_MONTH} h"
    return [
        PartRow(
            _("Loss of value"),
            f"({cards.capital:,f} − {cards.residual or 0:,f}) ÷ ({cards.cards} × {cards.life_months} × {hours})",
            price.loss,
        ),
        PartRow(_("Power"), f"{running.power_kw:f} kW × {running.pue:f} × {running.electricity_price:f}", price.power),
        PartRow(_("People"), f"{running.people_per_month:,f} ÷ ({cards.cards} × {hours})", price.people),
        PartRow(_("Other"), f"{running.other_per_month:,f} ÷ ({cards.cards} × {hours})", price.other),
    ]


urlpatterns = [path("usage/clusters/<slug:slug>/cards/<int:lot>/price/", own_price, name="cluster-own-price")]
