"""AWS Cost and Usage Reports: legacy (`lineItem/UnblendedCost`), CUR 2.0 and snake_case (`line_item_unblended_cost`).

A report is rewritten whole until its month is final, so a delivery replaces the month of its payer. Ids of line items
change from version to version and repeat within one; they identify nothing and are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from core.vocabulary import Category, ChargeCategory

from ..accelerators import accelerators_of
from ..delivery import Settings
from ..reading.faults import RowFault, RowSkipped
from ..reading.header import Header, plain
from ..reading.notes import Notes
from ..reading.numbers import number_reader
from ..reading.times import time_reader
from .bills import Cells, Columns, added, after, clock, exclusive, negated
from .contract import UNUSED, Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import read_tags, reference_of

NAMES = {
    "id": ("identity/LineItemId",),
    "interval": ("identity/TimeInterval",),
    "payer": ("bill/PayerAccountId",),
    "payer_name": ("bill/PayerAccountName",),
    "bill_start": ("bill/BillingPeriodStartDate",),
    "bill_end": ("bill/BillingPeriodEndDate",),
    "account": ("lineItem/UsageAccountId",),
    "account_name": ("lineItem/UsageAccountName",),
    "type": ("lineItem/LineItemType",),
    "bill_type": ("bill/BillType",),
    "start": ("lineItem/UsageStartDate",),
    "end": ("lineItem/UsageEndDate",),
    "product": ("lineItem/ProductCode",),
    "usage_type": ("lineItem/UsageType",),
    "resource": ("lineItem/ResourceId",),
    "zone": ("lineItem/AvailabilityZone",),
    "quantity": ("lineItem/UsageAmount",),
    "currency": ("lineItem/CurrencyCode",),
    "unblended": ("lineItem/UnblendedCost",),
    "list": ("pricing/publicOnDemandCost",),
    "unit": ("pricing/unit",),
    "region": ("product/regionCode",),
    "region_before": ("product/region",),
    "instance_type": ("product/instanceType",),
    "family": ("product/productFamily",),
    "product_map": ("product",),
    "tag_map": ("resourceTags",),
    "cost_category_map": ("costCategory",),
    "covered": ("savingsPlan/SavingsPlanEffectiveCost",),
    "commitment": ("savingsPlan/TotalCommitmentToDate",),
    "used_commitment": ("savingsPlan/UsedCommitment",),
    "discounted": ("reservation/EffectiveCost",),
    "unused_upfront": ("reservation/UnusedAmortizedUpfrontFeeForBillingPeriod",),
    "unused_recurring": ("reservation/UnusedRecurringFee",),
    "reservation": ("reservation/ReservationArn",),
    "split_of": ("splitLineItem/ParentResourceId",),
}
"""Names are compared by their letters alone, so that all three spellings are one."""
OF_ROW = (
    "id", "interval", "bill_start", "bill_end", "start", "end", "quantity", "currency", "unblended", "list", "covered",
    "commitment", "used_commitment", "discounted", "unused_upfront", "unused_recurring", "split_of",
)  # fmt: skip
REQUIRED = ("bill_start", "account", "type", "start", "end", "product", "unblended")
SHARED = ("product", "pricing", "bill", "reservationreservationarn", "savingsplansavingsplanarn")
SHARED_EXACTLY = ("lineitemoperation", "lineitemlineitemdescription", "lineitemlegalentity", "lineitemtaxtype")
TAGS = re.compile(r"(?:resourceTags/|resource_tags_)(?:user[:_])?(.+)", re.IGNORECASE)
COST_CATEGORIES = re.compile(r"(?:costCategory/|cost_category_)(.+)", re.IGNORECASE)

Effective = Callable[["CurReader", list[str], str], str]


@dataclass(frozen=True)
class LineItemType:
    """What a line item is: its charge category, how its amortised cost is found, whether its hours count."""

    charge: ChargeCategory
    effective: Effective
    counts: bool = True
    is_correction: bool = False
    state: str = ""


def as_billed(_reader: CurReader, _fields: list[str], billed: str) -> str:
    return billed


def nothing(_reader: CurReader, _fields: list[str], _billed: str) -> str:
    return "0"


def covered(reader: CurReader, fields: list[str], _billed: str) -> str:
    return reader.cells.cost(fields, "covered")


def discounted(reader: CurReader, fields: list[str], _billed: str) -> str:
    return reader.cells.cost(fields, "discounted")


def unused_plan(reader: CurReader, fields: list[str], _billed: str) -> str:
    commitment = reader.cells.cost(fields, "commitment")
    return added(commitment, negated(reader.cells.number(fields, "used_commitment")))


def unused_reservation(reader: CurReader, fields: list[str], _billed: str) -> str:
    return added(reader.cells.cost(fields, "unused_recurring"), reader.cells.number(fields, "unused_upfront"))


def upfront_or_billed(reader: CurReader, fields: list[str], billed: str) -> str:
    """The upfront fee of a reservation comes back with the usage it covers; any other fee is paid where it stands."""
    return "0" if reader.columns.text(fields, "reservation") else billed


USAGE, PURCHASE = ChargeCategory.USAGE, ChargeCategory.PURCHASE
TYPES = {
    "Usage": LineItemType(USAGE, as_billed),
    "SavingsPlanCoveredUsage": LineItemType(USAGE, covered),
    "SavingsPlanNegation": LineItemType(USAGE, nothing, counts=False),
    "SavingsPlanRecurringFee": LineItemType(PURCHASE, unused_plan, counts=False, state=UNUSED),
    "SavingsPlanUpfrontFee": LineItemType(PURCHASE, nothing, counts=False),
    "DiscountedUsage": LineItemType(USAGE, discounted),
    "RIFee": LineItemType(PURCHASE, unused_reservation, counts=False, state=UNUSED),
    "Fee": LineItemType(PURCHASE, upfront_or_billed, counts=False),
    "Tax": LineItemType(ChargeCategory.TAX, as_billed, counts=False),
    "Credit": LineItemType(ChargeCategory.CREDIT, as_billed, counts=False),
    "Refund": LineItemType(USAGE, as_billed, counts=False, is_correction=True),
}
DISCOUNT = LineItemType(USAGE, as_billed, counts=False)
UNKNOWN = LineItemType(ChargeCategory.ADJUSTMENT, as_billed, counts=False)

HOURS_OF_INSTANCES = re.compile(r"(?:^|-)(?:Box|Spot|Heavy|Dedicated|HostBox|UnusedBox)(?:Usage)?:|:ml\.|^ml\.")
"""Usage types that are hours of an instance; others may name the instance too (storage, transfer, CPU credits)."""

STORAGE, NETWORK, DATA, COMPUTE = Category.STORAGE, Category.NETWORK, Category.DATA, Category.COMPUTE
LINES = {
    **dict.fromkeys(("AmazonEC2", "AmazonSageMaker", "AmazonBedrock", "AWSLambda", "AmazonECS", "AmazonEKS"), COMPUTE),
    **dict.fromkeys(("AWSBatch", "AmazonLightsail", "AWSParallelComputingService"), COMPUTE),
    **dict.fromkeys(("AmazonS3", "AmazonEFS", "AmazonFSx", "AmazonGlacier", "AmazonS3GlacierDeepArchive"), STORAGE),
    **dict.fromkeys(("AmazonRDS", "AmazonDynamoDB", "AmazonElastiCache", "AmazonDocDB", "AWSBackup"), STORAGE),
    **dict.fromkeys(("AmazonECR", "AmazonMemoryDB", "AmazonNeptune", "AWSStorageGateway"), STORAGE),
    **dict.fromkeys(("AmazonVPC", "AmazonCloudFront", "AmazonRoute53", "AWSELB", "AWSDirectConnect"), NETWORK),
    **dict.fromkeys(("AWSDataTransfer", "AWSTransitGateway", "AmazonApiGateway", "AWSGlobalAccelerator"), NETWORK),
    **dict.fromkeys(("AWSGlue", "AmazonAthena", "AmazonRedshift", "AmazonKinesis", "ElasticMapReduce"), DATA),
    **dict.fromkeys(("AmazonMSK", "AmazonES", "AWSDataSync", "AmazonKinesisFirehose"), DATA),
}
FAMILIES = {"Storage": STORAGE, "Storage Snapshot": STORAGE, "Data Transfer": NETWORK, "NAT Gateway": NETWORK}
"""Parts of AmazonEC2 that are not computing."""


def letters(name: str) -> str:
    """`savingsPlan/SavingsPlanARN` and `savings_plan_savings_plan_a_r_n` are one name."""
    return plain(name).replace("/", "").replace("_", "")


def recognise(sample: Sample) -> Recognition | None:
    """Line items have names like nobody else's."""
    header = Header(sample.header.names, same=letters)
    marks = [name for name in ("type", "unblended", "start", "account") if NAMES[name][0] in header]
    if len(marks) < 3:
        return None
    shape = _("legacy names") if any("/" in name for name in sample.header.names) else _("snake_case names")
    return Recognition(90, _("columns of line items of an AWS Cost and Usage Report (%(shape)s)") % {"shape": shape})


class CurReader:
    """Reads the line items of one report."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._zone = clock(settings, FORMAT.timezone)
        self.columns = Columns(header, NAMES, of_row=OF_ROW, shared=is_shared)
        self.cells = Cells(
            self.columns,
            header,
            numbers=number_reader(money_text=settings.money_text, native=True),
            times=time_reader(self._zone, date_order=settings.date_order or None),
        )
        self.exact_places = self.columns.places("payer", "account", "resource", *OF_ROW)

    def row(self, fields: list[str]) -> Row:
        cells, text = self.cells, self.columns.text
        if text(fields, "split_of"):
            raise RowSkipped("split_line_item")
        start = cells.time(fields, "start")
        end = after(start, exclusive(cells.time(fields, "end"), self._zone), cells.label("end"))
        kind = self._type(text(fields, "type"))
        billed = cells.cost(fields, "unblended")
        bill_start = cells.time(fields, "bill_start")
        if "bill_end" in self.columns.at:
            after(bill_start, exclusive(cells.time(fields, "bill_end"), self._zone), cells.label("bill_end"))
        quantity = cells.number(fields, "quantity")
        return Row(
            key=self.columns.key(fields),
            scope=ScopeKey(text(fields, "payer"), FORMAT.name, bill_start.month),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=bill_start.month,
            currency=currency_of(text(fields, "currency"), self._settings, cells.label("currency")),
            billed=billed,
            effective=kind.effective(self, fields, billed),
            list_cost=cells.number(fields, "list"),
            quantity=quantity if kind.charge != USAGE or kind.counts else None,
            extra=self.columns.extra(fields),
        )

    def _type(self, text: str) -> LineItemType:
        found = TYPES.get(text)
        if found is None:
            if not text:
                raise RowFault(self.cells.label("type"), text, "is empty")
            found = DISCOUNT if text.endswith("Discount") else UNKNOWN
        return found

    def describe(self, key: Any) -> Keys:
        values, beside = self.columns.shared(key)
        get = values.get
        kind = self._type(get("type", ""))
        if kind is UNKNOWN:
            self._notes.warn("line_item_type_unknown", detail=get("type", ""))
        product = read_tags(get("product_map", ""), self._notes)
        usage_type, unit = get("usage_type", ""), get("unit", "")
        cards = accelerators_of(
            (get("instance_type") or product.get("instance_type") or "").removeprefix("ml."),
            unit=unit if kind.counts and HOURS_OF_INSTANCES.search(usage_type) else "",
            charge_category=kind.charge,
            notes=self._notes,
        )
        tags = tags_of(values, beside, self._notes)
        family = get("family") or product.get("product_family") or ""
        extra = {name: text for name, text in beside.items() if not is_tag(name)}
        extra |= {f"product/{name}": text for name, text in product.items() if text}
        return Keys(
            provider="AWS",
            payer=get("payer", ""),
            account=get("account", ""),
            account_name=get("account_name", "") or get("payer_name", ""),
            service=get("product", ""),
            sku=usage_type,
            region=region_of(values, product),
            accelerator=cards.slug,
            state=kind.state,
            charge_category=kind.charge,
            unit=unit,
            resource=get("resource", ""),
            resource_type=get("instance_type", ""),
            issuer=FORMAT.name,
            service_category=family,
            is_correction=kind.is_correction or get("bill_type") == "Refund",
            accelerator_count=cards.count,
            category=FAMILIES.get(family) or LINES.get(get("product", ""), Category.PEOPLE_PLATFORM),
            reference=reference_of(tags),
            tags=tags,
            extra={**extra, "LineItemType": get("type", "")},
            hours_per_quantity=cards.count if cards.by_the_hour else None,
        )


def region_of(values: dict[str, str], product: dict[str, str]) -> str:
    found = values.get("region") or values.get("region_before") or product.get("region_code") or product.get("region")
    return found or values.get("zone", "")


def is_shared(name: str) -> bool:
    compared = letters(name)
    return compared.startswith(SHARED) or compared in SHARED_EXACTLY or is_tag(name)


def is_tag(name: str) -> bool:
    return bool(TAGS.fullmatch(name) or COST_CATEGORIES.fullmatch(name))


def tags_of(values: dict[str, str], beside: dict[str, str], notes: Notes) -> dict[str, str]:
    """Tags and cost categories from columns of their own and from maps, tags of users by their bare names."""
    found = {match[1]: text for name, text in beside.items() if (match := TAGS.fullmatch(name))}
    for name, text in read_tags(values.get("tag_map", ""), notes).items():
        found[re.sub(r"^user[:_]", "", name)] = text
    categories = {match[1]: text for name, text in beside.items() if (match := COST_CATEGORIES.fullmatch(name))}
    categories |= read_tags(values.get("cost_category_map", ""), notes)
    return found | {f"costCategory/{name}": text for name, text in categories.items()}


def open_report(header: Header, settings: Settings, notes: Notes) -> CurReader:
    """Check the header by the letters of its names."""
    by_letters = Header(header.names, same=letters)
    by_letters.refuse_twins(NAMES)
    required = REQUIRED if settings.currency else (*REQUIRED, "currency")
    by_letters.insist({NAMES[name][0]: NAMES[name] for name in required})
    return CurReader(by_letters, settings, notes)


FORMAT = Format(slug="aws-cur", name="AWS", recognise=recognise, open=open_report, version=3)
