"""Allocation rules over the API: written, ordered, retired, tried out and applied to what is stored."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.once import KEY, once
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.money import exact_text
from overruns import tasks
from teams import permissions
from teams.models import Project
from usage import overview, rules
from usage.models import AllocationRule, AllocationShare, Source
from usage.pipeline.placement import FIELDS, OPERATORS

PERMISSIONS = [*APIView.permission_classes, HasScope]
Shares = list[tuple[Project, Decimal]]


class ConditionSerializer(serializers.Serializer):
    """One thing that must hold: `{"field": "account", "operator": "equals", "values": ["4711"]}`."""

    field = serializers.ChoiceField(list(FIELDS))
    tag = serializers.CharField(max_length=200, required=False, allow_blank=True)
    operator = serializers.ChoiceField(list(OPERATORS))
    values = serializers.ListField(child=serializers.CharField(max_length=500), required=False, max_length=1000)


class ShareSerializer(serializers.ModelSerializer):
    """One project of a split, with its weight; where usage weighs, any weight serves."""

    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    weight = AmountField(max_digits=28, decimal_places=8, required=False, default=Decimal(1))

    class Meta:
        model = AllocationShare
        fields = ["project", "weight"]


class RuleSerializer(serializers.ModelSerializer):
    conditions = ConditionSerializer(many=True, required=False, default=list)
    shares = ShareSerializer(many=True, required=False)
    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all(), required=False, allow_null=True)
    source = serializers.SlugRelatedField("slug", queryset=Source.objects.all(), required=False, allow_null=True)  # type: ignore[assignment]

    class Meta:
        model = AllocationRule
        fields = [
            "id", "position", "name", "source", "conditions", "starts_on", "ends_on", "project", "is_shared",
            "split", "shares",
            "category", "task_type", "stage", "experiment", "reference", "reason",
        ]  # fmt: skip
        extra_kwargs = {"position": {"required": False}}


class PlacedRuleSerializer(RuleSerializer):
    placed = serializers.IntegerField(help_text="Combinations of keys that it places now.")

    class Meta(RuleSerializer.Meta):
        fields = [*RuleSerializer.Meta.fields, "placed"]


class ShiftSerializer(serializers.Serializer):
    """What one place would win (+) or lose (−), in effective cost. Neither project nor shared: unallocated."""

    project = serializers.CharField(allow_null=True)
    is_shared = serializers.BooleanField()
    currency = serializers.CharField()
    amount = serializers.CharField()


class Move(serializers.Serializer):
    earlier = serializers.BooleanField()


class PreviewSerializer(serializers.Serializer):
    key_sets = serializers.IntegerField()
    shifts = ShiftSerializer(many=True)


APPLIED = inline_serializer("Applied", {"key_sets": serializers.IntegerField()})


def preview_answer(preview: rules.Preview) -> dict[str, Any]:
    """What would move, as `PreviewSerializer` describes it."""
    return {
        "key_sets": preview.key_sets,
        "shifts": [
            {
                "project": shift.project.slug if shift.project else None,
                "is_shared": shift.is_shared,
                "currency": shift.currency,
                "amount": exact_text(shift.amount),
            }
            for shift in preview.shifts
        ],
    }


def may_look(request: SignedInRequest) -> None:
    if not permissions.may_see_all_usage(request.user):
        raise PermissionDenied


def may_allocate(request: SignedInRequest) -> None:
    """Before the body is read: its refusals would tell which projects there are."""
    if not permissions.may_allocate(request.user):
        raise PermissionDenied


def drafted(request: SignedInRequest, rule: AllocationRule) -> tuple[AllocationRule, Shares]:
    """The rule as the body says, not saved, and its shares."""
    form = RuleSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    given = dict(form.validated_data)
    shares = [(share["project"], share["weight"]) for share in given.pop("shares", [])]
    for name, value in given.items():
        setattr(rule, name, value)
    return rule, shares


class RulesView(APIView):
    """Allocation rules in order. Writing one moves nothing that is stored; applying them does."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="rules_list", responses=PlacedRuleSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        may_look(request)
        return Response(PlacedRuleSerializer(overview.rules_with_counts(), many=True).data)

    @extend_schema(
        operation_id="rules_create", request=RuleSerializer, responses={201: RuleSerializer}, parameters=[KEY]
    )
    @once
    def post(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        rule, shares = drafted(request, AllocationRule(position=0))
        return Response(RuleSerializer(rules.save_rule(rule, by=request.user, shares=shares)).data, status=201)


def active_rule(rule_id: int) -> AllocationRule:
    return get_object_or_404(AllocationRule, pk=rule_id, active=True)


class RuleView(APIView):
    """Write a rule anew, as a whole."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="rules_change", request=RuleSerializer, responses=RuleSerializer)
    def put(self, request: SignedInRequest, rule_id: int) -> Response:
        may_allocate(request)
        kept = active_rule(rule_id)
        rule, shares = drafted(request, AllocationRule(pk=kept.pk, position=kept.position))
        return Response(RuleSerializer(rules.save_rule(rule, by=request.user, shares=shares)).data)


class RuleMoveView(APIView):
    """Exchange a rule's place with its neighbour's: the first that matches wins."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="rules_move", request=Move, responses=RuleSerializer)
    def post(self, request: SignedInRequest, rule_id: int) -> Response:
        may_allocate(request)
        form = Move(data=request.data)
        form.is_valid(raise_exception=True)
        rules.move_rule(active_rule(rule_id), by=request.user, earlier=form.validated_data["earlier"])
        return Response(RuleSerializer(active_rule(rule_id)).data)


class RuleRetireView(APIView):
    """Take a rule out of force. What it placed stays until the rules are applied."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="rules_retire", request=None, responses={204: None})
    def post(self, request: SignedInRequest, rule_id: int) -> Response:
        may_allocate(request)
        rules.retire_rule(active_rule(rule_id), by=request.user)
        return Response(status=204)


class RulePreviewView(APIView):
    """What would move on open days if the rules were applied now."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="rules_pending", responses=PreviewSerializer)
    def get(self, request: SignedInRequest) -> Response:
        may_look(request)
        return Response(preview_answer(rules.preview()))

    @extend_schema(
        operation_id="rules_preview",
        description="The same with a rule among them that is not written yet; nothing is kept.",
        request=RuleSerializer,
        responses=PreviewSerializer,
    )
    def post(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        rule, shares = drafted(request, AllocationRule(position=0))
        rules.check_rule(rule, shares)
        return Response(preview_answer(rules.preview(rule, shares)))


class ApplyRulesView(APIView):
    """Place what is stored by the rules as they are now."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="rules_apply", request=None, responses=APPLIED)
    def post(self, request: SignedInRequest) -> Response:
        moved = rules.apply_rules(by=request.user)
        tasks.judge_soon()
        return Response({"key_sets": moved})


urlpatterns = [
    path("rules/", RulesView.as_view(), name="api-rules"),
    path("rules/preview/", RulePreviewView.as_view(), name="api-rules-preview"),
    path("rules/apply/", ApplyRulesView.as_view(), name="api-rules-apply"),
    path("rules/<int:rule_id>/", RuleView.as_view(), name="api-rule"),
    path("rules/<int:rule_id>/move/", RuleMoveView.as_view(), name="api-rule-move"),
    path("rules/<int:rule_id>/retire/", RuleRetireView.as_view(), name="api-rule-retire"),
]
