"""Prices over the API: what is in force, a new row, a whole file with a preview."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import FormParser, JSONParser, MultiPartParser
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from api.pages import page_after
from api.requests import SignedInRequest
from api.scopes import HasScope
from core.errors import DomainError
from estimates import queries, services, tasks
from estimates.models import Price
from estimates.price_files import MOST_BYTES
from teams import permissions
from teams.models import Organisation, User

PAGE = 100
FILTERS = ("kind", "item", "provider", "region", "mode", "currency", "verification")


class PriceSerializer(serializers.ModelSerializer):
    class Meta:
        model = Price
        fields = [
            "id",
            "kind",
            "item",
            "provider",
            "region",
            "mode",
            "unit",
            "amount",
            "currency",
            "valid_from",
            "source",
            "verification",
            "withdrawn",
            "reason",
            "note",
            "entered_at",
        ]


class NewPrice(serializers.Serializer):
    """A price as text; the same rules as for a row of a price file."""

    kind = serializers.CharField()
    item = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    valid_from = serializers.CharField()
    provider = serializers.CharField(required=False, allow_blank=True, default="")
    region = serializers.CharField(required=False, allow_blank=True, default="")
    mode = serializers.CharField(required=False, allow_blank=True, default="")
    source = serializers.CharField(required=False, allow_blank=True, default="")  # type: ignore[assignment]
    verified = serializers.BooleanField(required=False, default=False)
    withdrawn = serializers.BooleanField(required=False, default=False)
    reason = serializers.CharField(required=False, allow_blank=True, default="")
    note = serializers.CharField(required=False, allow_blank=True, default="")


class PricePage(serializers.Serializer):
    results = PriceSerializer(many=True)
    next = serializers.IntegerField(allow_null=True)


class PriceFileUpload(serializers.Serializer):
    file = serializers.FileField()
    preview = serializers.BooleanField(required=False, default=False)


class KeepsPricesOrReads(BasePermission):
    """Everybody who is signed in reads prices; price keepers write them."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.method in ("GET", "HEAD", "OPTIONS") or (
            isinstance(request.user, User) and permissions.may_keep_prices(request.user)
        )


class PricesView(APIView):
    """Prices in force on a day, or with `all=1` every row; and a new row."""

    permission_classes = [*APIView.permission_classes, HasScope, KeepsPricesOrReads]

    @property
    def scope(self) -> str:
        return "plans" if self.request.method == "POST" else "read"

    @extend_schema(
        responses=PricePage,
        parameters=[
            *(OpenApiParameter(name, str) for name in FILTERS),
            OpenApiParameter("on", OpenApiTypes.DATE),
            OpenApiParameter("all", bool),
            OpenApiParameter("after", int),
        ],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Price.objects.filter(**{name: asked[name] for name in FILTERS if asked.get(name)})
        if asked.get("all") not in ("1", "true"):
            found = found.current(day_of(asked.get("on", ""))).filter(withdrawn=False)
        page, following = page_after(found, request, PAGE)
        return Response({"results": PriceSerializer(page, many=True).data, "next": following})

    @extend_schema(request=NewPrice, responses={201: PriceSerializer, 422: OpenApiTypes.OBJECT})
    def post(self, request: SignedInRequest) -> Response:
        form = NewPrice(data=request.data)
        form.is_valid(raise_exception=True)
        row = services.add_price(by=request.user, **form.validated_data)
        tasks.recompute_soon()
        return Response(PriceSerializer(row).data, status=201)


def day_of(text: str) -> Any:
    """The day that was asked for, or today."""
    if not text:
        return Organisation.current().today(timezone.now())
    return serializers.DateField().run_validation(text)


class PriceImportView(APIView):
    """A CSV or XLSX file of prices; with `preview` it only says what would change."""

    permission_classes = [*APIView.permission_classes, HasScope, KeepsPricesOrReads]
    parser_classes = [MultiPartParser, FormParser, JSONParser]
    scope = "plans"

    @extend_schema(request={"multipart/form-data": PriceFileUpload}, responses={200: OpenApiTypes.OBJECT})
    def post(self, request: SignedInRequest) -> Response:
        form = PriceFileUpload(data=request.data)
        form.is_valid(raise_exception=True)
        content = form.validated_data["file"].read(MOST_BYTES + 1)
        preview = queries.preview_import(content)
        answer = {"counts": preview.counts, "drafts": preview.drafts.count(), "added": 0}
        if preview.faults:
            raise DomainError(
                _("The file was refused; nothing was changed."), code="price_file_refused", faults=list(preview.faults)
            )
        if not form.validated_data["preview"]:
            answer["added"] = len(services.import_prices(content, by=request.user))
            tasks.recompute_soon()
        return Response(answer)


urlpatterns = [
    path("prices/", PricesView.as_view(), name="api-prices"),
    path("prices/import/", PriceImportView.as_view(), name="api-price-import"),
]
