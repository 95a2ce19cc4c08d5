"""Recurring costs: what waits for finance, one click to confirm it, and what comes every month."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.money import EXACT, exact_text, parse_amount
from core.months import Month
from core.vocabulary import CAUSES
from estimates.models import Price, PriceKind
from overruns import tasks
from teams import labels, permissions
from teams.models import CURRENCY_CHOICES, Project
from usage.bookings import recurring as services
from usage.bookings.services import projects_to_book_on
from usage.models import MonthDraft, RecurringBooking
from web.forms import MoneyField, refuse
from web.requests import PersonRequest

WAITING_SHOWN = 100
"""So many months are confirmed with one click; the next follow."""
ON_A_PAGE = 25
Basis = RecurringBooking.Basis
FIELDS = {
    Basis.ROLE: ("item", "quantity"),
    Basis.TARIFF: ("item", "quantity"),
    Basis.DEPRECIATION: ("capital", "residual", "life_months"),
    Basis.AMOUNT: ("amount",),
}
"""Which inputs each way of reckoning needs beside those of all."""
CATEGORY = {Basis.ROLE: "people_platform", Basis.TARIFF: "power_facility", Basis.DEPRECIATION: "compute"}
KINDS = {Basis.ROLE: PriceKind.ROLE, Basis.TARIFF: PriceKind.ELECTRICITY}


class MonthField(forms.CharField):
    """A month, written 2027-01."""

    widget = forms.TextInput(attrs={"type": "month"})

    def to_python(self, value: Any) -> Month | None:  # type: ignore[override]
        if value in self.empty_values:
            return None
        try:
            return Month.parse(str(value).strip())
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error


class RecurringForm(forms.Form):
    """A cost that comes every month; which inputs it has depends on how it is reckoned."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    project = forms.ChoiceField(label=gettext_lazy("Project"))
    category = forms.ChoiceField(
        label=gettext_lazy("Category"), choices=[(str(cause), labels.CATEGORIES[cause]) for cause in CAUSES]
    )
    currency = forms.ChoiceField(label=gettext_lazy("Currency"), choices=CURRENCY_CHOICES)
    item = forms.ChoiceField(label=gettext_lazy("Role"))
    quantity = MoneyField(label=gettext_lazy("Persons (full-time equivalents)"))
    amount = MoneyField(label=gettext_lazy("Amount a month"))
    capital = MoneyField(label=gettext_lazy("Price paid"))
    residual = MoneyField(label=gettext_lazy("Residual value at the end"))
    life_months = forms.IntegerField(label=gettext_lazy("Life in months"), min_value=1, max_value=240)
    starts_on = MonthField(label=gettext_lazy("First month"))
    ends_on = MonthField(label=gettext_lazy("Last month, where it is known"), required=False)
    task_type = forms.ChoiceField(
        label=gettext_lazy("Task type"),
        required=False,
        choices=[("", gettext_lazy("the project's own")), *labels.choices(labels.TASK_TYPES)],
    )
    stage = forms.CharField(label=gettext_lazy("Stage"), required=False, max_length=60)
    reference = forms.RegexField(
        r"^P-[1-9][0-9]{0,8}$",
        label=gettext_lazy("Proposal"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "P-12"}),
    )

    def __init__(self, *args: Any, basis: Basis, projects: dict[str, Project], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].choices = [(slug, project.name) for slug, project in projects.items()]  # type: ignore[attr-defined]
        for name in {name for names in FIELDS.values() for name in names} - set(FIELDS[basis]):
            del self.fields[name]
        if basis in KINDS:
            items = Price.objects.filter(kind=KINDS[basis]).order_by("item").values_list("item", flat=True).distinct()
            self.fields["item"].choices = [(item, item) for item in items]  # type: ignore[attr-defined]
        if basis == Basis.TARIFF:
            self.fields["item"].label, self.fields["quantity"].label = _("Tariff"), _("kWh a month")

    def values(self) -> dict[str, Any]:
        """The columns of `RecurringBooking`."""
        given = dict(self.cleaned_data)
        last = given.pop("ends_on")
        return {**given, "starts_on": given["starts_on"].start, "ends_on": (last + 1).start if last else None}


class MonthForm(forms.Form):
    """Another quantity in one month."""

    quantity = MoneyField(label=gettext_lazy("Quantity in this month"))
    reason = forms.CharField(label=gettext_lazy("Why it differs"), max_length=500)


class EndForm(forms.Form):
    """When it comes for the last time."""

    last_month = MonthField(label=gettext_lazy("Last month"))


def totals_of(drafts: Sequence[MonthDraft]) -> list[tuple[str, Decimal]]:
    """The sum of drafts by currency."""
    sums: dict[str, Decimal] = {}
    for draft in drafts:
        currency = draft.recurring.currency
        sums[currency] = EXACT.add(sums.get(currency, Decimal(0)), draft.amount or Decimal(0))
    return sorted(sums.items())


@login_required
def recurring_list(request: PersonRequest) -> HttpResponse:
    """What waits, what runs this month, and everything that recurs."""
    today = timezone.localdate()
    drafts = MonthDraft.objects.visible_to(request.user).select_related("recurring__project", "edited_by")
    waiting = list(drafts.due(today).filter(amount__isnull=False)[:WAITING_SHOWN])
    items = RecurringBooking.objects.visible_to(request.user).select_related("project")
    words = {
        "waiting": waiting,
        "waiting_count": drafts.due(today).filter(amount__isnull=False).count(),
        "totals": totals_of(waiting),
        "unpriced": drafts.waiting().filter(amount__isnull=True)[:WAITING_SHOWN],
        "running": drafts.waiting().filter(month=Month.of(today).start, amount__isnull=False)[:WAITING_SHOWN],
        "page": Paginator(items, ON_A_PAGE).get_page(request.GET.get("page")),
        "confirms": permissions.may_confirm_bookings(request.user),
        "books": permissions.projects_to_book_on(request.user).exists(),
        "bases": [(basis, services.KINDS[basis].label) for basis in Basis],
        "today": today,
    }
    return render(request, "web/bookings/recurring_list.html", words)


@login_required
@require_POST
def recurring_confirm(request: PersonRequest) -> HttpResponse:
    """Book the months that were on the page, each at the amount that was shown."""
    try:
        booked = services.confirm_months(seen_amounts(request.POST), by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        tasks.judge_soon()
        count = len(booked)
        said = ngettext("%(count)s month booked.", "%(count)s months booked.", count) % {"count": count}
        messages.success(request, said)
    return redirect("recurring-list")


def seen_amounts(posted: QueryDict) -> dict[int, Decimal]:
    """`draft` is `ID:AMOUNT`, once for each row of the page; what is neither is left out, and then nothing matches."""
    found = {}
    for text in posted.getlist("draft"):
        number, _colon, amount = text.partition(":")
        try:
            found[int(number)] = parse_amount(amount)
        except ValueError:
            found[0] = Decimal(0)
    return found


@login_required
def recurring_new(request: PersonRequest, basis: str) -> HttpResponse:
    """Write down what comes every month."""
    if basis not in Basis.values:
        raise Http404
    projects = projects_to_book_on(request.user)
    if not projects:
        messages.error(request, _("Only finance and managers of a team write down recurring costs."))
        return redirect("recurring-list")
    way = Basis(basis)
    project = projects.get(request.GET.get("project", "")) or next(iter(projects.values()))
    first = {
        "project": project.slug,
        "currency": project.currency,
        "category": CATEGORY.get(way, "people_platform"),
        "starts_on": str(Month.of(timezone.localdate())),
    }
    form = RecurringForm(request.POST or None, basis=way, projects=projects, initial=first)
    if request.method == "POST" and form.is_valid():
        values = {**form.values(), "project": projects[form.cleaned_data["project"]]}
        try:
            item = services.add_recurring(RecurringBooking(basis=way, **values), by=request.user)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("Written down. Its months wait for finance as they end."))
            return redirect("recurring", item.pk)
    words = {"form": form, "way": way.label}
    return render(request, "web/bookings/recurring_new.html", words, status=422 if form.errors else 200)


@login_required
def recurring(request: PersonRequest, pk: int) -> HttpResponse:
    """One recurring cost and its months."""
    found = RecurringBooking.objects.visible_to(request.user).select_related("project__team", "created_by")
    item = get_object_or_404(found, pk=pk)
    drafts = item.drafts.select_related("booking", "edited_by", "recurring").order_by("-month")
    words = {
        "item": item,
        "page": Paginator(drafts, ON_A_PAGE).get_page(request.GET.get("page")),
        "confirms": permissions.may_confirm_bookings(request.user),
        "may_end": permissions.may_book(request.user, item.project.team),
        "end_form": EndForm(initial={"last_month": str(Month.of(timezone.localdate()))}),
    }
    return render(request, "web/bookings/recurring.html", words)


@login_required
@require_POST
def recurring_end(request: PersonRequest, pk: int) -> HttpResponse:
    item = get_object_or_404(RecurringBooking.objects.visible_to(request.user), pk=pk)
    form = EndForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Write a month such as 2027-01."))
        return redirect("recurring", pk)
    try:
        services.end_recurring(item, by=request.user, last_month=form.cleaned_data["last_month"])
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("It ends with %(month)s.") % {"month": form.cleaned_data["last_month"]})
    return redirect("recurring", pk)


@login_required
def draft_edit(request: PersonRequest, pk: int) -> HttpResponse:
    """Another number of persons, or of kWh, in one month."""
    found = MonthDraft.objects.visible_to(request.user).select_related("recurring__project")
    draft = get_object_or_404(found, pk=pk)
    first = {"quantity": exact_text(draft.quantity) if draft.quantity is not None else "", "reason": draft.edit_reason}
    form = MonthForm(request.POST or None, initial=first)
    if request.method == "POST" and form.is_valid():
        try:
            services.edit_draft(draft, by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            return redirect("recurring-list")
    words = {"form": form, "draft": draft}
    return render(request, "web/bookings/draft_edit.html", words, status=422 if form.errors else 200)


urlpatterns = [
    path("usage/recurring/", recurring_list, name="recurring-list"),
    path("usage/recurring/confirm/", recurring_confirm, name="recurring-confirm"),
    path("usage/recurring/new/<slug:basis>/", recurring_new, name="recurring-new"),
    path("usage/recurring/<int:pk>/", recurring, name="recurring"),
    path("usage/recurring/<int:pk>/end/", recurring_end, name="recurring-end"),
    path("usage/recurring/months/<int:pk>/", draft_edit, name="recurring-month"),
]
