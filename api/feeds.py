"""Where sources find their files by themselves, over the API."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from usage.feeds import services
from usage.models import Feed, Source

PERMISSIONS = [*APIView.permission_classes, HasScope]


class FeedSerializer(serializers.ModelSerializer):
    files = serializers.SerializerMethodField()

    class Meta:
        model = Feed
        fields = [
            "kind", "path", "pattern", "folder_is_one", "every_minutes", "daily_at", "time_zone", "is_on",
            "next_look_at", "last_look_at", "last_error", "last_seen", "last_taken", "files",
        ]  # fmt: skip

    def get_files(self, feed: Feed) -> dict[str, int]:
        """How many files stand in each state."""
        return services.file_counts(feed)


class NewFeed(serializers.Serializer):
    kind = serializers.ChoiceField(Feed.Kind.choices)
    path = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    pattern = serializers.CharField(max_length=200, required=False, default="*")
    folder_is_one = serializers.BooleanField(required=False, default=False)
    every_minutes = serializers.IntegerField(required=False, allow_null=True, default=None)
    daily_at = serializers.TimeField(required=False, allow_null=True, default=None)
    time_zone = serializers.CharField(max_length=64, required=False, default="UTC")
    is_on = serializers.BooleanField(required=False, default=True)


class FeedView(APIView):
    """A watched folder or a prefix of an object store, and its schedule."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="feed_read", responses=FeedSerializer)
    def get(self, request: SignedInRequest, slug: str) -> Response:
        feed = get_object_or_404(Feed.objects.visible_to(request.user), source__slug=slug)
        return Response(FeedSerializer(feed).data)

    @extend_schema(operation_id="feed_set", request=NewFeed, responses=FeedSerializer)
    def put(self, request: SignedInRequest, slug: str) -> Response:
        source = get_object_or_404(Source.objects.visible_to(request.user), slug=slug)
        form = NewFeed(data=request.data)
        form.is_valid(raise_exception=True)
        feed = services.set_feed(source, by=request.user, now=timezone.now(), **form.validated_data)
        return Response(FeedSerializer(feed).data)


class LookView(APIView):
    """Have a feed looked at now, whatever its schedule says."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="feed_look", request=None, responses={202: FeedSerializer})
    def post(self, request: SignedInRequest, slug: str) -> Response:
        feed = get_object_or_404(Feed.objects.visible_to(request.user), source__slug=slug)
        services.ask_for_look(feed, by=request.user, now=timezone.now())
        feed.refresh_from_db()
        return Response(FeedSerializer(feed).data, status=202)


urlpatterns = [
    path("sources/<slug:slug>/feed/", FeedView.as_view(), name="api-feed"),
    path("sources/<slug:slug>/feed/look/", LookView.as_view(), name="api-feed-look"),
]
