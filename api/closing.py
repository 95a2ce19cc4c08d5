"""Closing months over the API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.closing import CheckItem, checklist, lines_to_close, months_to_close, next_month_to_close
from budgets.services import closing
from core.errors import DomainError, Fault
from core.months import Month
from teams import permissions
from teams.models import ClosedMonth, Organisation

PERMISSIONS = [*APIView.permission_classes, HasScope]


class PointSerializer(serializers.Serializer):
    """One point of the checklist."""

    key = serializers.CharField()
    name = serializers.CharField()
    count = serializers.IntegerField(help_text=_("How many things are not in order."))
    share = serializers.CharField(allow_null=True)
    done = serializers.BooleanField()
    may_accept = serializers.BooleanField()


class ClosedMonthSerializer(serializers.Serializer):
    month = serializers.CharField()
    closed_at = serializers.DateTimeField()
    by = serializers.EmailField()
    accepted = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField(allow_blank=True)


class BooksSerializer(serializers.Serializer):
    """The months closed so far, newest first, and the checklist of the next."""

    closed = ClosedMonthSerializer(many=True)
    next = serializers.CharField(allow_null=True)
    lines = serializers.IntegerField(help_text=_("How many lines end with the next month."))
    checklist = PointSerializer(many=True)


class Closing(serializers.Serializer):
    accepted = serializers.ListField(child=serializers.CharField(), default=list)
    reason = serializers.CharField(default="", allow_blank=True, max_length=500)


class Reopening(serializers.Serializer):
    reason = serializers.CharField(max_length=500)


def point_answer(item: CheckItem) -> dict[str, Any]:
    return {
        "key": item.key,
        "name": str(item.name),
        "count": item.count,
        "share": None if item.share is None else f"{item.share:.6f}",
        "done": item.is_done,
        "may_accept": item.may_accept,
    }


def month_answer(row: ClosedMonth) -> dict[str, Any]:
    return {
        "month": str(row),
        "closed_at": row.closed_at,
        "by": row.by.email,
        "accepted": row.accepted,
        "reason": row.reason,
    }


def books_answer() -> dict[str, Any]:
    now = timezone.now()
    today = Organisation.current().today(now)
    month = next_month_to_close()
    is_over = month is not None and month.end <= today
    found = checklist(months_to_close(month, today=today), now=now) if month is not None and is_over else None
    return {
        "closed": [month_answer(row) for row in ClosedMonth.objects.select_related("by")[:120]],
        "next": str(month) if is_over else None,
        "lines": lines_to_close(month).count() if month is not None and is_over else 0,
        "checklist": [point_answer(item) for item in found.items] if found else [],
    }


def month_named(text: str) -> Month:
    try:
        return Month.parse(text)
    except ValueError as error:
        faults = [Fault("month", text, _("is no month"), "2027-01")]
        raise DomainError(_("%(text)s is no month.") % {"text": text}, faults=faults) from error


def check_may_see(request: SignedInRequest) -> None:
    """Books are the organisation's: for a role in the whole of it."""
    if not permissions.may_see_all_usage(request.user):
        raise Http404


class BooksView(APIView):
    """Closed months, and what has to be in order before the next is closed."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="closing_read", responses=BooksSerializer)
    def get(self, request: SignedInRequest) -> Response:
        check_may_see(request)
        return Response(books_answer())


class CloseView(APIView):
    """Close a month, and every open month before it."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="closing_close", request=Closing, responses=ClosedMonthSerializer)
    def post(self, request: SignedInRequest, month: str) -> Response:
        check_may_see(request)
        form = Closing(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(month_answer(closing.close_month(month_named(month), by=request.user, **form.validated_data)))


class ReopenView(APIView):
    """Open the month closed last again."""

    permission_classes = PERMISSIONS
    scope = "plans"

    @extend_schema(operation_id="closing_reopen", request=Reopening, responses=BooksSerializer)
    def post(self, request: SignedInRequest, month: str) -> Response:
        check_may_see(request)
        form = Reopening(data=request.data)
        form.is_valid(raise_exception=True)
        closing.reopen_month(month_named(month), by=request.user, **form.validated_data)
        return Response(books_answer())


urlpatterns = [
    path("closing/", BooksView.as_view(), name="api-closing"),
    path("closing/<str:month>/close/", CloseView.as_view(), name="api-closing-close"),
    path("closing/<str:month>/reopen/", ReopenView.as_view(), name="api-closing-reopen"),
]
