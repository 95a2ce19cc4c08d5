"""Our own attributed cost as FOCUS 1.2: one row a meter, day, place and category, from the rollup, in a stream.

https://focus.finops.org/focus-specification/v1-2/ Mandatory columns are always there; whose the cost is stands in
`Tags` and, with what FOCUS has no column for, in columns that begin with `x_`.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q, prefetch_related_objects

from core.money import exact_text
from core.months import Month, midnight
from core.vocabulary import Category, ChargeCategory
from teams.models import Organisation, Project, User

from .daily import BEARS_MONEY
from .models import DailyUsage, Money, Source
from .queries import daily_rows

CHUNK = 2_000
SERVICE_CATEGORIES = {
    str(Category.COMPUTE): "Compute",
    str(Category.DATA): "Analytics",
    str(Category.STORAGE): "Storage",
    str(Category.NETWORK): "Networking",
    str(Category.POWER_FACILITY): "Other",
    str(Category.PEOPLE_PLATFORM): "Management and Governance",
}
"""The closed list of FOCUS, by budget category."""
COLUMNS = (
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "RegionId",
    "RegionName",
    "ServiceCategory",
    "ServiceName",
    "SkuId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
    "x_Source",
    "x_Place",
    "x_Team",
    "x_Project",
    "x_CostCentre",
    "x_Category",
    "x_TaskType",
    "x_Stage",
    "x_Proposal",
    "x_Accelerator",
    "x_AcceleratorHours",
    "x_CpuCoreHours",
    "x_State",
    "x_Rows",
)
UNIT = "Units"
"""Where a meter names none: FOCUS wants a unit beside every quantity of usage."""


@dataclass(frozen=True)
class Slice:
    """Which cost: half-open days of the organisation, of some projects or (None) of everything; known now or then."""

    start: date
    end: date
    projects: Sequence[int] | None = None
    known_at: datetime | None = None


def projects_of(user: User, team: str = "") -> list[int]:
    """The projects whose cost somebody may export, of one team where it is named."""
    found = Project.objects.visible_to(user)
    return list((found.filter(team__slug=team) if team else found).values_list("pk", flat=True))


BESIDE = ("meter__source", "project__team", "project__cost_centre")


def rows_of(asked: Slice) -> Iterator[DailyUsage]:
    """The rollup of money-bearing sources, in order."""
    if asked.known_at is not None:
        return rows_known(asked, asked.known_at)
    bears_money = Source.objects.exclude(Q(money__in=["", Money.NONE]) | Q(part_of__isnull=False))
    found = DailyUsage.objects.filter(
        Exists(bears_money.filter(pk=OuterRef("meter__source"))), day__gte=asked.start, day__lt=asked.end
    ).exclude(currency="")
    if asked.projects is not None:
        found = found.filter(project__in=asked.projects)
    return found.select_related(*BESIDE).order_by("day", "id").iterator(chunk_size=CHUNK)


def rows_known(asked: Slice, known_at: datetime) -> Iterator[DailyUsage]:
    """The same as it was known at a time, summed from the records."""
    rollup, known = daily_rows(known_at, days=(asked.start, asked.end))
    projects = None if asked.projects is None else list(asked.projects)
    found = DailyUsage.objects.raw(
        f"""SELECT row_number() OVER (ORDER BY u.day, u.meter_id) AS id, u.*
            FROM {rollup} u JOIN usage_meter m ON m.id = u.meter_id
            WHERE u.day >= %(start)s AND u.day < %(end)s AND u.currency <> '' AND m.source_id IN {BEARS_MONEY}
              AND (%(projects)s::bigint[] IS NULL OR u.project_id = ANY(%(projects)s::bigint[]))
            ORDER BY 1""",
        {**known, "start": asked.start, "end": asked.end, "projects": projects},
    ).iterator()
    while rows := list(itertools.islice(found, CHUNK)):
        prefetch_related_objects(rows, *BESIDE)
        yield from rows


class Line:
    """A file that hands back what is written."""

    def write(self, text: str) -> str:
        return text


def lines(asked: Slice) -> Iterator[str]:
    """The file, line by line: memory stays flat whatever it holds."""
    zone = Organisation.current().zone
    writer = csv.writer(Line(), lineterminator="\n")
    yield writer.writerow(COLUMNS)
    for row in rows_of(asked):
        values = fields(row, zone)
        yield writer.writerow([values.get(name, "") for name in COLUMNS])


def fields(row: DailyUsage, zone: ZoneInfo) -> dict[str, Any]:
    """One row of the rollup by the names of FOCUS."""
    meter, source = row.meter, row.meter.source
    provider = meter.provider or source.name
    account = meter.payer or meter.account or source.slug
    is_usage = meter.charge_category == ChargeCategory.USAGE
    counted = is_usage or meter.charge_category == ChargeCategory.PURCHASE
    quantity = exact_text(row.quantity)
    return {
        **costs(row),
        **periods(row, zone),
        "BillingAccountId": guarded(account),
        "BillingAccountName": guarded(account),
        "BillingCurrency": row.currency,
        "ChargeCategory": meter.charge_category,
        "ChargeDescription": guarded(" ".join(part for part in (meter.service, meter.sku, meter.region) if part)),
        "ChargeFrequency": "Usage-Based" if is_usage else "One-Time",
        "ConsumedQuantity": quantity if is_usage else "",
        "ConsumedUnit": guarded(meter.unit or UNIT) if is_usage else "",
        "InvoiceIssuerName": guarded(provider),
        "PricingQuantity": quantity if counted else "",
        "PricingUnit": guarded(meter.unit or UNIT) if counted else "",
        "ProviderName": guarded(provider),
        "PublisherName": guarded(provider),
        "RegionId": guarded(meter.region),
        "RegionName": guarded(meter.region),
        "ServiceCategory": SERVICE_CATEGORIES.get(row.category, "Other"),
        "ServiceName": guarded(meter.service or source.name),
        "SkuId": guarded(meter.sku),
        "SubAccountId": guarded(meter.account),
        "SubAccountName": guarded(meter.account_name),
        **ours(row),
    }


def costs(row: DailyUsage) -> dict[str, str]:
    return {
        "BilledCost": exact_text(row.billed),
        "EffectiveCost": exact_text(row.effective),
        "ListCost": exact_text(row.list_cost),
        "ContractedCost": exact_text(row.contracted),
    }


def periods(row: DailyUsage, zone: ZoneInfo) -> dict[str, str]:
    """The day of use as instants; the billing month as the calendar's own, whatever the zone."""
    bill = Month.of(row.billing_month)
    return {
        "ChargePeriodStart": instant(row.day, zone),
        "ChargePeriodEnd": instant(date.fromordinal(row.day.toordinal() + 1), zone),
        "BillingPeriodStart": f"{bill.start}T00:00:00Z",
        "BillingPeriodEnd": f"{bill.end}T00:00:00Z",
    }


def instant(day: date, zone: ZoneInfo) -> str:
    return midnight(day, zone).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ours(row: DailyUsage) -> dict[str, str]:
    """Whose the cost is: as tags, and as columns of our own."""
    project = row.project
    place = "project" if project else "shared" if row.is_shared else "unallocated"
    tags = {
        "team": project.team.slug if project else "",
        "project": project.slug if project else "",
        "category": row.category,
        "task_type": row.task_type,
        "stage": row.stage,
        "headroom_proposal": row.reference,
    }
    return {
        "Tags": json.dumps({name: value for name, value in tags.items() if value}, ensure_ascii=False),
        "x_Source": row.meter.source.slug,
        "x_Place": place,
        "x_Team": tags["team"],
        "x_Project": tags["project"],
        "x_CostCentre": guarded(project.cost_centre.code if project and project.cost_centre else ""),
        "x_Category": row.category,
        "x_TaskType": row.task_type,
        "x_Stage": guarded(row.stage),
        "x_Proposal": guarded(row.reference),
        "x_Accelerator": guarded(row.meter.accelerator),
        "x_AcceleratorHours": known(row.accelerator_hours),
        "x_CpuCoreHours": known(row.cpu_core_hours),
        "x_State": guarded(row.meter.state),
        "x_Rows": str(row.rows),
    }


def known(hours: Decimal) -> str:
    return exact_text(hours) if hours else ""


def guarded(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return "'" + text if text[:1] and text[:1] in "=+-@\t\r" else text
