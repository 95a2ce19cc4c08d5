"""Restatements: what closed months, or any two times of knowing, cost then and cost now, and which files did it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.months import Month
from core.vocabulary import Basis
from teams import labels, permissions
from teams.models import ClosedMonth, Project
from usage import restatements
from usage.models import Import, Source
from usage.restatements import Between, Restated
from web.forms import end_of
from web.requests import PersonRequest

ON_A_PAGE = 50


class RestatementFilter(forms.Form):
    """Which two times of knowing, which cost, which month and source. Without a first day: since each closing."""

    since = forms.DateField(
        label=gettext_lazy("Known on"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.DateField(
        label=gettext_lazy("Against known on"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )
    basis = forms.ChoiceField(
        label=gettext_lazy("Cost"), required=False, choices=[(str(basis), labels.BASES[basis]) for basis in Basis]
    )
    source = forms.ModelChoiceField(
        Source.objects.none(),
        label=pgettext_lazy("of usage", "Source"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("any"),
    )
    news = forms.BooleanField(label=gettext_lazy("Also months not known before"), required=False)

    def __init__(self, data: Any, *, user: Any) -> None:
        super().__init__(data)
        self.fields["source"].queryset = Source.objects.visible_to(user)  # type: ignore[attr-defined]

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error

    def clean(self) -> None:
        given = self.cleaned_data
        if given.get("until") and not given.get("since"):
            self.add_error("since", _("Say since when."))
        elif given.get("until") and given.get("since") and given["until"] <= given["since"]:
            self.add_error("until", _("Must be a later day."))


@login_required
def restatement_list(request: PersonRequest) -> HttpResponse:
    """Old, new and difference by month, source and project."""
    form = RestatementFilter(request.GET, user=request.user)
    sees_all = permissions.may_see_all_usage(request.user)
    projects = None if sees_all else list(Project.objects.visible_to(request.user).values_list("pk", flat=True))
    delivery = imported(request)
    found = rows_of(form, projects, delivery) if form.is_valid() else []
    words = {
        "form": form,
        "page": Paginator(found, ON_A_PAGE).get_page(request.GET.get("page")),
        "delivery": delivery,
        "sees_all": sees_all,
        "since_closing": form.is_valid() and not form.cleaned_data["since"] and delivery is None,
        "closed": ClosedMonth.objects.exists(),
    }
    return render(request, "web/usage/restatement_list.html", words, status=200 if form.is_valid() else 422)


def imported(request: PersonRequest) -> Import | None:
    """The import whose own differences are asked for."""
    text = request.GET.get("import", "")
    if not text.isdecimal():
        return None
    live = Import.objects.visible_to(request.user).filter(live_at__isnull=False)
    return get_object_or_404(live.select_related("source"), pk=int(text))


def rows_of(form: RestatementFilter, projects: list[int] | None, delivery: Import | None) -> list[Restated]:
    given = form.cleaned_data
    basis = given["basis"] or str(Basis.EFFECTIVE)
    source, month = given["source"], given["month"]
    if delivery is not None:
        found = restatements.of_import(delivery, basis=basis, projects=projects)
    elif given["since"]:
        since, until = end_of(given["since"]), end_of(given["until"]) if given["until"] else None
        found = restatements.restated(Between(since, until, basis, month, source.pk if source else None, projects))
    else:
        found = restatements.since_closing(basis=basis, projects=projects, months=[month] if month else None)
        found = [row for row in found if source is None or row.source == source]
    return [row for row in found if row.was_known or given["news"] or not given["since"]]


urlpatterns = [path("usage/restatements/", restatement_list, name="restatement-list")]
