"""The page of a proposal, on which it is decided: what changed, what it does to the lines, the evidence, the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from budgets import approvers
from budgets.assets import uses_without_clearance
from budgets.capacity.outlook import heaviest_month
from budgets.evidence import evidence_of, like_runs
from budgets.funding import Funding, LineDecision, asked_by_category, fundings
from budgets.models import ApprovalStep, Decision, Proposal, ProposalVersion
from budgets.precedents import Why, precedents, reusable_assets
from budgets.queries import approved_before
from budgets.services import approval
from budgets.services.proposals import WRITABLE
from budgets.versions import ask_at_todays_prices, leaves, version_before
from core.errors import DomainError
from core.vocabulary import Category, TaskType
from estimates.models import Accelerator
from overruns.queries import latest_forecasts
from retrospectives.models import Retrospective
from retrospectives.queries import measured_like
from teams import labels, permissions
from teams.models import Organisation, User
from web.charts.breakdown import Outcome
from web.forms import MoneyField
from web.line_rows import warning_shares
from web.plan_comparisons import comparisons_of, strip_of
from web.plan_fields import words_of
from web.plan_history import history_of
from web.plan_yaml import yaml_of
from web.requests import PersonRequest
from web.version_words import difference_words

ZERO = Decimal(0)
LIKE = {
    Why.PLAN: gettext_lazy("the same plan"),
    Why.NAME: gettext_lazy("the same name"),
    Why.SIZE: gettext_lazy("same task and size of model"),
}


class DecisionForm(forms.Form):
    """Amount and new money of every category that is asked for, a reason for each cut, and one for the whole."""

    reason = forms.CharField(
        label=gettext_lazy("Reason (the team sees it)"), widget=forms.Textarea(attrs={"rows": 3}), required=False
    )

    def __init__(self, *arguments: Any, asked: Mapping[str, Decimal], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.asked = asked
        for category in asked:
            name = labels.CATEGORIES[Category(category)]
            self.fields[f"{category}_amount"] = MoneyField(label=_("%(line)s: approve") % {"line": name}, min_value=0)
            self.fields[f"{category}_new_money"] = MoneyField(
                label=_("%(line)s: of it new money") % {"line": name}, min_value=0, required=False
            )
            self.fields[f"{category}_reason"] = forms.CharField(
                label=_("%(line)s: why less") % {"line": name}, required=False, max_length=300
            )

    def rows(self) -> list[dict[str, Any]]:
        """The fields of each category side by side."""
        return [
            {
                "name": labels.CATEGORIES[Category(category)],
                "asked": amount,
                "amount": self[f"{category}_amount"],
                "new_money": self[f"{category}_new_money"],
                "reason": self[f"{category}_reason"],
            }
            for category, amount in self.asked.items()
        ]

    def decisions(self) -> list[LineDecision]:
        found = self.cleaned_data
        return [
            LineDecision(
                category,
                found[f"{category}_amount"],
                found[f"{category}_new_money"],
                found[f"{category}_reason"],
            )
            for category in self.asked
        ]


@dataclass(frozen=True)
class FundingRow:
    """A line before and after, with what its bar needs."""

    funding: Funding
    name: Any
    forecast: Any
    warning: Decimal | None


def visible_proposal(request: PersonRequest, number: int) -> Proposal:
    found = Proposal.objects.visible_to(request.user).select_related(
        "project__team", "requester", "cloned_from", "project__cost_centre"
    )
    return get_object_or_404(found, pk=number)


@login_required
def proposal(request: PersonRequest, number: int) -> HttpResponse:
    found = visible_proposal(request, number)
    return proposal_page(request, found)


def proposal_page(
    request: PersonRequest, found: Proposal, form: DecisionForm | None = None, outcome: str = ""
) -> HttpResponse:
    """One version of the proposal; a decision that was refused comes back with what is wrong."""
    with_estimates = found.versions.select_related("estimate__project__team", "submitted_by")
    versions = list(with_estimates.prefetch_related("ask_lines").order_by("-number"))
    version = chosen_version(versions, request.GET.get("version", ""))
    version.proposal = found
    today = Organisation.current().today(timezone.now())
    step = current_step(version)
    ground = approvers.authority(step, request.user, today) if step else None
    asked = asked_of(version)
    proposed = proposed_lines(step, asked) if asked else []
    rows = funding_rows(fundings(version, proposed)) if step and asked else []
    answered = asked_rows(version, asked)
    is_decided = bool(answered) and all(row["decided"] for row in answered)
    approved = sum((row["decided"].amount for row in answered), ZERO) if is_decided else None
    shown = form or (decision_form(asked, rows, proposed) if ground else None)
    if shown is not None:
        hint_shortfalls(shown, rows)
    before = version_before(version) if version.ask_total is not None else None
    words = {
        "proposal": found,
        "project": found.project,
        "version": version,
        "versions": versions,
        "estimate": version.estimate,
        "steps": steps_of(version),
        "step": step,
        "may_decide": ground is not None,
        "in_place_of": ground.delegation.giver if ground and ground.delegation else None,
        "asked": answered,
        "approved": approved,
        "is_cut": approved is not None and approved != version.ask_total,
        "difference": difference_words(before, version),
        "fundings": rows,
        "new_money": sum((row.funding.new_money for row in rows), ZERO),
        "today": ask_at_todays_prices(version, today=today) if step else None,
        "history": history_of(version.estimate),
        "plan_text": yaml_of(version.estimate.plan),
        "inputs": [path for path, _value in leaves(version.estimate.plan)],
        "notices": [
            words_of(warning["message"], warning["message_zh"])
            for warning in version.estimate.answer.get("warnings") or []
        ],
        "strip": strip_of(version.estimate.answer),
        "comparisons": comparisons_of(version.estimate.answer),
        "like": like_strip(found, request.user),
        "form": shown,
        "refused_outcome": outcome,
        "other": sum(approved_before(found, today).values(), ZERO) if step else None,
        **evidence_words(version, request.user),
        "unclear_assets": uses_without_clearance(found),
        **(capacity_words(version) if step and permissions.may_see_capacity(request.user) else {}),
        "retrospective": Retrospective.objects.filter(proposal=found).first(),
        **what_may(request.user, found, versions),
    }
    return render(request, "web/proposals/proposal.html", words, status=422 if form is not None else 200)


def capacity_words(version: ProposalVersion) -> dict[str, Any]:
    """The month in which this ask and what is approved want most of a card, and what the card is called."""
    heaviest = heaviest_month(version)
    if heaviest is None:
        return {}
    card = Accelerator.objects.filter(slug=heaviest.accelerator).first()
    return {"capacity": heaviest, "capacity_card": card.name if card else heaviest.accelerator}


def evidence_words(version: ProposalVersion, user: User) -> dict[str, Any]:
    """What an approver looks for, beside the estimate: what was done before, what reuse would cost, what waits."""
    found = version.proposal
    compared = (version.estimate.answer.get("comparisons") or {}).get("reuse_or_pretrain")
    is_pretraining = found.task_type == TaskType.PRETRAIN
    return {
        "evidence": evidence_of(version),
        "precedents": [{"found": each, "why": LIKE[each.why]} for each in precedents(version, user)],
        "reuse": compared if is_pretraining else None,
        "reusable": reusable_assets(found, user),
        "measured": measured_like(found, user),
    }


def chosen_version(versions: Sequence[ProposalVersion], wanted: str) -> ProposalVersion:
    """The version asked for; else the one that waits, else the newest."""
    by_number = {str(version.number): version for version in versions}
    waiting = [version for version in versions if version.state == ProposalVersion.State.SUBMITTED]
    return by_number.get(wanted) or (waiting or versions)[0]


def current_step(version: ProposalVersion) -> ApprovalStep | None:
    step = approvers.current_steps().filter(version=version).first()
    if step is not None:
        step.version = version
    return step


def steps_of(version: ProposalVersion) -> QuerySet[ApprovalStep]:
    """Each step with what was decided at it, and what was said about single inputs."""
    decided = version.steps.select_related("decision__by", "decision__delegation__giver")
    return decided.prefetch_related("decision__comments").order_by("number")


def asked_of(version: ProposalVersion) -> dict[str, Decimal]:
    """The ask by category, in the order of the lines."""
    found = {category: sum(months.values(), ZERO) for category, months in asked_by_category(version).items()}
    return {str(category): found[category] for category in labels.CATEGORIES if category in found}


def asked_rows(version: ProposalVersion, asked: Mapping[str, Decimal]) -> list[dict[str, Any]]:
    """What is asked, and what was approved of it, by category."""
    last = Decision.objects.filter(step__version=version).order_by("-step__number").first()
    approved = {line.category: line for line in last.lines.all()} if last else {}
    return [
        {"name": labels.CATEGORIES[Category(category)], "amount": amount, "decided": approved.get(category)}
        for category, amount in asked.items()
    ]


def proposed_lines(step: ApprovalStep | None, asked: Mapping[str, Decimal]) -> list[LineDecision]:
    """What the step before decided, else the whole ask."""
    if step is not None:
        return approval.earlier_decision(step, asked)
    return [LineDecision(category, amount) for category, amount in asked.items()]


def funding_rows(found: Sequence[Funding]) -> list[FundingRow]:
    lines = [each.line for each in found if each.line is not None]
    forecasts, warnings = latest_forecasts(line.pk for line in lines), warning_shares(lines)
    return [
        FundingRow(
            funding=each,
            name=each.line or labels.CATEGORIES[Category(each.category)],
            forecast=forecasts.get(each.line.pk) if each.line else None,
            warning=warnings.get(each.line.pk) if each.line else None,
        )
        for each in found
    ]


def decision_form(
    asked: Mapping[str, Decimal], rows: Sequence[FundingRow], proposed: Sequence[LineDecision]
) -> DecisionForm:
    """Filled in with the whole ask, or what the step before decided; new money only where it was stated."""
    stated = {line.category: line.new_money for line in proposed if line.new_money is not None}
    reasons = {line.category: line.reason for line in proposed}
    form = DecisionForm(asked=asked)
    for category, amount in asked.items():
        own = [row.funding for row in rows if row.funding.category == category]
        form.initial[f"{category}_amount"] = f"{sum((each.amount for each in own), ZERO) if own else amount:f}"
        form.initial[f"{category}_reason"] = reasons.get(category, "")
        if category in stated:
            form.initial[f"{category}_new_money"] = f"{stated[category]:f}"
    return form


def hint_shortfalls(form: DecisionForm, rows: Sequence[FundingRow]) -> None:
    """New money left empty follows the amount; what the lines are short of stands there as a hint."""
    for category in form.asked:
        short = sum((row.funding.new_money for row in rows if row.funding.category == category), ZERO)
        form.fields[f"{category}_new_money"].widget.attrs["placeholder"] = f"{short:f}"


def like_strip(found: Proposal, user: User) -> list[Outcome]:
    """Finished work of the same kind as a strip chart."""
    return [
        Outcome(
            run.proposal.title,
            run.p10,
            run.p90,
            run.outcome,
            _("inside") if run.is_inside else (_("above the range") if run.outcome > run.p90 else _("below the range")),
        )
        for run in like_runs(found, Proposal.objects.visible_to(user))
    ]


def last_decision(found: Proposal) -> Decision | None:
    """What was decided last about any version, with its comments."""
    return (
        Decision.objects.filter(step__version__proposal=found)
        .select_related("by")
        .prefetch_related("comments")
        .order_by("-at", "-id")
        .first()
    )


def what_may(user: User, found: Proposal, versions: Sequence[ProposalVersion]) -> dict[str, bool]:
    """Which doors the page offers to this person."""
    writes = permissions.may_write_plans(user, found.project.team)
    waits = any(version.state == ProposalVersion.State.SUBMITTED for version in versions)
    is_draft = versions[0].state == ProposalVersion.State.DRAFT
    approved = found.state in (Proposal.State.APPROVED, Proposal.State.PARTLY_APPROVED)
    return {
        "may_edit": writes and not waits and found.state in WRITABLE,
        "may_submit": writes and is_draft and found.state in WRITABLE,
        "may_withdraw": writes
        and (waits or is_draft or found.state == Proposal.State.CHANGES_REQUESTED)
        and found.state not in (Proposal.State.WITHDRAWN, Proposal.State.CLOSED, Proposal.State.REJECTED),
        "may_close": approved
        and not waits
        and (user == found.requester or permissions.may_fund(user, found.project.team)),
        "may_clone": writes,
        "may_make_asset": found.state == Proposal.State.CLOSED
        and permissions.may_transfer(user, found.project.team)
        and not found.assets.exists(),
        "is_approved": approved,
        "is_own": user.pk in {found.requester_id, versions[0].submitted_by_id},
    }


# ---- the answer


@login_required
@require_POST
def decide(request: PersonRequest, number: int) -> HttpResponse:
    """Approve the whole or a part, ask for changes, or reject the step that the page showed."""
    found = visible_proposal(request, number)
    step = get_object_or_404(
        ApprovalStep.objects.select_related("version__estimate"),
        pk=request.POST.get("step") or 0,
        version__proposal=found,
    )
    outcome = request.POST.get("outcome", "")
    form = DecisionForm(request.POST, asked=asked_of(step.version))
    if outcome != "part":
        for name in [name for name in form.fields if name != "reason"]:
            form.fields[name].required = False
    if not form.is_valid():
        return proposal_page(request, found, form, outcome)
    try:
        decided(request, step, outcome, form)
    except DomainError as refused:
        put_refusal(form, refused)
        return proposal_page(request, found, form, outcome)
    messages.success(request, said_of(found, step))
    return redirect("proposal", number)


def decided(request: PersonRequest, step: ApprovalStep, outcome: str, form: DecisionForm) -> None:
    reason = form.cleaned_data["reason"]
    if outcome == "approve":
        approval.approve_proposal(step, by=request.user, reason=reason)
    elif outcome == "part":
        approval.approve_proposal(step, by=request.user, lines=form.decisions(), reason=reason)
    elif outcome == "changes":
        comments = comments_by_input(request.POST.getlist("comment_path"), request.POST.getlist("comment_text"))
        approval.request_changes(step, by=request.user, reason=reason, comments=comments)
    elif outcome == "reject":
        approval.reject_proposal(step, by=request.user, reason=reason)
    else:
        raise DomainError(_("Choose what to answer: approve, a part, changes, or reject."))


def comments_by_input(paths: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """What is said of each input; two comments on one stand together."""
    found: dict[str, str] = {}
    for path, text in zip(paths, texts, strict=False):
        if path and text.strip():
            found[path] = f"{found[path]} {text.strip()}" if path in found else text.strip()
    return found


def put_refusal(form: DecisionForm, refused: DomainError) -> None:
    """The refusal beside the amounts it is about, and above the form."""
    form.add_error(None, refused.message)
    for fault in refused.faults:
        name = fault.path.replace(".", "_")
        if name in form.fields:
            form.add_error(name, f"{fault.message} ({fault.accepted})" if fault.accepted else fault.message)


def said_of(found: Proposal, step: ApprovalStep) -> str:
    found.refresh_from_db()
    following = approvers.current_steps().filter(version=step.version_id).first()
    if following is not None:
        return _("Approved. Next it waits for: %(role)s.") % {"role": following.get_role_display()}
    return _("Decided: %(state)s. Those who asked have been told.") % {"state": found.get_state_display()}
