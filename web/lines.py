"""Budget lines: opening one, its page with every entry, and the forms that move money on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
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
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets import subcategories
from budgets.closed import heir_of
from budgets.models import BudgetLine, Entry, LineClosing, Proposal, Threshold
from budgets.models.fields import LINE_CHOICES, TASK_CHOICES
from budgets.periods import calendar_period, project_period
from budgets.queries import late_of
from budgets.services import ledger
from budgets.services import lines as line_services
from budgets.templates import TEMPLATES
from core.errors import DomainError
from core.money import exact_text
from core.months import Month, Period
from core.vocabulary import Category
from overruns.models import Flag
from overruns.unheard import is_unheard
from teams import labels, permissions
from teams.models import Organisation, Project, User
from web.forms import MoneyField, NumberField, refuse
from web.line_hours import hours_words, line_label, promises_of
from web.line_rows import LineRow, burn_of, line_rows
from web.requests import PersonRequest

PAGE_LENGTH = 50


def visible_line(request: PersonRequest, slug: str, line_id: int) -> BudgetLine:
    """The line, if this person may see its project; else it does not exist."""
    lines = BudgetLine.objects.visible_to(request.user).select_related("project__team")
    return get_object_or_404(lines, pk=line_id, project__slug=slug)


# ---- opening


def part_choices() -> list[tuple[Any, Any]]:
    """The subcategories, under the categories they are part of."""
    groups = [(label, subcategories.choices(category)) for category, label in LINE_CHOICES]
    return [("", _("the whole category")), *[(label, parts) for label, parts in groups if parts]]


class SetForm(forms.Form):
    """A set of lines for one period, opened at once."""

    templates = forms.MultipleChoiceField(
        label=gettext_lazy("Lines"),
        choices=[(each.key, each.label) for each in TEMPLATES.values()],
        widget=forms.CheckboxSelectMultiple,
    )
    period_kind = forms.ChoiceField(label=gettext_lazy("Period"), choices=BudgetLine.PeriodKind.choices)
    start = forms.DateField(
        label=gettext_lazy("A day in it"), widget=forms.DateInput(attrs={"type": "date"}), required=False
    )


class LineForm(forms.Form):
    """A new line: what for, when, how it counts, and its first money."""

    category = forms.ChoiceField(label=gettext_lazy("Category"), choices=LINE_CHOICES)
    subcategory = forms.ChoiceField(label=gettext_lazy("Only the part"), choices=part_choices, required=False)
    task_type = forms.ChoiceField(
        label=gettext_lazy("Only for the task"),
        choices=[("", gettext_lazy("every task")), *TASK_CHOICES],
        required=False,
    )
    period_kind = forms.ChoiceField(label=gettext_lazy("Period"), choices=BudgetLine.PeriodKind.choices)
    start = forms.DateField(
        label=gettext_lazy("A day in it"), widget=forms.DateInput(attrs={"type": "date"}), required=False
    )
    basis = forms.ChoiceField(
        label=gettext_lazy("Counts"),
        choices=labels.choices(labels.BASES),
        help_text=gettext_lazy(
            "Effective: by day of use, commitments amortised. Billed: by billing month, as invoiced."
        ),
    )
    charge_categories = forms.MultipleChoiceField(
        label=gettext_lazy("Charges that count"),
        choices=labels.choices(labels.CHARGE_CATEGORIES),
        widget=forms.CheckboxSelectMultiple,
    )
    amount = MoneyField(label=gettext_lazy("First grant"), required=False)
    reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=300)


@login_required
def line_new(request: PersonRequest, slug: str) -> HttpResponse:
    """Open a line, and grant its first money."""
    project = get_object_or_404(Project.objects.visible_to(request.user).select_related("team"), slug=slug)
    if not permissions.may_fund(request.user, project.team):
        messages.error(request, _("Lines are opened by managers of the team, directors and finance."))
        return redirect("project", slug)
    today = Organisation.current().today(timezone.now())
    start = {
        "category": request.GET.get("category", "compute"),
        "period_kind": "project" if project.starts_on and project.ends_on else "year",
        "start": project.starts_on or today,
        "charge_categories": line_services.every_charge_category(),
    }
    is_set = "set" in request.POST
    set_form = SetForm(request.POST if is_set else None, initial={**start, "templates": list(TEMPLATES)}, prefix="set")
    if is_set and set_form.is_valid():
        try:
            opened = open_set(set_form.cleaned_data, project, request.user, today)
        except DomainError as refused:
            refuse(set_form, refused)
        else:
            messages.success(request, said_of_set(opened))
            return redirect("project", slug)
    form = LineForm(request.POST if request.method == "POST" and not is_set else None, initial=start)
    if request.method == "POST" and not is_set and form.is_valid():
        try:
            line = open_from(form.cleaned_data, project, request.user, today)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The line %(line)s is open.") % {"line": line})
            return redirect("line", slug, line.pk)
    words = {"form": form, "set_form": set_form, "project": project}
    return render(request, "web/projects/line_new.html", words)


def open_set(asked: dict[str, Any], project: Project, by: User, today: date) -> list[BudgetLine]:
    return line_services.open_lines(
        by=by,
        project=project,
        templates=asked["templates"],
        period_kind=asked["period_kind"],
        period=period_of(asked["period_kind"], asked["start"] or today, project),
    )


def said_of_set(opened: Sequence[BudgetLine]) -> str:
    if not opened:
        return _("All of these lines run already.")
    return _("Open now: %(lines)s. Grant their money on their pages.") % {"lines": ", ".join(map(str, opened))}


def open_from(asked: dict[str, Any], project: Project, by: User, today: date) -> BudgetLine:
    """The line that the form describes, with its first grant where one is stated."""
    line = line_services.open_line(
        by=by,
        project=project,
        category=asked["category"],
        subcategory=asked["subcategory"],
        task_type=asked["task_type"],
        period_kind=asked["period_kind"],
        period=period_of(asked["period_kind"], asked["start"] or today, project),
        basis=asked["basis"],
        charge_categories=asked["charge_categories"],
    )
    if asked["amount"]:
        ledger.grant(line, by=by, amount=asked["amount"], reason=asked["reason"] or _("First grant"))
    return line


def period_of(kind: str, day: date, project: Project) -> Period:
    """The period of a kind around a day; a project's life needs its dates."""
    if kind != BudgetLine.PeriodKind.PROJECT:
        fiscal = Organisation.current().fiscal_year_starts_in
        return calendar_period(kind, Month.of(day), fiscal_year_starts_in=fiscal)
    if not (project.starts_on and project.ends_on):
        raise DomainError(_("The project has no dates; choose a month, a quarter or a year."))
    return project_period([], project.starts_on, project.ends_on)


# ---- the page


class GrantForm(forms.Form):
    amount = MoneyField(
        label=gettext_lazy("New money"), help_text=gettext_lazy("A negative amount takes back what is still free.")
    )
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)


class TransferForm(forms.Form):
    target = forms.ModelChoiceField(
        BudgetLine.objects.none(), label=gettext_lazy("To the line"), empty_label=gettext_lazy("choose a line")
    )
    amount = MoneyField(label=gettext_lazy("Amount"), min_value=0)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)

    def __init__(self, *arguments: Any, line: BudgetLine, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["target"].queryset = transfer_targets(line)  # type: ignore[attr-defined]
        self.fields["target"].label_from_instance = line_label  # type: ignore[attr-defined]


class ReleaseForm(forms.Form):
    proposal = forms.ModelChoiceField(
        Proposal.objects.none(), label=gettext_lazy("Proposal"), empty_label=gettext_lazy("choose a proposal")
    )
    amount = MoneyField(label=gettext_lazy("Amount"), min_value=0)
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)

    def __init__(self, *arguments: Any, line: BudgetLine, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fields["proposal"].queryset = Proposal.objects.filter(entries__line=line, closed_at=None).distinct()  # type: ignore[attr-defined]


class ThresholdForm(forms.Form):
    basis = forms.ChoiceField(label=gettext_lazy("Of what"), choices=Threshold.Basis.choices)
    percent = NumberField(
        label=gettext_lazy("At percent of the line"), min_value=1, max_value=1000, decimal_places=2, required=False
    )
    amount = MoneyField(label=gettext_lazy("or at an amount"), min_value=0, required=False)
    quantile = forms.ChoiceField(
        label=gettext_lazy("Quantile of the forecast"),
        choices=Threshold.Quantile.choices,
        initial="p50",
        required=False,
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(label=gettext_lazy("Reason"), max_length=300)


class RolloverForm(forms.Form):
    rollover = forms.ChoiceField(label=gettext_lazy("What is left"), choices=BudgetLine.Rollover.choices)
    percent = NumberField(
        label=gettext_lazy("At most this share of the line"),
        min_value=0,
        max_value=1000,
        decimal_places=2,
        required=False,
    )
    amount = MoneyField(label=gettext_lazy("At most this amount"), min_value=0, required=False)
    hours = NumberField(
        label=gettext_lazy("At most these hours"),
        help_text=gettext_lazy("Of accelerators, where the line has a budget of them."),
        min_value=0,
        max_digits=20,
        decimal_places=4,
        required=False,
    )
    carries_overspend = forms.BooleanField(
        label=gettext_lazy("What was overspent burdens the next period"), required=False
    )


def rollover_form(line: BudgetLine) -> RolloverForm:
    """The form filled in with what the line does now."""
    return RolloverForm(
        initial={
            "rollover": line.rollover,
            "percent": None if line.rollover_share is None else (line.rollover_share * 100).normalize(),
            "amount": None if line.rollover_amount is None else f"{line.rollover_amount:f}",
            "hours": None if line.rollover_hours is None else exact_text(line.rollover_hours),
            "carries_overspend": line.carries_overspend,
        }
    )


def transfer_targets(line: BudgetLine) -> Any:
    """Open lines of the same currency in the same project, except contingency, which takes nothing."""
    return (
        BudgetLine.objects.open()
        .filter(project=line.project_id, currency=line.currency)
        .exclude(pk=line.pk)
        .exclude(category=Category.CONTINGENCY)
    )


@login_required
def line(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    return line_page(request, visible_line(request, slug, line_id))


def line_page(request: PersonRequest, found: BudgetLine, **bound: forms.Form) -> HttpResponse:
    """The page of a line; a form that was refused comes back with what is wrong."""
    now = timezone.now()
    (row,) = line_rows([found])
    burn, outlook = burn_of(row, now=now)
    entries = Entry.objects.filter(line=found).select_related("by", "proposal").order_by("-at", "-id")
    page = Paginator(entries, PAGE_LENGTH).get_page(request.GET.get("page"))
    team = found.project.team
    words = {
        "line": found,
        "project": found.project,
        "row": row,
        "burn": burn,
        "outlook": outlook,
        "runs_out": outlook.passes(row.status.budget) if outlook else None,
        "held": promises_of(row.status.promises),
        "page": page,
        "partners": transfer_partners(page.object_list),  # type: ignore[arg-type]
        "thresholds": threshold_rows(found),
        "silence": found.silences.open().first(),
        "unheard": is_unheard(found.project),
        "missing": [f"{currency} {month}" for month, currency in row.status.rates_missing],
        "may_fund": permissions.may_fund(request.user, team),
        "may_transfer": permissions.may_transfer(request.user, team),
        "may_release": permissions.may_fund(request.user, team) or permissions.may_write_plans(request.user, team),
        **hours_words(found, bound, now=now),
        "grant": bound.get("grant") or GrantForm(auto_id="grant_%s"),
        "transfer": bound.get("transfer") or TransferForm(line=found),
        "release": bound.get("release") or ReleaseForm(line=found, auto_id="release_%s"),
        "threshold": bound.get("threshold") or ThresholdForm(),
        "unfreeze": bound.get("unfreeze") or ReasonForm(),
        "rollover": bound.get("rollover") or rollover_form(found),
        "closed": closed_words(found, row),
        "restated": restated_rows(row),
        "refused": next(iter(bound), ""),
    }
    return render(request, "web/projects/line.html", words, status=422 if bound else 200)


def closed_words(found: BudgetLine, row: LineRow) -> dict[str, Any] | None:
    """Of a closed line: the official actual, what is known now, and the line on which the difference counts."""
    closing = found.closings.filter(reopened_at__isnull=True).select_related("by", "carried_to").first()
    if closing is None:
        return None
    late = late_of(found)
    return {
        "closing": closing,
        "old": row.status.actual,
        "new": row.status.actual + late,
        "delta": late,
        "heir": heir_of(found, list(BudgetLine.objects.open().filter(project=found.project_id))),
    }


def restated_rows(row: LineRow) -> list[dict[str, Any]]:
    """What became known of earlier periods and counts on this line, by the line it comes from."""
    closings = LineClosing.objects.select_related("line").in_bulk(list(row.status.restated))
    return [{"line": closings[key].line, "amount": amount} for key, amount in row.status.restated.items() if amount]


def transfer_partners(entries: Sequence[Entry]) -> dict[Any, BudgetLine]:
    """Per transfer the line at its other end."""
    numbers = [entry.transfer for entry in entries if entry.transfer]
    own = {entry.pk for entry in entries}
    others = Entry.objects.filter(transfer__in=numbers).exclude(pk__in=own).select_related("line")
    return {entry.transfer: entry.line for entry in others}


def threshold_rows(found: BudgetLine) -> list[dict[str, Any]]:
    """Every threshold that is watched, with its flag."""
    flags = {flag.threshold_id: flag for flag in Flag.objects.filter(line=found)}
    return [
        {"threshold": threshold, "flag": flags.get(threshold.pk)} for threshold in found.thresholds.filter(active=True)
    ]


# ---- what the forms do


def act(
    request: PersonRequest, slug: str, line_id: int, name: str, form: forms.Form, change: Callable, said: str
) -> HttpResponse:
    """Check the form, do what it asks, and say so; a refusal comes back on the page beside the form."""
    found = visible_line(request, slug, line_id)
    if form.is_valid():
        try:
            change(found, form.cleaned_data)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, said)
            return redirect("line", slug, line_id)
    return line_page(request, found, **{name: form})


@login_required
@require_POST
def line_grant(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        ledger.grant(found, by=request.user, amount=asked["amount"], reason=asked["reason"])

    return act(
        request,
        slug,
        line_id,
        "grant",
        GrantForm(request.POST, auto_id="grant_%s"),
        change,
        _("The money is on the line."),
    )


@login_required
@require_POST
def line_transfer(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        ledger.transfer(found, asked["target"], by=request.user, amount=asked["amount"], reason=asked["reason"])

    form = TransferForm(request.POST, line=visible_line(request, slug, line_id))
    return act(request, slug, line_id, "transfer", form, change, _("The money has moved."))


@login_required
@require_POST
def line_release(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        ledger.release(found, asked["proposal"], by=request.user, amount=asked["amount"], reason=asked["reason"])

    form = ReleaseForm(request.POST, line=visible_line(request, slug, line_id), auto_id="release_%s")
    return act(request, slug, line_id, "release", form, change, _("The money is free again."))


@login_required
@require_POST
def line_threshold(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        percent = asked.pop("percent")
        share = None if percent is None else percent / 100
        line_services.add_threshold(found, by=request.user, share=share, **asked)

    return act(
        request, slug, line_id, "threshold", ThresholdForm(request.POST), change, _("The line is watched there too.")
    )


@login_required
@require_POST
def threshold_stop(request: PersonRequest, slug: str, line_id: int, threshold_id: int) -> HttpResponse:
    found = visible_line(request, slug, line_id)
    threshold = get_object_or_404(found.thresholds, pk=threshold_id)
    try:
        line_services.stop_threshold(threshold, by=request.user)
    except DomainError as refused:
        messages.error(request, refused.message)
    return redirect("line", slug, line_id)


@login_required
@require_POST
def line_rollover(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        line_services.set_rollover(
            found,
            by=request.user,
            rollover=asked["rollover"],
            share=asked["percent"] / 100 if asked["percent"] is not None else None,
            amount=asked["amount"],
            hours=asked["hours"],
            carries_overspend=asked["carries_overspend"],
        )

    form = RolloverForm(request.POST)
    return act(request, slug, line_id, "rollover", form, change, _("That is what happens at the end of the period."))


@login_required
@require_POST
def line_unfreeze(request: PersonRequest, slug: str, line_id: int) -> HttpResponse:
    def change(found: BudgetLine, asked: dict[str, Any]) -> None:
        line_services.unfreeze_line(found, by=request.user, reason=asked["reason"])

    return act(request, slug, line_id, "unfreeze", ReasonForm(request.POST), change, _("The line may be used again."))


urlpatterns = [
    path("projects/<slug:slug>/lines/new/", line_new, name="line-new"),
    path("projects/<slug:slug>/lines/<int:line_id>/", line, name="line"),
    path("projects/<slug:slug>/lines/<int:line_id>/grant/", line_grant, name="line-grant"),
    path("projects/<slug:slug>/lines/<int:line_id>/transfer/", line_transfer, name="line-transfer"),
    path("projects/<slug:slug>/lines/<int:line_id>/release/", line_release, name="line-release"),
    path("projects/<slug:slug>/lines/<int:line_id>/thresholds/", line_threshold, name="line-threshold"),
    path(
        "projects/<slug:slug>/lines/<int:line_id>/thresholds/<int:threshold_id>/stop/",
        threshold_stop,
        name="threshold-stop",
    ),
    path("projects/<slug:slug>/lines/<int:line_id>/rollover/", line_rollover, name="line-rollover"),
    path("projects/<slug:slug>/lines/<int:line_id>/unfreeze/", line_unfreeze, name="line-unfreeze"),
]
