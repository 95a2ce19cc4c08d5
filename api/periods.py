"""The months of a source over the API: their states, what is live in each, and who moves them."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import ReasonSerializer, SignedInRequest, reason_of
from api.scopes import HasScope
from api.times import MonthField
from core.money import exact_text
from core.months import Month
from usage import periods, silence
from usage.models import Scope, Source

PERMISSIONS = [*APIView.permission_classes, HasScope]


class SourcePeriodSerializer(serializers.ModelSerializer):
    """What one statement replaces as a whole: an account's bill of a month."""

    state_by = serializers.SlugRelatedField("email", read_only=True)  # type: ignore[var-annotated]
    state = serializers.CharField(help_text=_("open, provisional, final, reopened"))
    live = serializers.PrimaryKeyRelatedField(read_only=True, help_text=_("The import that is live in it."))  # type: ignore[var-annotated]

    class Meta:
        model = Scope
        fields = ["id", "key", "state", "state_at", "state_by", "state_reason", "live", "issued_at"]


class SumSerializer(serializers.Serializer):
    currency = serializers.CharField()
    billed = serializers.CharField()
    effective = serializers.CharField()


class SourceMonthSerializer(serializers.Serializer):
    month = MonthField()
    sums = SumSerializer(many=True)
    periods = SourcePeriodSerializer(many=True)


def month_answer(month: periods.MonthOfSource) -> dict[str, Any]:
    return {
        "month": str(Month.of(month.month)),
        "sums": [
            {"currency": currency, "billed": exact_text(billed), "effective": exact_text(effective)}
            for currency, billed, effective in month.sums
        ],
        "periods": SourcePeriodSerializer(month.scopes, many=True).data,
    }


def visible_source(request: SignedInRequest, slug: str) -> Source:
    return get_object_or_404(Source.objects.visible_to(request.user), slug=slug)


class PeriodsView(APIView):
    """The billing months of a source, the newest first, at most two years of them."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="periods_list", responses=SourceMonthSerializer(many=True))
    def get(self, request: SignedInRequest, slug: str) -> Response:
        return Response([month_answer(month) for month in periods.calendar_of(visible_source(request, slug))])


def visible_period(request: SignedInRequest, slug: str, pk: int) -> Scope:
    return get_object_or_404(Scope.objects.filter(source=visible_source(request, slug)), pk=pk)


class FinalView(APIView):
    """Say that a period is final: a delivery that would change it waits for a person."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="periods_final", request=ReasonSerializer, responses=SourcePeriodSerializer)
    def post(self, request: SignedInRequest, slug: str, pk: int) -> Response:
        found = visible_period(request, slug, pk)
        scope = periods.finalise_period(found, by=request.user, reason=reason_of(request))
        return Response(SourcePeriodSerializer(scope).data)


class ReopenView(APIView):
    """Say that a period is not final after all: deliveries change it again."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="periods_reopen", request=ReasonSerializer, responses=SourcePeriodSerializer)
    def post(self, request: SignedInRequest, slug: str, pk: int) -> Response:
        found = visible_period(request, slug, pk)
        scope = periods.reopen_period(found, by=request.user, reason=reason_of(request))
        return Response(SourcePeriodSerializer(scope).data)


class Expectations(serializers.Serializer):
    """What is left out stays; null takes it away."""

    final_after_days = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=366)
    silent_after_hours = serializers.IntegerField(required=False, allow_null=True, min_value=1)


class ExpectationsView(APIView):
    """How many days after it a month is final by itself, and how often the source is expected to bring data."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="sources_expect", request=Expectations, responses=Expectations)
    def patch(self, request: SignedInRequest, slug: str) -> Response:
        source = visible_source(request, slug)
        form = Expectations(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        with transaction.atomic():
            if "final_after_days" in given:
                periods.wait_for_final(source, given["final_after_days"], by=request.user)
            if "silent_after_hours" in given:
                silence.expect_source(source, by=request.user, hours=given["silent_after_hours"])
        source.refresh_from_db()
        days = source.settings.get("final_after_days")
        return Response(
            {
                "final_after_days": None if days is None else int(days),
                "silent_after_hours": source.silent_after_hours,
            }
        )


urlpatterns = [
    path("sources/<slug:slug>/periods/", PeriodsView.as_view(), name="api-periods"),
    path("sources/<slug:slug>/periods/<int:pk>/final/", FinalView.as_view(), name="api-period-final"),
    path("sources/<slug:slug>/periods/<int:pk>/reopen/", ReopenView.as_view(), name="api-period-reopen"),
    path("sources/<slug:slug>/expected/", ExpectationsView.as_view(), name="api-source-expected"),
]
