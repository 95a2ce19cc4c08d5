"""Training runs: the list, and the page of one with its cost, its attempts and the course of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets.models import Proposal, Stop
from core.errors import DomainError
from core.keys import row_key
from teams.models import Project
from usage.formats.metrics.detection import FORMATS
from usage.runs import queries, services
from usage.runs.models import Run
from web.charts.run_course import CourseChart, Measured, course_chart
from web.forms import refuse
from web.requests import PersonRequest

ON_A_PAGE = 25
ATTEMPTS_SHOWN = 50
KINDS = {Run.State.RUNNING: "info", Run.State.FINISHED: "ok", Run.State.FAILED: "over", Run.State.STOPPED: "warn"}
"""The colour of each state."""
FIRST_SERIES = (
    (gettext_lazy("Loss"), ("loss", "train_loss", "lm_loss", "lm loss", "training_loss")),
    (
        gettext_lazy("Tokens per second"),
        ("tokens_per_second", "tokens_per_sec", "tokens/s", "tok/s", "tps", "throughput", "tok_per_sec"),
    ),
    (gettext_lazy("MFU"), ("mfu",)),
)
"""What one looks at first, as people call it, and the names that trainers give it."""


class RunFilter(forms.Form):
    """What to look for among runs."""

    project = forms.ModelChoiceField(
        Project.objects.none(),
        label=gettext_lazy("Project"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("all projects"),
    )
    state = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[("", gettext_lazy("any")), *Run.State.choices]
    )

    def __init__(self, data: Any, *, user: Any) -> None:
        super().__init__(data)
        self.fields["project"].queryset = Project.objects.visible_to(user)  # type: ignore[attr-defined]


class RunForm(forms.Form):
    """A new run."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Project"), to_field_name="slug", empty_label=None
    )
    slug = forms.SlugField(label=gettext_lazy("Short name"), max_length=120, help_text=gettext_lazy("base-7b-01"))
    name = forms.CharField(label=gettext_lazy("Name"), max_length=200, required=False)
    experiment = forms.CharField(label=gettext_lazy("Experiment"), max_length=120, required=False)
    reference = forms.CharField(
        label=gettext_lazy("Proposal"), max_length=60, required=False, help_text=gettext_lazy("Such as P-12")
    )
    job = forms.CharField(
        label=gettext_lazy("Job of the scheduler"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("Its usage and cost are found by this."),
    )

    def __init__(self, *args: Any, user: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].queryset = Project.objects.visible_to(user)  # type: ignore[attr-defined]


class LogForm(forms.Form):
    """A log of a run."""

    file = forms.FileField(label=gettext_lazy("File"), help_text=gettext_lazy("A run of MLflow: its folder as a zip."))
    format = forms.ChoiceField(label=gettext_lazy("Format"), required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        found = ("", gettext_lazy("found by content"))
        self.fields["format"].choices = [found, *((known.slug, known.name) for known in FORMATS)]  # type: ignore[attr-defined]


@login_required
def run_list(request: PersonRequest) -> HttpResponse:
    """Runs, the newest first, with what they used and cost."""
    form = RunFilter(request.GET, user=request.user)
    chosen = form.cleaned_data if form.is_valid() else {}
    found = Run.objects.visible_to(request.user).select_related("project__team").defer("facts")
    if chosen.get("project"):
        found = found.filter(project=chosen["project"])
    if chosen.get("state"):
        found = found.filter(state=chosen["state"])
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    used = queries.usage_of_runs(list(page.object_list))
    rows = [(run, KINDS.get(run.state, ""), used[run.pk]) for run in page.object_list]  # type: ignore[call-overload]
    words = {"form": form, "page": page, "rows": rows, "filtered": any(chosen.values())}
    return render(request, "web/runs/list.html", words)


@login_required
def run_new(request: PersonRequest) -> HttpResponse:
    """Open a run."""
    form = RunForm(request.POST or None, user=request.user, initial={"project": request.GET.get("project", "")})
    if request.method == "POST" and form.is_valid():
        try:
            run = services.open_run(by=request.user, **form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            return redirect("run", run.slug)
    return render(request, "web/runs/new.html", {"form": form}, status=422 if form.errors else 200)


def visible_run(request: PersonRequest, slug: str) -> Run:
    return get_object_or_404(Run.objects.visible_to(request.user).select_related("project__team"), slug=slug)


@login_required
def run(request: PersonRequest, slug: str) -> HttpResponse:
    """One run: state, accelerator-hours, cost, attempts and interruptions, the course of its metrics."""
    return run_page(request, visible_run(request, slug))


def run_page(request: PersonRequest, found: Run, form: LogForm | None = None) -> HttpResponse:
    used = queries.usage_of_runs([found])[found.pk]
    series = queries.series_of(found)
    names = chosen_series([each.name for each in series], request.GET.get("series", ""))
    words = {
        "run": found,
        "stops": Stop.objects.in_force().filter(project=found.project_id, job__in=["", found.job]),
        "kind": KINDS.get(found.state, ""),  # type: ignore[call-overload]
        "used": used,
        "attempts": used.attempts[-ATTEMPTS_SHOWN:][::-1],
        "series": series,
        "charts": [(title_of(name), name, chart) for name in names if (chart := chart_of(found, name))],
        "proposal": proposal_of(request, found),
        "states": [(value, label) for value, label in Run.State.choices if value != found.state],
        "reports": services.may_report(request.user, found.project),
        "form": form or LogForm(),
    }
    return render(request, "web/runs/run.html", words, status=422 if form and form.errors else 200)


def chosen_series(names: list[str], asked: str) -> list[str]:
    """The series that was asked for; else loss, tokens a second and MFU, by whatever names the trainer gives them."""
    if asked in names:
        return [asked]
    found = []
    for _title, words in FIRST_SERIES:
        of_kind = [name for name in names if is_called(name, words)]
        found += sorted(of_kind, key=lambda name: ("val" in name.casefold(), len(name)))[:1]
    return found or names[:1]


def is_called(name: str, words: Sequence[str]) -> bool:
    """Is the series one of these, perhaps behind a group such as `train/`?"""
    return name.casefold() in words or name.rpartition("/")[2].casefold() in words


def title_of(name: str) -> str:
    """What people call the series; a name that nobody knows stands for itself."""
    title = next((str(title) for title, words in FIRST_SERIES if is_called(name, words)), name)
    return _("%(series)s in validation") % {"series": title} if title != name and "val" in name.casefold() else title


def chart_of(found: Run, name: str) -> CourseChart | None:
    course = queries.course_of(found, name)
    return course_chart(name, [Measured(each.attempt, each.step, each.at, each.value) for each in course])


def proposal_of(request: PersonRequest, found: Run) -> Model | None:
    """The proposal whose work the run is, where the reader may see it."""
    number = row_key(found.reference.removeprefix("P-"))
    visible = Project.objects.visible_to(request.user)
    return None if number is None else Proposal.objects.filter(pk=number, project__in=visible).first()


@login_required
@require_POST
def run_log(request: PersonRequest, slug: str) -> HttpResponse:
    """Take in a log that somebody uploads."""
    found = visible_run(request, slug)
    form = LogForm(request.POST, request.FILES)
    if not form.is_valid():
        return run_page(request, found, form)
    upload = form.cleaned_data["file"]
    try:
        answer = services.import_upload(
            found, by=request.user, name=upload.name, stream=upload, format=form.cleaned_data["format"]
        )
    except DomainError as refused:
        refuse(form, refused)
        return run_page(request, found, form)
    facts = {"points": answer["points"], "series": len(answer["series"])}
    messages.success(request, _("%(points)s values of %(series)s series were taken in.") % facts)
    return redirect("run", slug)


@login_required
@require_POST
def run_state(request: PersonRequest, slug: str) -> HttpResponse:
    """Say how a run ended."""
    found = visible_run(request, slug)
    if not services.may_report(request.user, found.project):
        raise PermissionDenied
    try:
        services.set_state(found, by=request.user, state=request.POST.get("state", ""))
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("run", slug)


urlpatterns = [
    path("runs/", run_list, name="run-list"),
    path("runs/new/", run_new, name="run-new"),
    path("runs/<slug:slug>/", run, name="run"),
    path("runs/<slug:slug>/log/", run_log, name="run-log"),
    path("runs/<slug:slug>/state/", run_state, name="run-state"),
]
