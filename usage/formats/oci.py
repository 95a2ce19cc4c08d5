"""Oracle Cloud cost reports: one file for some hours, numbered; a row is known by its reference number.

Corrections are rows of their own that point back; they add to what they correct. With `annual_commitment=1` the billed
cost is the overage beyond the prepaid commitment, and the effective cost stays what the usage is worth.
"""

from __future__ import annotations

import re
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.vocabulary import Category, ChargeCategory

from ..delivery import Settings
from ..models import Meaning
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import number_reader
from ..reading.times import time_reader
from .bills import Cells, Columns, after, clock
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import reference_of

NAMES = {
    "reference": ("lineItem/referenceNo",),
    "tenant": ("lineItem/tenantId",),
    "start": ("lineItem/intervalUsageStart",),
    "end": ("lineItem/intervalUsageEnd",),
    "service": ("product/service",),
    "compartment": ("product/compartmentId",),
    "compartment_name": ("product/compartmentName",),
    "region": ("product/region",),
    "resource": ("product/resourceId",),
    "description": ("product/Description",),
    "quantity": ("usage/billedQuantity",),
    "sku": ("cost/productSku",),
    "cost": ("cost/myCost",),
    "overage": ("cost/myCostOverage",),
    "currency": ("cost/currencyCode",),
    "unit": ("cost/billingUnitReadable",),
    "unit_words": ("cost/skuUnitDescription",),
    "correction": ("lineItem/isCorrection",),
    "corrects": ("lineItem/backreferenceNo",),
}
OF_ROW = ("reference", "start", "end", "quantity", "cost", "overage", "currency", "corrects")
REQUIRED = ("reference", "start", "end", "service", "cost")
SHARED = ("product/", "tags/", "cost/subscriptionid", "cost/unitprice", "cost/overageflag")
TAG = "tags/"
GPU_HOURS = re.compile(r"\bGPU\b.*\bHOURS?\b|\bHOURS?\b.*\bGPUS?\b", re.IGNORECASE)
CARD = re.compile(r"\bGPU\b\W*(?:-\s*)?(?P<card>[A-Z]+[0-9]+[A-Z0-9]*)", re.IGNORECASE)
LINES = {
    **dict.fromkeys(("COMPUTE", "DATA_SCIENCE", "GENERATIVE_AI", "CONTAINER_ENGINE", "FUNCTIONS"), Category.COMPUTE),
    **dict.fromkeys(("BLOCK_STORAGE", "OBJECTSTORE", "FILE_STORAGE", "DATABASE", "MYSQL", "NOSQL"), Category.STORAGE),
    **dict.fromkeys(("NETWORK", "LOAD_BALANCER", "FASTCONNECT", "DNS", "VPN"), Category.NETWORK),
    **dict.fromkeys(("ORACLE_STREAMING_SERVICE", "DATAFLOW", "DATA_INTEGRATION", "BIG_DATA"), Category.DATA),
}


def recognise(sample: Sample) -> Recognition | None:
    """Reference numbers beside `cost/myCost` are Oracle's."""
    if not sample.header.has("lineItem/referenceNo", "lineItem/intervalUsageStart"):
        return None
    if sample.header.at(*NAMES["cost"]) is None and "usage/consumedQuantity" in sample.header:
        raise FileRefused(
            _("This is Oracle's usage report, which holds no money. Import the cost report of the same hours."),
            column=NAMES["cost"][0],
        )
    return Recognition(90, _("columns of an Oracle Cloud cost report: lineItem/referenceNo, intervalUsageStart"))


class OciReader:
    """Reads the rows of one report."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._columns = Columns(header, NAMES, of_row=OF_ROW, shared=lambda name: name.lower().startswith(SHARED))
        self._cells = Cells(
            self._columns,
            header,
            numbers=number_reader(money_text=settings.money_text, native=True),
            times=time_reader(clock(settings, FORMAT.timezone), date_order=settings.date_order or None),
        )
        self.exact_places = self._columns.places("tenant", "resource", "sku", *OF_ROW)

    def row(self, fields: list[str]) -> Row:
        cells, columns, text = self._cells, self._columns, self._columns.text
        start = cells.time(fields, "start")
        end = after(start, cells.time(fields, "end"), cells.label("end"))
        cost = cells.cost(fields, "cost")
        overage = (cells.number(fields, "overage") or "0") if self._settings.annual_commitment else cost
        reference, tenant = self._reference(fields), text(fields, "tenant")
        quantity = cells.number(fields, "quantity")
        month = self._settings.billing_period.start if self._settings.billing_period else start.month
        corrects = text(fields, "corrects")
        return Row(
            key=columns.key(fields),
            scope=ScopeKey(tenant, FORMAT.name, None),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=month,
            currency=currency_of(text(fields, "currency"), self._settings, cells.label("currency")),
            billed=overage,
            effective=cost,
            quantity=quantity,
            accelerator_hours=quantity if self._is_gpu_hours(fields) else None,
            row_key=f"{tenant} {reference} {text(fields, 'correction').casefold()}",
            extra=columns.extra(
                fields, {"referenceNo": reference} | ({"backreferenceNo": corrects} if corrects else {})
            ),
        )

    def _reference(self, fields: list[str]) -> str:
        """What the row is known by; without it the row could not be told from another."""
        found = self._columns.text(fields, "reference")
        if not found:
            raise RowFault(self._cells.label("reference"), found, "is empty; it is what a row is known by")
        return found

    def _is_gpu_hours(self, fields: list[str]) -> bool:
        text = self._columns.text
        return any(GPU_HOURS.search(text(fields, name)) for name in ("unit", "unit_words"))

    def describe(self, key: Any) -> Keys:
        values, beside = self._columns.shared(key)
        get = values.get
        tags = {name[len(TAG) :]: text for name, text in beside.items() if name.lower().startswith(TAG)}
        extra = {name: text for name, text in beside.items() if not name.lower().startswith(TAG)}
        kept = ("compartment_name", "description", "unit_words")
        is_gpu_hours = any(GPU_HOURS.search(get(name, "")) for name in ("unit", "unit_words"))
        return Keys(
            provider="Oracle Cloud",
            payer=get("tenant", ""),
            account=get("compartment", "") or get("tenant", ""),
            account_name=get("compartment_name", ""),
            service=get("service", ""),
            sku=get("sku", ""),
            region=get("region", ""),
            accelerator=card_of(get("description", "")) if is_gpu_hours else "",
            charge_category=ChargeCategory.USAGE,
            unit=get("unit", ""),
            resource=get("resource", ""),
            issuer=FORMAT.name,
            is_correction=get("correction", "").casefold() == "true",
            category=LINES.get(get("service", ""), Category.PEOPLE_PLATFORM),
            reference=reference_of(tags),
            tags=tags,
            extra=extra | {name: values[name] for name in kept if name in values},
        )


def card_of(description: str) -> str:
    """The card that a SKU's description names."""
    match = CARD.search(description)
    return slugify(match["card"]) if match else ""


def open_report(header: Header, settings: Settings, notes: Notes) -> OciReader:
    """Check the header."""
    header.refuse_twins(NAMES)
    required = REQUIRED if settings.currency else (*REQUIRED, "currency")
    header.insist({NAMES[name][0]: NAMES[name] for name in required})
    return OciReader(header, settings, notes)


FORMAT = Format(slug="oci", name="Oracle Cloud", recognise=recognise, open=open_report, meaning=Meaning.APPEND)
