"""Storage: what the newest inventory of a source holds, what nobody uses, and what lies there twice."""

from __future__ import annotations

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import pgettext_lazy

from teams import permissions
from usage import storage
from usage.models import Source
from web.forms import KnownOnField, day_of, end_of
from web.requests import PersonRequest

COLD_SHOWN, COPIES_SHOWN, ON_A_PAGE = 15, 15, 25


class InventoryFilter(forms.Form):
    """Whose inventory."""

    source = forms.ChoiceField(label=pgettext_lazy("of usage", "Source"), required=False)
    known_on = KnownOnField()

    def __init__(self, *args: object, sources: list[Source], **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["source"].choices = [(source.slug, source.name) for source in sources]  # type: ignore[attr-defined]


@login_required
def storage_page(request: PersonRequest) -> HttpResponse:
    """The newest snapshot of one source. Paths are everybody's, so only a role in the whole sees them."""
    if not permissions.may_see_all_usage(request.user) and not permissions.may_import_usage(request.user):
        raise PermissionDenied
    sources = list(storage.inventories())
    wanted = request.GET.get("source", "")
    source = next((found for found in sources if found.slug == wanted), sources[0] if sources else None)
    known_on = day_of(request.GET.get("known_on", ""))
    known_at = end_of(known_on) if known_on else None
    words: dict[str, object] = {
        "source": source,
        "known_on": known_on,
        "delivers": permissions.may_import_usage(request.user),
    }
    if source is not None:
        classes = storage.held_by_class(source, known_at)
        copies = storage.copies(source, known_at)
        runs = storage.checkpoints(source, known_at)
        words |= {
            "form": InventoryFilter(initial={"source": source.slug, "known_on": known_on}, sources=sources),
            "several": len(sources) > 1,
            "day": storage.taken_on(source, known_at),
            "classes": classes,
            "kinds": storage.held_by_kind(source, known_at),
            "total": sum(held.total for held in classes),
            "cold": sum(held.cold for held in classes),
            "by_access": storage.knows_access(source, known_at),
            "cold_places": storage.cold_places(source, COLD_SHOWN, known_at),
            "checkpoint_bytes": sum(run.total for run in runs),
            "older_bytes": sum(run.before_the_last for run in runs),
            "page": Paginator(runs, ON_A_PAGE).get_page(request.GET.get("page")),
            "copies": copies[:COPIES_SHOWN],
            "copied_bytes": sum(each.beyond_one for each in copies),
        }
    return render(request, "web/usage/storage.html", words)


urlpatterns = [path("usage/storage/", storage_page, name="storage")]
