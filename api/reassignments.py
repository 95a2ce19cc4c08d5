"""Re-assignments over the API: usage found, put elsewhere with a reason, taken back; and who answers for the rest."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.once import KEY, once
from api.pages import page_before
from api.requests import ReasonSerializer, SignedInRequest, reason_of
from api.rules import PreviewSerializer, may_allocate, may_look, preview_answer
from api.scopes import HasScope
from api.times import KnownQuery, MonthField
from core.money import exact_text
from core.months import Month
from overruns import tasks
from teams.models import Organisation, Project, User
from usage import overview, reassignments
from usage.models import Reassignment, Source

PAGE = 50
PERMISSIONS = [*APIView.permission_classes, HasScope]
LARGEST = 2**63 - 1


class PicksQuery(serializers.Serializer):
    """Which usage: of a month (the newest with usage), a source, a place, with a word in its keys."""

    month = MonthField(required=False)
    source = serializers.SlugRelatedField("slug", queryset=Source.objects.all(), required=False)  # type: ignore[assignment]
    place = serializers.CharField(
        required=False, default="", help_text=_("unallocated, shared, or the short name of a project")
    )
    word = serializers.CharField(required=False, default="", max_length=120)


class PickSerializer(serializers.Serializer):
    key_set = serializers.IntegerField()
    source = serializers.CharField()  # type: ignore[assignment]
    account = serializers.CharField()
    service = serializers.CharField()
    sku = serializers.CharField()
    region = serializers.CharField()
    resource = serializers.CharField()
    user = serializers.CharField()
    tags = serializers.DictField()
    project = serializers.CharField(allow_null=True)
    is_shared = serializers.BooleanField()
    currency = serializers.CharField()
    cost = serializers.CharField()
    rows = serializers.IntegerField()


def pick_answer(pick: reassignments.Pick) -> dict[str, Any]:
    keys, meter = pick.key_set, pick.key_set.meter
    return {
        "key_set": keys.pk,
        "source": keys.source.slug,
        "account": meter.account,
        "service": meter.service,
        "sku": meter.sku,
        "region": meter.region,
        "resource": keys.resource,
        "user": keys.user,
        "tags": keys.tags,
        "project": pick.project.slug if pick.project else None,
        "is_shared": pick.is_shared,
        "currency": pick.currency,
        "cost": exact_text(pick.cost),
        "rows": pick.rows,
    }


class PicksView(APIView):
    """Usage that one may re-assign: the dearest combinations of keys of a month, by effective cost."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="key_sets_list", parameters=[PicksQuery], responses=PickSerializer(many=True))
    def get(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        form = PicksQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        today = Organisation.current().today(timezone.now())
        month = asked.get("month") or overview.newest_month(until=today) or Month.of(today)
        source = asked.get("source")
        search = reassignments.Search(month, source.pk if source else None, asked["place"], asked["word"])
        return Response([pick_answer(pick) for pick in reassignments.picks(search)])


class NewReassignment(serializers.ModelSerializer):
    """What goes where, from when, and why. What is left out stays as the rules say."""

    key_sets = serializers.ListField(child=serializers.IntegerField(min_value=1, max_value=LARGEST))
    project = serializers.SlugRelatedField("slug", queryset=Project.objects.all(), required=False, allow_null=True)

    class Meta:
        model = Reassignment
        fields = [
            "key_sets", "starts_on", "ends_on", "project", "is_shared", "category", "task_type", "stage", "experiment",
            "reason", "restates",
        ]  # fmt: skip


class ReassignmentSerializer(NewReassignment):
    key_sets = serializers.PrimaryKeyRelatedField(many=True, read_only=True)  # type: ignore[assignment, var-annotated]
    made_by = serializers.SlugRelatedField("email", read_only=True)  # type: ignore[var-annotated]
    reversed_by = serializers.SlugRelatedField("email", read_only=True)  # type: ignore[var-annotated]

    class Meta(NewReassignment.Meta):
        fields = ["id", *NewReassignment.Meta.fields, "made_at", "made_by", "reversed_at", "reversed_by",
                  "reverse_reason"]  # fmt: skip


class ReassignmentPage(serializers.Serializer):
    results = ReassignmentSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `before` for the next page."))


def drafted(request: SignedInRequest) -> tuple[Reassignment, list[int]]:
    form = NewReassignment(data=request.data)
    form.is_valid(raise_exception=True)
    given = dict(form.validated_data)
    key_sets = given.pop("key_sets")
    return Reassignment(**given), key_sets


class ReassignmentsView(APIView):
    """What people decided by hand, the newest first; and a new decision, which wins over every rule."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(
        operation_id="reassignments_list", responses=ReassignmentPage, parameters=[OpenApiParameter("before", int)]
    )
    def get(self, request: SignedInRequest) -> Response:
        may_look(request)
        found = Reassignment.objects.select_related("project", "made_by", "reversed_by").prefetch_related("key_sets")
        page, following = page_before(found, request, PAGE)
        return Response({"results": ReassignmentSerializer(page, many=True).data, "next": following})

    @extend_schema(
        operation_id="reassignments_create",
        request=NewReassignment,
        responses={201: ReassignmentSerializer},
        parameters=[KEY],
    )
    @once
    def post(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        draft, key_sets = drafted(request)
        made = reassignments.reassign(draft, key_sets, by=request.user)
        tasks.judge_soon()
        return Response(ReassignmentSerializer(made).data, status=201)


class ReassignmentPreviewView(APIView):
    """What a decision would move. Nothing is kept."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="reassignments_preview", request=NewReassignment, responses=PreviewSerializer)
    def post(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        draft, key_sets = drafted(request)
        return Response(preview_answer(reassignments.preview(draft, key_sets, by=request.user)))


class ReassignmentReverseView(APIView):
    """Take a decision back: what it covered goes where the rules say."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="reassignments_reverse",
        request=ReasonSerializer,
        responses=ReassignmentSerializer,
        parameters=[KEY],
    )
    @once
    def post(self, request: SignedInRequest, pk: int) -> Response:
        may_allocate(request)
        row = get_object_or_404(Reassignment, pk=pk)
        reassignments.reverse_reassignment(row, by=request.user, reason=reason_of(request), now=timezone.now())
        tasks.judge_soon()
        row.refresh_from_db()
        return Response(ReassignmentSerializer(row).data)


class OwnerSerializer(serializers.Serializer):
    person = serializers.SlugRelatedField(
        "email", queryset=User.objects.filter(is_active=True), allow_null=True, help_text=_("null: every operator")
    )


class MonthShareSerializer(serializers.Serializer):
    month = MonthField()
    currency = serializers.CharField()
    total = serializers.CharField()
    unallocated = serializers.CharField()
    untagged = serializers.CharField()
    unallocated_share = serializers.CharField(allow_null=True)
    untagged_share = serializers.CharField(allow_null=True)


class UnownedSerializer(serializers.Serializer):
    """Cost that no rule places and that no tag names, of the last twelve months; and who answers for it."""

    owners = serializers.ListField(child=serializers.EmailField())
    months = MonthShareSerializer(many=True)


def unowned_answer(known_at: datetime | None = None) -> dict[str, Any]:
    month = Month.of(Organisation.current().today(timezone.now()))
    return {
        "owners": [person.email for person in reassignments.owners()],
        "months": [
            {
                "month": str(Month.of(row.month)),
                "currency": row.currency,
                **{name: exact_text(getattr(row, name)) for name in ("total", "unallocated", "untagged")},
                **{
                    name: None if (share := getattr(row, name)) is None else exact_text(round(share, 6))
                    for name in ("unallocated_share", "untagged_share")
                },
            }
            for row in reassignments.trend(month, known_at=known_at)
        ],
    }


class UnownedView(APIView):
    """What nobody owns, and who answers for it."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="unallocated_read", parameters=[KnownQuery], responses=UnownedSerializer)
    def get(self, request: SignedInRequest) -> Response:
        may_look(request)
        form = KnownQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        return Response(unowned_answer(**form.validated_data))

    @extend_schema(operation_id="unallocated_own", request=OwnerSerializer, responses=UnownedSerializer)
    def put(self, request: SignedInRequest) -> Response:
        may_allocate(request)
        form = OwnerSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        reassignments.name_owner(form.validated_data["person"], by=request.user)
        return Response(unowned_answer())


urlpatterns = [
    path("usage/key-sets/", PicksView.as_view(), name="api-key-sets"),
    path("usage/unallocated/", UnownedView.as_view(), name="api-unallocated"),
    path("reassignments/", ReassignmentsView.as_view(), name="api-reassignments"),
    path("reassignments/preview/", ReassignmentPreviewView.as_view(), name="api-reassignments-preview"),
    path("reassignments/<int:pk>/reverse/", ReassignmentReverseView.as_view(), name="api-reassignment-reverse"),
]
