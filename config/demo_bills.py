"""Bills for the example organisation: FOCUS 1.2 text whose rows follow a schedule of shares, without chance."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from core.money import round_money
from core.months import Month, Period, days_between

COLUMNS = (
    "BilledCost BillingAccountId BillingAccountName BillingCurrency BillingPeriodEnd BillingPeriodStart ChargeCategory "
    "ChargeClass ChargeDescription ChargeFrequency ChargePeriodEnd ChargePeriodStart ConsumedQuantity ConsumedUnit "
    "ContractedCost EffectiveCost InvoiceIssuerName ListCost PricingQuantity PricingUnit ProviderName PublisherName "
    "RegionId ResourceId ServiceCategory ServiceName SkuId SkuPriceDetails SubAccountId SubAccountName Tags"
).split()

WEEK = (
    Decimal("1.08"),
    Decimal("1.10"),
    Decimal("1.06"),
    Decimal("1.04"),
    Decimal("1.00"),
    Decimal("0.86"),
    Decimal("0.86"),
)
"""How much of an average day falls on Monday … Sunday."""


@dataclass(frozen=True)
class Service:
    """What a provider sells, in the words of its bill."""

    category: str
    name: str
    sku: str
    unit: str
    price: Decimal
    details: dict[str, object] = field(default_factory=dict)


GPU = Service(
    "Compute",
    "Accelerated instances",
    "gpu-8x-h100",
    "Hours",
    Decimal("18.32"),
    {"GpuCount": 8, "InstanceType": "gpu-8x-h100"},
)
STORAGE = Service("Storage", "Object storage", "object-standard", "GB-Hours", Decimal("0.00003"))
NETWORK = Service("Networking", "Data transfer", "egress-internet", "GB", Decimal("0.08"))
DATA = Service("Analytics", "Data processing", "batch-processing", "Hours", Decimal("2.40"))
POWER = Service("Management and Governance", "Monitoring", "metrics-ingest", "GB", Decimal("0.30"))


@dataclass(frozen=True)
class Burn:
    """Money that one project spends on one service, spread over a period; `spikes` make single days dearer."""

    service: Service
    account: str
    tags: dict[str, str]
    amount: Decimal
    period: Period
    spikes: dict[int, Decimal] = field(default_factory=dict)

    def daily(self) -> Iterator[tuple[date, Decimal]]:
        """Each day's money; the days add up to the amount before rounding."""
        days = list(days_between(self.period.start, self.period.end))
        weights = [WEEK[day.weekday()] * self.spikes.get(index, Decimal(1)) for index, day in enumerate(days)]
        whole = sum(weights)
        for day, weight in zip(days, weights, strict=True):
            yield day, self.amount * weight / whole


@dataclass(frozen=True)
class Bill:
    """One provider's account, billed by the month in one currency."""

    provider: str
    payer: str
    currency: str
    burns: tuple[Burn, ...]

    def of_month(self, month: Month, until: date) -> bytes:
        """The month's bill as FOCUS CSV, with the days before `until`."""
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        for burn in self.burns:
            for day, amount in burn.daily():
                if Month.of(day) == month and day < until:
                    table.writerow(self.row(burn, day, amount, month))
        return text.getvalue().encode()

    def row(self, burn: Burn, day: date, amount: Decimal, month: Month) -> dict[str, object]:
        cost = round_money(amount, self.currency)
        quantity = (cost / burn.service.price).quantize(Decimal("0.0001"))
        service = burn.service
        return {
            "BilledCost": cost,
            "EffectiveCost": cost,
            "ListCost": cost,
            "ContractedCost": cost,
            "BillingAccountId": self.payer,
            "BillingAccountName": f"{self.provider} main account",
            "BillingCurrency": self.currency,
            "BillingPeriodStart": stamp(month.start),
            "BillingPeriodEnd": stamp(month.end),
            "ChargeCategory": "Usage",
            "ChargeDescription": f"{service.name}, {service.sku}",
            "ChargeFrequency": "Usage-Based",
            "ChargePeriodStart": stamp(day),
            "ChargePeriodEnd": stamp(day + timedelta(days=1)),
            "ConsumedQuantity": quantity,
            "ConsumedUnit": service.unit,
            "PricingQuantity": quantity,
            "PricingUnit": service.unit,
            "InvoiceIssuerName": self.provider,
            "ProviderName": self.provider,
            "PublisherName": self.provider,
            "RegionId": "region-1",
            "ResourceId": f"{service.sku}/{burn.tags.get('project', 'untagged')}",
            "ServiceCategory": service.category,
            "ServiceName": service.name,
            "SkuId": service.sku,
            "SkuPriceDetails": json.dumps(service.details) if service.details else "",
            "SubAccountId": burn.account,
            "SubAccountName": burn.account,
            "Tags": json.dumps(burn.tags, ensure_ascii=False),
        }


def stamp(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def months_of(burns: Iterable[Burn]) -> list[Month]:
    """Every month in which the burns spend, in order."""
    return sorted({month for burn in burns for month in burn.period.months()})
