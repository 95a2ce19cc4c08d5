"""Runs over the API: opened, reported while they run, read."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from api.pages import page_before
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.money import exact_text
from teams.models import Project
from usage.formats.metrics.contract import MOST_STEPS, Point, number_of
from usage.reading.durations import sum_of_hours
from usage.runs import queries, services
from usage.runs.models import Run

PAGE = 50
MOST_POINTS = 10_000
PERMISSIONS = [*APIView.permission_classes, HasScope]


class RunSerializer(serializers.ModelSerializer):
    project = serializers.SlugRelatedField("slug", read_only=True)  # type: ignore[var-annotated]

    class Meta:
        model = Run
        fields = ["slug", "name", "state", "project", "experiment", "reference", "job", "created_at"]


class RunPage(serializers.Serializer):
    results = RunSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


class RunAnswer(RunSerializer):
    """A run with what its scheduler's log and its own metrics say."""

    accelerator_hours = serializers.CharField()
    lost_accelerator_hours = serializers.CharField()
    costs = serializers.DictField(child=serializers.CharField())
    attempts = serializers.ListField(child=serializers.DictField())
    series = serializers.ListField(child=serializers.DictField())

    class Meta(RunSerializer.Meta):
        fields = [
            *RunSerializer.Meta.fields,
            "accelerator_hours",
            "lost_accelerator_hours",
            "costs",
            "attempts",
            "series",
        ]


class NewRun(serializers.Serializer):
    slug = serializers.SlugField(max_length=120)
    name = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    project = serializers.SlugField(required=False, default="", allow_blank=True)
    experiment = serializers.CharField(max_length=120, required=False, default="", allow_blank=True)
    reference = serializers.CharField(max_length=60, required=False, default="", allow_blank=True)
    job = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)


class RunPointSerializer(serializers.Serializer):
    step = serializers.IntegerField(min_value=0, max_value=MOST_STEPS)
    at = serializers.DateTimeField(required=False, allow_null=True, default=None, default_timezone=UTC)
    values = serializers.DictField(help_text=_("Series → number; null where the value was not a number."))

    def validate_values(self, given: dict[str, Any]) -> dict[str, float | None]:
        read = {name: (True, None) if value is None else number_of(value) for name, value in given.items()}
        if odd := [name for name, (known, _number) in read.items() if not known or not 0 < len(name) <= 200]:
            raise serializers.ValidationError(_("%(name)s is no number") % {"name": odd[0][:80]})
        return {name: number for name, (_known, number) in read.items()}


class Points(serializers.Serializer):
    points = RunPointSerializer(many=True, allow_empty=False)

    def validate_points(self, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if sum(len(point["values"]) for point in given) > MOST_POINTS:
            raise serializers.ValidationError(_("at most %(most)s values at once") % {"most": MOST_POINTS})
        return given


class PointsAnswer(serializers.Serializer):
    run = serializers.CharField()
    points = serializers.IntegerField()
    ignored = serializers.IntegerField()
    warnings = serializers.DictField()
    last_step = serializers.IntegerField(allow_null=True)


class StateRequest(serializers.Serializer):
    state = serializers.ChoiceField(Run.State.choices)


class LogUpload(serializers.Serializer):
    file = serializers.FileField()
    format = serializers.CharField(required=False, default="", allow_blank=True)


def visible_run(request: SignedInRequest, slug: str) -> Run:
    return get_object_or_404(Run.objects.visible_to(request.user).select_related("project"), slug=slug)


class RunsView(APIView):
    """Training runs."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "metrics"

    @extend_schema(
        operation_id="runs_list",
        responses=RunPage,
        parameters=[OpenApiParameter("before", int), OpenApiParameter("project", str)],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Run.objects.visible_to(request.user).select_related("project")
        if asked.get("project"):
            found = found.filter(project__slug=asked["project"])
        page, following = page_before(found, request, PAGE)
        return Response({"results": RunSerializer(page, many=True).data, "next": following})

    @extend_schema(operation_id="runs_create", request=NewRun, responses={201: RunSerializer, 409: RunSerializer})
    def post(self, request: SignedInRequest) -> Response:
        """Open a run. One with this short name that the caller may see is answered with 409, and goes on."""
        form = NewRun(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        slug = given.pop("project")
        project = get_object_or_404(Project.objects.visible_to(request.user), slug=slug) if slug else None
        known = Run.objects.visible_to(request.user).filter(slug=given["slug"]).first()
        if known is not None:
            return Response(RunSerializer(known).data, status=409)
        run = services.open_run(by=request.user, project=project, **given)
        return Response(RunSerializer(run).data, status=201)


class RunView(APIView):
    """One run: how it stands, what it used and cost, its attempts and series."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="runs_read", responses=RunAnswer)
    def get(self, request: SignedInRequest, slug: str) -> Response:
        run = visible_run(request, slug)
        used = queries.usage_of_runs([run])[run.pk]
        answer = {
            **RunSerializer(run).data,
            "accelerator_hours": sum_of_hours(used.accelerator_hours),
            "lost_accelerator_hours": sum_of_hours(used.lost_hours),
            "costs": {currency: exact_text(cost) for currency, cost in used.costs},
            "attempts": [
                {
                    "start": attempt.start,
                    "end": attempt.end,
                    "state": attempt.state,
                    "cause": attempt.cause,
                    "accelerator_hours": sum_of_hours(attempt.accelerator_hours),
                }
                for attempt in used.attempts
            ],
            "series": [
                {"name": each.name, "points": each.points, "last_step": each.last_step, "last": each.last}
                for each in queries.series_of(run)
            ],
        }
        return Response(answer)


class MetricsView(APIView):
    """Report values while a run runs. The same values again change nothing."""

    permission_classes = PERMISSIONS
    scope = "metrics"

    @extend_schema(operation_id="runs_report", request=Points, responses=PointsAnswer)
    def post(self, request: SignedInRequest, slug: str) -> Response:
        run = visible_run(request, slug)
        form = Points(data=request.data)
        form.is_valid(raise_exception=True)
        points = [
            Point(name, point["step"], point["at"], value)
            for point in form.validated_data["points"]
            for name, value in point["values"].items()
        ]
        return Response(services.report_points(run, by=request.user, points=points))


class StateView(APIView):
    """Say how a run ended."""

    permission_classes = PERMISSIONS
    scope = "metrics"

    @extend_schema(operation_id="runs_state", request=StateRequest, responses=RunSerializer)
    def post(self, request: SignedInRequest, slug: str) -> Response:
        found = visible_run(request, slug)
        form = StateRequest(data=request.data)
        form.is_valid(raise_exception=True)
        run = services.set_state(found, by=request.user, state=form.validated_data["state"])
        return Response(RunSerializer(run).data)


class LogView(APIView):
    """Upload a log: W&B history, a TensorBoard event file, a run of MLflow as a zip, a training log."""

    permission_classes = PERMISSIONS
    parser_classes = [MultiPartParser]
    scope = "metrics"

    @extend_schema(operation_id="runs_log", request=LogUpload, responses=PointsAnswer)
    def post(self, request: SignedInRequest, slug: str) -> Response:
        run = visible_run(request, slug)
        form = LogUpload(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        return Response(
            services.import_upload(
                run, by=request.user, name=given["file"].name, stream=given["file"], format=given["format"]
            )
        )


urlpatterns = [
    path("runs/", RunsView.as_view(), name="api-runs"),
    path("runs/<slug:slug>/", RunView.as_view(), name="api-run"),
    path("runs/<slug:slug>/metrics/", MetricsView.as_view(), name="api-run-metrics"),
    path("runs/<slug:slug>/state/", StateView.as_view(), name="api-run-state"),
    path("runs/<slug:slug>/log/", LogView.as_view(), name="api-run-log"),
]
