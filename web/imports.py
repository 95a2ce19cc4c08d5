"""Imports: deliver a file, watch it being read, see what became of it, say yes to one that waits."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from core.errors import DomainError
from core.money import EXACT
from overruns import tasks
from teams import permissions
from usage import changes, corrections, services
from usage.formats.detection import FORMATS
from usage.models import Import, RejectedRow, Source
from usage.pipeline.work import LEASE
from usage.sources import BY_HAND
from web.forms import FilesField, refuse
from web.requests import PersonRequest

GENERIC = "generic-csv"
ON_A_PAGE = 25
REJECTED_SHOWN = 50
KINDS = {
    Import.Status.LIVE: "ok",
    Import.Status.UNCHANGED: "ok",
    Import.Status.WAITING: "warn",
    Import.Status.STORED: "warn",
    Import.Status.REFUSED: "over",
    Import.Status.FAILED: "over",
    Import.Status.QUEUED: "info",
    Import.Status.RUNNING: "info",
}
"""The colour of each state."""
QUIET_SECONDS = 15
"""A worker that reads tells of itself more often than this."""


class ImportFilter(forms.Form):
    """What to look for among imports."""

    source = forms.ModelChoiceField(
        Source.objects.none(),
        label=pgettext_lazy("of usage", "Source"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("any"),
    )
    status = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[("", gettext_lazy("any")), *Import.Status.choices]
    )

    def __init__(self, data: Any, *, user: Any) -> None:
        super().__init__(data)
        self.fields["source"].queryset = Source.objects.visible_to(user)  # type: ignore[attr-defined]


class DeliveryForm(forms.Form):
    """A file for a source."""

    source = forms.ModelChoiceField(
        Source.objects.none(), label=pgettext_lazy("of usage", "Source"), to_field_name="slug", empty_label=None
    )
    file = FilesField(
        label=gettext_lazy("File"),
        allow_empty_file=True,
        help_text=gettext_lazy("Several files are taken as the parts of one delivery."),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), required=False)
    currency = forms.CharField(
        label=gettext_lazy("Currency, where the file names none"),
        required=False,
        max_length=3,
        help_text=gettext_lazy("Such as USD. The source's own, if it is empty."),
    )
    billing_period = forms.CharField(
        label=gettext_lazy("Billing month, where the file says none"),
        required=False,
        widget=forms.TextInput(attrs={"type": "month"}),
    )
    issued_at = forms.CharField(
        label=gettext_lazy("Issued, where that is not now"),
        required=False,
        widget=forms.TextInput(attrs={"type": "datetime-local"}),
    )

    final = forms.BooleanField(label=gettext_lazy("It is the final bill of its months"), required=False)

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["source"].queryset = Source.objects.visible_to(user).exclude(format=BY_HAND)  # type: ignore[attr-defined]
        choices = [("", gettext_lazy("as the source says, else found by content"))]
        self.fields["format"].choices = [*choices, *((known.slug, known.name) for known in FORMATS)]  # type: ignore[attr-defined]

    def settings(self) -> dict[str, str]:
        given = {
            name: self.cleaned_data[name]
            for name in ("currency", "billing_period", "issued_at")
            if self.cleaned_data[name]
        }
        return given | ({"final": "1"} if self.cleaned_data["final"] else {})


def new_address() -> str:
    return reverse("import-new")


@login_required
def import_list(request: PersonRequest) -> HttpResponse:
    """Deliveries, the newest first."""
    form = ImportFilter(request.GET, user=request.user)
    chosen = form.cleaned_data if form.is_valid() else {}
    found = Import.objects.visible_to(request.user).select_related("source", "received_by").defer("outcome")
    if chosen.get("source"):
        found = found.filter(source=chosen["source"])
    if chosen.get("status"):
        found = found.filter(status=chosen["status"])
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    for delivery in page.object_list:
        delivery.kind = KINDS.get(delivery.status, "")  # type: ignore[attr-defined, call-overload]
    words = {
        "form": form,
        "page": page,
        "filtered": any(chosen.values()),
        "delivers": permissions.may_import_usage(request.user),
    }
    return render(request, "web/usage/import_list.html", words)


@login_required
def import_new(request: PersonRequest) -> HttpResponse:
    """Deliver a file. The page shows how much of it has been sent; then the import's own page follows the reading."""
    if not permissions.may_import_usage(request.user):
        raise PermissionDenied
    if not Source.objects.exists():
        return redirect("source-new")
    first = {"source": request.GET.get("source", "")}
    form = DeliveryForm(request.POST or None, request.FILES or None, user=request.user, initial=first)
    if request.method == "POST" and form.is_valid():
        try:
            delivery = receive(request, form)
        except DomainError as refused:
            refuse(form, refused)
        else:
            address = reverse("import", args=[delivery.pk])
            return HttpResponseClientRedirect(address) if request.htmx else redirect(address)  # type: ignore[attr-defined]
    template = "web/usage/_import_form.html" if request.htmx else "web/usage/import_new.html"  # type: ignore[attr-defined]
    return render(request, template, {"form": form}, status=422 if form.errors and not request.htmx else 200)  # type: ignore[attr-defined]


def receive(request: PersonRequest, form: DeliveryForm) -> Import:
    given = form.cleaned_data
    delivery = services.receive_files(
        source=given["source"],
        by=request.user,
        parts=[(file.name, file) for file in given["file"]],
        format=given["format"],
        settings=form.settings(),
    )
    tasks.import_soon(delivery.pk)
    return delivery


def visible_import(request: PersonRequest, import_id: int) -> Import:
    found = Import.objects.visible_to(request.user).select_related("source", "received_by", "confirmed_by")
    return get_object_or_404(found, pk=import_id)


@login_required
def import_page(request: PersonRequest, import_id: int) -> HttpResponse:
    """One delivery: while it is read, how far; then what became of it."""
    delivery = visible_import(request, import_id)
    is_open = delivery.status in (Import.Status.QUEUED, Import.Status.RUNNING)
    words: dict[str, Any] = {
        "delivery": delivery,
        "kind": KINDS.get(delivery.status, ""),  # type: ignore[call-overload]
        "is_open": is_open,
        "delivers": permissions.may_import_usage(request.user),
        "progress": progress_of(delivery, timezone.now()) if is_open else None,
    }
    if is_open and request.htmx:  # type: ignore[attr-defined]
        return render(request, "web/usage/_progress.html", words)
    if not is_open:
        words |= outcome_words(delivery)
        words["superseded"] = services.superseded_scopes(delivery)
        words["makes_live"] = permissions.may_make_live(request.user)
    return render(request, "web/usage/_import.html" if request.htmx else "web/usage/import.html", words)  # type: ignore[attr-defined]


def progress_of(delivery: Import, now: datetime) -> dict[str, Any]:
    """How far the reading is: share, rows, bytes, rate, time left. Comparing and writing is one step without parts."""
    seconds = (now - delivery.started_at).total_seconds() if delivery.started_at else 0
    share = min(delivery.bytes_read / delivery.size, 1) if delivery.size else 0
    is_reading = delivery.status == Import.Status.RUNNING and delivery.phase == "reading"
    measured = is_reading and seconds >= 1
    return {
        "is_reading": is_reading,
        "share": round(share * 100),
        "rows_a_second": round(delivery.rows_read / seconds) if measured and delivery.rows_read else None,
        "left": duration_text(seconds / share - seconds) if measured and 0 < share < 1 else None,
        "taken": duration_text(seconds) if delivery.started_at else None,
        "unheard": unheard_for(delivery, now) if is_reading else None,
    }


def unheard_for(delivery: Import, now: datetime) -> str | None:
    """How long nothing was heard of the worker that reads; None while it tells how far it is."""
    seconds = (now - (delivery.lease_until - LEASE)).total_seconds() if delivery.lease_until else 0
    return duration_text(seconds) if seconds >= QUIET_SECONDS else None


def duration_text(seconds: float) -> str:
    """`42 s`, `3 min`, `2.5 h`: no more digits than a guess has."""
    if seconds < 100:
        return _("%(seconds)s s") % {"seconds": round(seconds)}
    if seconds < 6000:
        return _("%(minutes)s min") % {"minutes": round(seconds / 60)}
    return _("%(hours)s h") % {"hours": round(seconds / 3600, 1)}


def outcome_words(delivery: Import) -> dict[str, Any]:
    """What became of a delivery, as the page says it."""
    answer = services.import_answer(delivery.pk)
    lines, details = answer.get("warning_lines", {}), answer.get("warning_details", {})
    rejected = RejectedRow.objects.filter(delivery=delivery)
    return {
        "answer": answer,
        "warnings": [(kind, count, lines.get(kind), details.get(kind)) for kind, count in answer["warnings"].items()],
        "faults": [error for error in answer["errors"] if error["line"] is None],
        "rejected": rejected[:REJECTED_SHOWN],
        "rejected_count": rejected.count(),
        "mappable": delivery.source.format in ("", GENERIC),
        "differences": [held_difference(change) for change in answer.get("held_changes", [])],
        "changes": changes.changes_of(delivery) if answer["rows_closed"] else [],
    }


def held_difference(change: dict[str, str]) -> dict[str, Any]:
    """A difference that waits for a person, as numbers."""
    before, after = Decimal(change["before"]), Decimal(change["after"])
    return {**change, "before": before, "after": after, "delta": EXACT.subtract(after, before)}


@login_required
def rejected_csv(request: PersonRequest, import_id: int) -> StreamingHttpResponse:
    """The quarantine of a delivery: every rejected row with its line, column, value, reason and text."""
    delivery = visible_import(request, import_id)
    answer = StreamingHttpResponse(corrections.rejected_lines(delivery), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="rejected-{delivery.pk}.csv"'
    return answer


@login_required
@require_POST
def import_confirm(request: PersonRequest, import_id: int) -> HttpResponse:
    """Apply a delivery that waits for a person."""
    delivery = visible_import(request, import_id)
    try:
        services.confirm_import(delivery, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        tasks.import_soon(delivery.pk)
        messages.success(request, _("The delivery is being applied."))
    return redirect("import", import_id)


@login_required
@require_POST
def import_make_live(request: PersonRequest, import_id: int) -> HttpResponse:
    """Put a statement in the place of the newer one that replaced it."""
    delivery = visible_import(request, import_id)
    try:
        again = services.make_live(delivery, by=request.user, reason=request.POST.get("reason", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
        return redirect("import", import_id)
    tasks.import_soon(again.pk)
    messages.success(request, _("The delivery is imported again, as issued now."))
    return redirect("import", again.pk)


@login_required
@require_POST
def import_cancel(request: PersonRequest, import_id: int) -> HttpResponse:
    """Stop a delivery that has not ended; drop one that waits."""
    delivery = visible_import(request, import_id)
    try:
        services.cancel_import(delivery, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("The import stops. What was live stays."))
    return redirect("import", import_id)


@login_required
def import_answer(request: PersonRequest, import_id: int) -> HttpResponse:
    """The outcome as JSON, as the command prints it."""
    visible_import(request, import_id)
    text = json.dumps(services.import_answer(import_id), ensure_ascii=False, indent=1)
    return HttpResponse(text, content_type="application/json")


urlpatterns = [
    path("usage/imports/", import_list, name="import-list"),
    path("usage/imports/new/", import_new, name="import-new"),
    path("usage/imports/<int:import_id>/", import_page, name="import"),
    path("usage/imports/<int:import_id>/rejected.csv", rejected_csv, name="import-rejected"),
    path("usage/imports/<int:import_id>/answer.json", import_answer, name="import-answer"),
    path("usage/imports/<int:import_id>/confirm/", import_confirm, name="import-confirm"),
    path("usage/imports/<int:import_id>/make-live/", import_make_live, name="import-make-live"),
    path("usage/imports/<int:import_id>/cancel/", import_cancel, name="import-cancel"),
]
