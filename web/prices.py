"""Prices: what is in force, the history of one offer, and files of prices with a preview."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode, urlsplit

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.errors import DomainError
from estimates import price_files, queries, services, tasks
from estimates.models import Accelerator, Estimate, Price, PriceKind, PriceMode, Verification
from teams import permissions
from web.requests import PersonRequest

ON_A_PAGE = 25
SHOWN_ROWS = 500
"""How many rows of a file the preview shows; all of them count."""
SHOWN_DRAFTS = 20
KEPT_FOR = 3600
"""Seconds for which a file that was previewed waits to be confirmed."""
ANY = [("", gettext_lazy("any"))]


class PriceFilter(forms.Form):
    """What to look for in the price list."""

    q = forms.CharField(label=gettext_lazy("Search"), required=False, max_length=100)
    kind = forms.ChoiceField(label=gettext_lazy("Kind"), required=False, choices=[*ANY, *PriceKind.choices])
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), required=False, choices=[*ANY, *PriceMode.choices])
    verification = forms.ChoiceField(
        label=gettext_lazy("Verification"), required=False, choices=[*ANY, *Verification.choices]
    )
    on = forms.DateField(
        label=gettext_lazy("In force on"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )


class PriceFileForm(forms.Form):
    """A file of prices."""

    file = forms.FileField(label=gettext_lazy("Price file, CSV or XLSX"))


@dataclass(frozen=True)
class PriceRow:
    """One price as the list shows it."""

    price: Price
    name: str
    host: str

    @property
    def is_link(self) -> bool:
        return bool(self.host)


def rows_of(prices: Iterable[Price]) -> list[PriceRow]:
    """Prices with the names of their accelerators and the hosts of their sources."""
    found = list(prices)
    names = dict(Accelerator.objects.filter(slug__in={price.item for price in found}).values_list("slug", "name"))
    return [PriceRow(price, names.get(price.item, price.item), host_of(price.source)) for price in found]


def host_of(source: str) -> str:
    """The host of a link; nothing where the source is a document."""
    if not source.startswith(("https://", "http://")):
        return ""
    try:
        return urlsplit(source).hostname or ""
    except ValueError:
        return ""


def today() -> date:
    """The organisation's day: its time zone is on for the length of a request."""
    return timezone.localdate()


@login_required
def price_list(request: PersonRequest) -> HttpResponse:
    """Prices in force on a day, searchable."""
    form = PriceFilter(request.GET)
    asked = form.cleaned_data if form.is_valid() else {}
    found = filtered(asked)
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "web/prices/price_list.html",
        {
            "form": form,
            "page": page,
            "rows": rows_of(page.object_list),
            "filtered": any(asked.values()),
            "keeps": permissions.may_keep_prices(request.user),
            "waiting": Estimate.objects.visible_to(request.user).stale().count(),
            "query": urlencode({name: value for name, value in request.GET.items() if name != "page"}),
        },
    )


def filtered(asked: dict) -> QuerySet[Price]:
    """The prices in force that fit; withdrawn offers are not in force."""
    found = Price.objects.current(asked.get("on") or today()).filter(withdrawn=False)
    for name in ("kind", "mode", "verification"):
        if asked.get(name):
            found = found.filter(**{name: asked[name]})
    for word in asked.get("q", "").lower().split():
        slugs = Accelerator.objects.filter(
            Q(name__icontains=word) | Q(vendor__icontains=word) | Q(aliases__icontains=word)
        ).values("slug")
        found = found.filter(
            Q(item__icontains=word)
            | Q(item__in=slugs)
            | Q(provider__icontains=word)
            | Q(region__icontains=word)
            | Q(source__icontains=word)
            | Q(note__icontains=word)
        )
    return found.order_by("kind", "item", "provider", "region", "mode", "currency")


@login_required
def price(request: PersonRequest, pk: int) -> HttpResponse:
    """Every row of one offer, newest first, and the drafts that use it."""
    row = get_object_or_404(Price, pk=pk)
    history = Price.objects.of_offer(row).select_related("by")
    current = next((one for one in history if one.valid_from <= today()), None)
    drafts = queries.affected_drafts(queries.key_of(row)).visible_to(request.user).select_related("project")
    return render(
        request,
        "web/prices/price.html",
        {
            "row": rows_of([row])[0],
            "history": rows_of(history),
            "current": current,
            "drafts": drafts.defer("plan", "priced", "lasting")[:SHOWN_DRAFTS],
            "draft_count": drafts.count(),
            "keeps": permissions.may_keep_prices(request.user),
            "add_url": add_url(row) if request.user.is_staff else "",
        },
    )


def add_url(row: Price) -> str:
    """The admin panel's form for a new row of this offer, filled in."""
    known = {name: value for name, value in {**row.offer, "source": row.source, "amount": row.amount}.items() if value}
    return f"{reverse('admin:estimates_price_add')}?{urlencode(known)}"


# ---- files


@login_required
def price_import(request: PersonRequest) -> HttpResponse:
    """Upload a price file, see what it would change, confirm."""
    must_keep_prices(request)
    if request.method == "POST" and "token" in request.POST:
        return confirmed(request, request.POST["token"])
    form = PriceFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        return previewed(request, form.cleaned_data["file"].read(price_files.MOST_BYTES + 1))
    return render(request, "web/prices/price_import.html", {"form": form, "columns": price_files.COLUMNS})


def previewed(request: PersonRequest, content: bytes) -> HttpResponse:
    """What the file would change. It is kept for an hour, so that confirming needs no second upload."""
    preview = queries.preview_import(content)
    token = hashlib.sha256(content).hexdigest()
    if not preview.faults:
        cache.set(cache_key(request, token), content, KEPT_FOR)
    drafts = preview.drafts.select_related("project").defer("plan", "priced", "lasting")
    context = {
        "preview": preview,
        "changes": preview.changes[:SHOWN_ROWS],
        "rest": max(len(preview.changes) - SHOWN_ROWS, 0),
        "unknown": [change.facts.item for _line, change in preview.changes if not change.known_item],
        "drafts": drafts[:SHOWN_DRAFTS],
        "draft_count": drafts.count(),
        "token": token,
        "anything": bool(preview.new_rows),
        "form": PriceFileForm(),
    }
    return render(request, "web/prices/price_import_preview.html", context, status=422 if preview.faults else 200)


def confirmed(request: PersonRequest, token: str) -> HttpResponse:
    """Add the rows of the file that was previewed."""
    content = cache.get(cache_key(request, token))
    if content is None:
        messages.warning(request, _("The file is no longer here. Upload it again."))
        return redirect("price-import")
    try:
        added = services.import_prices(content, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
        return previewed(request, content)
    cache.delete(cache_key(request, token))
    tasks.recompute_soon()
    count = len(added)
    messages.success(request, ngettext("%(count)s price added.", "%(count)s prices added.", count) % {"count": count})
    return redirect("price-list")


def cache_key(request: PersonRequest, token: str) -> str:
    return f"price-file:{request.user.pk}:{hashlib.sha256(token.encode()).hexdigest()}"


def must_keep_prices(request: PersonRequest) -> None:
    if not permissions.may_keep_prices(request.user):
        raise PermissionDenied


@login_required
def price_export(request: HttpRequest, kind: str) -> HttpResponse:
    """The prices that the list shows, as a file that can be imported again."""
    form = PriceFilter(request.GET)
    prices = filtered(form.cleaned_data if form.is_valid() else {})
    if kind == "csv":
        answer = HttpResponse(price_files.csv_text(prices), content_type="text/csv; charset=utf-8")
    elif kind == "xlsx":
        answer = HttpResponse(price_files.spreadsheet(prices), content_type=XLSX)
    else:
        raise Http404
    answer["Content-Disposition"] = f'attachment; filename="prices-{today()}.{kind}"'
    return answer


XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

urlpatterns = [
    path("prices/", price_list, name="price-list"),
    path("prices/import/", price_import, name="price-import"),
    path("prices/export.<str:kind>", price_export, name="price-export"),
    path("prices/<int:pk>/", price, name="price"),
]
