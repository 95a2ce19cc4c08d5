"""Statements of teams, to read, print and download; and our attributed cost as a FOCUS file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy

from core.months import Month
from core.vocabulary import Basis
from teams import labels, permissions
from teams.models import Organisation, Project, Team
from usage import focus_export, statements
from usage.focus_export import Slice
from web.forms import KnownOnField, day_of, end_of
from web.requests import PersonRequest


def teams_of(request: PersonRequest) -> Any:
    """Teams of which somebody sees a project."""
    return Team.objects.filter(projects__in=Project.objects.visible_to(request.user)).distinct()


class StatementForm(forms.Form):
    """As known when."""

    known_on = KnownOnField()


class ExportForm(forms.Form):
    """Which days, whose cost."""

    start = forms.DateField(label=gettext_lazy("From"), widget=forms.DateInput(attrs={"type": "date"}))
    end = forms.DateField(label=gettext_lazy("Until, not included"), widget=forms.DateInput(attrs={"type": "date"}))
    known_on = KnownOnField()
    team = forms.ModelChoiceField(
        Team.objects.none(),
        label=gettext_lazy("Team"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("all I may see"),
    )

    def __init__(self, *args: Any, teams: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]

    def clean(self) -> None:
        given = self.cleaned_data
        if given.get("start") and given.get("end") and given["end"] <= given["start"]:
            self.add_error("end", gettext_lazy("Must be after the first day."))


@login_required
def statement_list(request: PersonRequest) -> HttpResponse:
    """Statements by team and month, and the form of the export."""
    today = Organisation.current().today(timezone.now())
    month = Month.of(today)
    words = {
        "teams": statements.months_with_cost(teams_of(request)),
        "form": ExportForm(initial={"start": (month + -1).start, "end": month.start}, teams=teams_of(request)),
    }
    return render(request, "web/usage/statement_list.html", words)


@login_required
def focus_file(request: PersonRequest) -> HttpResponse | StreamingHttpResponse:
    """Our attributed cost of some days as FOCUS 1.2, in a stream."""
    form = ExportForm(request.GET, teams=teams_of(request))
    if not form.is_valid():
        return render(request, "web/usage/statement_list.html", {"teams": [], "form": form}, status=422)
    given = form.cleaned_data
    projects: list[int] | None = focus_export.projects_of(request.user, given["team"].slug if given["team"] else "")
    if not given["team"] and permissions.may_see_all_usage(request.user):
        projects = None
    known_at = end_of(given["known_on"]) if given["known_on"] else None
    asked = Slice(given["start"], given["end"], projects, known_at)
    return download(focus_export.lines(asked), f"focus-{given['start']}-{given['end']}.csv")


def download(lines: Iterator[str], name: str) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def asked(request: PersonRequest, slug: str, text: str) -> statements.Statement:
    """The statement that an address names."""
    team = get_object_or_404(teams_of(request), slug=slug)
    try:
        month = Month.parse(text)
        date(month.year, month.number, 1)
    except ValueError:
        raise Http404 from None
    basis = Basis.BILLED if request.GET.get("basis") == Basis.BILLED else Basis.EFFECTIVE
    today = Organisation.current().today(timezone.now())
    known_on = day_of(request.GET.get("known_on", ""))
    known_at = end_of(known_on) if known_on else None
    return statements.statement(team, month, basis=str(basis), this_month=Month.of(today), known_at=known_at)


@login_required
def statement(request: PersonRequest, slug: str, month: str) -> HttpResponse:
    """A team's statement of a month."""
    found = asked(request, slug, month)
    known_on = day_of(request.GET.get("known_on", ""))
    words = {
        "statement": found,
        "form": StatementForm(initial={"known_on": known_on}),
        "known_on": known_on,
        "and_known": f"&known_on={known_on}" if known_on else "",
        "month": found.month.start,
        "previous": str(found.month + -1),
        "following": str(found.month + 1),
        "bases": [(str(basis), labels.BASES[basis]) for basis in Basis],
    }
    return render(request, "web/usage/statement.html", words)


@login_required
def statement_csv(request: PersonRequest, slug: str, month: str) -> StreamingHttpResponse:
    """The statement as CSV."""
    found = asked(request, slug, month)
    return download(statements.csv_lines(found), f"statement-{slug}-{month}.csv")


urlpatterns = [
    path("usage/statements/", statement_list, name="statement-list"),
    path("usage/statements/focus.csv", focus_file, name="focus-export"),
    path("usage/statements/<slug:slug>/<str:month>/", statement, name="statement"),
    path("usage/statements/<slug:slug>/<str:month>.csv", statement_csv, name="statement-csv"),
]
