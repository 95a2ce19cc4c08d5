"""Usage: what the month cost and whose it is, whether the parts add up to the whole, where usage comes from."""

from __future__ import annotations

from datetime import date

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.months import Month
from core.vocabulary import Basis
from teams import labels, permissions
from teams.models import Organisation, Project
from usage import accruals, overview, parts, periods, queries, services, silence
from usage import reassignments as unowned
from usage.formats.detection import FORMATS
from usage.models import Feed, Import, Meaning, Money, Silence, Source
from web import bookings, cluster_price, clusters, feeds, imports, restatements, rules, serving, storage
from web.forms import KnownOnField, end_of, refuse
from web.requests import PersonRequest

RECENT = 8


class MonthForm(forms.Form):
    """Which month, which cost."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )
    basis = forms.ChoiceField(
        label=gettext_lazy("Cost"), required=False, choices=[(str(basis), labels.BASES[basis]) for basis in Basis]
    )
    known_on = KnownOnField()

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error


@login_required
def usage(request: PersonRequest) -> HttpResponse:
    """The cost of a month by project and category, with what is shared and what no rule placed."""
    organisation = Organisation.current()
    today = organisation.today(timezone.now())
    form = MonthForm(request.GET)
    chosen = form.cleaned_data if form.is_valid() else {}
    month = chosen.get("month") or newest_month(today)
    basis = chosen.get("basis") or str(Basis.EFFECTIVE)
    known_on = chosen.get("known_on")
    known_at = end_of(known_on) if known_on else None
    sees_all = permissions.may_see_all_usage(request.user)
    projects = None if sees_all else list(Project.objects.visible_to(request.user).values_list("pk", flat=True))
    costs = overview.costs_of_days(month.start, month.end, basis=basis, projects=projects, known_at=known_at)
    words = {
        "form": MonthForm(initial={"month": str(month), "basis": basis, "known_on": known_on}),
        "month": month.start,
        "known_on": known_on,
        "costs": sorted(costs, key=lambda cost: cost.currency != organisation.currency),
        "accruals": [] if known_at else accruals.accruals_of_month(month, today=today, basis=basis, projects=projects),
        "categories": [(str(category), label) for category, label in labels.CATEGORIES.items()],
        "sees_all": sees_all,
        "conserved": queries.conservation(basis, known_at) if sees_all else [],
        "trend": unowned.trend(month, basis=basis, known_at=known_at) if sees_all else [],
        "owners": unowned.owners() if sees_all else [],
        "delivers": permissions.may_import_usage(request.user),
        "allocates": permissions.may_allocate(request.user),
        "recent": Import.objects.visible_to(request.user).select_related("source")[:RECENT],
        "waiting": Import.objects.visible_to(request.user).filter(status=Import.Status.WAITING).count(),
        "anything": Import.objects.filter(live_at__isnull=False).exists(),
    }
    return render(request, "web/usage/usage.html", words)


def newest_month(today: date) -> Month:
    """This month; where nothing of it is known yet, the newest month that is."""
    return overview.newest_month(until=today) or Month.of(today)


class SourceForm(forms.Form):
    """A new source. What is left empty the first delivery shows."""

    slug = forms.SlugField(label=gettext_lazy("Short name"), max_length=60, help_text=gettext_lazy("aws-main"))
    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    format = forms.ChoiceField(label=gettext_lazy("Format"), required=False)
    meaning = forms.ChoiceField(label=gettext_lazy("Meaning of a delivery"), required=False)
    money = forms.ChoiceField(label=gettext_lazy("Money"), required=False)
    part_of = forms.ModelChoiceField(
        Source.objects.none(), label=gettext_lazy("Splits the money of"), required=False, to_field_name="slug"
    )
    currency = forms.CharField(label=gettext_lazy("Currency, where the file says none"), required=False, max_length=3)
    timezone = forms.CharField(label=gettext_lazy("Time zone of times without one"), required=False, max_length=60)
    date_order = forms.ChoiceField(
        label=gettext_lazy("Order of dates such as 5/1/25"),
        required=False,
        choices=[("", gettext_lazy("refuse them")), ("mdy", "M/D/Y"), ("dmy", "D/M/Y")],
    )
    money_text = forms.ChoiceField(
        label=gettext_lazy("Amounts"),
        required=False,
        choices=[("", "1234.56"), ("us", "$1,234.56"), ("eu", "1.234,56 €")],
    )
    single_scope = forms.BooleanField(label=gettext_lazy("Refuse a file that covers several periods"), required=False)
    strict = forms.BooleanField(label=gettext_lazy("Refuse a file with a single bad row"), required=False)

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        found = gettext_lazy("found by content")
        self.fields["format"].choices = [("", found), *((known.slug, known.name) for known in FORMATS)]  # type: ignore[attr-defined]
        self.fields["meaning"].choices = [("", gettext_lazy("as the format says")), *Meaning.choices]  # type: ignore[attr-defined]
        self.fields["money"].choices = [("", gettext_lazy("as the format says")), *Money.choices]  # type: ignore[attr-defined]
        self.fields["part_of"].queryset = Source.objects.filter(part_of=None)  # type: ignore[attr-defined]

    def settings(self) -> dict[str, object]:
        """The settings that were given."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in ("slug", "name", "format")}
        if given["part_of"]:
            given["part_of"] = given["part_of"].slug
        return {name: value for name, value in given.items() if value}


@login_required
def source_list(request: PersonRequest) -> HttpResponse:
    """Where usage comes from, how fresh each source is, and a form for another."""
    sources = list(Source.objects.visible_to(request.user).select_related("part_of"))
    if not sources and not permissions.may_import_usage(request.user):
        raise PermissionDenied
    rows = overview.source_rows(sources, now=timezone.now())
    return render(
        request,
        "web/usage/source_list.html",
        {"rows": rows, "delivers": permissions.may_import_usage(request.user)},
    )


@login_required
def source_new(request: PersonRequest) -> HttpResponse:
    """Open a source."""
    if not permissions.may_import_usage(request.user):
        raise PermissionDenied
    form = SourceForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            source = services.open_source(
                by=request.user,
                slug=given["slug"],
                name=given["name"],
                format=given["format"],
                settings=form.settings(),
            )
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The source %(name)s is open. Deliver its first file.") % {"name": source.name})
            return redirect(f"{imports.new_address()}?source={source.slug}")
    return render(request, "web/usage/source_new.html", {"form": form}, status=422 if form.errors else 200)


@login_required
def source(request: PersonRequest, slug: str) -> HttpResponse:
    """One source: its settings, its periods and which delivery is live in each."""
    found = get_object_or_404(Source.objects.visible_to(request.user).select_related("part_of"), slug=slug)
    split_month, split = parts.newest_split(found)
    return render(
        request,
        "web/usage/source.html",
        {
            "split_month": split_month,
            "split": split,
            "source": found,
            "row": overview.source_rows([found], now=timezone.now())[0],
            "calendar": periods.calendar_of(found),
            "waiting": found.imports.filter(status=Import.Status.WAITING)[:RECENT],
            "scopes": found.scopes.select_related("live").order_by("-month", "key")[:100],
            "imports": found.imports.all()[:RECENT],
            "expects": permissions.may_allocate(request.user),
            "silences": Silence.objects.filter(source=found)[:RECENT],
            "feed": Feed.objects.filter(source=found).first(),
            "delivers": permissions.may_import_usage(request.user),
        },
    )


@login_required
@require_POST
def source_expected(request: PersonRequest, slug: str) -> HttpResponse:
    """Say how often a source is expected to bring data."""
    found = get_object_or_404(Source.objects.visible_to(request.user), slug=slug)
    text = request.POST.get("hours", "").strip()
    try:
        silence.expect_source(found, by=request.user, hours=int(text) if text else None)
    except ValueError:
        messages.error(request, _("Write whole hours such as 24, or nothing."))
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, _("Saved. Operators are told once when it stays silent for longer."))
    return redirect("source", slug)


urlpatterns = [
    path("usage/", usage, name="usage"),
    path("usage/sources/", source_list, name="source-list"),
    path("usage/sources/new/", source_new, name="source-new"),
    path("usage/sources/<slug:slug>/", source, name="source"),
    path("usage/sources/<slug:slug>/expected/", source_expected, name="source-expected"),
    *feeds.urlpatterns,
    *bookings.urlpatterns,
    *clusters.urlpatterns,
    *cluster_price.urlpatterns,
    *imports.urlpatterns,
    *rules.urlpatterns,
    *serving.urlpatterns,
    *storage.urlpatterns,
    *restatements.urlpatterns,
]
