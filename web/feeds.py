"""Sources that deliver by themselves: where their files appear, when somebody looks, what was found."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from teams import permissions
from teams.models import Organisation
from usage.feeds import services
from usage.models import Feed, FeedFile, Source
from web.forms import refuse
from web.requests import PersonRequest

ON_A_PAGE = 25
KINDS = {
    FeedFile.State.TAKEN: "ok",
    FeedFile.State.KNOWN: "ok",
    FeedFile.State.SETTLING: "info",
    FeedFile.State.WAITING: "warn",
    FeedFile.State.REFUSED: "over",
}
"""The colour of each state of a file."""


class FeedForm(forms.Form):
    """Where files appear and when to look."""

    kind = forms.ChoiceField(label=gettext_lazy("Where"))
    path = forms.CharField(
        label=gettext_lazy("Path below the root"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Such as bills/aws-main; empty is the root itself. Folders below it count too."),
    )
    pattern = forms.CharField(
        label=gettext_lazy("File names"), max_length=200, initial="*", help_text=gettext_lazy("Such as *.csv.gz")
    )
    folder_is_one = forms.BooleanField(
        label=gettext_lazy("The files of a folder are the parts of one delivery"),
        required=False,
        help_text=gettext_lazy("Of exports in parts without a manifest. They wait until none of them changes."),
    )
    every_minutes = forms.IntegerField(
        label=gettext_lazy("Look every (minutes)"), required=False, min_value=1, max_value=43_200
    )
    daily_at = forms.TimeField(
        label=gettext_lazy("or daily at"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    time_zone = forms.ChoiceField(label=gettext_lazy("Time zone of the source"))
    is_on = forms.BooleanField(label=gettext_lazy("Look by itself"), required=False, initial=True)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        on = services.kinds_that_are_on()
        self.fields["kind"].choices = [choice for choice in Feed.Kind.choices if choice[0] in on]  # type: ignore[attr-defined]
        self.fields["time_zone"].choices = [(name, name) for name in sorted(available_timezones())]  # type: ignore[attr-defined]

    def clean(self) -> None:
        """Of interval and time the one that stood there before yields to the one that was entered."""
        given = self.cleaned_data
        if given.get("every_minutes") and given.get("daily_at"):
            kept = {"every_minutes", "daily_at"} - set(self.changed_data)
            given.update(dict.fromkeys(kept))


def first_values(source: Source, feed: Feed | None) -> dict[str, Any]:
    if feed is None:
        zone = source.settings.get("timezone") or Organisation.current().time_zone
        return {"time_zone": zone, "every_minutes": 60, "pattern": "*", "is_on": True}
    names = ("kind", "path", "pattern", "folder_is_one", "every_minutes", "daily_at", "time_zone", "is_on")
    return {name: getattr(feed, name) for name in names}


@login_required
def source_feed(request: PersonRequest, slug: str) -> HttpResponse:
    """Where a source finds its files, and every file that was seen there."""
    source = get_object_or_404(Source.objects.visible_to(request.user), slug=slug)
    feed = Feed.objects.filter(source=source).first()
    sets = permissions.may_allocate(request.user)
    if request.method == "POST" and not sets:
        raise PermissionDenied
    form = FeedForm(request.POST or None, initial=first_values(source, feed))
    if request.method == "POST" and form.is_valid():
        try:
            services.set_feed(source, by=request.user, now=timezone.now(), **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("Saved. The first look is within seconds."))
            return redirect("source-feed", slug)
    words = {
        "source": source,
        "feed": feed,
        "form": form,
        "sets": sets,
        "asks": permissions.may_import_usage(request.user),
        "roots": [root for root in (settings.WATCH_ROOT, settings.BUCKET_ROOT) if root],
        "page": page_of_files(feed, request.GET.get("page")) if feed else None,
    }
    return render(request, "web/usage/feed.html", words, status=422 if form.errors else 200)


def page_of_files(feed: Feed, number: str | None) -> Any:
    page = Paginator(feed.files.select_related("delivery"), ON_A_PAGE).get_page(number)
    for file in page.object_list:
        file.kind = KINDS.get(file.state, "")  # type: ignore[attr-defined, call-overload]
    return page


@login_required
@require_POST
def feed_look(request: PersonRequest, slug: str) -> HttpResponse:
    """Have a feed looked at now."""
    feed = get_object_or_404(Feed.objects.visible_to(request.user), source__slug=slug)
    try:
        services.ask_for_look(feed, by=request.user, now=timezone.now())
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(
            request, _("A worker looks within seconds. Files that stand still are taken at the next look.")
        )
    return redirect("source-feed", slug)


urlpatterns = [
    path("usage/sources/<slug:slug>/feed/", source_feed, name="source-feed"),
    path("usage/sources/<slug:slug>/feed/look/", feed_look, name="source-feed-look"),
]
