"""What budget lines carry over at the end of their period, over the API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

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
from budgets.models import BudgetLine
from budgets.services import lines

PERMISSIONS = [*APIView.permission_classes, HasScope]


class RolloverWriteSerializer(serializers.Serializer):
    """What is left goes on: nothing, all, or at most a share of the line, an amount of money, a number of hours."""

    rollover = serializers.ChoiceField(BudgetLine.Rollover.choices)
    share = AmountField(
        required=False, allow_null=True, max_digits=7, min_value=Decimal(0), help_text=_("0.25 for 25 %; of both.")
    )
    amount = AmountField(
        required=False, allow_null=True, min_value=Decimal(0), help_text=_("In the currency of the line.")
    )
    hours = AmountField(
        required=False, allow_null=True, max_digits=20, min_value=Decimal(0), help_text=_("In the unit of the line.")
    )
    carries_overspend = serializers.BooleanField(
        required=False, default=False, help_text=_("What was overspent burdens the next period.")
    )


class RolloverSerializer(serializers.Serializer):
    rollover = serializers.CharField()
    share = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    hours = serializers.CharField(allow_null=True)
    carries_overspend = serializers.BooleanField()


def rollover_answer(line: BudgetLine) -> dict[str, Any]:
    return {
        "rollover": line.rollover,
        "share": text_or_none(line.rollover_share),
        "amount": text_or_none(line.rollover_amount),
        "hours": text_or_none(line.rollover_hours),
        "carries_overspend": line.carries_overspend,
    }


class RolloverView(APIView):
    """What a line does at the end of its period with what is left, or overspent; said as a whole."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "plans"

    @extend_schema(operation_id="lines_rollover", responses=RolloverSerializer)
    def get(self, request: SignedInRequest, line_id: int) -> Response:
        return Response(rollover_answer(visible_line(request, line_id)))

    @extend_schema(operation_id="lines_set_rollover", request=RolloverWriteSerializer, responses=RolloverSerializer)
    def put(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = RolloverWriteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(rollover_answer(lines.set_rollover(line, by=request.user, **form.validated_data)))


urlpatterns = [path("lines/<int:line_id>/rollover/", RolloverView.as_view(), name="api-line-rollover")]
