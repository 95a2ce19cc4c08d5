"""Plain makers of usage: sources, FOCUS files in memory, deliveries that have been run."""

from __future__ import annotations

import csv
import io
import uuid
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from teams.models import Project
from usage import services
from usage.models import Import, KeySet, Meter, Placement, Record, Scope, Source

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


def metered_job(
    job: str, project: Project, *, cost: int = 0, hours: int = 0, accelerator: str = "", is_running: bool
) -> Record:
    """A row of a scheduler's log, live and placed on a project."""
    of = source("slurm")
    delivery = Import.objects.create(
        source=of, name="log", sha256="0" * 64, size=1, status="live", received_at=timezone.now()
    )
    meter = Meter.objects.create(source=of, digest=uuid.uuid4(), charge_category="Usage", accelerator=accelerator)
    keys = KeySet.objects.create(source=of, digest=uuid.uuid4(), meter=meter, category="compute")
    begin = timezone.now() - timedelta(hours=5)
    Placement.objects.create(
        key_set=keys,
        starts_on=date(2000, 1, 1),
        ends_on=date(9999, 1, 1),
        project=project,
        category="compute",
        known_from=begin,
    )
    return Record.objects.create(
        key_set=keys,
        scope=Scope.objects.create(source=of, key="log"),
        known_from=delivery,
        text_print=uuid.uuid4(),
        row_print=uuid.uuid4(),
        line=1,
        usage_start=begin,
        usage_end=timezone.now(),
        billing_month=begin.date().replace(day=1),
        job=job,
        currency="USD",
        billed=cost,
        effective=cost,
        accelerator_hours=hours,
        provisional=is_running,
    )
