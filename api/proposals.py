"""Proposals over the API: write, submit, decide."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.pages import page_before
from api.plan_schema import PlanField
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets import approvers
from budgets.funding import LineDecision, asked_by_category
from budgets.models import ApprovalStep, Proposal, ProposalVersion
from budgets.models.fields import LINE_CHOICES
from budgets.queries import proposals_waiting_for
from budgets.services import approval
from budgets.services import proposals as services
from core.errors import DomainError
from core.money import exact_text
from estimates.engine.plan import PlanRefused
from estimates.wording import fault_in_language
from teams.models import Project

PAGE = 50


class AskSerializer(serializers.Serializer):
    category = serializers.CharField()
    amount = serializers.CharField(help_text=_("Exact decimal."))


class StepSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    role = serializers.CharField()
    state = serializers.CharField()
    decided_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class ProposalSerializer(serializers.Serializer):
    """A proposal with its newest version; `ask` is there once it was submitted."""

    number = serializers.IntegerField()
    reference = serializers.CharField()
    title = serializers.CharField()
    project = serializers.CharField()
    requester = serializers.CharField()
    task_type = serializers.CharField()
    state = serializers.CharField()
    version = serializers.IntegerField()
    version_state = serializers.CharField()
    currency = serializers.CharField()
    estimate = serializers.IntegerField()
    ask_level = serializers.CharField()
    ask_total = serializers.CharField(allow_null=True)
    ask = AskSerializer(many=True)
    steps = StepSerializer(many=True)


class ProposalPage(serializers.Serializer):
    results = ProposalSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


class NewProposal(serializers.Serializer):
    project = serializers.SlugField()
    plan = PlanField(help_text=_("The plan document, or its YAML as text."))
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=160)
    ask_level = serializers.ChoiceField(ProposalVersion.AskLevel.choices, default="mean")
    note = serializers.CharField(required=False, default="", allow_blank=True)
    submit = serializers.BooleanField(default=False, help_text=_("Submit it at once."))


class ChangedProposal(serializers.Serializer):
    plan = PlanField()
    title = serializers.CharField(required=False, max_length=160)
    ask_level = serializers.ChoiceField(ProposalVersion.AskLevel.choices, required=False)
    note = serializers.CharField(required=False, allow_blank=True)


class DecisionLineSerializer(serializers.Serializer):
    category = serializers.ChoiceField(LINE_CHOICES)
    amount = AmountField(min_value=Decimal(0))
    new_money = AmountField(min_value=Decimal(0), required=False, allow_null=True, default=None)
    reason = serializers.CharField(required=False, default="", allow_blank=True)


class DecisionRequest(serializers.Serializer):
    """What to do with the step whose turn it is. Without lines the whole ask is approved."""

    outcome = serializers.ChoiceField(["approve", "reject", "request_changes"])
    reason = serializers.CharField(required=False, default="", allow_blank=True)
    lines = DecisionLineSerializer(many=True, required=False)
    comments = serializers.DictField(child=serializers.CharField(), required=False, default=dict)


class ReasonRequest(serializers.Serializer):
    reason = serializers.CharField(required=False, default="", allow_blank=True)


def answer_of(proposal: Proposal) -> dict[str, Any]:
    """A proposal as the API says it."""
    version = proposal.versions.order_by("-number")[0]
    asked = {category: sum(months.values(), Decimal(0)) for category, months in asked_by_category(version).items()}
    return {
        "number": proposal.pk,
        "reference": proposal.reference,
        "title": proposal.title,
        "project": proposal.project.slug,
        "requester": proposal.requester.email,
        "task_type": proposal.task_type,
        "state": proposal.state,
        "version": version.number,
        "version_state": version.state,
        "currency": version.currency,
        "estimate": version.estimate_id,
        "ask_level": version.ask_level,
        "ask_total": exact_text(version.ask_total) if version.ask_total is not None else None,
        "ask": [{"category": category, "amount": exact_text(amount)} for category, amount in asked.items()],
        "steps": [step_answer(step) for step in version.steps.select_related("decision__by")],
    }


def step_answer(step: ApprovalStep) -> dict[str, Any]:
    decision = getattr(step, "decision", None)
    return {
        "number": step.number,
        "role": step.role,
        "state": step.state,
        "decided_by": decision.by.email if decision and decision.by else None,
        "reason": decision.reason if decision else None,
    }


PERMISSIONS = [*APIView.permission_classes, HasScope]


def visible(request: SignedInRequest, number: int) -> Proposal:
    """The proposal, if this person may see it; else it does not exist."""
    found = Proposal.objects.visible_to(request.user).select_related("project__team", "requester")
    return get_object_or_404(found, pk=number)


def refused_plan(refused: PlanRefused) -> DomainError:
    """The faults of a plan in the language of the request."""
    return DomainError(
        refused.message, code="plan_refused", faults=[fault_in_language(fault) for fault in refused.faults]
    )


class ProposalsView(APIView):
    """Proposals one may see, newest first, or only those that wait for oneself; or write a new one."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "plans" if self.request.method == "POST" else "read"

    @extend_schema(
        operation_id="proposals_list",
        responses=ProposalPage,
        parameters=[
            OpenApiParameter("before", int),
            OpenApiParameter("project", str),
            OpenApiParameter("state", str),
            OpenApiParameter("waiting", bool, description="Only those that wait for my decision."),
        ],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Proposal.objects.visible_to(request.user)
        if asked.get("waiting") in ("true", "1"):
            found = found.filter(pk__in=proposals_waiting_for(request.user).values("pk"))
        if asked.get("project"):
            found = found.filter(project__slug=asked["project"])
        if asked.get("state"):
            found = found.filter(state=asked["state"])
        page, following = page_before(found.select_related("project", "requester"), request, PAGE)
        return Response({"results": [answer_of(each) for each in page], "next": following})

    @extend_schema(operation_id="proposals_create", request=NewProposal, responses={201: ProposalSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = NewProposal(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        project = get_object_or_404(Project.objects.visible_to(request.user), slug=asked.pop("project"))
        submits = asked.pop("submit")
        try:
            made = services.create_proposal(by=request.user, project=project, **asked)
        except PlanRefused as refused:
            raise refused_plan(refused) from None
        if submits:
            services.submit_proposal(made, by=request.user)
        return Response(answer_of(visible(request, made.pk)), status=201)


class ProposalView(APIView):
    """One proposal; its plan can be replaced while it is a draft, was sent back, or is approved (an amendment)."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "plans" if self.request.method == "PUT" else "read"

    @extend_schema(operation_id="proposals_read", responses=ProposalSerializer)
    def get(self, request: SignedInRequest, number: int) -> Response:
        return Response(answer_of(visible(request, number)))

    @extend_schema(operation_id="proposals_change", request=ChangedProposal, responses=ProposalSerializer)
    def put(self, request: SignedInRequest, number: int) -> Response:
        found = visible(request, number)
        form = ChangedProposal(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            services.save_plan(found, by=request.user, **form.validated_data)
        except PlanRefused as refused:
            raise refused_plan(refused) from None
        return Response(answer_of(visible(request, number)))


class SubmitView(APIView):
    """Ask for the money: freezes the estimate and lays out the steps of the amount matrix."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="proposals_submit", request=None, responses=ProposalSerializer)
    def post(self, request: SignedInRequest, number: int) -> Response:
        services.submit_proposal(visible(request, number), by=request.user)
        return Response(answer_of(visible(request, number)))


class DecideView(APIView):
    """Answer the step whose turn it is: approve all or part, reject, or ask for changes."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="proposals_decide", request=DecisionRequest, responses=ProposalSerializer)
    def post(self, request: SignedInRequest, number: int) -> Response:
        found = visible(request, number)
        form = DecisionRequest(data=request.data)
        form.is_valid(raise_exception=True)
        decide(current_step(found), form.validated_data, request)
        return Response(answer_of(visible(request, number)))


def current_step(proposal: Proposal) -> ApprovalStep:
    step = approvers.current_steps().filter(version__proposal=proposal).first()
    if step is None:
        raise DomainError(
            _("%(proposal)s waits for no decision.") % {"proposal": proposal.reference}, code="wrong_state"
        )
    return step


def decide(step: ApprovalStep, asked: dict[str, Any], request: SignedInRequest) -> None:
    if asked["outcome"] == "reject":
        approval.reject_proposal(step, by=request.user, reason=asked["reason"])
    elif asked["outcome"] == "request_changes":
        approval.request_changes(step, by=request.user, reason=asked["reason"], comments=asked["comments"])
    else:
        lines = [LineDecision(**line) for line in asked["lines"]] if "lines" in asked else None
        approval.approve_proposal(step, by=request.user, lines=lines, reason=asked["reason"])


class WithdrawView(APIView):
    """Take back what is not decided yet."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="proposals_withdraw", request=ReasonRequest, responses=ProposalSerializer)
    def post(self, request: SignedInRequest, number: int) -> Response:
        form = ReasonRequest(data=request.data)
        form.is_valid(raise_exception=True)
        services.withdraw_proposal(visible(request, number), by=request.user, **form.validated_data)
        return Response(answer_of(visible(request, number)))


class CloseView(APIView):
    """The work is done: release what the proposal still holds."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="proposals_close", request=ReasonRequest, responses=ProposalSerializer)
    def post(self, request: SignedInRequest, number: int) -> Response:
        form = ReasonRequest(data=request.data)
        form.is_valid(raise_exception=True)
        services.close_proposal(visible(request, number), by=request.user, **form.validated_data)
        return Response(answer_of(visible(request, number)))


urlpatterns = [
    path("proposals/", ProposalsView.as_view(), name="api-proposals"),
    path("proposals/<int:number>/", ProposalView.as_view(), name="api-proposal"),
    path("proposals/<int:number>/submit/", SubmitView.as_view(), name="api-proposal-submit"),
    path("proposals/<int:number>/decide/", DecideView.as_view(), name="api-proposal-decide"),
    path("proposals/<int:number>/withdraw/", WithdrawView.as_view(), name="api-proposal-withdraw"),
    path("proposals/<int:number>/close/", CloseView.as_view(), name="api-proposal-close"),
]
