"""Capacity: what is asked and approved in time, against the cards there are."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from budgets.capacity.balance import CardMonth
from budgets.capacity.demand import APPROVED, ASKED, DRAFTED
from budgets.capacity.outlook import CapacityView, capacity_view
from budgets.capacity.tables import COLUMNS, card_rows
from budgets.models import Proposal
from core.months import Month
from estimates.models import Accelerator
from teams import permissions
from teams.models import Organisation, Project
from web.charts.stack import Column
from web.requests import PersonRequest

ZERO = Decimal(0)
LENGTHS = (6, 12, 24)
PROJECTS_DRAWN = 3
PROJECTS_SHOWN = 25


class CapacityForm(forms.Form):
    """Which months of which cards, and divided by what."""

    accelerator = forms.ChoiceField(label=gettext_lazy("Accelerator"), required=False)
    by = forms.ChoiceField(
        label=gettext_lazy("Divided by"),
        required=False,
        choices=[("state", gettext_lazy("state")), ("project", gettext_lazy("project"))],
    )
    start = forms.CharField(label=gettext_lazy("From"), required=False, widget=forms.TextInput(attrs={"type": "month"}))
    months = forms.TypedChoiceField(
        label=pgettext_lazy("how many", "Months"),
        required=False,
        coerce=int,
        initial=LENGTHS[1],
        choices=[(length, length) for length in LENGTHS],
    )
    drafts = forms.BooleanField(label=gettext_lazy("With my drafts"), required=False)

    def clean_start(self) -> Month | None:
        text = self.cleaned_data["start"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error

    def name_cards(self, view: CapacityView, names: Mapping[str, str]) -> None:
        """Offer the cards that are available or wanted."""
        choices = [("", _("all (equivalent)"))]
        choices += [(slug or "-", names.get(slug, slug) or _("not named")) for slug in view.accelerators]
        self.fields["accelerator"].choices = choices  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Row:
    """A month of the table and of the picture, in hours of the card or of the reference card."""

    month: Month
    available: Decimal
    wanted: Mapping[str, Decimal]
    of_projects: Mapping[int, Decimal]
    card: CardMonth | None = None

    @property
    def approved(self) -> Decimal:
        return self.wanted.get(APPROVED, ZERO)

    @property
    def asked(self) -> Decimal:
        return self.wanted.get(ASKED, ZERO)

    @property
    def drafted(self) -> Decimal:
        return self.wanted.get(DRAFTED, ZERO)

    @property
    def total(self) -> Decimal:
        return self.approved + self.asked + self.drafted

    @property
    def load(self) -> Decimal | None:
        return self.total / self.available if self.available else None

    @property
    def is_short(self) -> bool:
        return self.total > self.available


@dataclass(frozen=True)
class Wanting:
    """What a project wants over the months shown; `project` is None for those of other teams together."""

    project: Project | None
    hours: Decimal


def rows_of(view: CapacityView, accelerator: str | None) -> list[Row]:
    """Of one kind of card, or of all in equivalent hours."""
    if accelerator is None:
        return [Row(each.month, each.available, each.wanted, each.of_projects) for each in view.totals]
    return [
        Row(
            each.month,
            each.available,
            {state: hours.hours for state, hours in each.wanted.items()},
            each.of_projects,
            each,
        )
        for each in view.of_accelerator(accelerator)
    ]


def wanting(rows: Sequence[Row], projects: Mapping[int, Project]) -> list[Wanting]:
    """Projects by what they want, the most first; those one may not see in one sum at the end."""
    sums: dict[int, Decimal] = {}
    for row in rows:
        for project, hours in row.of_projects.items():
            key = project if project in projects else 0
            sums[key] = sums.get(key, ZERO) + hours
    others = sums.pop(0, ZERO)
    found = [Wanting(projects[key], hours) for key, hours in sorted(sums.items(), key=lambda each: -each[1])]
    return [*found, Wanting(None, others)] if others else found


def columns_of(rows: Sequence[Row], drawn: Sequence[Wanting] | None) -> list[Column]:
    """The picture: by state, or the projects that want most and all others."""
    return [Column(str(row.month), parts_of(row, drawn), float(row.available)) for row in rows]


def parts_of(row: Row, drawn: Sequence[Wanting] | None) -> tuple[float, ...]:
    """As the colours of the stack follow each other: actual, committed, forecast, warning, plan."""
    if drawn is None:
        return (0.0, float(row.approved), float(row.asked), 0.0, float(row.drafted))
    own = [float(row.of_projects.get(each.project.pk, ZERO)) if each.project else 0.0 for each in drawn]
    own += [0.0] * (PROJECTS_DRAWN - len(own))
    return (*own, 0.0, max(float(row.total) - sum(own), 0.0))


def label_of(rows: Sequence[Row]) -> str:
    """The picture in words."""
    short = [str(row.month) for row in rows if row.is_short]
    words = {"first": rows[0].month, "last": rows[-1].month, "short": ", ".join(short) or _("none")}
    return _("Accelerator-hours wanted by month from %(first)s to %(last)s; months with too few: %(short)s.") % words


def view_for(request: PersonRequest, form: CapacityForm) -> CapacityView:
    """What the form asks for; this month on, and a year, where it says nothing."""
    if not permissions.may_see_capacity(request.user):
        raise PermissionDenied
    asked = form.cleaned_data if form.is_valid() else {}
    today = Organisation.current().today(timezone.now())
    return capacity_view(
        asked.get("start") or Month.of(today),
        asked.get("months") or LENGTHS[1],
        today=today,
        drafts=Proposal.objects.visible_to(request.user) if asked.get("drafts") else None,
    )


def capacity_form(request: PersonRequest) -> CapacityForm:
    """The form as asked; a card that it does not know yet is checked against the view later."""
    return CapacityForm({key: value for key, value in request.GET.items() if key != "accelerator"})


@login_required
def capacity(request: PersonRequest) -> HttpResponse:
    """The months to come, by state or by project, of one kind of card or of all."""
    form = capacity_form(request)
    view = view_for(request, form)
    names = dict(Accelerator.objects.values_list("slug", "name"))
    chosen = request.GET.get("accelerator", "")
    accelerator = next((slug for slug in view.accelerators if (slug or "-") == chosen), None)
    rows = rows_of(view, accelerator)
    projects = {each.pk: each for each in Project.objects.visible_to(request.user).select_related("team")}
    wanted = wanting(rows, projects)
    with_drafts = bool(form.cleaned_data.get("drafts"))
    is_by_project = request.GET.get("by") == "project"
    drawn = [each for each in wanted if each.project][:PROJECTS_DRAWN] if is_by_project else None
    shown = CapacityForm(
        initial={
            **request.GET.dict(),
            "start": str(view.months[0]),
            "months": len(view.months),
            "drafts": with_drafts,
        }
    )
    shown.name_cards(view, names)
    words = {
        "form": shown,
        "errors": form.errors,
        "view": view,
        "rows": rows,
        "accelerator": accelerator,
        "card_name": names.get(accelerator or "", accelerator),
        "columns": columns_of(rows, drawn),
        "drawn": drawn,
        "label": label_of(rows),
        "wanted": wanted[:PROJECTS_SHOWN],
        "more": max(len(wanted) - PROJECTS_SHOWN, 0),
        "with_drafts": with_drafts,
        "shortages": [
            (each, names.get(each.of.accelerator, each.of.accelerator) or _("cards that no plan names"))
            for each in view.shortages
            if accelerator is None or each.of.accelerator == accelerator
        ],
        "export": request.GET.urlencode(),
    }
    return render(request, "web/capacity/capacity.html", words, status=422 if form.errors else 200)


@login_required
def capacity_export(request: PersonRequest) -> HttpResponse:
    """Every kind of card in every month, as a table; what the page would refuse is said there."""
    form = capacity_form(request)
    view = view_for(request, form)
    if form.errors:
        return redirect(f"{reverse('capacity')}?{request.GET.urlencode()}")
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(card_rows(view))
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="capacity-{view.months[0]}.csv"'
    return answer


urlpatterns = [
    path("proposals/capacity/", capacity, name="capacity"),
    path("proposals/capacity/export.csv", capacity_export, name="capacity-export"),
]
