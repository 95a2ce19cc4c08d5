"""The mapping page: a table that no format knows, its columns chosen with a live preview, kept with the source."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from overruns import tasks
from teams import permissions
from teams.models import User
from usage import mapping, services
from usage.formats.generic_csv import TEXTS
from usage.models import Import, Meaning, Source
from usage.pipeline import files
from usage.sources import BY_HAND
from web.requests import PersonRequest

BLOCK = 1 << 20
GROUPS: list[tuple[Any, list[tuple[str, Any]]]] = [
    (
        gettext_lazy("When and how much"),
        [
            ("start", gettext_lazy("Start of use (needed)")),
            ("end", gettext_lazy("End of use")),
            ("billing_month", gettext_lazy("Billing month")),
            ("cost", gettext_lazy("Cost, billed")),
            ("effective", gettext_lazy("Effective cost")),
            ("list", gettext_lazy("List cost")),
            ("contracted", gettext_lazy("Contracted cost")),
            ("currency", gettext_lazy("Currency")),
            ("quantity", gettext_lazy("Quantity")),
            ("unit", gettext_lazy("Unit")),
            ("accelerator_hours", gettext_lazy("Accelerator-hours")),
            ("cpu_core_hours", gettext_lazy("CPU core-hours")),
        ],
    ),
    (
        gettext_lazy("Whose and what"),
        [
            ("provider", gettext_lazy("Provider")),
            ("payer", gettext_lazy("Payer account")),
            ("account", gettext_lazy("Account")),
            ("account_name", gettext_lazy("Account name")),
            ("service", gettext_lazy("Service")),
            ("sku", gettext_lazy("SKU")),
            ("region", gettext_lazy("Region")),
            ("resource", gettext_lazy("Resource")),
            ("resource_name", gettext_lazy("Resource name")),
            ("resource_type", gettext_lazy("Resource type")),
            ("accelerator", gettext_lazy("Accelerator")),
            ("user", gettext_lazy("User")),
            ("partition", gettext_lazy("Partition")),
            ("cluster", gettext_lazy("Cluster")),
            ("namespace", gettext_lazy("Namespace")),
            ("category", gettext_lazy("Budget category")),
            ("charge_category", gettext_lazy("Charge category")),
            ("reference", gettext_lazy("Proposal")),
            ("tags", gettext_lazy("Tags")),
            ("job", gettext_lazy("Job")),
            ("key", gettext_lazy("Key of the row")),
        ],
    ),
]
FIELDS = dict(pair for _group, pairs in GROUPS for pair in pairs)
CONSTANT = [name for name in FIELDS if name in TEXTS and name != "tags"]


class MappingForm(forms.Form):
    """A column for each field, what is the same in every row, and how the file is written."""

    currency = forms.CharField(label=gettext_lazy("Currency, where no column says it"), required=False, max_length=3)
    timezone = forms.CharField(label=gettext_lazy("Time zone"), required=False, max_length=60)
    date_order = forms.ChoiceField(
        label=gettext_lazy("Order of dates such as 5/1/25"),
        required=False,
        choices=[("", gettext_lazy("refuse them")), ("mdy", "M/D/Y"), ("dmy", "D/M/Y"), ("ymd", "Y/M/D")],
    )
    money_text = forms.ChoiceField(
        label=gettext_lazy("Amounts"),
        required=False,
        choices=[("", "1234.56"), ("us", "$1,234.56"), ("eu", "1.234,56 €")],
    )
    encoding = forms.ChoiceField(
        label=gettext_lazy("Characters"),
        required=False,
        choices=[("utf-8", "UTF-8"), ("gb18030", "GBK / GB18030"), ("latin-1", "Latin-1")],
    )
    delimiter = forms.ChoiceField(
        label=gettext_lazy("Separator"),
        required=False,
        choices=[
            ("", gettext_lazy("found by content")),
            ("comma", ","),
            ("semicolon", ";"),
            ("tab", gettext_lazy("tab")),
            ("pipe", "|"),
        ],
    )
    meaning = forms.ChoiceField(
        label=gettext_lazy("A delivery"),
        required=False,
        choices=[("", gettext_lazy("as the format says")), *Meaning.choices],
    )
    tag_columns = forms.MultipleChoiceField(
        label=gettext_lazy("Columns that become tags"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, columns: list[str], **options: Any) -> None:
        super().__init__(*args, **options)
        choices = [("", "–"), *((name, name) for name in columns if name)]
        for name, label in FIELDS.items():
            self.fields[f"map-{name}"] = forms.ChoiceField(label=label, required=False, choices=choices)
        for name in CONSTANT:
            self.fields[f"constant-{name}"] = forms.CharField(label=FIELDS[name], required=False, max_length=200)
        self.fields["tag_columns"].choices = choices[1:]  # type: ignore[attr-defined]

    def groups(self) -> list[tuple[Any, list[Any]]]:
        return [(title, [self[f"map-{name}"] for name, _label in pairs]) for title, pairs in GROUPS]

    def constants(self) -> list[Any]:
        return [self[f"constant-{name}"] for name in CONSTANT]

    def settings(self) -> dict[str, Any]:
        """The settings that the form says; a column wins over a constant."""
        given = self.cleaned_data
        columns = {name: given[f"map-{name}"] for name in FIELDS if given[f"map-{name}"]}
        columns |= {f"tag:{name}": name for name in given["tag_columns"]}
        constants = {name: given[f"constant-{name}"].strip() for name in CONSTANT if name not in columns}
        found: dict[str, Any] = {
            "columns": columns,
            "constants": {name: text for name, text in constants.items() if text},
        }
        names = ("currency", "timezone", "date_order", "money_text", "encoding", "delimiter", "meaning")
        return {name: value for name, value in {**found, **{name: given[name] for name in names}}.items() if value}


def first_values(source: Source, found: mapping.Head) -> dict[str, Any]:
    """What the source's settings say already, else what the header suggests."""
    kept = source.settings
    columns = kept.get("columns") or mapping.suggest(found.columns)
    names = ("currency", "timezone", "date_order", "money_text", "delimiter")
    return {
        **{f"map-{name}": column for name, column in columns.items() if not name.startswith("tag:")},
        **{f"constant-{name}": text for name, text in (kept.get("constants") or {}).items()},
        **{name: kept.get(name, "") for name in names},
        "encoding": found.encoding,
        "meaning": source.meaning,
        "tag_columns": [column for name, column in columns.items() if name.startswith("tag:")],
    }


def mappable_sources(user: User) -> QuerySet[Source]:
    """Sources that files are delivered to; what is booked by hand has columns of its own."""
    return Source.objects.visible_to(user).exclude(format=BY_HAND)


class UploadForm(forms.Form):
    """A file to map, and the source it will be of."""

    source = forms.ModelChoiceField(
        Source.objects.none(), label=pgettext_lazy("of usage", "Source"), to_field_name="slug", empty_label=None
    )
    file = forms.FileField(label=gettext_lazy("File"))

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["source"].queryset = mappable_sources(user)  # type: ignore[attr-defined]


def may_map(request: PersonRequest) -> None:
    if not permissions.may_import_usage(request.user):
        raise PermissionDenied


def address_of(source: Source, sha256: str, name: str) -> str:
    query = urlencode({"file": sha256, "name": name})
    return f"{reverse('mapping', args=[source.slug])}?{query}"


@login_required
def mapping_new(request: PersonRequest) -> HttpResponse:
    """Choose a file to map."""
    may_map(request)
    form = UploadForm(
        request.POST or None,
        request.FILES or None,
        user=request.user,
        initial={"source": request.GET.get("source", "")},
    )
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        kept = files.keep(file.chunks(BLOCK))
        return redirect(address_of(form.cleaned_data["source"], kept.sha256, file.name))
    return render(request, "web/usage/mapping_new.html", {"form": form}, status=422 if form.errors else 200)


@login_required
def import_map(request: PersonRequest, import_id: int) -> HttpResponse:
    """Map the columns of a file that was delivered."""
    may_map(request)
    delivery = get_object_or_404(Import.objects.visible_to(request.user).select_related("source"), pk=import_id)
    return redirect(address_of(delivery.source, delivery.sha256, delivery.name))


def asked(request: PersonRequest, slug: str) -> tuple[Source, str, str]:
    """The source, and the hash and name of the file."""
    may_map(request)
    source = get_object_or_404(mappable_sources(request.user), slug=slug)
    given = request.POST if request.method == "POST" else request.GET
    sha256, name = given.get("file", ""), given.get("name", "file")
    if not re.fullmatch("[0-9a-f]{64}", sha256) or not files.path_of(sha256).exists():
        raise Http404
    return source, sha256, name


@login_required
def mapping_page(request: PersonRequest, slug: str) -> HttpResponse:
    """Choose the columns; kept as the source's settings, the file is imported at once."""
    source, sha256, name = asked(request, slug)
    words: dict[str, Any] = {"source": source, "sha256": sha256, "name": name}
    try:
        found = mapping.head(files.path_of(sha256), name, {"encoding": request.POST.get("encoding", "")})
    except DomainError as refused:
        return render(request, "web/usage/mapping.html", {**words, "refused": refused}, status=422)
    words["head"] = found
    form = MappingForm(request.POST or None, columns=found.columns, initial=first_values(source, found))
    if request.method == "POST" and form.is_valid():
        try:
            kept = mapping.map_source(source, form.settings(), sha256=sha256, name=name, by=request.user)
            with files.path_of(sha256).open("rb") as stream:
                delivery = services.receive_file(source=kept, by=request.user, name=name, stream=stream)
        except DomainError as refused:
            words["refused"] = refused
        else:
            tasks.import_soon(delivery.pk)
            return redirect("import", delivery.pk)
    failed = "refused" in words or bool(form.errors)
    return render(request, "web/usage/mapping.html", {**words, "form": form}, status=422 if failed else 200)


@login_required
@require_POST
def mapping_preview(request: PersonRequest, slug: str) -> HttpResponse:
    """The first rows as they would be read."""
    _source, sha256, name = asked(request, slug)
    words: dict[str, Any] = {}
    try:
        found = mapping.head(files.path_of(sha256), name, {"encoding": request.POST.get("encoding", "")})
        form = MappingForm(request.POST, columns=found.columns)
        if form.is_valid():
            tried = mapping.try_out(files.path_of(sha256), name, form.settings())
            words |= {"tried": tried, "sums": mapping.sum_texts(tried)}
        else:
            words["errors"] = form.errors.values()
    except DomainError as refused:
        words["refused"] = refused
    return render(request, "web/usage/_mapping_preview.html", words)


urlpatterns = [
    path("usage/mapping/new/", mapping_new, name="mapping-new"),
    path("usage/imports/<int:import_id>/map/", import_map, name="import-map"),
    path("usage/sources/<slug:slug>/mapping/", mapping_page, name="mapping"),
    path("usage/sources/<slug:slug>/mapping/preview/", mapping_preview, name="mapping-preview"),
]
