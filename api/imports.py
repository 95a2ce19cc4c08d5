"""Deliveries over the API: a file brought, what became of it, and what a person says to it."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from api.bodies import AlwaysJson, BodyParser, body_of
from api.once import check_key
from api.pages import page_before
from api.requests import ReasonSerializer, SignedInRequest, reason_of
from api.scopes import HasScope
from overruns import tasks
from usage import services
from usage.models import Import, Source
from usage.pipeline.packing import NamedFile

PAGE = 50
PERMISSIONS = [*APIView.permission_classes, HasScope]
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description=_("The same key answers with the same import.")
)


class ImportSerializer(serializers.ModelSerializer):
    source = serializers.SlugRelatedField("slug", read_only=True)  # type: ignore[assignment, var-annotated]

    class Meta:
        model = Import
        fields = ["id", "source", "name", "status", "received_at", "size", "bytes_read", "rows_read", "rows_rejected"]


class ImportPage(serializers.Serializer):
    results = ImportSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


class ImportAnswer(serializers.Serializer):
    """As `manage.py import_usage --json` prints it."""

    source = serializers.CharField()  # type: ignore[assignment]
    status = serializers.CharField()
    format = serializers.CharField()
    rows_read = serializers.IntegerField()
    rows_accepted = serializers.IntegerField()
    rows_rejected = serializers.IntegerField()
    rows_skipped = serializers.IntegerField()
    rows_written = serializers.IntegerField()
    rows_unchanged = serializers.IntegerField()
    rows_closed = serializers.IntegerField()
    scopes = serializers.ListField(child=serializers.CharField())
    totals = serializers.DictField()
    warnings = serializers.DictField()
    errors = serializers.ListField(child=serializers.DictField())  # type: ignore[assignment]


class Upload(serializers.Serializer):
    source = serializers.SlugField()  # type: ignore[assignment]
    file = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True),
        allow_empty=False,
        help_text=_("Several files are taken as the parts of one delivery."),
    )
    format = serializers.CharField(required=False, default="", allow_blank=True)
    settings = serializers.JSONField(required=False, default=dict)

    def validate_settings(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise serializers.ValidationError(_("must be a JSON object"))
        return value


class ImportsView(APIView):
    """Deliveries: what came, and a way to bring more."""

    permission_classes = PERMISSIONS
    parser_classes = [MultiPartParser]

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(
        operation_id="imports_list",
        responses=ImportPage,
        parameters=[OpenApiParameter("before", int), OpenApiParameter("source", str)],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Import.objects.visible_to(request.user).select_related("source")
        if asked.get("source"):
            found = found.filter(source__slug=asked["source"])
        page, following = page_before(found, request, PAGE)
        return Response({"results": ImportSerializer(page, many=True).data, "next": following})

    @extend_schema(
        operation_id="imports_create", request=Upload, responses={202: ImportSerializer}, parameters=[IDEMPOTENCY]
    )
    def post(self, request: SignedInRequest) -> Response:
        form = Upload(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        source = get_object_or_404(Source.objects.visible_to(request.user), slug=given["source"])
        parts = [(file.name, file) for file in given["file"]]
        return received(request, source, parts, format=given["format"], settings=given["settings"])


class FilesView(APIView):
    """Push a file as the body of the request: `sacct … | curl --data-binary @- …`."""

    permission_classes = PERMISSIONS
    parser_classes = [BodyParser]
    content_negotiation_class = AlwaysJson
    scope = "usage"

    @extend_schema(
        operation_id="sources_push",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={202: ImportSerializer},
        parameters=[IDEMPOTENCY, OpenApiParameter("name", str), OpenApiParameter("format", str)],
    )
    def post(self, request: SignedInRequest, slug: str) -> Response:
        source = get_object_or_404(Source.objects.visible_to(request.user), slug=slug)
        asked = request.query_params
        settings = {name: value for name, value in asked.items() if name not in ("name", "format")}
        parts = [(asked.get("name") or slug, body_of(request))]
        return received(request, source, parts, format=asked.get("format", ""), settings=settings)


def received(
    request: SignedInRequest, source: Source, parts: list[NamedFile], *, format: str, settings: dict[str, Any]
) -> Response:
    """Keep the file, or the parts of one delivery; queue the import, start the worker."""
    key = request.headers.get("Idempotency-Key", "")
    check_key(key)
    delivery = services.receive_files(
        source=source,
        by=request.user,
        parts=parts,
        format=format,
        settings=settings,
        idempotency_key=key,
    )
    if delivery.status == Import.Status.QUEUED:
        tasks.import_soon(delivery.pk)
    return Response(ImportSerializer(delivery).data, status=202)


class ImportView(APIView):
    """One delivery and what became of it."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="imports_read", responses=ImportAnswer)
    def get(self, request: SignedInRequest, import_id: int) -> Response:
        get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        return Response(services.import_answer(import_id))


class ConfirmView(APIView):
    """Say yes to a delivery that waits for a person."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="imports_confirm", request=ReasonSerializer, responses={202: ImportSerializer})
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        delivery = get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        confirmed = services.confirm_import(delivery, by=request.user, reason=reason_of(request))
        tasks.import_soon(confirmed.pk)
        return Response(ImportSerializer(confirmed).data, status=202)


class MakeLiveView(APIView):
    """Put a statement in the place of the newer one that replaced it: it is delivered again, as issued now."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="imports_make_live", request=ReasonSerializer, responses={202: ImportSerializer})
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        delivery = get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        again = services.make_live(delivery, by=request.user, reason=reason_of(request))
        tasks.import_soon(again.pk)
        return Response(ImportSerializer(again).data, status=202)


class CancelView(APIView):
    """Stop a delivery that has not ended."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="imports_cancel", request=None, responses={202: ImportSerializer})
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        delivery = get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        services.cancel_import(delivery, by=request.user)
        delivery.refresh_from_db()
        return Response(ImportSerializer(delivery).data, status=202)


urlpatterns = [
    path("sources/<slug:slug>/files/", FilesView.as_view(), name="api-source-files"),
    path("imports/", ImportsView.as_view(), name="api-imports"),
    path("imports/<int:import_id>/", ImportView.as_view(), name="api-import"),
    path("imports/<int:import_id>/confirm/", ConfirmView.as_view(), name="api-import-confirm"),
    path("imports/<int:import_id>/make-live/", MakeLiveView.as_view(), name="api-import-make-live"),
    path("imports/<int:import_id>/cancel/", CancelView.as_view(), name="api-import-cancel"),
]
