"""Allocation rules over the API."""

from __future__ import annotations

from decimal import Decimal

from django.urls import path
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.requests import SignedInRequest
from api.scopes import HasScope
from overruns import tasks
from teams import permissions
from teams.models import Project
from usage import rules
from usage.models import AllocationRule, AllocationShare, Source

PERMISSIONS = [*APIView.permission_classes, HasScope]


class ShareSerializer(serializers.ModelSerializer):
    """One project of a split, with its weight; where usage weighs, any weight serves."""

    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    weight = AmountField(max_digits=28, decimal_places=8, required=False, default=Decimal(1))

    class Meta:
        model = AllocationShare
        fields = ["project", "weight"]


class RuleSerializer(serializers.ModelSerializer):
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


class RulesView(APIView):
    """Allocation rules in order. Writing one moves nothing that is stored; applying them does."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="rules_list", responses=RuleSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        if not permissions.may_see_all_usage(request.user):
            raise PermissionDenied
        return Response(RuleSerializer(rules.rules_in_order(), many=True).data)

    @extend_schema(operation_id="rules_create", request=RuleSerializer, responses={201: RuleSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = RuleSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        shares = [(share["project"], share["weight"]) for share in given.pop("shares", [])]
        rule = rules.add_rule(by=request.user, shares=shares, **given)
        return Response(RuleSerializer(rule).data, status=201)


class ApplyRulesView(APIView):
    """Place what is stored by the rules as they are now."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="rules_apply",
        request=None,
        responses=inline_serializer("Applied", {"key_sets": serializers.IntegerField()}),
    )
    def post(self, request: SignedInRequest) -> Response:
        moved = rules.apply_rules(by=request.user)
        tasks.judge_soon()
        return Response({"key_sets": moved})


urlpatterns = [
    path("rules/", RulesView.as_view(), name="api-rules"),
    path("rules/apply/", ApplyRulesView.as_view(), name="api-rules-apply"),
]
