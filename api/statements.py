"""Statements of teams over the API: what a team's projects cost in a month, as JSON and as CSV."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.closing import month_named
from api.requests import SignedInRequest
from api.scopes import HasScope
from api.times import KnownQuery, MonthField
from core.money import exact_text
from core.months import Month
from core.vocabulary import Basis
from teams.models import Organisation, Project, Team
from usage import statements
from usage.statements import Statement

PERMISSIONS = [*APIView.permission_classes, HasScope]


class TeamMonths(serializers.Serializer):
    team = serializers.CharField()
    months = serializers.ListField(child=MonthField())


class StatementQuery(KnownQuery):
    basis = serializers.ChoiceField([str(basis) for basis in Basis], required=False, default=str(Basis.EFFECTIVE))


class StatementLineSerializer(serializers.Serializer):
    cost_centre = serializers.CharField(allow_null=True)
    project = serializers.CharField()
    category = serializers.CharField()
    currency = serializers.CharField()
    own = serializers.CharField()
    share_of_shared = serializers.CharField(help_text=_("What rules that split gave it."))
    total = serializers.CharField()
    rate = serializers.CharField(allow_null=True, help_text=_("null: no rate of the month is stored."))
    total_reported = serializers.CharField(allow_null=True)
    month_before = serializers.CharField()


class StatementRestated(serializers.Serializer):
    month = MonthField()
    project = serializers.CharField(allow_null=True)
    currency = serializers.CharField()
    old = serializers.CharField()
    new = serializers.CharField()
    delta = serializers.CharField()


class StatementSum(serializers.Serializer):
    currency = serializers.CharField()
    own = serializers.CharField()
    share_of_shared = serializers.CharField()
    total = serializers.CharField()
    month_before = serializers.CharField()
    restated = serializers.CharField()


class StatementSerializer(serializers.Serializer):
    """A closed month is told as it was known at closing; what came later stands apart, in `restated`."""

    team = serializers.CharField()
    month = MonthField()
    basis = serializers.CharField()
    closed_at = serializers.DateTimeField(allow_null=True)
    known_at = serializers.DateTimeField(allow_null=True)
    reporting_currency = serializers.CharField()
    total_reported = serializers.CharField(allow_null=True)
    rates_missing = serializers.ListField(child=serializers.CharField())
    sums = StatementSum(many=True)
    lines = StatementLineSerializer(many=True)
    restated = StatementRestated(many=True)


def statement_answer(found: Statement) -> dict[str, Any]:
    return {
        "team": found.team.slug,
        "month": str(found.month),
        "basis": found.basis,
        "closed_at": found.closed.closed_at if found.closed else None,
        "known_at": found.known_at,
        "reporting_currency": found.currency,
        "total_reported": None if found.reported is None else exact_text(found.reported),
        "rates_missing": found.rates_missing,
        "sums": [
            {
                "currency": each.currency,
                "own": exact_text(each.own),
                "share_of_shared": exact_text(each.shared),
                "total": exact_text(each.total),
                "month_before": exact_text(each.before),
                "restated": exact_text(each.restated),
            }
            for each in found.sums
        ],
        "lines": [line_answer(line) for line in found.lines],
        "restated": [
            {
                "month": str(Month.of(row.month)),
                "project": row.project.slug if row.project else None,
                "currency": row.currency,
                "old": exact_text(row.old),
                "new": exact_text(row.new),
                "delta": exact_text(row.delta),
            }
            for row in found.restated
        ],
    }


def line_answer(line: statements.StatementLine) -> dict[str, Any]:
    return {
        "cost_centre": line.project.cost_centre.code if line.project.cost_centre else None,
        "project": line.project.slug,
        "category": line.category,
        "currency": line.currency,
        "own": exact_text(line.own),
        "share_of_shared": exact_text(line.shared),
        "total": exact_text(line.total),
        "rate": None if line.rate is None else exact_text(line.rate),
        "total_reported": None if line.reported is None else exact_text(line.reported),
        "month_before": exact_text(line.before),
    }


def teams_of(request: SignedInRequest) -> QuerySet[Team]:
    """Teams of which somebody sees a project."""
    return Team.objects.filter(projects__in=Project.objects.visible_to(request.user)).distinct()


def asked_statement(request: SignedInRequest, slug: str, month: str) -> Statement:
    form = StatementQuery(data=request.query_params)
    form.is_valid(raise_exception=True)
    team = get_object_or_404(teams_of(request), slug=slug)
    today = Organisation.current().today(timezone.now())
    return statements.statement(team, month_named(month), this_month=Month.of(today), **form.validated_data)


class StatementsView(APIView):
    """The teams of which one sees a project, and the months in which they cost something."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="statements_list", responses=TeamMonths(many=True))
    def get(self, request: SignedInRequest) -> Response:
        found = statements.months_with_cost(teams_of(request).order_by("slug"))
        return Response(
            [{"team": team.slug, "months": [str(Month.of(month)) for month in months]} for team, months in found]
        )


class StatementView(APIView):
    """What a team's projects cost in a month, by project and category."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="statements_read", parameters=[StatementQuery], responses=StatementSerializer)
    def get(self, request: SignedInRequest, slug: str, month: str) -> Response:
        return Response(statement_answer(asked_statement(request, slug, month)))


class StatementFileView(APIView):
    """The same as CSV, with cost centres."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="statements_csv", parameters=[StatementQuery], responses={(200, "text/csv"): OpenApiTypes.BINARY}
    )
    def get(self, request: SignedInRequest, slug: str, month: str) -> StreamingHttpResponse:
        lines = statements.csv_lines(asked_statement(request, slug, month))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


urlpatterns = [
    path("statements/", StatementsView.as_view(), name="api-statements"),
    path("statements/<slug:slug>/<str:month>/", StatementView.as_view(), name="api-statement"),
    path("statements/<slug:slug>/<str:month>.csv", StatementFileView.as_view(), name="api-statement-csv"),
]
