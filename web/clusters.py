"""Clusters: the register, and for each month what could have been held, what was, and what nobody held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.months import Month
from estimates.models import Accelerator, PriceMode
from overruns import tasks
from teams import permissions
from teams.models import CURRENCY_CHOICES, Organisation, Team
from usage.clusters import idle, jobs, queries, services
from usage.clusters.capacity import CardDay
from usage.models import CardLot, CardWindow, Cluster, ClusterPartition, Source
from web import figures
from web.charts.stack import Column
from web.forms import MoneyField, refuse
from web.requests import PersonRequest

ON_A_PAGE = 25
WINDOWS_SHOWN = 10


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
    """Which month."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error


@dataclass(frozen=True)
class IdleRow:
    """One kind of card in the month, with the money of what nobody held."""

    sums: queries.CardMonth
    price: Decimal | None
    currency: str

    @property
    def cost(self) -> Decimal | None:
        return None if self.price is None else self.price * self.sums.idle


@login_required
def cluster_list(request: PersonRequest) -> HttpResponse:
    """The clusters one may see."""
    found = (
        Cluster.objects.visible_to(request.user).select_related("team", "source").prefetch_related("lots__accelerator")
    )
    today = Organisation.current().today(timezone.now())
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    rows = [
        (each, [lot for lot in each.lots.all() if lot.starts_on <= today and (not lot.ends_on or lot.ends_on > today)])
        for each in page.object_list
    ]
    return render(
        request, "web/clusters/cluster_list.html",
        {"page": page, "rows": rows, "keeps": permissions.may_keep_clusters(request.user)},
    )  # fmt: skip


@login_required
def cluster_new(request: PersonRequest) -> HttpResponse:
    """Enter a cluster."""
    if not permissions.may_keep_clusters(request.user):
        raise PermissionDenied
    form = ClusterForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            found = services.open_cluster(form.save(commit=False), by=request.user)
        except DomainError as refused:
            refuse(form, refused)  # type: ignore[arg-type]
        else:
            messages.success(request, _("The cluster is entered. Say which cards it has."))
            return redirect("cluster", found.slug)
    return render(request, "web/clusters/cluster_new.html", {"form": form}, status=422 if form.errors else 200)


@login_required
def cluster(request: PersonRequest, slug: str) -> HttpResponse:
    """A cluster in a month: capacity, maintenance, allocated and idle, day by day and by kind of card."""
    return page_of(request, found_cluster(request, slug))


def found_cluster(request: PersonRequest, slug: str) -> Cluster:
    seen = Cluster.objects.visible_to(request.user).select_related("team", "source__part_of", "idle_source")
    return get_object_or_404(seen, slug=slug)


def page_of(request: PersonRequest, found: Cluster, wrong: forms.BaseForm | None = None) -> HttpResponse:
    """The page, with a form that was refused in its place."""
    chosen = MonthForm(request.GET)
    asked = chosen.cleaned_data.get("month") if chosen.is_valid() else None
    until = queries.known_until(found)
    month = asked or Month.of(until or Organisation.current().today(timezone.now()))
    end = min(until or month.start, month.end)
    days = queries.days_of_cluster(found, month.start, end) if end > month.start else []
    words: dict[str, Any] = {
        "cluster": found,
        "month": month.start,
        "month_form": MonthForm(initial={"month": str(month)}),
        "until": until,
        "rows": [IdleRow(each, *idle.price_of(found, each.accelerator, month.start)) for each in
                 queries.by_accelerator(days)],
        "columns": columns_of(days),
        "label": label_of(days, month),
        "waits": jobs.queue_waits(found, month),
        "states": jobs.hours_by_state(found, month.start, month.end),
        "lots": found.lots.select_related("accelerator"),
        "partitions": found.partitions.select_related("accelerator"),
        "windows": found.windows.select_related("accelerator")[:WINDOWS_SHOWN],
        "keeps": permissions.may_keep_clusters(request.user),
    }  # fmt: skip
    forms_of_page = {
        "cards_form": CardsForm(), "window_form": WindowForm(), "partition_form": PartitionForm()
    }  # fmt: skip
    for name, form in forms_of_page.items():
        words[name] = wrong if wrong is not None and type(wrong) is type(form) else form
    return render(request, "web/clusters/cluster.html", words, status=422 if wrong is not None else 200)


def columns_of(days: Sequence[CardDay]) -> list[Column]:
    """Held, maintenance and idle of each day, all kinds of cards together."""
    by_day: dict[date, list[CardDay]] = {}
    for each in days:
        by_day.setdefault(each.day, []).append(each)
    return [
        Column(
            str(day.day),
            [float(sum(getattr(each, name) for each in own)) for name in ("allocated", "maintenance", "idle")],
            float(sum(each.capacity for each in own)),
        )
        for day, own in sorted(by_day.items())
    ]


def label_of(days: Sequence[CardDay], month: Month) -> str:
    sums = {
        name: figures.grouped(sum((getattr(each, name) for each in days), Decimal(0)), 0)
        for name in ("capacity", "maintenance", "allocated", "idle")
    }
    return _(
        "Accelerator-hours of %(month)s by day: of %(capacity)s there were %(allocated)s held, %(maintenance)s in "
        "maintenance and %(idle)s idle."
    ) % {"month": str(month), **sums}


def keep(request: PersonRequest, found: Cluster, form: forms.BaseForm, act: Any, said: str) -> HttpResponse:
    """Do what a form of the page asks for, or show it again with what is wrong."""
    if not permissions.may_keep_clusters(request.user):
        raise PermissionDenied
    if not form.is_valid():
        return page_of(request, found, form)
    try:
        act(form)
    except DomainError as refused:
        refuse(form, refused)  # type: ignore[arg-type]
        return page_of(request, found, form)
    messages.success(request, said)
    tasks.derive_soon()
    return redirect("cluster", found.slug)


@login_required
@require_POST
def cards_add(request: PersonRequest, slug: str) -> HttpResponse:
    """Enter cards."""
    found = found_cluster(request, slug)
    form = CardsForm(request.POST, instance=CardLot(cluster=found))
    said = _("The cards are entered; idle hours follow.")
    return keep(request, found, form, lambda asked: services.add_cards(asked.instance, by=request.user), said)


@login_required
@require_POST
def cards_end(request: PersonRequest, slug: str, lot: int) -> HttpResponse:
    """Say when cards go."""
    found = found_cluster(request, slug)
    cards = get_object_or_404(CardLot, pk=lot, cluster=found)
    try:
        services.end_cards(cards, by=request.user, ends_on=date.fromisoformat(request.POST.get("ends_on", "")))
    except ValueError:
        messages.error(request, _("Write a day such as 2027-01-31."))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("Saved; idle hours follow."))
        tasks.derive_soon()
    return redirect("cluster", slug)


@login_required
@require_POST
def maintenance_add(request: PersonRequest, slug: str) -> HttpResponse:
    """Plan a maintenance."""
    found = found_cluster(request, slug)
    form = WindowForm(request.POST, instance=CardWindow(cluster=found))
    said = _("Entered. Hours in maintenance are no longer idle; reserved ones are, until a job holds them.")
    return keep(request, found, form, lambda asked: services.add_window(asked.instance, by=request.user), said)


@login_required
@require_POST
def maintenance_cancel(request: PersonRequest, slug: str, window: int) -> HttpResponse:
    """Take a maintenance back."""
    found = found_cluster(request, slug)
    try:
        services.cancel_window(get_object_or_404(CardWindow, pk=window, cluster=found), by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        tasks.derive_soon()
    return redirect("cluster", slug)


@login_required
@require_POST
def partition_set(request: PersonRequest, slug: str) -> HttpResponse:
    """Say which cards a partition hands out."""
    found = found_cluster(request, slug)
    form = PartitionForm(request.POST)
    said = _("Kept. Open months of the log are priced again.")

    def act(asked: forms.Form) -> None:
        services.set_partition(ClusterPartition(cluster=found, **asked.cleaned_data), by=request.user)

    return keep(request, found, form, act, said)


@login_required
@require_POST
def partition_drop(request: PersonRequest, slug: str, partition: int) -> HttpResponse:
    """Forget a partition."""
    found = found_cluster(request, slug)
    try:
        services.drop_partition(get_object_or_404(ClusterPartition, pk=partition, cluster=found), by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("cluster", slug)


urlpatterns = [
    path("usage/clusters/", cluster_list, name="cluster-list"),
    path("usage/clusters/new/", cluster_new, name="cluster-new"),
    path("usage/clusters/<slug:slug>/", cluster, name="cluster"),
    path("usage/clusters/<slug:slug>/cards/", cards_add, name="cluster-cards"),
    path("usage/clusters/<slug:slug>/cards/<int:lot>/end/", cards_end, name="cluster-cards-end"),
    path("usage/clusters/<slug:slug>/maintenance/", maintenance_add, name="cluster-maintenance"),
    path(
        "usage/clusters/<slug:slug>/maintenance/<int:window>/cancel/",
        maintenance_cancel,
        name="cluster-maintenance-cancel",
    ),
    path("usage/clusters/<slug:slug>/partitions/", partition_set, name="cluster-partitions"),
    path("usage/clusters/<slug:slug>/partitions/<int:partition>/drop/", partition_drop, name="cluster-partition-drop"),
]
