"""What is asked and approved in time against the cards there are, over the API."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from api.requests import SignedInRequest
from api.scopes import HasScope
from api.times import MonthField
from budgets.capacity.outlook import CapacityView, capacity_view
from budgets.capacity.tables import card_rows, hours_text
from budgets.models import Proposal
from core.months import Month
from teams import permissions
from teams.models import Organisation

PERMISSIONS = [*APIView.permission_classes, HasScope]
MOST_MONTHS = 60


class CapacityQuery(serializers.Serializer):
    start = MonthField(required=False, help_text=_("This month where none is named."))
    months = serializers.IntegerField(required=False, default=12, min_value=1, max_value=MOST_MONTHS)
    drafts = serializers.BooleanField(required=False, default=False, help_text=_("With the drafts one may see."))


class CardMonthSerializer(serializers.Serializer):
    """One kind of card in one month, in its own accelerator-hours."""

    month = serializers.CharField()
    accelerator = serializers.CharField(allow_blank=True)
    capacity = serializers.CharField(help_text=_("Of the register of clusters."))
    maintenance = serializers.CharField()
    kept = serializers.CharField(help_text=_("Of cards that are kept for somebody."))
    reserved_by_plans = serializers.CharField(help_text=_("Beyond the reserved clusters of the register."))
    available = serializers.CharField(help_text=_("capacity − maintenance − kept + reserved_by_plans"))
    approved = serializers.CharField()
    asked = serializers.CharField()
    draft = serializers.CharField()
    wanted = serializers.CharField(help_text=_("approved + asked + draft"))
    load = serializers.CharField(allow_null=True, help_text=_("wanted ÷ available"))
    short = serializers.CharField(help_text=_("wanted − available, or 0"))
    short_and_rented_by_plans = serializers.CharField()
    short_and_unplanned = serializers.CharField()
    price_per_hour = serializers.CharField(allow_null=True, help_text=_("On demand today, where hours are short."))
    price_currency = serializers.CharField(allow_null=True)
    rent_cost = serializers.CharField(allow_null=True, help_text=_("Of all that is short, in `currency`."))
    rent_cost_unplanned = serializers.CharField(allow_null=True, help_text=_("Of what no plan rents by itself."))
    currency = serializers.CharField(allow_null=True)
    lead_time_days = serializers.IntegerField(allow_null=True)
    order_by = serializers.DateField(allow_null=True, help_text=_("The last day to order cards for this month."))


class AllCardsSerializer(serializers.Serializer):
    """One month over all kinds of card, in hours of the reference card."""

    month = serializers.CharField()
    available = serializers.CharField()
    approved = serializers.CharField()
    asked = serializers.CharField()
    draft = serializers.CharField()
    wanted = serializers.CharField()


class CapacitySerializer(serializers.Serializer):
    cards = CardMonthSerializer(many=True)
    equivalent = AllCardsSerializer(many=True)
    without_peak = serializers.ListField(
        child=serializers.CharField(), help_text=_("Cards without a known dense peak: left out of `equivalent`.")
    )


def capacity_answer(view: CapacityView) -> dict[str, Any]:
    return {
        "cards": card_rows(view),
        "equivalent": [
            {
                "month": str(each.month),
                "available": hours_text(each.available),
                **{state: hours_text(hours) for state, hours in each.wanted.items()},
                "wanted": hours_text(each.total),
            }
            for each in view.totals
        ],
        "without_peak": view.without_peak,
    }


class CapacityEndpoint(APIView):
    """Accelerator-hours approved and asked for, month by month, against the register and reservations."""

    permission_classes = PERMISSIONS
    scope = "read"

    @extend_schema(operation_id="capacity", parameters=[CapacityQuery], responses=CapacitySerializer)
    def get(self, request: SignedInRequest) -> Response:
        if not permissions.may_see_capacity(request.user):
            raise PermissionDenied(_("Managers, directors, finance and roles in the whole organisation see capacity."))
        form = CapacityQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        today = Organisation.current().today(timezone.now())
        drafts = Proposal.objects.visible_to(request.user) if asked["drafts"] else None
        view = capacity_view(asked.get("start") or Month.of(today), asked["months"], today=today, drafts=drafts)
        return Response(capacity_answer(view))


urlpatterns = [path("capacity/", CapacityEndpoint.as_view(), name="api-capacity")]
