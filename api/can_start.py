"""May this job start? Asked by schedulers, answered in milliseconds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.amounts import AmountField
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.models import Proposal
from budgets.models.fields import LINE_CHOICES, TASK_CHOICES
from budgets.services import holds
from core.errors import DomainError, Fault
from core.keys import row_key
from core.money import exact_text, round_money
from estimates import queries as estimates
from estimates.engine.books import PriceKey
from teams.models import Organisation, Project

TASK_OR_ANY = [("", "every task"), *TASK_CHOICES]


class JobSerializer(serializers.Serializer):
    """The job: what it costs in money, or its accelerator-hours and the accelerator, priced by the list of the day."""

    project = serializers.SlugField()
    job = serializers.CharField(max_length=120, help_text=_("Its id in the scheduler."))
    category = serializers.ChoiceField(LINE_CHOICES, default="compute")
    task_type = serializers.ChoiceField(TASK_OR_ANY, default="", allow_blank=True)
    proposal = serializers.CharField(required=False, allow_null=True, help_text="P-7, or 7")
    amount = AmountField(min_value=Decimal(0), required=False)
    accelerator_hours = AmountField(max_digits=20, decimal_places=4, min_value=Decimal(0), required=False)
    accelerator = serializers.CharField(required=False, default="")
    provider = serializers.CharField(required=False, default="", allow_blank=True)
    mode = serializers.CharField(required=False, default="on_demand")
    hold = serializers.BooleanField(
        default=False, help_text=_("Keep the money free for six hours, and from its start until it is over.")
    )


class StartSerializer(serializers.Serializer):
    answer = serializers.CharField(help_text="yes, warn or no")
    line = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    headroom = serializers.CharField(allow_null=True, help_text=_("What is left for this job, exact."))
    hours = serializers.CharField(
        allow_null=True, help_text=_("Accelerator-hours left for it, where the line has any.")
    )
    amount = serializers.CharField()
    currency = serializers.CharField()
    hold = serializers.DateTimeField(allow_null=True, help_text=_("Until when the money is held."))


class CanStartView(APIView):
    """Yes, warn or no, with the reason and the line; asking again for the same job renews its hold."""

    permission_classes = [*APIView.permission_classes, HasScope]
    scope = "can_start"

    @extend_schema(operation_id="can_start", request=JobSerializer, responses=StartSerializer)
    def post(self, request: SignedInRequest) -> Response:
        form = JobSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        asked = form.validated_data
        project = get_object_or_404(
            Project.objects.visible_to(request.user).select_related("team"), slug=asked["project"]
        )
        job = holds.Job(
            name=asked["job"],
            amount=amount_of(asked, project),
            category=asked["category"],
            task_type=asked["task_type"],
            proposal=proposal_of(asked, project),
            accelerator_hours=asked.get("accelerator_hours"),
            accelerator=slug_of(asked["accelerator"]),
        )
        with Organisation.kept():
            found = holds.ask_to_start(project, job, by=request.user, hold=asked["hold"], now=timezone.now())
        return Response(
            {
                "answer": found.answer,
                "line": found.line.pk if found.line else None,
                "reason": found.reason,
                "headroom": exact_text(found.headroom) if found.headroom is not None else None,
                "hours": exact_text(found.hours) if found.hours is not None else None,
                "amount": exact_text(job.amount),
                "currency": project.currency,
                "hold": found.hold.expires_at if found.hold else None,
            }
        )


class EndSerializer(serializers.Serializer):
    project = serializers.SlugField()


class HoldView(APIView):
    """The job is over and metered, or will not run: let its money go."""

    permission_classes = [*APIView.permission_classes, HasScope]
    scope = "can_start"

    @extend_schema(operation_id="can_start_end", request=EndSerializer, responses={204: None})
    def post(self, request: SignedInRequest, job: str) -> Response:
        form = EndSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        projects = Project.objects.visible_to(request.user)
        project = get_object_or_404(projects, slug=form.validated_data["project"])
        holds.end_hold(project, job, by=request.user, now=timezone.now())
        return Response(status=204)


def slug_of(accelerator: str) -> str:
    """The catalogue's name of it, where it has one."""
    if not accelerator:
        return ""
    card = estimates.accelerator_book().find(accelerator)
    return card.slug if card else accelerator


class StartedView(APIView):
    """The job runs: what was held for it is committed, and runs out no more."""

    permission_classes = [*APIView.permission_classes, HasScope]
    scope = "can_start"

    @extend_schema(operation_id="can_start_started", request=EndSerializer, responses={204: None})
    def post(self, request: SignedInRequest, job: str) -> Response:
        form = EndSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        projects = Project.objects.visible_to(request.user)
        project = get_object_or_404(projects, slug=form.validated_data["project"])
        holds.start_hold(project, job, by=request.user, now=timezone.now())
        return Response(status=204)


def amount_of(asked: dict[str, Any], project: Project) -> Decimal:
    """The money stated, or accelerator-hours at the price of the day."""
    if "amount" in asked:
        return asked["amount"]
    if "accelerator_hours" not in asked or not asked["accelerator"]:
        raise DomainError(
            _("State the amount, or the accelerator-hours and the accelerator."),
            faults=[Fault("amount", None, _("is missing"), _("amount, or accelerator_hours with accelerator"))],
        )
    today = Organisation.current().today(timezone.now())
    card = estimates.accelerator_book().find(asked["accelerator"])
    item = card.slug if card else asked["accelerator"]
    key = PriceKey("accelerator", item, asked["provider"], "", asked["mode"], project.currency)
    row = estimates.price_book().on(key, today)
    if row is None:
        raise DomainError(
            _("The price list has no price for it."),
            faults=[Fault("accelerator", asked["accelerator"], _("has no price in %(c)s") % {"c": project.currency})],
        )
    return round_money(asked["accelerator_hours"] * row.amount, project.currency)


def proposal_of(asked: dict[str, Any], project: Project) -> Proposal | None:
    """The proposal the job works for; one of another project is none."""
    text = (asked.get("proposal") or "").removeprefix("P-")
    if not text:
        return None
    return get_object_or_404(Proposal, pk=row_key(text), project=project)


urlpatterns = [
    path("can-start/", CanStartView.as_view(), name="api-can-start"),
    path("can-start/<str:job>/start/", StartedView.as_view(), name="api-can-start-started"),
    path("can-start/<str:job>/end/", HoldView.as_view(), name="api-can-start-end"),
]
