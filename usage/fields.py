"""A number of any length: PostgreSQL's `numeric` without a scale, so that no digit of a bill is ever lost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.db import models


class ExactNumericField(models.Field):
    """`numeric` in the database, `Decimal` in Python, never rounded."""

    description = "exact decimal of any length"
    empty_strings_allowed = False

    def db_type(self, connection: Any) -> str:
        return "numeric"

    def get_internal_type(self) -> str:
        return "DecimalField"

    def to_python(self, value: Any) -> Decimal | None:
        return value if value is None or isinstance(value, Decimal) else Decimal(str(value))

    def get_prep_value(self, value: Any) -> Decimal | None:
        return self.to_python(super().get_prep_value(value))
