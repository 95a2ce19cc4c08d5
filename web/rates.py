"""Exchange rates: what one currency was worth in another, month by month, and a form for the next."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.errors import DomainError
from core.months import Month
from teams import permissions, services
from teams.models import CURRENCY_CHOICES, ClosedMonth, ExchangeRate, Organisation
from web.forms import MoneyField, refuse
from web.requests import PersonRequest

ON_A_PAGE = 50


class RateForm(forms.Form):
    """The rate of a month between two currencies, and where it was read."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), widget=forms.TextInput(attrs={"type": "month"})
    )
    base = forms.ChoiceField(label=gettext_lazy("One unit of"), choices=CURRENCY_CHOICES)
    quote = forms.ChoiceField(label=gettext_lazy("was worth in"), choices=CURRENCY_CHOICES)
    rate = MoneyField(label=pgettext_lazy("of exchange", "Rate"), decimal_places=10, max_digits=20)
    source = forms.CharField(label=gettext_lazy("Where it was read"), max_length=300)

    def clean_month(self) -> Month:
        try:
            return Month.parse(self.cleaned_data["month"])
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error


@login_required
def rate_list(request: PersonRequest) -> HttpResponse:
    """All rates, the newest month first; finance adds one."""
    enters = permissions.may_close_books(request.user)
    if request.method == "POST" and not enters:
        raise PermissionDenied
    organisation = Organisation.current()
    today = organisation.today(timezone.now())
    start = {"month": str(Month.of(today)), "quote": organisation.currency}
    form = RateForm(request.POST or None, initial=start)
    if request.method == "POST" and form.is_valid():
        try:
            services.enter_rate(by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The rate is kept."))
            return redirect("rate-list")
    page = Paginator(ExchangeRate.objects.all(), ON_A_PAGE).get_page(request.GET.get("page"))
    words = {
        "form": form,
        "page": page,
        "closed": set(ClosedMonth.objects.values_list("month", flat=True)),
        "enters": enters,
    }
    return render(request, "web/rates/list.html", words, status=422 if form.errors else 200)


urlpatterns = [path("rates/", rate_list, name="rate-list")]
