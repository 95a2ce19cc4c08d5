"""Estimates over the API: a preview that keeps nothing, and the drafts and frozen estimates one may see."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.views import APIView

from api.pages import page_before
from api.plan_schema import PLAN, PlanField
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.errors import DomainError
from estimates import queries, services
from estimates.engine.plan import PlanRefused, parse_plan
from estimates.models import Estimate
from estimates.wording import fault_in_language
from teams.models import Organisation, Project

PAGE = 50


class PlanParser(BaseParser):
    """Hands the plan on as it was sent: YAML or JSON is told by its own parser, which sees every digit and key."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream.read()


class PreviewQuery(serializers.Serializer):
    prices_on = serializers.DateField(required=False)
    samples = serializers.IntegerField(required=False, min_value=1, max_value=queries.MOST_SAMPLES)
    project = serializers.SlugField(required=False, help_text=_("Whose team's past runs count."))


class EstimateSerializer(serializers.ModelSerializer):
    project: serializers.SlugRelatedField[Project] = serializers.SlugRelatedField("slug", read_only=True)

    class Meta:
        model = Estimate
        fields = [
            "id",
            "name",
            "project",
            "state",
            "currency",
            "prices_on",
            "samples",
            "total_mean",
            "total_p10",
            "total_p50",
            "total_p90",
            "ask_total",
            "stale_since",
            "computed_at",
        ]


class EstimateDetailSerializer(EstimateSerializer):
    class Meta(EstimateSerializer.Meta):
        fields = [*EstimateSerializer.Meta.fields, "plan", "answer"]


class NewEstimate(serializers.Serializer):
    project = serializers.SlugField(required=False, allow_null=True)
    plan = PlanField(help_text=_("The plan document, or its YAML as text."))


class EstimatePage(serializers.Serializer):
    results = EstimateSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


def today() -> date:
    return Organisation.current().today(timezone.now())


class EstimatePreviewView(APIView):
    """Estimate a plan without keeping anything. A refused plan answers 422 with every fault."""

    permission_classes = [*APIView.permission_classes, HasScope]
    parser_classes = [PlanParser]
    scope = "plans"

    @extend_schema(
        request={"application/json": PLAN, "application/yaml": PLAN},
        responses={200: OpenApiTypes.OBJECT, 422: OpenApiTypes.OBJECT},
        parameters=[PreviewQuery],
    )
    def post(self, request: SignedInRequest) -> Response:
        asked = PreviewQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        slug = asked.validated_data.get("project")
        project = get_object_or_404(Project.objects.visible_to(request.user), slug=slug) if slug else None
        body = request.data if isinstance(request.data, bytes) else b""
        try:
            plan = parse_plan(body)
            on, now = asked.validated_data.get("prices_on"), today()
            answer = queries.answer_for(
                plan,
                prices_on=on or now,
                samples=asked.validated_data.get("samples"),
                seen_from=on if on and on < now else None,
                team=project.team_id if project else None,
            )
        except PlanRefused as refused:
            raise said(refused) from None
        return Response(answer)


def said(refused: PlanRefused) -> DomainError:
    """The refusal with its faults in the language of the request."""
    return DomainError(
        refused.message, code="plan_refused", faults=[fault_in_language(fault) for fault in refused.faults]
    )


class EstimatesView(APIView):
    """The estimates one may see, newest first; and a new draft."""

    permission_classes = [*APIView.permission_classes, HasScope]

    @property
    def scope(self) -> str:
        return "plans" if self.request.method == "POST" else "read"

    @extend_schema(
        operation_id="estimates_list",
        responses=EstimatePage,
        parameters=[OpenApiParameter("before", int), OpenApiParameter("project", str), OpenApiParameter("state", str)],
    )
    def get(self, request: SignedInRequest) -> Response:
        found = Estimate.objects.visible_to(request.user).select_related("project").defer("plan", "priced", "lasting")
        if project := request.query_params.get("project"):
            found = found.filter(project__slug=project)
        if state := request.query_params.get("state"):
            found = found.filter(state=state)
        page, following = page_before(found, request, PAGE)
        return Response({"results": EstimateSerializer(page, many=True).data, "next": following})

    @extend_schema(request=NewEstimate, responses={201: EstimateDetailSerializer, 422: OpenApiTypes.OBJECT})
    def post(self, request: SignedInRequest) -> Response:
        form = NewEstimate(data=request.data)
        form.is_valid(raise_exception=True)
        slug = form.validated_data.get("project")
        project = get_object_or_404(Project.objects.visible_to(request.user), slug=slug) if slug else None
        try:
            made = services.create_estimate(by=request.user, project=project, plan=form.validated_data["plan"])
        except PlanRefused as refused:
            raise said(refused) from None
        return Response(EstimateDetailSerializer(made).data, status=201)


class EstimateView(APIView):
    """One estimate with its plan and the whole answer."""

    permission_classes = [*APIView.permission_classes, HasScope]
    scope = "read"

    @extend_schema(responses=EstimateDetailSerializer)
    def get(self, request: SignedInRequest, pk: int) -> Response:
        visible = Estimate.objects.visible_to(request.user).select_related("project")
        return Response(EstimateDetailSerializer(get_object_or_404(visible, pk=pk)).data)


urlpatterns = [
    path("estimates/preview/", EstimatePreviewView.as_view(), name="api-estimate-preview"),
    path("estimates/", EstimatesView.as_view(), name="api-estimates"),
    path("estimates/<int:pk>/", EstimateView.as_view(), name="api-estimate"),
]
