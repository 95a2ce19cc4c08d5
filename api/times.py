"""Months, and times of knowing, as they enter over the API."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.months import Month


@extend_schema_field({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$", "example": "2027-01"})
class MonthField(serializers.CharField):
    """A month, written `2027-01`."""

    def to_internal_value(self, data: Any) -> Month:  # type: ignore[override]
        try:
            return Month.parse(str(data).strip())
        except ValueError as error:
            raise serializers.ValidationError(_("Write a month such as 2027-01.")) from error

    def to_representation(self, value: Any) -> str:
        return str(value)


class KnownQuery(serializers.Serializer):
    """A question about usage may be asked as of a time: what was known then."""

    known_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        default=None,
        default_timezone=UTC,
        help_text=_("As it was known then, such as 2027-03-03T12:00:00Z; without it, as it is known now."),
    )
