"""Exchange rates: one stored rate per month and pair; future months use the newest; a missing past rate is said."""

from __future__ import annotations

from decimal import Decimal

from core.money import EXACT
from core.months import Month

from .models import ExchangeRate


def conversion_rate(base: str, quote: str, month: Month, *, this_month: Month) -> Decimal | None:
    """What one unit of `base` is worth in `quote`; None where no rate of that past month is stored."""
    if base == quote:
        return Decimal(1)
    direct = newest_rate(base, quote, month, this_month=this_month)
    if direct is not None:
        return direct
    inverse = newest_rate(quote, base, month, this_month=this_month)
    return EXACT.divide(Decimal(1), inverse) if inverse else None


def newest_rate(base: str, quote: str, month: Month, *, this_month: Month) -> Decimal | None:
    """The rate entered last for the month; for this and later months the newest of any month up to then."""
    rows = ExchangeRate.objects.filter(base=base, quote=quote)
    rows = rows.filter(month=month.start) if month < this_month else rows.filter(month__lte=month.start)
    return rows.order_by("-month", "-id").values_list("rate", flat=True).first()
