"""Rejected rows over the API: listed, and delivered again with mended records."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.imports import IDEMPOTENCY, ImportSerializer
from api.once import check_key
from api.pages import page_after
from api.requests import SignedInRequest
from api.scopes import HasScope
from overruns import tasks
from usage import corrections
from usage.models import Import, RejectedRow

PAGE = 100
PERMISSIONS = [*APIView.permission_classes, HasScope]


class RejectedSerializer(serializers.ModelSerializer):
    record = serializers.CharField(source="text", help_text=_("The row as it stands in the file."))

    class Meta:
        model = RejectedRow
        fields = ["id", "line", "column", "value", "reason", "record"]


class RejectedPage(serializers.Serializer):
    results = RejectedSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


class MendedRow(serializers.Serializer):
    line = serializers.IntegerField(min_value=1)
    record = serializers.CharField(trim_whitespace=False, max_length=1_000_000)


class Correction(serializers.Serializer):
    rows = MendedRow(many=True, allow_empty=False)


def visible_import(request: SignedInRequest, import_id: int) -> Import:
    return get_object_or_404(Import.objects.visible_to(request.user).select_related("source"), pk=import_id)


class RejectedView(APIView):
    """The rows of a delivery that were not taken, each with line, column, value and reason."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="rejected_list", responses=RejectedPage, parameters=[OpenApiParameter("after", int)])
    def get(self, request: SignedInRequest, import_id: int) -> Response:
        found = RejectedRow.objects.filter(delivery=visible_import(request, import_id))
        page, following = page_after(found, request, PAGE)
        return Response({"results": RejectedSerializer(page, many=True).data, "next": following})


class RejectedFileView(APIView):
    """All of them as CSV."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="rejected_csv", responses={(200, "text/csv"): OpenApiTypes.BINARY})
    def get(self, request: SignedInRequest, import_id: int) -> StreamingHttpResponse:
        lines = corrections.rejected_lines(visible_import(request, import_id))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class CorrectionView(APIView):
    """Deliver an import again with mended rows in place of those that were rejected."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="imports_correct",
        request=Correction,
        responses={202: ImportSerializer},
        parameters=[IDEMPOTENCY],
    )
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        original = visible_import(request, import_id)
        form = Correction(data=request.data)
        form.is_valid(raise_exception=True)
        key = request.headers.get("Idempotency-Key", "")
        check_key(key)
        mended: dict[int, Any] = {row["line"]: row["record"] for row in form.validated_data["rows"]}
        delivery = corrections.correct_import(original, mended, by=request.user, idempotency_key=key)
        tasks.import_soon(delivery.pk)
        return Response(ImportSerializer(delivery).data, status=202)


urlpatterns = [
    path("imports/<int:import_id>/rejected/", RejectedView.as_view(), name="api-rejected"),
    path("imports/<int:import_id>/rejected.csv", RejectedFileView.as_view(), name="api-rejected-csv"),
    path("imports/<int:import_id>/corrections/", CorrectionView.as_view(), name="api-import-correct"),
]
