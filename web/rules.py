"""Allocation rules: in order, with what each places; written with a preview of what would move; applied."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.forms import formset_factory
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from core.errors import DomainError
from overruns import tasks
from teams import labels, permissions
from teams.models import Project
from usage import overview, rules
from usage.models import AllocationRule, Source
from usage.models.allocation import Split
from web.forms import MoneyField, refuse
from web.requests import PersonRequest

ANYWHERE = [("", gettext_lazy("as before"))]
FIELDS = [
    ("tag", gettext_lazy("tag")),
    ("account", gettext_lazy("account")),
    ("account_name", gettext_lazy("account name")),
    ("payer", gettext_lazy("payer account")),
    ("service", gettext_lazy("service")),
    ("service_category", gettext_lazy("service category")),
    ("sku", gettext_lazy("SKU")),
    ("region", gettext_lazy("region")),
    ("resource", gettext_lazy("resource")),
    ("resource_name", gettext_lazy("resource name")),
    ("resource_type", gettext_lazy("resource type")),
    ("user", gettext_lazy("user")),
    ("partition", gettext_lazy("partition")),
    ("cluster", gettext_lazy("cluster")),
    ("namespace", gettext_lazy("namespace")),
    ("provider", gettext_lazy("provider")),
    ("charge_category", gettext_lazy("charge category")),
    ("accelerator", gettext_lazy("accelerator")),
]
OPERATORS = [
    ("equals", gettext_lazy("is one of")),
    ("prefix", gettext_lazy("begins with")),
    ("glob", gettext_lazy("looks like (* and ?)")),
    ("present", gettext_lazy("is there")),
    ("absent", gettext_lazy("is not there")),
]
CONDITIONS = 5
SHARES = 12
SHARED, BY_WEIGHT, BY_USAGE, BY_PARTS = "shared", "split-weight", "split-usage", "split-parts"
SPLITS = {BY_WEIGHT: Split.WEIGHT, BY_USAGE: Split.USAGE, BY_PARTS: Split.PARTS}


class ConditionForm(forms.Form):
    """One condition of a rule; an empty field is none."""

    field = forms.ChoiceField(label=gettext_lazy("Look at"), required=False, choices=[("", "–"), *FIELDS])
    tag = forms.CharField(label=gettext_lazy("Name of the tag"), required=False, max_length=200)
    operator = forms.ChoiceField(label=gettext_lazy("Test"), required=False, choices=OPERATORS)
    values = forms.CharField(label=gettext_lazy("Values, separated by commas"), required=False, max_length=2000)

    def stored(self) -> dict[str, Any] | None:
        """The condition as the rule keeps it."""
        given = getattr(self, "cleaned_data", {})
        if not given.get("field"):
            return None
        values = [value.strip() for value in given["values"].split(",") if value.strip()]
        condition = {"field": given["field"], "operator": given["operator"] or "equals", "values": values}
        return condition | ({"tag": given["tag"].strip()} if given["field"] == "tag" else {})


Conditions = formset_factory(ConditionForm, extra=0, min_num=CONDITIONS, max_num=CONDITIONS)


class ShareForm(forms.Form):
    """One project of a split; an empty project is none."""

    project = forms.ModelChoiceField(
        Project.objects.none(), label=gettext_lazy("Project"), required=False, empty_label=gettext_lazy("nobody more")
    )
    weight = MoneyField(label=gettext_lazy("Weight"), required=False)

    def __init__(self, *args: Any, projects: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["project"].queryset = Project.objects.order_by("name")  # type: ignore[attr-defined]
        if projects is not None:
            self.fields["project"].choices = projects  # type: ignore[attr-defined]

    def stored(self, by_usage: bool) -> tuple[Project, Decimal] | None:
        """Project and weight; where usage weighs, any weight serves."""
        given = getattr(self, "cleaned_data", {})
        if not given.get("project"):
            return None
        return given["project"], Decimal(1) if by_usage else given.get("weight") or Decimal(0)


Shares = formset_factory(ShareForm, extra=0, min_num=SHARES, max_num=SHARES)


class RuleForm(forms.Form):
    """A rule without its conditions."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    target = forms.ChoiceField(label=gettext_lazy("Belongs to"), required=False)
    category = forms.ChoiceField(
        label=gettext_lazy("Budget category"), required=False, choices=[*ANYWHERE, *labels.choices(labels.CATEGORIES)]
    )
    task_type = forms.ChoiceField(
        label=gettext_lazy("Task type"), required=False, choices=[*ANYWHERE, *labels.choices(labels.TASK_TYPES)]
    )
    stage = forms.CharField(label=gettext_lazy("Stage"), required=False, max_length=60)
    experiment = forms.CharField(label=gettext_lazy("Experiment"), required=False, max_length=120)
    reference = forms.CharField(
        label=gettext_lazy("Proposal"), required=False, max_length=60, help_text=gettext_lazy("such as P-12")
    )
    source = forms.ModelChoiceField(
        Source.objects.none(), label=gettext_lazy("Only of the source"), required=False, empty_label=gettext_lazy("any")
    )
    starts_on = forms.DateField(
        label=gettext_lazy("Usage from"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    ends_on = forms.DateField(
        label=gettext_lazy("Until, not included"), required=False, widget=forms.DateInput(attrs={"type": "date"})
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"), required=False, max_length=500, widget=forms.Textarea(attrs={"rows": 2})
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        projects = Project.objects.select_related("team").order_by("team__name", "name")
        choices: list[tuple[str, Any]] = [
            ("", gettext_lazy("as before")),
            (SHARED, gettext_lazy("shared cost")),
            (BY_WEIGHT, gettext_lazy("split by the weights below")),
            (BY_USAGE, gettext_lazy("split by accelerator-hours of the month")),
            (BY_PARTS, gettext_lazy("split by the job logs that are part of the source")),
        ]
        choices += [(str(project.pk), f"{project.team} / {project.name}") for project in projects]
        self.fields["target"].choices = choices  # type: ignore[attr-defined]
        self.fields["source"].queryset = Source.objects.all()  # type: ignore[attr-defined]

    def apply_to(self, rule: AllocationRule) -> AllocationRule:
        """The rule as the form says it, not saved."""
        given = self.cleaned_data
        target = given["target"]
        rule.is_shared = target == SHARED
        rule.split = SPLITS.get(target, Split.NONE)
        rule.project = Project.objects.get(pk=int(target)) if target.isdecimal() else None
        for name in ("name", "category", "task_type", "stage", "experiment", "reference", "reason"):
            setattr(rule, name, given[name])
        rule.source, rule.starts_on, rule.ends_on = given["source"], given["starts_on"], given["ends_on"]
        return rule


def first_values(rule: AllocationRule) -> dict[str, Any]:
    """A rule as the form shows it."""
    names = ("name", "category", "task_type", "stage", "experiment", "reference", "reason", "starts_on", "ends_on")
    target = SHARED if rule.is_shared else rule.project_id or ""
    if rule.split:
        target = next(choice for choice, split in SPLITS.items() if split == rule.split)
    return {**{name: getattr(rule, name) for name in names}, "target": target, "source": rule.source_id}


def shown(condition: dict[str, Any]) -> dict[str, Any]:
    """A stored condition as the form shows it."""
    operator = "equals" if condition["operator"] == "list" else condition["operator"]
    return {**condition, "operator": operator, "values": ", ".join(condition.get("values") or ())}


def may_see(request: PersonRequest) -> None:
    if not (permissions.may_see_all_usage(request.user) or permissions.may_allocate(request.user)):
        raise PermissionDenied


def may_change(request: PersonRequest) -> None:
    if not permissions.may_allocate(request.user):
        raise PermissionDenied


@login_required
def rule_list(request: PersonRequest) -> HttpResponse:
    """Rules in the order in which they are tried."""
    may_see(request)
    words = {"rules": overview.rules_with_counts(), "allocates": permissions.may_allocate(request.user)}
    return render(request, "web/usage/rule_list.html", words | words_of_conditions())


@login_required
def pending(request: PersonRequest) -> HttpResponse:
    """What applying the rules now would move; asked for by the list once it stands."""
    may_see(request)
    words = {"preview": rules.preview(), "allocates": permissions.may_allocate(request.user)}
    return render(request, "web/usage/_pending.html", words)


def words_of_conditions() -> dict[str, Any]:
    return {"fields": dict(FIELDS), "operators": dict(OPERATORS)}


@dataclass(frozen=True)
class RuleForms:
    """The forms of a rule, filled from the request or from the rule."""

    rule: AllocationRule
    form: RuleForm
    conditions: Any
    shares: Any

    @classmethod
    def of(cls, request: PersonRequest, rule: AllocationRule) -> RuleForms:
        data = request.POST if request.method == "POST" else None
        kept = [{"project": each.project_id, "weight": each.weight} for each in rule.shares.all()] if rule.pk else []
        projects = [("", _("nobody more")), *((each.pk, each.name) for each in Project.objects.order_by("name"))]
        return cls(
            rule,
            RuleForm(data, initial=first_values(rule)),
            Conditions(data, prefix="conditions", initial=[shown(condition) for condition in rule.conditions]),
            Shares(data, prefix="shares", initial=kept, form_kwargs={"projects": projects}),
        )

    def are_valid(self) -> bool:
        return self.form.is_valid() and self.conditions.is_valid() and self.shares.is_valid()

    def draft(self) -> tuple[AllocationRule, list[tuple[Project, Decimal]]]:
        """The rule as the forms say it, not saved, and its shares."""
        rule = self.form.apply_to(self.rule)
        rule.conditions = [stored for each in self.conditions.forms if (stored := each.stored())]
        weighs = rule.split == Split.WEIGHT
        shares = [stored for each in self.shares.forms if (stored := each.stored(not weighs))] if rule.split else []
        return rule, shares


@login_required
def rule_edit(request: PersonRequest, rule_id: int | None = None) -> HttpResponse:
    """Write a rule; beside it stands what it would move."""
    may_change(request)
    rule = get_object_or_404(AllocationRule, pk=rule_id) if rule_id else AllocationRule(conditions=[])
    forms_of_rule = RuleForms.of(request, rule)
    form = forms_of_rule.form
    if request.method == "POST" and forms_of_rule.are_valid():
        draft, shares = forms_of_rule.draft()
        try:
            rules.save_rule(draft, by=request.user, shares=shares)
        except DomainError as refused:
            refuse(form, refused)
        else:
            messages.success(request, _("The rule is kept. New usage follows it; apply the rules to move the rest."))
            return redirect("rule-list")
    words = {
        "form": form,
        "conditions": forms_of_rule.conditions,
        "shares": forms_of_rule.shares,
        "rule": rule if rule.pk else None,
    }
    return render(request, "web/usage/rule_edit.html", words, status=422 if form.errors else 200)


@login_required
@require_POST
def rule_preview(request: PersonRequest, rule_id: int | None = None) -> HttpResponse:
    """What would move if the rule were as the form says, and the rules were applied."""
    may_change(request)
    rule = get_object_or_404(AllocationRule, pk=rule_id) if rule_id else AllocationRule(conditions=[])
    forms_of_rule = RuleForms.of(request, rule)
    words: dict[str, Any] = {}
    if forms_of_rule.are_valid():
        draft, shares = forms_of_rule.draft()
        try:
            rules.check_rule(draft, shares)
        except DomainError as refused:
            words["faults"] = refused.faults
        else:
            words["preview"] = rules.preview(draft, shares)
    return render(request, "web/usage/_preview.html", words)


@login_required
@require_POST
def rule_act(request: PersonRequest, rule_id: int, act: str) -> HttpResponse:
    """Move a rule up or down, or retire it."""
    may_change(request)
    rule = get_object_or_404(AllocationRule, pk=rule_id, active=True)
    if act == "retire":
        rules.retire_rule(rule, by=request.user)
        said = _("%(name)s is retired. Apply the rules to move what it placed.")
        messages.success(request, said % {"name": rule.name})
    else:
        rules.move_rule(rule, by=request.user, earlier=act == "up")
    return redirect("rule-list")


@login_required
@require_POST
def rules_apply(request: PersonRequest) -> HttpResponse:
    """Place what is stored by the rules as they are."""
    may_change(request)
    count = rules.apply_rules(by=request.user)
    tasks.judge_soon()
    said = ngettext("%(count)s combination of keys moved.", "%(count)s combinations of keys moved.", count)
    messages.success(request, said % {"count": count})
    return redirect("rule-list")


urlpatterns = [
    path("usage/rules/", rule_list, name="rule-list"),
    path("usage/rules/pending/", pending, name="rule-pending"),
    path("usage/rules/apply/", rules_apply, name="rules-apply"),
    path("usage/rules/new/", rule_edit, name="rule-new"),
    path("usage/rules/new/preview/", rule_preview, name="rule-new-preview"),
    path("usage/rules/<int:rule_id>/", rule_edit, name="rule"),
    path("usage/rules/<int:rule_id>/preview/", rule_preview, name="rule-preview"),
    path("usage/rules/<int:rule_id>/up/", rule_act, {"act": "up"}, name="rule-up"),
    path("usage/rules/<int:rule_id>/down/", rule_act, {"act": "down"}, name="rule-down"),
    path("usage/rules/<int:rule_id>/retire/", rule_act, {"act": "retire"}, name="rule-retire"),
]
