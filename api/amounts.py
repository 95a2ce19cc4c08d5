"""Amounts as they enter over the API: the same plain digits that files and forms take."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from rest_framework import serializers

PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


class AmountField(serializers.DecimalField):
    """A JSON number, or text of the digits 0-9. `１２`, `1_000`, `+5` and `1,000` are no amounts, as in imports."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("max_digits", 28)
        options.setdefault("decimal_places", 4)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> Decimal:
        if isinstance(data, bool) or not PLAIN.fullmatch(str(data).strip()):
            self.fail("invalid")
        return super().to_internal_value(data)
