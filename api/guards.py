"""Guards over the API: thresholds of runs, projects, teams and all, and the stops they made."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.budgets import Cause, Mute
from api.pages import page_before
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.models import Stop, Threshold
from budgets.services.stops import release_stop
from core.money import exact_text
from overruns import guards
from overruns.models import Guard
from teams.models import Project, Team
from usage.models import Run

PAGE = 100
PERMISSIONS = [*APIView.permission_classes, HasScope]


class GuardWriteSerializer(serializers.Serializer):
    """Of a run, a project or a team; of all teams where none is named. A share is of the lines that run today."""

    project = serializers.SlugField(required=False, default="")
    team = serializers.SlugField(required=False, default="")
    run = serializers.SlugField(required=False, default="")
    measure = serializers.ChoiceField(Guard.Measure.choices)
    quantile = serializers.ChoiceField(Threshold.Quantile.choices, required=False, default="")
    share = AmountField(required=False, max_digits=7, min_value=Decimal(0))
    amount = AmountField(required=False, max_digits=24, decimal_places=6, min_value=Decimal(0))
    unit = serializers.CharField(
        required=False, default="", max_length=120, help_text=_("As the bill names it, such as TB.")
    )
    since = serializers.DateField(required=False, help_text=_("Of quantities."))
    period = serializers.ChoiceField(
        Guard.Period.choices, required=False, default="", help_text=_("Quantities are counted anew in each.")
    )
    stops_jobs = serializers.BooleanField(default=False)


class GuardSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    project = serializers.CharField(allow_null=True)
    team = serializers.CharField(allow_null=True)
    run = serializers.CharField(allow_null=True)
    measure = serializers.CharField()
    quantile = serializers.CharField()
    unit = serializers.CharField()
    share = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    since = serializers.DateField(allow_null=True)
    stops_jobs = serializers.BooleanField()
    period = serializers.CharField(allow_blank=True)
    is_reached = serializers.BooleanField()
    state = serializers.CharField()
    crossed_at = serializers.DateTimeField(allow_null=True, help_text=_("When it was last reached."))
    cause = serializers.CharField(allow_blank=True)
    muted_until = serializers.DateField(allow_null=True)
    value = serializers.CharField(allow_null=True, help_text=_("What was measured when it was last judged."))
    stop = serializers.IntegerField(allow_null=True, help_text=_("The stop it made, to be released."))


class GuardPage(serializers.Serializer):
    results = GuardSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


def guard_answer(guard: Guard) -> dict[str, Any]:
    return {
        "id": guard.pk,
        "project": guard.project.slug if guard.project else None,
        "team": guard.team.slug if guard.team else None,
        "run": guard.run.slug if guard.run else None,
        "measure": guard.measure,
        "quantile": guard.quantile,
        "unit": guard.unit,
        "share": exact_text(guard.share) if guard.share is not None else None,
        "amount": exact_text(guard.amount) if guard.amount is not None else None,
        "since": guard.since,
        "stops_jobs": guard.stops_jobs,
        "period": guard.period,
        "is_reached": guard.is_standing,
        "state": guard.state,
        "crossed_at": guard.crossed_at,
        "cause": guard.cause,
        "muted_until": guard.muted_until,
        "value": exact_text(guard.value) if guard.value is not None else None,
        "stop": guard.stop_id,
    }


def shown_guards(request: SignedInRequest) -> QuerySet[Guard]:
    return Guard.objects.visible_to(request.user).active().select_related("project__team", "team", "run__project__team")


class GuardsView(APIView):
    """The guards one may see, newest first; and a new one."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "plans"

    @extend_schema(operation_id="guards_list", responses=GuardPage, parameters=[OpenApiParameter("before", int)])
    def get(self, request: SignedInRequest) -> Response:
        found = shown_guards(request)
        page, following = page_before(found, request, PAGE)
        return Response({"results": [guard_answer(guard) for guard in page], "next": following})

    @extend_schema(operation_id="guards_set", request=GuardWriteSerializer, responses={201: GuardSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = GuardWriteSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        projects = Project.objects.visible_to(request.user)
        named = {"project": projects, "team": Team.objects.filter(projects__in=projects).distinct()}
        named["run"] = Run.objects.visible_to(request.user)
        for name, rows in named.items():
            slug = asked.pop(name)
            asked[name] = get_object_or_404(rows, slug=slug) if slug else None
        guard = guards.set_guard(by=request.user, **asked)
        guards.judge_guards([guard.pk], now=timezone.now())
        guard.refresh_from_db()
        return Response(guard_answer(guard), status=201)


class GuardEndView(APIView):
    """Watch no more."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="guards_end", request=None, responses={204: None})
    def post(self, request: SignedInRequest, pk: int) -> Response:
        guards.end_guard(get_object_or_404(shown_guards(request), pk=pk), by=request.user, now=timezone.now())
        return Response(status=204)


class GuardAcknowledgeView(APIView):
    """State in writing why it was reached. It stays quiet until it falls and is reached again."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="guards_acknowledge", request=Cause, responses=GuardSerializer)
    def post(self, request: SignedInRequest, pk: int) -> Response:
        found = get_object_or_404(shown_guards(request), pk=pk)
        form = Cause(data=request.data)
        form.is_valid(raise_exception=True)
        cause = form.validated_data["cause"]
        return Response(guard_answer(guards.acknowledge_guard(found, by=request.user, cause=cause, now=timezone.now())))


class GuardMuteView(APIView):
    """Keep it quiet until a day."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="guards_mute", request=Mute, responses=GuardSerializer)
    def post(self, request: SignedInRequest, pk: int) -> Response:
        found = get_object_or_404(shown_guards(request), pk=pk)
        form = Mute(data=request.data)
        form.is_valid(raise_exception=True)
        until = form.validated_data["until"]
        return Response(guard_answer(guards.mute_guard(found, by=request.user, until=until, now=timezone.now())))


class StopReleaseSerializer(serializers.Serializer):
    reason = serializers.CharField()


class StopReleaseView(APIView):
    """Jobs may start again; the reason is kept."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="stops_release", request=StopReleaseSerializer, responses={204: None})
    def post(self, request: SignedInRequest, pk: int) -> Response:
        stops = Stop.objects.filter(project__in=Project.objects.visible_to(request.user))
        stop = get_object_or_404(stops, pk=pk)
        form = StopReleaseSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        release_stop(stop, by=request.user, reason=form.validated_data["reason"], now=timezone.now())
        return Response(status=204)


urlpatterns = [
    path("guards/", GuardsView.as_view(), name="api-guards"),
    path("guards/<int:pk>/acknowledge/", GuardAcknowledgeView.as_view(), name="api-guard-acknowledge"),
    path("guards/<int:pk>/mute/", GuardMuteView.as_view(), name="api-guard-mute"),
    path("guards/<int:pk>/end/", GuardEndView.as_view(), name="api-guard-end"),
    path("stops/<int:pk>/release/", StopReleaseView.as_view(), name="api-stop-release"),
]
