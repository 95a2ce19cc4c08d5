"""Sums of usage over the API: totals, what goes out as FOCUS, whether the parts add up."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from api.times import KnownQuery
from api.usage_answers import totals_answer
from core.money import exact_text
from core.vocabulary import Basis
from teams import permissions
from teams.models import Project
from usage import focus_export, queries
from usage.totals import DIMENSIONS, Question, default_zone

PERMISSIONS = [*APIView.permission_classes, HasScope]


class TotalsQuery(KnownQuery):
    source = serializers.SlugField(required=False, default="")  # type: ignore[assignment]
    project = serializers.SlugField(required=False, default="")
    by = serializers.CharField(required=False, default="", help_text=", ".join(DIMENSIONS))
    basis = serializers.ChoiceField([str(basis) for basis in Basis], required=False, default=str(Basis.BILLED))
    timezone = serializers.CharField(required=False, default="")

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is no name of Python's."""
        days = {name: serializers.DateField(required=False, allow_null=True, default=None) for name in ("from", "to")}
        return {**super().get_fields(), **days}

    def validate_timezone(self, value: str) -> str:
        if value and value not in available_timezones():
            raise serializers.ValidationError(_("is no time zone such as Asia/Shanghai"))
        return value


class TotalsAnswer(serializers.Serializer):
    totals = serializers.DictField()
    rows = serializers.IntegerField()
    accelerator_hours = serializers.CharField()
    quantities = serializers.ListField(child=serializers.DictField())
    groups = serializers.ListField(child=serializers.DictField())


class TotalsView(APIView):
    """Sums of usage, as `manage.py usage_total --json` prints them. Who has no role in the whole names a project."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="usage_totals", parameters=[TotalsQuery], responses=TotalsAnswer)
    def get(self, request: SignedInRequest) -> Response:
        form = TotalsQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        if asked["project"]:
            get_object_or_404(Project.objects.visible_to(request.user), slug=asked["project"])
        elif not permissions.may_see_all_usage(request.user):
            raise PermissionDenied(_("Name a project of yours."))
        question = Question(
            source=asked["source"],
            project=asked["project"],
            start=asked["from"],
            end=asked["to"],
            zone=asked["timezone"] or default_zone(asked["source"]),
            by=[name.strip() for name in asked["by"].split(",") if name.strip()],
            basis=asked["basis"],
            known_at=asked["known_at"],
        )
        return Response(totals_answer(question))


class ExportQuery(KnownQuery):
    team = serializers.SlugField(required=False, default="")

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is no name of Python's."""
        return {**super().get_fields(), "from": serializers.DateField(), "to": serializers.DateField()}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["to"] <= attrs["from"]:
            raise serializers.ValidationError({"to": _("must be after the first day")})
        return attrs


class FocusView(APIView):
    """Our attributed cost of half-open days as FOCUS 1.2 CSV, in a stream: everything one may see, or one team's."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="usage_focus",
        parameters=[ExportQuery],
        responses={(200, "text/csv"): OpenApiTypes.BINARY},
    )
    def get(self, request: SignedInRequest) -> StreamingHttpResponse:
        form = ExportQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        projects: list[int] | None = focus_export.projects_of(request.user, asked["team"])
        if asked["team"] and not projects:
            raise NotFound
        if not asked["team"] and permissions.may_see_all_usage(request.user):
            projects = None
        lines = focus_export.lines(focus_export.Slice(asked["from"], asked["to"], projects, asked["known_at"]))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class ConservationQuery(KnownQuery):
    basis = serializers.ChoiceField([str(basis) for basis in Basis], required=False, default=str(Basis.BILLED))


class ConservedSerializer(serializers.Serializer):
    currency = serializers.CharField()
    projects = serializers.CharField()
    shared = serializers.CharField()
    unallocated = serializers.CharField()
    sources = serializers.CharField()
    holds = serializers.BooleanField()


class ConservationView(APIView):
    """Projects, shared and unallocated cost against the sources, by currency."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="usage_conservation", parameters=[ConservationQuery], responses=ConservedSerializer(many=True)
    )
    def get(self, request: SignedInRequest) -> Response:
        if not permissions.may_see_all_usage(request.user):
            raise PermissionDenied
        form = ConservationQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        return Response(
            [
                {
                    "currency": found.currency,
                    "projects": exact_text(found.projects),
                    "shared": exact_text(found.shared),
                    "unallocated": exact_text(found.unallocated),
                    "sources": exact_text(found.sources),
                    "holds": found.holds,
                }
                for found in queries.conservation(**form.validated_data)
            ]
        )


urlpatterns = [
    path("usage/totals/", TotalsView.as_view(), name="api-usage-totals"),
    path("usage/focus.csv", FocusView.as_view(), name="api-usage-focus"),
    path("usage/conservation/", ConservationView.as_view(), name="api-conservation"),
]
