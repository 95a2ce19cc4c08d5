"""Baselines over the API: what finished runs taught, and a new figure."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.pages import page_after
from api.prices import day_of
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.money import exact_text
from estimates import tasks
from estimates.baselines.models import Baseline, BaselineQuantity
from estimates.baselines.services import Figure, record_baseline
from teams import labels
from teams.models import Project, Team

PAGE = 100
FILTERS = {
    "quantity": "quantity",
    "team": "team__slug",
    "project": "project__slug",
    "task_type": "task_type",
    "accelerator_family": "accelerator_family",
}


def figure_field(**options: Any) -> AmountField:
    return AmountField(max_digits=24, decimal_places=10, **options)


class NewBaseline(serializers.Serializer):
    """One figure, alone or between a low and a high one. Without a team it holds for the whole organisation."""

    quantity = serializers.ChoiceField(BaselineQuantity.choices)
    value = figure_field()
    low = figure_field(required=False, allow_null=True, default=None)
    high = figure_field(required=False, allow_null=True, default=None)
    runs = serializers.IntegerField(min_value=1, max_value=1_000_000)
    since = serializers.DateField()
    until = serializers.DateField()
    source = serializers.CharField(max_length=300)  # type: ignore[assignment]
    team = serializers.SlugField(required=False, allow_blank=True, default="")
    project = serializers.SlugField(required=False, allow_blank=True, default="", help_text=_("Where it was learned."))
    task_type = serializers.ChoiceField(labels.choices(labels.TASK_TYPES), required=False, allow_blank=True, default="")
    accelerator_family = serializers.SlugField(required=False, allow_blank=True, default="", max_length=60)
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=300)
    valid_from = serializers.DateField(required=False, allow_null=True, default=None)
    withdrawn = serializers.BooleanField(default=False, help_text=_("The figure no longer holds."))


class BaselineAnswer(serializers.Serializer):
    id = serializers.IntegerField()
    quantity = serializers.CharField()
    value = serializers.CharField()
    low = serializers.CharField()
    high = serializers.CharField()
    runs = serializers.IntegerField()
    since = serializers.DateField()
    until = serializers.DateField()
    source = serializers.CharField()  # type: ignore[assignment]
    link = serializers.CharField()
    team = serializers.CharField(allow_null=True)
    project = serializers.CharField(allow_null=True)
    task_type = serializers.CharField()
    accelerator_family = serializers.CharField()
    note = serializers.CharField()
    valid_from = serializers.DateField()
    withdrawn = serializers.BooleanField()


class BaselinePage(serializers.Serializer):
    results = BaselineAnswer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


def baseline_answer(row: Baseline) -> dict[str, Any]:
    same = ("quantity", "runs", "since", "until", "source", "link", "task_type", "accelerator_family", "note")
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in (*same, "valid_from", "withdrawn")},
        "value": exact_text(row.mode),
        "low": exact_text(row.low),
        "high": exact_text(row.high),
        "team": row.team.slug if row.team else None,
        "project": row.project.slug if row.project else None,
    }


def asked_for(request: SignedInRequest) -> QuerySet[Baseline]:
    """The rows one may see that fit: those that hold on a day, or with `all=1` every row."""
    asked = request.query_params
    found = Baseline.objects.visible_to(request.user)
    if asked.get("all") not in ("1", "true"):
        found = found.in_force(day_of(asked.get("on", "")))
    found = found.filter(**{column: asked[name] for name, column in FILTERS.items() if asked.get(name)})
    return found.select_related("team", "project")


class BaselinesView(APIView):
    """The figures one may see, and a new one."""

    permission_classes = [*APIView.permission_classes, HasScope]

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "plans"

    @extend_schema(
        operation_id="baselines_list",
        responses=BaselinePage,
        parameters=[
            *(OpenApiParameter(name, str) for name in FILTERS),
            OpenApiParameter("on", OpenApiTypes.DATE),
            OpenApiParameter("all", bool),
            OpenApiParameter("after", int),
        ],
    )
    def get(self, request: SignedInRequest) -> Response:
        page, following = page_after(asked_for(request), request, PAGE)
        return Response({"results": [baseline_answer(row) for row in page], "next": following})

    @extend_schema(operation_id="baselines_add", request=NewBaseline, responses={201: BaselineAnswer})
    def post(self, request: SignedInRequest) -> Response:
        form = NewBaseline(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        team, project = asked.pop("team"), asked.pop("project")
        projects = Project.objects.visible_to(request.user)
        aside = {
            "team": get_object_or_404(seen_teams(request), slug=team) if team else None,
            "project": get_object_or_404(projects, slug=project) if project else None,
            "valid_from": asked.pop("valid_from"),
            "withdrawn": asked.pop("withdrawn"),
        }
        row = record_baseline(Figure(**asked), by=request.user, **aside)
        tasks.recompute_soon()
        return Response(baseline_answer(row), status=201)


def seen_teams(request: SignedInRequest) -> QuerySet[Team]:
    """One's own teams, and all of them for a role in the whole organisation."""
    user = request.user
    return Team.objects.all() if user.sees_every_team() else Team.objects.filter(pk__in=user.team_ids())


urlpatterns = [path("baselines/", BaselinesView.as_view(), name="api-baselines")]
