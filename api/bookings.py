"""Bookings over the API: what no meter sees, a line or a file at a time, and their reversal."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.bodies import BodyParser
from api.once import KEY, once
from api.pages import page_before
from api.requests import ReasonSerializer, SignedInRequest, reason_of
from api.scopes import HasScope
from core.money import exact_text
from overruns import tasks
from usage.bookings import files, services
from usage.bookings.facts import COLUMNS
from usage.models import Booking

PAGE = 50
PERMISSIONS = [*APIView.permission_classes, HasScope]


class BookingSerializer(serializers.ModelSerializer):
    project = serializers.SlugRelatedField("slug", read_only=True)  # type: ignore[var-annotated]
    proposal = serializers.CharField(source="reference")
    amount = serializers.SerializerMethodField()
    reversed_by = serializers.SerializerMethodField()

    class Meta:
        model = Booking
        fields = [
            "id", "kind", "project", "category", "task_type", "stage", "proposal", "starts_on", "ends_on", "amount",
            "currency", "item", "document", "key", "link", "note", "booked_at", "reverses", "reversed_by", "reason",
        ]  # fmt: skip

    def get_amount(self, row: Booking) -> str:
        return exact_text(row.amount)

    def get_reversed_by(self, row: Booking) -> int | None:
        return row.reversal.pk if row.is_reversed else None


class BookingPage(serializers.Serializer):
    results = BookingSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


class NewBooking(serializers.Serializer):
    """The columns of a file of bookings, as texts."""

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name: serializers.CharField(required=False, allow_blank=True, default="") for name in COLUMNS}


class BookedFile(serializers.Serializer):
    """What a file booked. `errors` of a file that was refused stand in the refusal."""

    booked = BookingSerializer(many=True)
    known = serializers.IntegerField(help_text=_("Lines that were booked before."))


class BookingsView(APIView):
    """Bookings, the newest first; and a way to book one line."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(
        operation_id="bookings_list",
        responses=BookingPage,
        parameters=[OpenApiParameter("before", int), OpenApiParameter("project", str)],
    )
    def get(self, request: SignedInRequest) -> Response:
        asked = request.query_params
        found = Booking.objects.visible_to(request.user).select_related("project", "reversal")
        if asked.get("project"):
            found = found.filter(project__slug=asked["project"])
        page, following = page_before(found, request, PAGE)
        return Response({"results": BookingSerializer(page, many=True).data, "next": following})

    @extend_schema(
        operation_id="bookings_create", request=NewBooking, responses={201: BookingSerializer}, parameters=[KEY]
    )
    @once
    def post(self, request: SignedInRequest) -> Response:
        form = NewBooking(data=request.data)
        form.is_valid(raise_exception=True)
        row = services.book_line(form.validated_data, by=request.user)
        tasks.judge_soon()
        return Response(BookingSerializer(row).data, status=201)


class BookingFilesView(APIView):
    """Book a CSV file of lines, all or none. The same file again books nothing."""

    permission_classes = PERMISSIONS
    parser_classes = [BodyParser]
    scope = "usage"

    @extend_schema(
        operation_id="bookings_file",
        request={"text/csv": OpenApiTypes.BINARY},
        responses={200: BookedFile},
        parameters=[OpenApiParameter("name", str)],
    )
    def post(self, request: SignedInRequest) -> Response:
        stream: Any = request.data["stream"]  # type: ignore[call-overload]
        content = stream.read(files.MOST_BYTES + 1)
        preview = services.preview_file(content, by=request.user, now=timezone.now())
        booked = services.book_file(content, by=request.user, name=request.query_params.get("name") or "bookings.csv")
        tasks.judge_soon()
        return Response(
            {
                "booked": BookingSerializer(booked, many=True).data,
                "known": len(preview.lines) - len(booked),
            }
        )


class BookingReversalView(APIView):
    """Take a booking back by another of the opposite amount."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="bookings_reverse", request=ReasonSerializer, responses={201: BookingSerializer}, parameters=[KEY]
    )
    @once
    def post(self, request: SignedInRequest, pk: int) -> Response:
        row = get_object_or_404(Booking.objects.visible_to(request.user), pk=pk)
        reversal = services.reverse_booking(row, by=request.user, reason=reason_of(request))
        tasks.judge_soon()
        return Response(BookingSerializer(reversal).data, status=201)


urlpatterns = [
    path("bookings/", BookingsView.as_view(), name="api-bookings"),
    path("bookings/files/", BookingFilesView.as_view(), name="api-booking-files"),
    path("bookings/<int:pk>/reverse/", BookingReversalView.as_view(), name="api-booking-reverse"),
]
