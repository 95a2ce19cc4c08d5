"""Where usage comes from, over the API."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from usage import services
from usage.models import Source

PERMISSIONS = [*APIView.permission_classes, HasScope]


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


urlpatterns = [path("sources/", SourcesView.as_view(), name="api-sources")]
