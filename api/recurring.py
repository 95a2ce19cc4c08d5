"""Recurring costs over the API: people, hardware, power and fixed amounts; their months, corrected and confirmed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.bookings import BookingSerializer
from api.once import KEY, once
from api.pages import page_after
from api.requests import SignedInRequest
from api.scopes import HasScope
from api.times import MonthField
from core.money import exact_text
from core.months import Month
from overruns import tasks
from teams.models import Organisation
from usage.bookings import recurring as services
from usage.bookings.services import projects_to_book_on
from usage.models import MonthDraft, RecurringBooking

PAGE = 100
PERMISSIONS = [*APIView.permission_classes, HasScope]
AMOUNTS = ("quantity", "amount", "capital", "residual")
STATES = ("due", "running", "unpriced", "booked")


class NewRecurring(serializers.ModelSerializer):
    """What it needs hangs on `basis`: role and tariff an `item` of the price table and a `quantity` (persons, kWh),
    depreciation `capital`, `residual` and `life_months`, amount an `amount`."""

    project = serializers.CharField()
    first_month = MonthField()
    last_month = MonthField(required=False, allow_null=True)
    quantity = AmountField(required=False, allow_null=True)
    amount = AmountField(required=False, allow_null=True)
    capital = AmountField(required=False, allow_null=True)
    residual = AmountField(required=False, allow_null=True)

    class Meta:
        model = RecurringBooking
        fields = [
            "basis", "name", "project", "category", "task_type", "stage", "reference", "currency", "item", "quantity",
            "amount", "capital", "residual", "life_months", "first_month", "last_month",
        ]  # fmt: skip
        extra_kwargs = {"reference": {"help_text": _("such as P-12")}}


class RecurringSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    basis = serializers.CharField()
    name = serializers.CharField()
    project = serializers.CharField()
    category = serializers.CharField()
    task_type = serializers.CharField()
    stage = serializers.CharField()
    reference = serializers.CharField()
    currency = serializers.CharField()
    item = serializers.CharField()
    quantity = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True)
    capital = serializers.CharField(allow_null=True)
    residual = serializers.CharField(allow_null=True)
    life_months = serializers.IntegerField(allow_null=True)
    first_month = MonthField()
    last_month = MonthField(allow_null=True)


class RecurringPage(serializers.Serializer):
    results = RecurringSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


def text_of(amount: Decimal | None) -> str | None:
    return None if amount is None else exact_text(amount)


def recurring_answer(item: RecurringBooking) -> dict[str, Any]:
    names = ("basis", "name", "category", "task_type", "stage", "reference", "currency", "item", "life_months")
    return {
        "id": item.pk,
        **{name: getattr(item, name) for name in names},
        "project": item.project.slug,
        **{name: text_of(getattr(item, name)) for name in AMOUNTS},
        "first_month": str(Month.of(item.starts_on)),
        "last_month": str(Month.of(item.last_month)) if item.last_month else None,
    }


class RecurringListView(APIView):
    """What comes every month; and another. Its months are drafted up to now, and wait for finance as they end."""

    permission_classes = PERMISSIONS

    @property
    def scope(self) -> str:
        return "read" if self.request.method == "GET" else "usage"

    @extend_schema(operation_id="recurring_list", responses=RecurringPage, parameters=[OpenApiParameter("after", int)])
    def get(self, request: SignedInRequest) -> Response:
        found = RecurringBooking.objects.visible_to(request.user).select_related("project")
        page, following = page_after(found, request, PAGE)
        return Response({"results": [recurring_answer(item) for item in page], "next": following})

    @extend_schema(
        operation_id="recurring_create", request=NewRecurring, responses={201: RecurringSerializer}, parameters=[KEY]
    )
    @once
    def post(self, request: SignedInRequest) -> Response:
        projects = projects_to_book_on(request.user)
        if not projects:
            raise PermissionDenied(_("Only finance and managers of the team write down recurring costs."))
        form = NewRecurring(data=request.data)
        form.is_valid(raise_exception=True)
        given = dict(form.validated_data)
        project = projects.get(given.pop("project"))
        if project is None:
            raise serializers.ValidationError({"project": [_("is no project that you book on")]})
        first, last = given.pop("first_month"), given.pop("last_month", None)
        dates = {"starts_on": first.start, "ends_on": last.end if last else None}
        item = services.add_recurring(RecurringBooking(**given, **dates, project=project), by=request.user)
        return Response(recurring_answer(item), status=201)


class LastMonth(serializers.Serializer):
    last_month = MonthField()


class RecurringEndView(APIView):
    """It comes for the last time in a month. Drafts of later months go."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="recurring_end", request=LastMonth, responses=RecurringSerializer)
    def post(self, request: SignedInRequest, pk: int) -> Response:
        item = get_object_or_404(RecurringBooking.objects.visible_to(request.user), pk=pk)
        form = LastMonth(data=request.data)
        form.is_valid(raise_exception=True)
        ended = services.end_recurring(item, by=request.user, last_month=form.validated_data["last_month"])
        return Response(recurring_answer(ended))


class DraftSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    recurring = serializers.IntegerField()
    name = serializers.CharField()
    project = serializers.CharField()
    month = MonthField()
    quantity = serializers.CharField(allow_null=True)
    rate = serializers.CharField(allow_null=True)
    amount = serializers.CharField(allow_null=True, help_text=_("null: the price table has no price for it."))
    currency = serializers.CharField()
    edited_by = serializers.EmailField(allow_null=True)
    edit_reason = serializers.CharField()
    booking = serializers.IntegerField(allow_null=True)


class DraftPage(serializers.Serializer):
    results = DraftSerializer(many=True)
    next = serializers.IntegerField(allow_null=True, help_text=_("Pass it as `after` for the next page."))


def draft_answer(draft: MonthDraft) -> dict[str, Any]:
    return {
        "id": draft.pk,
        "recurring": draft.recurring_id,
        "name": draft.recurring.name,
        "project": draft.recurring.project.slug,
        "month": str(Month.of(draft.month)),
        **{name: text_of(getattr(draft, name)) for name in ("quantity", "rate", "amount")},
        "currency": draft.recurring.currency,
        "edited_by": draft.edited_by.email if draft.edited_by else None,
        "edit_reason": draft.edit_reason,
        "booking": draft.booking_id,
    }


def drafts_in(found: QuerySet[MonthDraft], state: str) -> QuerySet[MonthDraft]:
    """Months that finance can confirm, that still run, that no price is known for, or that are booked."""
    today = Organisation.current().today(timezone.now())
    if state == "booked":
        return found.filter(booking__isnull=False)
    waiting = found.filter(booking__isnull=True)
    if state == "unpriced":
        return waiting.filter(amount__isnull=True)
    is_over = {"month__lt": Month.of(today).start}
    priced = waiting.filter(amount__isnull=False)
    return priced.filter(**is_over) if state == "due" else priced.exclude(**is_over)


class DraftsQuery(serializers.Serializer):
    state = serializers.ChoiceField(STATES, required=False, default="due")
    recurring = serializers.IntegerField(required=False, min_value=1)
    after = serializers.IntegerField(required=False, min_value=1)


class DraftsView(APIView):
    """Months of recurring costs: those that wait for finance, unless another state is asked for."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="recurring_months_list", parameters=[DraftsQuery], responses=DraftPage)
    def get(self, request: SignedInRequest) -> Response:
        form = DraftsQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        found = drafts_in(MonthDraft.objects.visible_to(request.user), asked["state"])
        if asked.get("recurring"):
            found = found.filter(recurring=asked["recurring"])
        page, following = page_after(found.select_related("recurring__project", "edited_by"), request, PAGE)
        return Response({"results": [draft_answer(draft) for draft in page], "next": following})


class DraftChange(serializers.Serializer):
    quantity = AmountField()
    reason = serializers.CharField(required=False, allow_blank=True, default="")


class DraftView(APIView):
    """Another number of persons, or of kWh, in one month, with the reason."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(operation_id="recurring_months_change", request=DraftChange, responses=DraftSerializer)
    def patch(self, request: SignedInRequest, pk: int) -> Response:
        draft = get_object_or_404(MonthDraft.objects.visible_to(request.user), pk=pk)
        form = DraftChange(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(draft_answer(services.edit_draft(draft, by=request.user, **form.validated_data)))


class SeenMonth(serializers.Serializer):
    id = serializers.IntegerField(min_value=1)
    amount = AmountField(max_digits=None, decimal_places=None, help_text=_("The amount that was shown."))


class Confirmation(serializers.Serializer):
    months = SeenMonth(many=True, allow_empty=False)


class ConfirmView(APIView):
    """Book months that are over, all or none, each at the amount that was shown; if one changed, nothing is booked."""

    permission_classes = PERMISSIONS
    scope = "usage"

    @extend_schema(
        operation_id="recurring_confirm",
        request=Confirmation,
        responses={201: BookingSerializer(many=True)},
        parameters=[KEY],
    )
    @once
    def post(self, request: SignedInRequest) -> Response:
        form = Confirmation(data=request.data)
        form.is_valid(raise_exception=True)
        seen = {month["id"]: month["amount"] for month in form.validated_data["months"]}
        booked = services.confirm_months(seen, by=request.user)
        tasks.judge_soon()
        return Response(BookingSerializer(booked, many=True).data, status=201)


urlpatterns = [
    path("recurring/", RecurringListView.as_view(), name="api-recurring"),
    path("recurring/<int:pk>/end/", RecurringEndView.as_view(), name="api-recurring-end"),
    path("recurring/months/", DraftsView.as_view(), name="api-recurring-months"),
    path("recurring/months/<int:pk>/", DraftView.as_view(), name="api-recurring-month"),
    path("recurring/confirm/", ConfirmView.as_view(), name="api-recurring-confirm"),
]
