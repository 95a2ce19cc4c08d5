"""Thresholds of budget lines over the API: at which share or amount people are told."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.budgets import text_or_none, visible_line
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.models import BudgetLine, Threshold
from budgets.services import lines

PERMISSIONS = [*APIView.permission_classes, HasScope]


class LineThresholdWriteSerializer(serializers.Serializer):
    """A share of the line, 0.8 for 80 %, or an amount in its currency."""

    basis = serializers.ChoiceField(Threshold.Basis.choices)
    share = AmountField(required=False, max_digits=7, min_value=Decimal(0))
    amount = AmountField(required=False, min_value=Decimal(0))
    quantile = serializers.ChoiceField(
        Threshold.Quantile.choices, required=False, default="", help_text=_("Of the forecast; p50 where none is named.")
    )


class LineThresholdSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    basis = serializers.CharField()
    share = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    quantile = serializers.CharField(allow_blank=True)


def threshold_answer(threshold: Threshold) -> dict[str, Any]:
    return {
        "id": threshold.pk,
        "basis": threshold.basis,
        "share": text_or_none(threshold.share),
        "amount": text_or_none(threshold.amount),
        "quantile": threshold.quantile,
    }


class ThresholdsView(APIView):
    """The thresholds at which a line is watched; and one more."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "plans"

    @extend_schema(operation_id="thresholds_list", responses=LineThresholdSerializer(many=True))
    def get(self, request: SignedInRequest, line_id: int) -> Response:
        found = visible_line(request, line_id).thresholds.filter(active=True)
        return Response([threshold_answer(each) for each in found])

    @extend_schema(
        operation_id="thresholds_add", request=LineThresholdWriteSerializer, responses={201: LineThresholdSerializer}
    )
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = LineThresholdWriteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        made = lines.add_threshold(line, by=request.user, **form.validated_data)
        made.refresh_from_db()
        return Response(threshold_answer(made), status=201)


class ThresholdStopView(APIView):
    """Watch no more for it. The limit of a line is always watched."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="thresholds_stop", request=None, responses={204: None})
    def post(self, request: SignedInRequest, pk: int) -> Response:
        seen = Threshold.objects.filter(line__in=BudgetLine.objects.visible_to(request.user), active=True)
        lines.stop_threshold(get_object_or_404(seen, pk=pk), by=request.user)
        return Response(status=204)


urlpatterns = [
    path("lines/<int:line_id>/thresholds/", ThresholdsView.as_view(), name="api-thresholds"),
    path("thresholds/<int:pk>/stop/", ThresholdStopView.as_view(), name="api-threshold-stop"),
]
