"""Usage over the API: sources, deliveries, what became of them, sums, allocation rules."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import IO, Any
from zoneinfo import available_timezones

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound, PermissionDenied
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.requests import SignedInRequest
from api.scopes import HasScope
from api.usage_answers import totals_answer
from core.money import exact_text
from core.vocabulary import Basis
from overruns import tasks
from teams import permissions
from teams.models import Project
from usage import focus_export, queries, rules, services
from usage.models import AllocationRule, AllocationShare, Import, Source
from usage.totals import DIMENSIONS, Question, default_zone

PAGE = 50
PERMISSIONS = [*APIView.permission_classes, HasScope]
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description=_("The same key answers with the same import.")
)


class SourceSerializer(serializers.ModelSerializer):
    part_of = serializers.SlugRelatedField("slug", read_only=True)  # type: ignore[var-annotated]

    class Meta:
        model = Source
        fields = ["slug", "name", "format", "money", "meaning", "part_of", "settings"]


class NewSource(serializers.Serializer):
    slug = serializers.SlugField(max_length=60)
    name = serializers.CharField(max_length=120, required=False, default="")
    format = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    settings = serializers.DictField(required=False, default=dict)


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
    file = serializers.FileField(allow_empty_file=True)
    format = serializers.CharField(required=False, default="", allow_blank=True)
    settings = serializers.JSONField(required=False, default=dict)

    def validate_settings(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise serializers.ValidationError(_("must be a JSON object"))
        return value


class BodyParser(BaseParser):
    """Takes the body of a request as the file it is, unread."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return {"stream": stream}


class AlwaysJson(BaseContentNegotiation):
    """`?format=` of a push is the format of the file, not of the answer."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class SourcesView(APIView):
    """Where usage comes from."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="sources_list", responses=SourceSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        found = Source.objects.visible_to(request.user).select_related("part_of")
        return Response(SourceSerializer(found, many=True).data)

    @extend_schema(operation_id="sources_create", request=NewSource, responses={201: SourceSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = NewSource(data=request.data)
        form.is_valid(raise_exception=True)
        source = services.open_source(by=request.user, **form.validated_data)
        return Response(SourceSerializer(source).data, status=201)


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
        found = Import.objects.visible_to(request.user).select_related("source").order_by("-id")
        if asked.get("source"):
            found = found.filter(source__slug=asked["source"])
        if asked.get("before", "").isdigit():
            found = found.filter(pk__lt=int(asked["before"]))
        page = list(found[: PAGE + 1])
        following = page[PAGE - 1].pk if len(page) > PAGE else None
        return Response({"results": ImportSerializer(page[:PAGE], many=True).data, "next": following})

    @extend_schema(
        operation_id="imports_create", request=Upload, responses={202: ImportSerializer}, parameters=[IDEMPOTENCY]
    )
    def post(self, request: SignedInRequest) -> Response:
        form = Upload(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        source = get_object_or_404(Source.objects.visible_to(request.user), slug=given["source"])
        return received(
            request, source, given["file"].name, given["file"], format=given["format"], settings=given["settings"]
        )


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
        stream = body_of(request)
        return received(
            request, source, asked.get("name") or slug, stream, format=asked.get("format", ""), settings=settings
        )


class LengthRequired(APIException):
    status_code = 411
    default_detail = gettext_lazy("This server takes no body of unknown length: send the file with its length.")


def body_of(request: SignedInRequest) -> IO[bytes]:
    """The body as it comes. Of a chunked one Django reads nothing: the server's own stream ends where it does."""
    meta = request._request.META
    if meta.get("HTTP_TRANSFER_ENCODING", "").lower() != "chunked":
        return request._request  # type: ignore[return-value]
    if meta.get("SERVER_SOFTWARE", "").startswith("WSGIServer"):
        raise LengthRequired  # Python's own server for developing hands on the chunks undecoded
    return meta["wsgi.input"]


def received(
    request: SignedInRequest, source: Source, name: str, stream: Any, *, format: str, settings: dict[str, Any]
) -> Response:
    """Keep the file, queue its import, start the worker."""
    delivery = services.receive_file(
        source=source,
        by=request.user,
        name=name,
        stream=stream,
        format=format,
        settings=settings,
        idempotency_key=request.headers.get("Idempotency-Key", "")[:120],
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


REASON = inline_serializer("Reason", {"reason": serializers.CharField()})


class ConfirmView(APIView):
    """Say yes to a delivery that waits for a person."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="imports_confirm", request=REASON, responses={202: ImportSerializer})
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        delivery = get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        confirmed = services.confirm_import(delivery, by=request.user, reason=str(request.data.get("reason", "")))  # type: ignore[union-attr]
        tasks.import_soon(confirmed.pk)
        return Response(ImportSerializer(confirmed).data, status=202)


class MakeLiveView(APIView):
    """Put a statement in the place of the newer one that replaced it: it is delivered again, as issued now."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="imports_make_live", request=REASON, responses={202: ImportSerializer})
    def post(self, request: SignedInRequest, import_id: int) -> Response:
        delivery = get_object_or_404(Import.objects.visible_to(request.user), pk=import_id)
        again = services.make_live(delivery, by=request.user, reason=str(request.data.get("reason", "")))  # type: ignore[union-attr]
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


class TotalsQuery(serializers.Serializer):
    source = serializers.SlugField(required=False, default="")  # type: ignore[assignment]
    project = serializers.SlugField(required=False, default="")
    by = serializers.CharField(required=False, default="", help_text=", ".join(DIMENSIONS))
    basis = serializers.ChoiceField([str(basis) for basis in Basis], required=False, default=str(Basis.BILLED))
    timezone = serializers.CharField(required=False, default="")
    known_at = serializers.DateTimeField(required=False, allow_null=True, default=None, default_timezone=UTC)

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is no name of Python's."""
        days = {name: serializers.DateField(required=False, allow_null=True, default=None) for name in ("from", "to")}
        return {**super().get_fields(), **days}

    def validate_timezone(self, value: str) -> str:
        if value and value not in available_timezones():
            raise serializers.ValidationError(_("is no time zone such as Asia/Shanghai"))
        return value


class TotalsAnswer(serializers.Serializer):
    totals = serializers.DictField()
    rows = serializers.IntegerField()
    accelerator_hours = serializers.CharField()
    quantities = serializers.ListField(child=serializers.DictField())
    groups = serializers.ListField(child=serializers.DictField())


class TotalsView(APIView):
    """Sums of usage, as `manage.py usage_total --json` prints them. Who has no role in the whole names a project."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="usage_totals", parameters=[TotalsQuery], responses=TotalsAnswer)
    def get(self, request: SignedInRequest) -> Response:
        form = TotalsQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        if asked["project"]:
            get_object_or_404(Project.objects.visible_to(request.user), slug=asked["project"])
        elif not permissions.may_see_all_usage(request.user):
            raise PermissionDenied(_("Name a project of yours."))
        question = Question(
            source=asked["source"],
            project=asked["project"],
            start=asked["from"],
            end=asked["to"],
            zone=asked["timezone"] or default_zone(asked["source"]),
            by=[name.strip() for name in asked["by"].split(",") if name.strip()],
            basis=asked["basis"],
            known_at=asked["known_at"],
        )
        return Response(totals_answer(question))


class ExportQuery(serializers.Serializer):
    team = serializers.SlugField(required=False, default="")

    def get_fields(self) -> dict[str, serializers.Field]:
        """`from` is no name of Python's."""
        return {**super().get_fields(), "from": serializers.DateField(), "to": serializers.DateField()}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["to"] <= attrs["from"]:
            raise serializers.ValidationError({"to": _("must be after the first day")})
        return attrs


class FocusView(APIView):
    """Our attributed cost of half-open days as FOCUS 1.2 CSV, in a stream: everything one may see, or one team's."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(
        operation_id="usage_focus",
        parameters=[ExportQuery],
        responses={(200, "text/csv"): OpenApiTypes.BINARY},
    )
    def get(self, request: SignedInRequest) -> StreamingHttpResponse:
        form = ExportQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        projects: list[int] | None = focus_export.projects_of(request.user, asked["team"])
        if asked["team"] and not projects:
            raise NotFound
        if not asked["team"] and permissions.may_see_all_usage(request.user):
            projects = None
        lines = focus_export.lines(focus_export.Slice(asked["from"], asked["to"], projects))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class ConservedSerializer(serializers.Serializer):
    currency = serializers.CharField()
    projects = serializers.CharField()
    shared = serializers.CharField()
    unallocated = serializers.CharField()
    sources = serializers.CharField()
    holds = serializers.BooleanField()


class ConservationView(APIView):
    """Projects, shared and unallocated cost against the sources, by currency."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="usage_conservation", responses=ConservedSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        if not permissions.may_see_all_usage(request.user):
            raise PermissionDenied
        return Response(
            [
                {
                    "currency": found.currency,
                    "projects": exact_text(found.projects),
                    "shared": exact_text(found.shared),
                    "unallocated": exact_text(found.unallocated),
                    "sources": exact_text(found.sources),
                    "holds": found.holds,
                }
                for found in queries.conservation()
            ]
        )


class ShareSerializer(serializers.ModelSerializer):
    """One project of a split, with its weight; where usage weighs, any weight serves."""

    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all())
    weight = AmountField(max_digits=28, decimal_places=8, required=False, default=Decimal(1))

    class Meta:
        model = AllocationShare
        fields = ["project", "weight"]


class RuleSerializer(serializers.ModelSerializer):
    shares = ShareSerializer(many=True, required=False)
    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all(), required=False, allow_null=True)
    source = serializers.SlugRelatedField("slug", queryset=Source.objects.all(), required=False, allow_null=True)  # type: ignore[assignment]

    class Meta:
        model = AllocationRule
        fields = [
            "id", "position", "name", "source", "conditions", "starts_on", "ends_on", "project", "is_shared",
            "split", "shares",
            "category", "task_type", "stage", "experiment", "reference", "reason",
        ]  # fmt: skip
        extra_kwargs = {"position": {"required": False}}


class RulesView(APIView):
    """Allocation rules in order. Writing one moves nothing that is stored; applying them does."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="rules_list", responses=RuleSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        if not permissions.may_see_all_usage(request.user):
            raise PermissionDenied
        return Response(RuleSerializer(rules.rules_in_order(), many=True).data)

    @extend_schema(operation_id="rules_create", request=RuleSerializer, responses={201: RuleSerializer})
    def post(self, request: SignedInRequest) -> Response:
        form = RuleSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        shares = [(share["project"], share["weight"]) for share in given.pop("shares", [])]
        rule = rules.add_rule(by=request.user, shares=shares, **given)
        return Response(RuleSerializer(rule).data, status=201)


class ApplyRulesView(APIView):
    """Place what is stored by the rules as they are now."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="rules_apply",
        request=None,
        responses=inline_serializer("Applied", {"key_sets": serializers.IntegerField()}),
    )
    def post(self, request: SignedInRequest) -> Response:
        moved = rules.apply_rules(by=request.user)
        tasks.judge_soon()
        return Response({"key_sets": moved})


urlpatterns = [
    path("sources/", SourcesView.as_view(), name="api-sources"),
    path("sources/<slug:slug>/files/", FilesView.as_view(), name="api-source-files"),
    path("imports/", ImportsView.as_view(), name="api-imports"),
    path("imports/<int:import_id>/", ImportView.as_view(), name="api-import"),
    path("imports/<int:import_id>/confirm/", ConfirmView.as_view(), name="api-import-confirm"),
    path("imports/<int:import_id>/make-live/", MakeLiveView.as_view(), name="api-import-make-live"),
    path("imports/<int:import_id>/cancel/", CancelView.as_view(), name="api-import-cancel"),
    path("usage/totals/", TotalsView.as_view(), name="api-usage-totals"),
    path("usage/focus.csv", FocusView.as_view(), name="api-usage-focus"),
    path("usage/conservation/", ConservationView.as_view(), name="api-conservation"),
    path("rules/", RulesView.as_view(), name="api-rules"),
    path("rules/apply/", ApplyRulesView.as_view(), name="api-rules-apply"),
]
