"""Lines, money and spend to date from a file over the API: how an organisation begins in the middle of a year."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import Http404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiTypes, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from api.bodies import BodyParser
from api.requests import SignedInRequest
from api.scopes import HasScope
from budgets.opening import MOST_BYTES, OpeningFile, WantedRow
from budgets.services import opening
from core.money import exact_text
from overruns import tasks

PERMISSIONS = [*APIView.permission_classes, HasScope]


class OpenedRow(serializers.Serializer):
    """One row of the file, as it was understood."""

    line_of_file = serializers.IntegerField()
    line = serializers.IntegerField(allow_null=True, help_text=_("Null where a dry run would open the line."))
    project = serializers.CharField()
    category = serializers.CharField()
    subcategory = serializers.CharField(allow_null=True)
    task_type = serializers.CharField(allow_null=True)
    start = serializers.DateField()
    end = serializers.DateField()
    currency = serializers.CharField()
    granted = serializers.CharField()
    spent = serializers.CharField()
    spent_until = serializers.DateField(allow_null=True)
    known = serializers.BooleanField(help_text=_("Its money stood on the line before: nothing is written."))


class OpenedTotal(serializers.Serializer):
    currency = serializers.CharField()
    granted = serializers.CharField()
    spent = serializers.CharField()


class OpenedFile(serializers.Serializer):
    """What the file wrote or, of a dry run, would write. What is wrong with a file stands in the refusal's `errors`."""

    dry_run = serializers.BooleanField()
    rows = OpenedRow(many=True)
    new = serializers.IntegerField()
    totals = OpenedTotal(many=True, help_text=_("Of the rows that are new, by currency."))


class OpeningAsked(serializers.Serializer):
    name = serializers.CharField(max_length=200, default="lines.csv", help_text=_("Of the file; kept as the reason."))
    dry_run = serializers.BooleanField(default=False, help_text=_("Say what would be written, and write nothing."))


def row_answer(wanted: WantedRow) -> dict[str, Any]:
    row = wanted.row
    return {
        "line_of_file": row.number,
        "line": wanted.line.pk if wanted.line else None,
        "project": row.project.slug,
        "category": row.category,
        "subcategory": row.subcategory or None,
        "task_type": row.task_type or None,
        "start": row.period.start,
        "end": row.period.end,
        "currency": row.project.currency,
        "granted": exact_text(row.granted),
        "spent": exact_text(row.spent),
        "spent_until": row.spent_until,
        "known": wanted.is_known,
    }


def file_answer(file: OpeningFile, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "rows": [row_answer(wanted) for wanted in file.rows],
        "new": len(file.new),
        "totals": [
            {"currency": currency, "granted": exact_text(granted), "spent": exact_text(spent)}
            for currency, (granted, spent) in sorted(file.totals().items())
        ],
    }


class OpeningView(APIView):
    """Open lines from a CSV file, put their money on them and book what was spent: all or none, and once.

    With `dry_run` nothing is written, and the same faults are said.
    """

    permission_classes = PERMISSIONS
    parser_classes = [BodyParser]
    scope = "plans"

    @extend_schema(
        operation_id="opening_import",
        request={"text/csv": OpenApiTypes.BINARY},
        responses={200: OpenedFile},
        parameters=[OpeningAsked],
    )
    def post(self, request: SignedInRequest) -> Response:
        if not opening.projects_to_open(request.user):
            raise Http404
        form = OpeningAsked(data=request.query_params)
        form.is_valid(raise_exception=True)
        stream: Any = request.data["stream"]  # type: ignore[call-overload]
        content = stream.read(MOST_BYTES + 1)
        if form.validated_data["dry_run"]:
            file = opening.preview_opening(content, by=request.user, now=timezone.now())
            opening.check_faults(file)
            return Response(file_answer(file, dry_run=True))
        opened = {
            line.pk for line in opening.import_opening(content, by=request.user, name=form.validated_data["name"])
        }
        tasks.judge_soon()
        file = opening.preview_opening(content, by=request.user, now=timezone.now())
        rows = [replace(wanted, is_known=not (wanted.line and wanted.line.pk in opened)) for wanted in file.rows]
        return Response(file_answer(OpeningFile(rows), dry_run=False))


urlpatterns = [path("opening/", OpeningView.as_view(), name="api-opening")]
