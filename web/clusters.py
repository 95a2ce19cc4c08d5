"""Clusters: the register, and for each month what could have been held, what was, and what nobody held."""

from __future__ import annotations

from datetime import date
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
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.months import Month
from overruns import tasks
from teams import permissions
from teams.models import Organisation
from usage.clusters import services
from usage.models import CardLot, CardWindow, Cluster, ClusterPartition
from web.cluster_forms import CardsForm, ClusterForm, MonthForm, PartitionForm, WindowForm
from web.cluster_month import words_of
from web.forms import refuse
from web.requests import PersonRequest

ON_A_PAGE = 25
WINDOWS_SHOWN = 10


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
    is_valid = chosen.is_valid()
    asked = chosen.cleaned_data
    shown = words_of(found, asked.get("month"), asked.get("piece"))
    kept = {"month": str(Month.of(shown["month"])), "piece": asked.get("piece")}
    words: dict[str, Any] = {
        **shown,
        "cluster": found,
        "month_form": MonthForm(initial=kept) if is_valid else chosen,
        "lots": found.lots.select_related("accelerator"),
        "partitions": found.partitions.select_related("accelerator"),
        "windows": found.windows.select_related("accelerator")[:WINDOWS_SHOWN],
        "keeps": permissions.may_keep_clusters(request.user),
        "derives": permissions.may_keep_clusters(request.user) or permissions.may_keep_prices(request.user),
    }  # fmt: skip
    forms_of_page = {
        "cards_form": CardsForm(), "window_form": WindowForm(), "partition_form": PartitionForm()
    }  # fmt: skip
    for name, form in forms_of_page.items():
        words[name] = wrong if wrong is not None and type(wrong) is type(form) else form
    return render(request, "web/clusters/cluster.html", words, status=422 if wrong is not None else 200)


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
