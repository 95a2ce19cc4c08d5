"""Baselines: what finished runs taught, for all to read, and a form for a figure that was measured elsewhere."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from core.errors import DomainError
from core.keys import row_key
from core.money import exact_text
from core.vocabulary import TaskType
from estimates import tasks
from estimates.baselines.models import Baseline, BaselineQuantity
from estimates.baselines.services import Figure, record_baseline
from estimates.engine.numbers import NotANumber, parse_number
from estimates.engine.recorded import family
from estimates.models import Accelerator
from teams import labels, permissions
from teams.models import Project, Role, Team, User
from web.forms import refuse
from web.requests import PersonRequest

ON_A_PAGE = 50
WRITERS = (Role.MANAGER, Role.DIRECTOR, Role.FINANCE)
TASKS = [(name, label) for name, label in labels.choices(labels.TASK_TYPES) if name != TaskType.OTHER]


class BaselineFilter(forms.Form):
    """Which figures to show."""

    quantity = forms.ChoiceField(
        label=pgettext_lazy("of a baseline", "Quantity"),
        required=False,
        choices=[("", gettext_lazy("any")), *BaselineQuantity.choices],
    )
    earlier = forms.BooleanField(label=gettext_lazy("Earlier rows too"), required=False)


class FigureField(forms.CharField):
    """A number as plans take it: 0.42, 42%, 50_000."""

    def clean(self, value: Any) -> Decimal | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_number(text).amount
        except NotANumber as error:
            raise forms.ValidationError(_("Write a number such as 50000, 0.42 or 42%.")) from error


def figure(label: Any, **options: Any) -> FigureField:
    return FigureField(label=label, widget=forms.TextInput(attrs={"inputmode": "decimal"}), **options)


def day(label: Any) -> forms.DateField:
    return forms.DateField(label=label, widget=forms.DateInput(attrs={"type": "date"}))


class BaselineForm(forms.Form):
    """A figure, what it was learned from, and for whom it holds."""

    quantity = forms.ChoiceField(
        label=pgettext_lazy("of a baseline", "Quantity"), choices=[("", "–"), *BaselineQuantity.choices]
    )
    value = figure(gettext_lazy("Figure"), help_text=gettext_lazy("Shares as 0.42 or 42%."))
    low = figure(gettext_lazy("Lowest"), required=False)
    high = figure(gettext_lazy("Highest"), required=False)
    runs = forms.IntegerField(label=gettext_lazy("Runs"), min_value=1, max_value=1_000_000)
    since = day(gettext_lazy("From"))
    until = day(gettext_lazy("To"))
    team = forms.ModelChoiceField(Team.objects.none(), label=gettext_lazy("Team"), required=False, to_field_name="slug")
    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project it was learned on"),
        required=False,
        to_field_name="slug",
        empty_label="–",
    )
    task_type = forms.ChoiceField(
        label=gettext_lazy("Task"), required=False, choices=[("", gettext_lazy("every task")), *TASKS]
    )
    accelerator_family = forms.ChoiceField(label=gettext_lazy("Accelerators"), required=False)
    source = forms.CharField(label=gettext_lazy("Where it comes from"), max_length=300)
    note = forms.CharField(label=gettext_lazy("Note"), required=False, max_length=300)
    withdrawn = forms.BooleanField(label=gettext_lazy("This figure no longer holds"), required=False)

    def __init__(self, data: Any = None, *, user: User, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, initial=initial)
        fields: dict[str, Any] = self.fields
        teams = teams_to_write_for(user)
        for_all = may_write_for_all(user)
        fields["team"].queryset = teams
        fields["team"].empty_label = _("whole organisation") if for_all else "–"
        fields["team"].required = not for_all
        if not for_all and len(teams) == 1:
            fields["team"].initial = teams[0].slug
        fields["project"].queryset = Project.objects.filter(team__in=teams)
        families = sorted({family(slug) for slug in Accelerator.objects.values_list("slug", flat=True)})
        fields["accelerator_family"].choices = [("", _("all accelerators")), *((name, name) for name in families)]

    def asked(self) -> dict[str, Any]:
        """As the service takes it."""
        found = dict(self.cleaned_data)
        aside = {name: found.pop(name) for name in ("team", "project", "withdrawn")}
        return {"figure": Figure(**found), **aside}


def may_write_for_all(user: User) -> bool:
    return permissions.has_role(user, Role.DIRECTOR) or permissions.has_role(user, Role.FINANCE)


def may_write_some(user: User) -> bool:
    return any(membership.role in WRITERS for membership in user.memberships.all())


def may_correct(user: User, row: Baseline) -> bool:
    return may_write_for_all(user) if row.team is None else permissions.may_fund(user, row.team)


def teams_to_write_for(user: User) -> QuerySet[Team]:
    """The teams whose figures one may write down."""
    if any(membership.role in WRITERS and membership.team_id is None for membership in user.memberships.all()):
        return Team.objects.all()
    return Team.objects.filter(memberships__in=user.memberships.filter(role__in=WRITERS)).distinct()


@login_required
def baseline_new(request: PersonRequest) -> HttpResponse:
    """A figure of finished work that no retrospective teaches; or another row for one that stands there."""
    if not may_write_some(request.user):
        raise PermissionDenied
    form = BaselineForm(request.POST or None, user=request.user, initial=first_values(request))
    if request.method == "POST" and form.is_valid():
        try:
            record_baseline(by=request.user, **form.asked())
        except DomainError as refused:
            refuse(form, refused)
        else:
            tasks.recompute_soon()
            messages.success(request, _("The figure is kept; drafts that looked for it are computed again."))
            return redirect("baseline-list")
    return render(request, "web/baselines/new.html", {"form": form}, status=422 if form.errors else 200)


def first_values(request: PersonRequest) -> dict[str, Any]:
    """Those of the row that is corrected."""
    key = row_key(request.GET.get("row", ""))
    if key is None:
        return {}
    row = get_object_or_404(Baseline.objects.visible_to(request.user).select_related("team", "project"), pk=key)
    ends = {} if row.low == row.high else {"low": exact_text(row.low), "high": exact_text(row.high)}
    names = ("quantity", "runs", "since", "until", "task_type", "accelerator_family", "source", "note")
    return {
        **{name: getattr(row, name) for name in names},
        **ends,
        "value": exact_text(row.mode),
        "team": row.team and row.team.slug,
        "project": row.project and row.project.slug,
    }


@login_required
def baseline_list(request: PersonRequest) -> HttpResponse:
    """The figures that hold today, or every row that was ever written."""
    form = BaselineFilter(request.GET)
    asked = form.cleaned_data if form.is_valid() else {}
    found = Baseline.objects.visible_to(request.user)
    if not asked.get("earlier"):
        found = found.in_force(timezone.localdate())
    if asked.get("quantity"):
        found = found.filter(quantity=asked["quantity"])
    page = Paginator(found.select_related("team", "project", "by"), ON_A_PAGE).get_page(request.GET.get("page"))
    words = {
        "form": form,
        "page": page,
        "rows": [(row, may_correct(request.user, row)) for row in page],
        "filtered": any(asked.values()),
        "writes": may_write_some(request.user),
        "query": urlencode({name: value for name, value in request.GET.items() if name != "page"}),
    }
    return render(request, "web/baselines/list.html", words)


urlpatterns = [
    path("baselines/", baseline_list, name="baseline-list"),
    path("baselines/new/", baseline_new, name="baseline-new"),
]
