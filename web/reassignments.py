"""Re-assignment by hand: pick usage of a month, say where it belongs and why; see what was decided; take it back."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_POST

from core.errors import DomainError
from core.months import Month
from overruns import tasks
from teams import labels, permissions
from teams.models import Organisation, Project, User
from usage import overview, reassignments
from usage.models import Reassignment, Source
from usage.reassignments import Search
from web.forms import refuse
from web.requests import PersonRequest
from web.rules import ANYWHERE, SHARED, may_change, may_see

ON_A_PAGE = 25
UNALLOCATED = "unallocated"


class SearchForm(forms.Form):
    """Which usage to pick from."""

    month = forms.CharField(
        label=pgettext_lazy("of the calendar", "Month"), required=False, widget=forms.TextInput(attrs={"type": "month"})
    )
    place = forms.ChoiceField(label=gettext_lazy("Belongs to"), required=False)
    source = forms.ModelChoiceField(
        Source.objects.all(),
        label=pgettext_lazy("of usage", "Source"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("any"),
    )
    word = forms.CharField(label=gettext_lazy("With the word"), required=False, max_length=120)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        projects = [(project.slug, project.name) for project in Project.objects.order_by("name")]
        self.fields["place"].choices = [  # type: ignore[attr-defined]
            ("", gettext_lazy("anything")),
            (UNALLOCATED, gettext_lazy("unallocated")),
            (SHARED, gettext_lazy("shared cost")),
            *projects,
        ]

    def clean_month(self) -> Month | None:
        text = self.cleaned_data["month"]
        try:
            return Month.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(_("Write a month such as 2027-01.")) from error

    def search(self) -> Search:
        today = Organisation.current().today(timezone.now())
        given = self.cleaned_data if self.is_valid() else {}
        month = given.get("month") or overview.newest_month(until=today) or Month.of(today)
        source = given.get("source")
        return Search(month, source.pk if source else None, given.get("place", ""), given.get("word", ""))


class ReassignmentForm(forms.Form):
    """Where the picked usage belongs, from when, and why."""

    target = forms.ChoiceField(label=gettext_lazy("Belongs to"), required=False)
    category = forms.ChoiceField(
        label=gettext_lazy("Budget category"), required=False, choices=[*ANYWHERE, *labels.choices(labels.CATEGORIES)]
    )
    task_type = forms.ChoiceField(
        label=gettext_lazy("Task type"), required=False, choices=[*ANYWHERE, *labels.choices(labels.TASK_TYPES)]
    )
    stage = forms.CharField(label=gettext_lazy("Stage"), required=False, max_length=60)
    experiment = forms.CharField(label=gettext_lazy("Experiment"), required=False, max_length=120)
    starts_on = forms.DateField(label=gettext_lazy("Usage from"), widget=forms.DateInput(attrs={"type": "date"}))
    ends_on = forms.DateField(
        label=gettext_lazy("Until, not included"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}))
    restates = forms.BooleanField(label=gettext_lazy("Closed months too, as a restatement"), required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        projects = Project.objects.select_related("team").order_by("team__name", "name")
        self.fields["target"].choices = [  # type: ignore[attr-defined]
            *ANYWHERE,
            (SHARED, gettext_lazy("shared cost")),
            *((str(project.pk), f"{project.team} / {project.name}") for project in projects),
        ]

    def draft(self) -> Reassignment:
        given = {name: value for name, value in self.cleaned_data.items() if name != "target"}
        target = self.cleaned_data["target"]
        project = Project.objects.get(pk=int(target)) if target.isdecimal() else None
        return Reassignment(project=project, is_shared=target == SHARED, **given)


def picked(request: PersonRequest) -> list[int]:
    return [int(text) for text in request.POST.getlist("key_sets") if text.isdecimal()]


@login_required
def reassign(request: PersonRequest) -> HttpResponse:
    """Pick usage and say where it belongs; beside it stands what would move."""
    may_change(request)
    search_form = SearchForm(request.GET)
    search = search_form.search()
    form = ReassignmentForm(request.POST or None, initial={"starts_on": search.month.start})
    chosen = picked(request)
    if request.method == "POST" and form.is_valid():
        try:
            reassignments.reassign(form.draft(), chosen, by=request.user)
        except DomainError as refused:
            refuse(form, refused)
        else:
            tasks.judge_soon()
            count = len(chosen)
            said = ngettext("%(count)s combination of keys moved.", "%(count)s combinations of keys moved.", count)
            messages.success(request, said % {"count": count})
            return redirect("reassignment-list")
    words = {
        "search_form": SearchForm({**request.GET.dict(), "month": str(search.month)}),
        "picks": reassignments.picks(search),
        "most": reassignments.MOST_SHOWN,
        "chosen": chosen,
        "form": form,
    }
    return render(request, "web/usage/reassign.html", words, status=422 if form.errors else 200)


@login_required
@require_POST
def reassign_preview(request: PersonRequest) -> HttpResponse:
    """What would move if the picked usage went where the form says."""
    may_change(request)
    form = ReassignmentForm({**request.POST.dict(), "reason": request.POST.get("reason") or "-"})
    words: dict[str, Any] = {}
    if form.is_valid() and picked(request):
        try:
            words["preview"] = reassignments.preview(form.draft(), picked(request), by=request.user)
            words["restates"] = form.cleaned_data["restates"]
        except DomainError as refused:
            words["faults"] = refused.faults
    return render(request, "web/usage/_preview.html", {"preview": None, **words})


@login_required
def reassignment_list(request: PersonRequest) -> HttpResponse:
    """What people decided by hand, the newest first; and who answers for what nobody owns."""
    may_see(request)
    found = Reassignment.objects.select_related("project", "made_by", "reversed_by").prefetch_related("key_sets__meter")
    words = {
        "page": Paginator(found, ON_A_PAGE).get_page(request.GET.get("page")),
        "allocates": permissions.may_allocate(request.user),
        "owner_form": OwnerForm(),
        "owners": reassignments.owners(),
    }
    return render(request, "web/usage/reassignment_list.html", words)


class OwnerForm(forms.Form):
    """Who answers for cost that no rule places."""

    person = forms.ModelChoiceField(
        User.objects.none(),
        label=gettext_lazy("Person"),
        required=False,
        empty_label=gettext_lazy("every operator"),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        people = permissions.people_with_role("operator") | permissions.people_with_role("finance")
        self.fields["person"].queryset = people.distinct().order_by("name")  # type: ignore[attr-defined]


@login_required
@require_POST
def owner_name(request: PersonRequest) -> HttpResponse:
    """Name the owner of unallocated cost."""
    may_change(request)
    form = OwnerForm(request.POST)
    if form.is_valid():
        reassignments.name_owner(form.cleaned_data["person"], by=request.user)
        messages.success(request, _("The owner is named."))
    else:
        messages.error(request, _("Choose somebody of the list."))
    return redirect("reassignment-list")


@login_required
@require_POST
def reassignment_reverse(request: PersonRequest, reassignment_id: int) -> HttpResponse:
    """Take a decision back."""
    may_change(request)
    row = get_object_or_404(Reassignment, pk=reassignment_id)
    try:
        reassignments.reverse_reassignment(
            row, by=request.user, reason=request.POST.get("reason", ""), now=timezone.now()
        )
    except DomainError as refused:
        messages.error(request, refused.message)
    else:
        tasks.judge_soon()
        messages.success(request, _("It is reversed; the usage is where the rules say."))
    return redirect("reassignment-list")


urlpatterns = [
    path("usage/reassignments/", reassignment_list, name="reassignment-list"),
    path("usage/reassignments/new/", reassign, name="reassign"),
    path("usage/reassignments/preview/", reassign_preview, name="reassign-preview"),
    path("usage/reassignments/owner/", owner_name, name="unallocated-owner"),
    path("usage/reassignments/<int:reassignment_id>/reverse/", reassignment_reverse, name="reassignment-reverse"),
]
