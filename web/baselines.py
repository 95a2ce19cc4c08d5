"""Baselines: what finished runs taught, for all to read."""

from __future__ import annotations

from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy

from estimates.baselines.models import Baseline, BaselineQuantity
from web.requests import PersonRequest

ON_A_PAGE = 50


class BaselineFilter(forms.Form):
    """Which figures to show."""

    quantity = forms.ChoiceField(
        label=pgettext_lazy("of a baseline", "Quantity"),
        required=False,
        choices=[("", gettext_lazy("any")), *BaselineQuantity.choices],
    )
    earlier = forms.BooleanField(label=gettext_lazy("Earlier rows too"), required=False)


@login_required
def baseline_list(request: PersonRequest) -> HttpResponse:
    """The figures that hold today, or every row that was ever written."""
    form = BaselineFilter(request.GET)
    asked = form.cleaned_data if form.is_valid() else {}
    found = Baseline.objects.visible_to(request.user)
    if not asked.get("earlier"):
        found = found.in_force(timezone.localdate())
    if asked.get("quantity"):
        found = found.filter(quantity=asked["quantity"])
    page = Paginator(found.select_related("team", "project", "by"), ON_A_PAGE).get_page(request.GET.get("page"))
    words = {
        "form": form,
        "page": page,
        "filtered": any(asked.values()),
        "query": urlencode({name: value for name, value in request.GET.items() if name != "page"}),
    }
    return render(request, "web/baselines/list.html", words)


urlpatterns = [path("baselines/", baseline_list, name="baseline-list")]
