"""Accelerator-hours of budget lines over the API: granted, moved between lines, given back."""

from __future__ import annotations

from decimal import Decimal

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.budgets import line_now, visible_line
from api.once import KEY, once
from api.projects import LineSerializer
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.models import HoursEntry, Proposal
from budgets.services import hours

PERMISSIONS = [*APIView.permission_classes, HasScope]


class HoursGrant(serializers.Serializer):
    hours = AmountField(max_digits=20, decimal_places=4)
    unit = serializers.ChoiceField(HoursEntry.Unit.choices)
    reason = serializers.CharField(max_length=300)


class HoursTransfer(serializers.Serializer):
    target = serializers.IntegerField(help_text=_("The line that gets them."))
    hours = AmountField(max_digits=20, decimal_places=4, min_value=Decimal(0))
    reason = serializers.CharField(max_length=300)


class HoursRelease(serializers.Serializer):
    proposal = serializers.IntegerField()
    hours = AmountField(max_digits=20, decimal_places=4, min_value=Decimal(0))
    reason = serializers.CharField(max_length=300)


class GrantHoursView(APIView):
    """Accelerator-hours on a compute line, real or equivalent; a negative number takes back what is free."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="lines_grant_hours", request=HoursGrant, responses=LineSerializer, parameters=[KEY])
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = HoursGrant(data=request.data)
        form.is_valid(raise_exception=True)
        hours.grant_hours(line, by=request.user, **form.validated_data)
        return Response(line_now(line))


class TransferHoursView(APIView):
    """Move free hours to another compute line that is kept in the same unit, or has no hours yet."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(
        operation_id="lines_transfer_hours", request=HoursTransfer, responses=LineSerializer, parameters=[KEY]
    )
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = HoursTransfer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        hours.transfer_hours(line, visible_line(request, asked.pop("target")), by=request.user, **asked)
        return Response(line_now(line))


class ReleaseHoursView(APIView):
    """Give back part of the hours that a proposal holds on a line."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="lines_release_hours", request=HoursRelease, responses=LineSerializer, parameters=[KEY])
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = HoursRelease(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        proposal = get_object_or_404(Proposal.objects.visible_to(request.user), pk=asked.pop("proposal"))
        hours.release_hours(line, proposal, by=request.user, **asked)
        return Response(line_now(line))


urlpatterns = [
    path("lines/<int:line_id>/grant-hours/", GrantHoursView.as_view(), name="api-line-grant-hours"),
    path("lines/<int:line_id>/transfer-hours/", TransferHoursView.as_view(), name="api-line-transfer-hours"),
    path("lines/<int:line_id>/release-hours/", ReleaseHoursView.as_view(), name="api-line-release-hours"),
]
