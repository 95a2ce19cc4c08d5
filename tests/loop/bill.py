"""A small bill in FOCUS columns, as a provider would send it."""

from __future__ import annotations

import csv
import io
from datetime import date
from decimal import Decimal

from core.months import Month, Period


def focus_bill(amount: Decimal, month: Month, *, account: str, days: Period) -> bytes:
    """One charge for accelerated instances, of `amount` USD."""
    row = {
        "BilledCost": amount,
        "EffectiveCost": amount,
        "ListCost": amount,
        "ContractedCost": amount,
        "BillingAccountId": "payer-1",
        "BillingAccountName": "Payer",
        "BillingCurrency": "USD",
        "BillingPeriodStart": stamp(month.start),
        "BillingPeriodEnd": stamp(month.end),
        "ChargeCategory": "Usage",
        "ChargePeriodStart": stamp(days.start),
        "ChargePeriodEnd": stamp(days.end),
        "InvoiceIssuerName": "Example Cloud",
        "ProviderName": "Example Cloud",
        "PublisherName": "Example Cloud",
        "ServiceCategory": "Compute",
        "ServiceName": "Accelerated instances",
        "SubAccountId": account,
    }
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, list(row), lineterminator="\n")
    table.writeheader()
    table.writerow(row)
    return text.getvalue().encode()


def stamp(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"
