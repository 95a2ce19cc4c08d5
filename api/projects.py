"""Projects over the API."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.line_answers import line_answers
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.money import CURRENCIES
from core.vocabulary import TaskType
from teams import services
from teams.models import Project, Team

PAGE = 50


def project_named(slug: str) -> Project:
    """The project a command names; a wrong call where there is none."""
    found = Project.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(_("There is no project %(slug)s.") % {"slug": slug}, returncode=2)
    return found


class ProjectSerializer(serializers.ModelSerializer):
    team = serializers.SlugRelatedField("slug", read_only=True)  # type: ignore[var-annotated]
    task_type = serializers.CharField(read_only=True)
    state = serializers.CharField(read_only=True)

    class Meta:
        model = Project
        fields = ["slug", "name", "team", "currency", "task_type", "state", "starts_on", "ends_on"]


class ProjectPage(serializers.Serializer):
    results = ProjectSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


class NewProject(serializers.Serializer):
    team = serializers.SlugField()
    name = serializers.CharField(max_length=120)
    currency = serializers.ChoiceField(sorted(CURRENCIES))
    task_type = serializers.ChoiceField([str(task) for task in TaskType], default="pretrain")
    starts_on = serializers.DateField(required=False, allow_null=True)
    ends_on = serializers.DateField(required=False, allow_null=True)


class PeriodSerializer(serializers.Serializer):
    start = serializers.DateField()
    end = serializers.DateField()
    kind = serializers.CharField()


class RangeSerializer(serializers.Serializer):
    p10 = serializers.CharField()
    p50 = serializers.CharField()
    p90 = serializers.CharField()


class ThresholdSerializer(serializers.Serializer):
    share = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    basis = serializers.CharField()
    quantile = serializers.CharField(allow_null=True)
    state = serializers.CharField()
    crossed_at = serializers.DateTimeField(allow_null=True)


MISSING_RATE = inline_serializer(
    "MissingRate",
    {"month": serializers.CharField(), "from": serializers.CharField(), "to": serializers.CharField()},
    many=True,
)


class HoursSerializer(serializers.Serializer):
    """What stands on a line in accelerator-hours, real or equivalent; beside the money, never turned into it."""

    unit = serializers.CharField(help_text="real or equivalent")
    budget = serializers.CharField()
    committed = serializers.CharField()
    actual = serializers.CharField()
    headroom = serializers.CharField()
    restated = serializers.CharField(help_text=_("Of the actual: what became known of closed periods."))
    peak_missing = serializers.ListField(
        child=serializers.CharField(), help_text=_("Accelerators whose peak is not known; their hours are left out.")
    )


class LineSerializer(serializers.Serializer):
    """What stands on a budget line; money as exact decimals in text."""

    line = serializers.IntegerField()
    project = serializers.CharField()
    team = serializers.CharField()
    category = serializers.CharField()
    subcategory = serializers.CharField(allow_null=True)
    task_type = serializers.CharField(allow_null=True)
    period = PeriodSerializer()
    currency = serializers.CharField()
    basis = serializers.CharField()
    budget = serializers.CharField()
    committed = serializers.CharField()
    actual = serializers.CharField()
    headroom = serializers.CharField()
    restated = serializers.CharField(help_text=_("Of the actual: late cost of closed periods."))
    execution_rate = serializers.CharField(allow_null=True)
    state = serializers.CharField()
    hours = HoursSerializer(allow_null=True)
    forecast = RangeSerializer(allow_null=True)
    thresholds = ThresholdSerializer(many=True)
    fresh_until = serializers.DateTimeField(allow_null=True)
    rates_missing = MISSING_RATE
    price_missing = serializers.ListField(child=serializers.CharField())


class ProjectWithLines(ProjectSerializer):
    """A project and what stands on its budget lines."""

    lines = LineSerializer(many=True, read_only=True)

    class Meta(ProjectSerializer.Meta):
        fields = [*ProjectSerializer.Meta.fields, "lines"]


class ProjectsView(APIView):
    """The projects one may see, by their short names; or open a new one."""

    permission_classes = [*APIView.permission_classes, HasScope]

    @property
    def scope(self) -> str:
        return "plans" if self.request.method == "POST" else "read"

    @extend_schema(operation_id="projects_list", responses=ProjectPage, parameters=[OpenApiParameter("after", str)])
    def get(self, request: SignedInRequest) -> Response:
        found = Project.objects.visible_to(request.user).select_related("team").order_by("slug")
        found = found.filter(slug__gt=request.query_params.get("after", ""))
        page = list(found[: PAGE + 1])
        after = page[PAGE - 1].slug if len(page) > PAGE else None
        return Response({"results": ProjectSerializer(page[:PAGE], many=True).data, "next": after})

    @extend_schema(operation_id="projects_open", request=NewProject, responses={201: ProjectSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = NewProject(data=request.data)
        form.is_valid(raise_exception=True)
        asked = dict(form.validated_data)
        team = get_object_or_404(Team, slug=asked.pop("team"))
        opened = services.open_project(by=request.user, team=team, **asked)
        return Response(ProjectSerializer(opened).data, status=201)


class ProjectView(APIView):
    """One project with its budget lines."""

    permission_classes = [*APIView.permission_classes, HasScope]
    scope = "read"

    @extend_schema(operation_id="projects_read", responses=ProjectWithLines)
    def get(self, request: SignedInRequest, slug: str) -> Response:
        found = get_object_or_404(Project.objects.visible_to(request.user).select_related("team"), slug=slug)
        lines = list(found.lines.select_related("project__team"))
        return Response({**ProjectSerializer(found).data, "lines": line_answers(lines, now=timezone.now())})


urlpatterns = [
    path("projects/", ProjectsView.as_view(), name="api-projects"),
    path("projects/<slug:slug>/", ProjectView.as_view(), name="api-project"),
]
