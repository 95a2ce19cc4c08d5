"""Assets over the API: finished models and data sets, and what is left of their cost."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.pages import page_before
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.assets import Standing, standings
from budgets.models import Asset
from core.money import exact_text
from core.months import Month
from teams.models import Project

PAGE = 100
PERMISSIONS = [*APIView.permission_classes, HasScope]


class AssetUseSerializer(serializers.Serializer):
    project = serializers.CharField()
    proposal = serializers.IntegerField(allow_null=True)
    since = serializers.CharField()
    until = serializers.CharField(allow_null=True, help_text=_("The first month in which it is not used."))
    tasks = serializers.IntegerField()


class AssetSerializer(serializers.Serializer):
    """A finished model or data set. Uses are those of projects one may see."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.CharField()
    project = serializers.CharField(allow_null=True, help_text=_("Nothing where another team made it."))
    owner = serializers.EmailField()
    cost = serializers.CharField()
    currency = serializers.CharField()
    starts = serializers.CharField()
    life = serializers.IntegerField()
    life_in = serializers.CharField()
    life_left = serializers.IntegerField()
    written_off = serializers.CharField()
    rest = serializers.CharField()
    licence = serializers.CharField()
    compliance = serializers.CharField()
    uses = AssetUseSerializer(many=True)


class AssetPage(serializers.Serializer):
    results = AssetSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


def asset_answer(asset: Asset, standing: Standing, own: set[int]) -> dict[str, Any]:
    return {
        "id": asset.pk,
        "name": asset.name,
        "kind": asset.kind,
        "project": asset.project.slug if asset.project_id in own else None,
        "owner": asset.owner.email,
        "cost": exact_text(asset.cost),
        "currency": asset.currency,
        "starts": str(Month.of(asset.starts_on)),
        "life": asset.life,
        "life_in": asset.life_in,
        "life_left": standing.units_left,
        "written_off": exact_text(standing.written_off),
        "rest": exact_text(standing.rest),
        "licence": asset.licence,
        "compliance": asset.compliance,
        "uses": [
            {
                "project": use.project.slug,
                "proposal": use.proposal_id,
                "since": str(Month.of(use.since)),
                "until": str(Month.of(use.until)) if use.until else None,
                "tasks": use.tasks,
            }
            for use in asset.uses.all()
            if use.project_id in own
        ],
    }


def visible_projects(request: SignedInRequest) -> set[int]:
    return set(Project.objects.visible_to(request.user).values_list("pk", flat=True))


class AssetsView(APIView):
    """Assets one may see, newest first."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="assets_list", responses=AssetPage, parameters=[OpenApiParameter("before", int)])
    def get(self, request: SignedInRequest) -> Response:
        found = Asset.objects.visible_to(request.user).select_related("project", "owner")
        page, following = page_before(found.prefetch_related("uses__project"), request, PAGE)
        stands, own = standings(page), visible_projects(request)
        answers = [asset_answer(asset, stands[asset.pk], own) for asset in page]
        return Response({"results": answers, "next": following})


class AssetView(APIView):
    """One asset."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="assets_read", responses=AssetSerializer)
    def get(self, request: SignedInRequest, pk: int) -> Response:
        found = Asset.objects.visible_to(request.user).select_related("project", "owner")
        asset = get_object_or_404(found, pk=pk)
        return Response(asset_answer(asset, standings([asset])[asset.pk], visible_projects(request)))


urlpatterns = [
    path("assets/", AssetsView.as_view(), name="api-assets"),
    path("assets/<int:pk>/", AssetView.as_view(), name="api-asset"),
]
