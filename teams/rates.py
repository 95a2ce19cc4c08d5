"""Exchange rates: one stored rate per month and pair; future months use the newest; a missing past rate is said.

The rate of a closed month is the one that was stored when it was closed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from core.money import EXACT
from core.months import Month

from .models import ClosedMonth, ExchangeRate


@dataclass(frozen=True)
class RateTable:
    """The rates between some currencies, read once. `stored` holds per pair (month, rate) in order of the months."""

    stored: dict[tuple[str, str], list[tuple[Month, Decimal]]]
    this_month: Month

    def rate(self, base: str, quote: str, month: Month) -> Decimal | None:
        """What one unit of `base` is worth in `quote`; None where no rate of that past month is stored."""
        if base == quote:
            return Decimal(1)
        direct, inverse = self.newest(base, quote, month), self.newest(quote, base, month)
        if inverse is not None and inverse[1] and (direct is None or inverse[0] > direct[0]):
            return EXACT.divide(Decimal(1), inverse[1])
        return direct[1] if direct is not None else None

    def newest(self, base: str, quote: str, month: Month) -> tuple[Month, Decimal] | None:
        """The rate of the month; for this and later months the newest of any month up to then. With its month."""
        rows = self.stored.get((base, quote), [])
        place = bisect_right([known for known, _rate in rows], month)
        if place == 0:
            return None
        known, rate = rows[place - 1]
        return (known, rate) if known == month or month >= self.this_month else None


def rate_table(currencies: Iterable[str], *, this_month: Month, known_at: datetime | None = None) -> RateTable:
    """Every stored rate between these currencies; of one month and pair the one entered last, before its closing. As
    it stands, or as it was known at a time."""
    wanted = sorted(set(currencies))
    if len(wanted) < 2:
        return RateTable({}, this_month)
    closed = {Month.of(row.month): row.closed_at for row in ClosedMonth.objects.all()}
    rows = ExchangeRate.objects.filter(base__in=wanted, quote__in=wanted).order_by("month", "id")
    if known_at is not None:
        rows = rows.filter(entered_at__lte=known_at)
    latest: dict[tuple[str, str], dict[Month, Decimal]] = {}
    for row in rows:
        month = Month.of(row.month)
        if month in closed and row.entered_at > closed[month]:
            continue
        latest.setdefault((row.base, row.quote), {})[month] = row.rate
    return RateTable({pair: sorted(rates.items()) for pair, rates in latest.items()}, this_month)


def conversion_rate(base: str, quote: str, month: Month, *, this_month: Month) -> Decimal | None:
    """What one unit of `base` is worth in `quote`; None where no rate of that past month is stored."""
    return rate_table([base, quote], this_month=this_month).rate(base, quote, month)
