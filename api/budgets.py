"""Budget lines, their money and their warnings over the API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api import can_start
from api.amounts import AmountField
from api.line_answers import line_answers
from api.once import KEY, once
from api.pages import page_after, page_before
from api.projects import LineSerializer
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.models import BudgetLine, Proposal
from budgets.services import ledger
from core.money import exact_text
from overruns import services
from overruns.models import Flag

PAGE = 100
PERMISSIONS = [*APIView.permission_classes, HasScope]


class LinePage(serializers.Serializer):
    results = LineSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


class Movement(serializers.Serializer):
    amount = AmountField()
    reason = serializers.CharField(max_length=300)


class Transfer(Movement):
    target = serializers.IntegerField(help_text=_("The line that gets it."))


class Release(Movement):
    proposal = serializers.IntegerField()


def visible_line(request: SignedInRequest, line_id: int) -> BudgetLine:
    """The line, if this person may see its project; else it does not exist."""
    found = BudgetLine.objects.visible_to(request.user).select_related("project__team")
    return get_object_or_404(found, pk=line_id)


def line_now(line: BudgetLine) -> dict[str, Any]:
    return line_answers([line], now=timezone.now())[0]


class LinesView(APIView):
    """What stands on the budget lines one may see."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="lines_list",
        responses=LinePage,
        parameters=[OpenApiParameter("after", int), OpenApiParameter("project", str)],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = BudgetLine.objects.visible_to(request.user).select_related("project__team")
        if asked.get("project"):
            found = found.filter(project__slug=asked["project"])
        page, following = page_after(found, request, PAGE)
        return Response({"results": line_answers(page, now=timezone.now()), "next": following})


class LineView(APIView):
    """One budget line."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="lines_read", responses=LineSerializer)
    def get(self, request: SignedInRequest, line_id: int) -> Response:
        return Response(line_now(visible_line(request, line_id)))


class GrantView(APIView):
    """New money on a line; a negative amount takes back what is free."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="lines_grant", request=Movement, responses=LineSerializer, parameters=[KEY])
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = Movement(data=request.data)
        form.is_valid(raise_exception=True)
        ledger.grant(line, by=request.user, **form.validated_data)
        return Response(line_now(line))


class TransferView(APIView):
    """Move free money to another line."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="lines_transfer", request=Transfer, responses=LineSerializer, parameters=[KEY])
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = Transfer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        ledger.transfer(line, visible_line(request, asked.pop("target")), by=request.user, **asked)
        return Response(line_now(line))


class ReleaseView(APIView):
    """Give back part of what a proposal holds on a line."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="lines_release", request=Release, responses=LineSerializer, parameters=[KEY])
    @once
    def post(self, request: SignedInRequest, line_id: int) -> Response:
        line = visible_line(request, line_id)
        form = Release(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        proposal = get_object_or_404(Proposal.objects.visible_to(request.user), pk=asked.pop("proposal"))
        ledger.release(line, proposal, by=request.user, **asked)
        return Response(line_now(line))


class FlagSerializer(serializers.Serializer):
    """A threshold that was reached."""

    id = serializers.IntegerField()
    line = serializers.IntegerField()
    project = serializers.CharField()
    category = serializers.CharField()
    basis = serializers.CharField()
    share = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    is_overrun = serializers.BooleanField()
    state = serializers.CharField()
    crossed_at = serializers.DateTimeField()
    value = serializers.CharField()
    limit = serializers.CharField()
    currency = serializers.CharField()
    incomplete = serializers.BooleanField()
    cause = serializers.CharField(allow_blank=True)
    muted_until = serializers.DateField(allow_null=True)


class FlagPage(serializers.Serializer):
    results = FlagSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


class Cause(serializers.Serializer):
    cause = serializers.CharField()


class Mute(serializers.Serializer):
    until = serializers.DateField()


def flag_answer(flag: Flag) -> dict[str, Any]:
    threshold = flag.threshold
    return {
        "id": flag.pk,
        "line": flag.line_id,
        "project": flag.line.project.slug,
        "category": flag.line.category,
        "basis": threshold.basis,
        "share": text_or_none(threshold.share),
        "amount": text_or_none(threshold.amount),
        "is_overrun": flag.is_overrun,
        "state": flag.state,
        "crossed_at": flag.crossed_at,
        "value": exact_text(flag.value),
        "limit": exact_text(flag.limit),
        "currency": flag.line.currency,
        "incomplete": flag.incomplete,
        "cause": flag.cause,
        "muted_until": flag.muted_until,
    }


def text_or_none(amount: Decimal | None) -> str | None:
    return None if amount is None else exact_text(amount)


def visible_flag(request: SignedInRequest, flag_id: int) -> Flag:
    found = Flag.objects.visible_to(request.user).select_related("line__project__team", "threshold")
    return get_object_or_404(found, pk=flag_id)


class FlagsView(APIView):
    """Warnings and overruns one may see, newest first; `state=standing` leaves those that are reached now."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="flags_list",
        responses=FlagPage,
        parameters=[
            OpenApiParameter("before", int),
            OpenApiParameter("project", str),
            OpenApiParameter("state", str, description="standing, above, acknowledged, muted, below or closed"),
        ],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Flag.objects.visible_to(request.user).select_related("line__project", "threshold")
        if asked.get("project"):
            found = found.filter(line__project__slug=asked["project"])
        if asked.get("state") == "standing":
            found = found.standing()
        elif asked.get("state"):
            found = found.filter(state=asked["state"])
        page, following = page_before(found, request, PAGE)
        return Response({"results": [flag_answer(flag) for flag in page], "next": following})


class FlagView(APIView):
    """One warning."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="flags_read", responses=FlagSerializer)
    def get(self, request: SignedInRequest, flag_id: int) -> Response:
        return Response(flag_answer(visible_flag(request, flag_id)))


class AcknowledgeView(APIView):
    """State the cause of a warning."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="flags_acknowledge", request=Cause, responses=FlagSerializer)
    def post(self, request: SignedInRequest, flag_id: int) -> Response:
        flag = visible_flag(request, flag_id)
        form = Cause(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(flag_answer(services.acknowledge_flag(flag, by=request.user, **form.validated_data)))


class MuteView(APIView):
    """Keep a warning quiet until a day."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="flags_mute", request=Mute, responses=FlagSerializer)
    def post(self, request: SignedInRequest, flag_id: int) -> Response:
        flag = visible_flag(request, flag_id)
        form = Mute(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(flag_answer(services.mute_flag(flag, by=request.user, **form.validated_data)))


urlpatterns = [
    *can_start.urlpatterns,
    path("lines/", LinesView.as_view(), name="api-lines"),
    path("lines/<int:line_id>/", LineView.as_view(), name="api-line"),
    path("lines/<int:line_id>/grant/", GrantView.as_view(), name="api-line-grant"),
    path("lines/<int:line_id>/transfer/", TransferView.as_view(), name="api-line-transfer"),
    path("lines/<int:line_id>/release/", ReleaseView.as_view(), name="api-line-release"),
    path("flags/", FlagsView.as_view(), name="api-flags"),
    path("flags/<int:flag_id>/", FlagView.as_view(), name="api-flag"),
    path("flags/<int:flag_id>/acknowledge/", AcknowledgeView.as_view(), name="api-flag-acknowledge"),
    path("flags/<int:flag_id>/mute/", MuteView.as_view(), name="api-flag-mute"),
]
