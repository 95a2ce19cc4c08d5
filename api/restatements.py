"""Restatements over the API: what was known then, what is known now, and which deliveries did it."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from api.times import MonthField
from core.money import exact_text
from core.months import Month
from core.vocabulary import Basis
from teams import permissions
from teams.models import Project
from usage import restatements
from usage.models import Import, Source
from usage.restatements import Between, Restated

PERMISSIONS = [*APIView.permission_classes, HasScope]


class RestatementsQuery(serializers.Serializer):
    """Without `since`: closed months against their closing. `import` alone: what that import changed."""

    since = serializers.DateTimeField(required=False, default_timezone=UTC)
    until = serializers.DateTimeField(required=False, default_timezone=UTC)
    month = MonthField(required=False)
    basis = serializers.ChoiceField([str(basis) for basis in Basis], required=False, default=str(Basis.EFFECTIVE))
    source = serializers.SlugField(required=False, default="")  # type: ignore[assignment]
    news = serializers.BooleanField(
        required=False, default=False, help_text=_("Also months of which nothing was known before.")
    )

    def get_fields(self) -> dict[str, serializers.Field]:
        """`import` is no name of Python's."""
        return {**super().get_fields(), "import": serializers.IntegerField(required=False, min_value=1)}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("until") and not attrs.get("since"):
            raise serializers.ValidationError({"since": _("Say since when.")})
        if attrs.get("until") and attrs["until"] <= attrs["since"]:
            raise serializers.ValidationError({"until": _("Must be later.")})
        return attrs


class RestatedSerializer(serializers.Serializer):
    """One source's month in one place. Neither project nor shared: unallocated."""

    source = serializers.CharField()  # type: ignore[assignment]
    month = MonthField()
    project = serializers.CharField(allow_null=True)
    is_shared = serializers.BooleanField()
    currency = serializers.CharField()
    old = serializers.CharField()
    new = serializers.CharField()
    delta = serializers.CharField()
    was_known = serializers.BooleanField(help_text=_("false: nothing of the source's month was known before."))
    imports = serializers.ListField(child=serializers.IntegerField())
    by_placement = serializers.BooleanField(help_text=_("Rules or re-assignments moved a part of it."))


def restated_answer(row: Restated) -> dict[str, Any]:
    return {
        "source": row.source.slug,
        "month": str(Month.of(row.month)),
        "project": row.project.slug if row.project else None,
        "is_shared": row.is_shared,
        "currency": row.currency,
        "old": exact_text(row.old),
        "new": exact_text(row.new),
        "delta": exact_text(row.delta),
        "was_known": row.was_known,
        "imports": [delivery.pk for delivery in row.imports],
        "by_placement": row.by_placement,
    }


class RestatementsView(APIView):
    """Old, new and difference by month, source and place; of the projects one sees, or of everything."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="usage_restatements", parameters=[RestatementsQuery], responses=RestatedSerializer(many=True)
    )
    def get(self, request: SignedInRequest) -> Response:
        form = RestatementsQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        return Response([restated_answer(row) for row in found_rows(request, form.validated_data)])


def found_rows(request: SignedInRequest, asked: dict[str, Any]) -> list[Restated]:
    sees_all = permissions.may_see_all_usage(request.user)
    projects = None if sees_all else list(Project.objects.visible_to(request.user).values_list("pk", flat=True))
    source = None
    if asked["source"]:
        source = get_object_or_404(Source.objects.visible_to(request.user), slug=asked["source"])
    basis, month = asked["basis"], asked.get("month")
    if asked.get("import"):
        live = Import.objects.visible_to(request.user).filter(live_at__isnull=False)
        found = restatements.of_import(get_object_or_404(live, pk=asked["import"]), basis=basis, projects=projects)
    elif asked.get("since"):
        found = restatements.restated(
            Between(asked["since"], asked.get("until"), basis, month, source.pk if source else None, projects)
        )
    else:
        return [
            row
            for row in restatements.since_closing(basis=basis, projects=projects, months=[month] if month else None)
            if source is None or row.source == source
        ]
    return [row for row in found if row.was_known or asked["news"]]


urlpatterns = [path("usage/restatements/", RestatementsView.as_view(), name="api-restatements")]
