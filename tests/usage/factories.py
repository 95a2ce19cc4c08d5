"""Plain makers of usage: sources, FOCUS files in memory, deliveries that have been run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from usage import services
from usage.models import Source

ROW = {
    "BilledCost": "10",
    "EffectiveCost": "10",
    "ListCost": "12",
    "ContractedCost": "10",
    "BillingCurrency": "USD",
    "BillingAccountId": "0001",
    "InvoiceIssuerName": "Example Cloud",
    "BillingPeriodStart": "2026-03-01T00:00:00Z",
    "BillingPeriodEnd": "2026-04-01T00:00:00Z",
    "ChargePeriodStart": "2026-03-05T00:00:00Z",
    "ChargePeriodEnd": "2026-03-06T00:00:00Z",
    "ChargeCategory": "Usage",
    "ServiceName": "Virtual Machines",
    "ServiceCategory": "Compute",
    "SubAccountId": "acct-1",
    "ResourceId": "node-1",
    "ConsumedQuantity": "24",
    "ConsumedUnit": "Hours",
    "Tags": '{"team": "foundation"}',
}
"""An honest FOCUS row: one machine, one day of March 2026, ten dollars."""


def source(slug: str = "cloud", **settings: Any) -> Source:
    return services.open_source(by=None, slug=slug, settings=settings)


def focus(*rows: dict[str, str], columns: Iterable[str] | None = None, newline: str = "\n") -> bytes:
    """A FOCUS file of rows that differ from `ROW` where they say so."""
    header = list(columns or ROW)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=newline)
    writer.writerow(header)
    writer.writerows([{**ROW, **row}.get(name, "") for name in header] for row in rows)
    return text.getvalue().encode()


def deliver(to: Source, content: bytes, name: str = "bill.csv", **settings: Any) -> dict[str, Any]:
    """Deliver a file and run its import to the end."""
    format_ = settings.pop("format", "")
    delivery = services.receive_file(
        source=to, by=None, name=name, stream=io.BytesIO(content), format=format_, settings=settings
    )
    return services.run_import(delivery.pk)


def deliver_file(to: Source, path: Path, **settings: Any) -> dict[str, Any]:
    return deliver(to, path.read_bytes(), path.name, **settings)
