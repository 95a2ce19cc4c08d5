"""Azure cost exports: the column families of enterprise, customer and pay-as-you-go agreements, in any letter case.

Actual and amortised cost of a month are two files. With `view=actual` a file fills the billed cost, with
`view=amortised` the effective cost, each a scope of its own; usage is counted with the actual file. A source without
the setting has one file only, which stands for both costs, in the place of the actual file: that one replaces it when
the source gets its second file.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext as _

from core.vocabulary import Category, ChargeCategory

from ..accelerators import Accelerators, accelerators_of
from ..delivery import Settings
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header, plain
from ..reading.notes import Notes
from ..reading.numbers import number_reader
from ..reading.times import Instant, instant, time_reader
from . import contract
from .bills import Cells, Columns, clock, multiplied
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import read_tags, reference_of

NAMES = {
    "date": ("Date", "UsageDateTime", "UsageDate"),
    "cost": ("CostInBillingCurrency", "PreTaxCost", "Cost"),
    "currency": ("BillingCurrencyCode", "BillingCurrency", "Currency"),
    "list": ("PayGCostInBillingCurrency",),
    "list_price": ("PayGPrice",),
    "pricing_currency": ("PricingCurrency", "PricingCurrencyCode"),
    "quantity": ("Quantity", "UsageQuantity", "ConsumedQuantity"),
    "unit": ("UnitOfMeasure",),
    "bill_start": ("BillingPeriodStartDate", "BillingPeriodStart"),
    "bill_end": ("BillingPeriodEndDate", "BillingPeriodEnd"),
    "account": ("SubscriptionId", "SubscriptionGuid"),
    "account_name": ("SubscriptionName",),
    "billing_account": ("BillingAccountId",),
    "billing_profile": ("BillingProfileId",),
    "resource": ("ResourceId", "InstanceId", "InstanceName"),
    "resource_name": ("ResourceName",),
    "resource_type": ("ResourceType", "ConsumedService"),
    "service": ("MeterCategory",),
    "sku": ("MeterName",),
    "sku_id": ("MeterId",),
    "region": ("ResourceLocation", "Location", "MeterRegion"),
    "charge": ("ChargeType",),
    "publisher": ("PublisherName",),
    "family": ("ServiceFamily",),
    "reservation": ("ReservationId",),
    "benefit": ("BenefitId",),
    "tags": ("Tags",),
    "details": ("AdditionalInfo",),
}
OF_ROW = ("date", "cost", "list", "list_price", "quantity", "bill_start", "bill_end")
SHARED = frozenset(
    plain(name)
    for name in (
        "AccountName", "AccountOwnerId", "AvailabilityZone", "BillingAccountName", "BillingProfileName",
        "ConsumedService", "CostAllocationRuleName", "CostCenter", "Frequency", "InvoiceId", "InvoiceSectionId",
        "InvoiceSectionName", "CustomerName", "CustomerTenantId", "PartnerName", "ProductId", "PublisherId",
        "ResourceGroupName", "Location",
        "IsAzureCreditEligible", "MeterRegion", "MeterSubCategory", "OfferId", "PartNumber", "PlanName", "PricingModel",
        "ProductName", "ProductOrderId", "ProductOrderName", "PublisherType", "ReservationName", "ResourceGroup",
        "ServiceInfo1", "ServiceInfo2", "ServiceName", "ServiceTier", "Term", "UnitPrice", "EffectivePrice",
    )
)  # fmt: skip
"""Columns we do not map that repeat from row to row."""

CHARGES = {
    "": ChargeCategory.USAGE,
    "usage": ChargeCategory.USAGE,
    "unusedreservation": ChargeCategory.USAGE,
    "unusedsavingsplan": ChargeCategory.USAGE,
    "purchase": ChargeCategory.PURCHASE,
    "refund": ChargeCategory.PURCHASE,
    "tax": ChargeCategory.TAX,
    "roundingadjustment": ChargeCategory.ADJUSTMENT,
}
UNUSED = ("unusedreservation", "unusedsavingsplan")
ACTUAL, AMORTISED = "actual", "amortised"
VIEWS = {"actual": ACTUAL, "amortised": AMORTISED, "amortized": AMORTISED}

LINES = {
    **dict.fromkeys(
        ("virtual machines", "azure machine learning", "container instances", "functions"), Category.COMPUTE
    ),
    **dict.fromkeys(("azure kubernetes service", "cognitive services", "azure app service", "batch"), Category.COMPUTE),
    **dict.fromkeys(("foundry models", "azure openai", "cloud services"), Category.COMPUTE),
    **dict.fromkeys(("storage", "azure netapp files", "backup", "sql database", "azure cosmos db"), Category.STORAGE),
    **dict.fromkeys(("azure database for postgresql", "azure database for mysql", "redis cache"), Category.STORAGE),
    **dict.fromkeys(("bandwidth", "virtual network", "load balancer", "vpn gateway", "expressroute"), Category.NETWORK),
    **dict.fromkeys(("azure dns", "application gateway", "azure front door service", "nat gateway"), Category.NETWORK),
    **dict.fromkeys(("azure databricks", "azure data factory v2", "azure synapse analytics"), Category.DATA),
    **dict.fromkeys(("event hubs", "stream analytics", "hdinsight", "azure data explorer"), Category.DATA),
}
IN_PARENTHESES = re.compile(r".*\(([^()]+)\)\s*", re.DOTALL)
SLASHED = re.compile(r"\s*([0-9]{1,2})/")
HOURS_IN_MULTIPLES = re.compile(r"[0-9]+ hours?", re.IGNORECASE)


def english(name: str) -> str:
    """`Kosten (Cost)` is compared as `cost`: translated headers end with the English name in parentheses.

    `cost_in_billing_currency` is the same name as `CostInBillingCurrency`.
    """
    match = IN_PARENTHESES.fullmatch(name)
    return plain(match[1] if match else name).replace("_", "").replace(" ", "")


def recognise(sample: Sample) -> Recognition | None:
    """A meter category beside a cost and a day, under one of the families' names."""
    header = Header(sample.header.names, same=english)
    if "MeterCategory" not in header or header.at(*NAMES["cost"]) is None or header.at(*NAMES["date"]) is None:
        return None
    translated = _("translated, ") if any(IN_PARENTHESES.fullmatch(name) for name in header.names) else ""
    cost = header.names[header.at(*NAMES["cost"]) or 0]
    return Recognition(80, _("%(translated)scolumns of an Azure cost export (MeterCategory, %(cost)s)") % {
        "translated": translated, "cost": cost,
    })  # fmt: skip


class AzureReader:
    """Reads the rows of one export."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._zone = clock(settings, FORMAT.timezone)
        self._view = VIEWS.get(settings.view, "")
        self._columns = Columns(header, NAMES, of_row=OF_ROW, shared=lambda name: english(name) in SHARED)
        self._cells = Cells(
            self._columns,
            header,
            numbers=number_reader(money_text=settings.money_text, native=True),
            times=time_reader(self._zone, date_order=settings.date_order or "mdy"),
        )
        self.exact_places = self._columns.places("account", "billing_account", "resource", "currency", *OF_ROW)
        if not self._view:
            notes.warn_once("one_view_for_both_costs")

    def row(self, fields: list[str]) -> Row:
        cells, columns = self._cells, self._columns
        start = self._day(fields, "date")
        month = self._month(fields, start)
        cost = cells.cost(fields, "cost")
        quantity = cells.number(fields, "quantity")
        counts = self._view != AMORTISED
        return Row(
            key=columns.key(fields),
            scope=ScopeKey(self._payer(fields), FORMAT.name, month, self._view or ACTUAL),
            usage_start=start.text,
            usage_end=instant(start.at + timedelta(days=1), self._zone).text,
            billing_month=month,
            currency=currency_of(columns.text(fields, "currency"), self._settings, cells.label("currency")),
            billed=None if self._view == AMORTISED else cost,
            effective=None if self._view == ACTUAL else cost,
            list_cost=self._list(fields, quantity) if counts else None,
            quantity=quantity if counts else None,
            extra=columns.extra(fields, {} if counts or quantity is None else {"Quantity": quantity}),
        )

    def _day(self, fields: list[str], name: str) -> Instant:
        """A day; where month-first cannot be meant, the whole file is refused instead of one row flipped."""
        try:
            return self._cells.time(fields, name)
        except RowFault as fault:
            match = SLASHED.match(fault.value)
            if match and int(match[1]) > 12 and not self._settings.date_order:
                raise FileRefused(
                    _("The dates are not month-first. Say what they are with the setting date_order, such as dmy."),
                    column=fault.column,
                    value=fault.value,
                ) from None
            raise

    def _month(self, fields: list[str], start: Instant) -> Any:
        if self._columns.text(fields, "bill_start"):
            return self._day(fields, "bill_start").month
        if self._settings.billing_period:
            return self._settings.billing_period.start
        self._notes.warn_once("billing_month_from_usage")
        return start.month

    def _payer(self, fields: list[str]) -> str:
        """Whose bill of the month an export replaces: the narrowest that the file names above the subscription."""
        text = self._columns.text
        return text(fields, "billing_profile") or text(fields, "billing_account") or text(fields, "account")

    def _list(self, fields: list[str], quantity: str | None) -> str | None:
        """The pay-as-you-go cost, or its price times the quantity where both are in the money of the bill."""
        pricing = self._columns.text(fields, "pricing_currency")
        if "list" in self._columns.at or (pricing and pricing != self._columns.text(fields, "currency")):
            return self._cells.number(fields, "list")
        return multiplied(self._cells.number(fields, "list_price"), quantity)

    def describe(self, key: Any) -> Keys:
        values, beside = self._columns.shared(key)
        get = values.get
        charge = self._charge(values)
        details = read_tags(get("details", ""), self._notes)
        cards = self._cards(values, details, charge)
        tags = read_tags(get("tags", ""), self._notes)
        service = get("service", "")
        extra = {name: get(name, "") for name in ("charge", "details", "sku_id", "reservation", "benefit")}
        return Keys(
            provider="Azure",
            payer=get("billing_account", "") or get("billing_profile", ""),
            account=get("account", ""),
            account_name=get("account_name", ""),
            service=service,
            sku=get("sku", "") or get("sku_id", ""),
            region=get("region", ""),
            accelerator=cards.slug,
            state=contract.UNUSED if get("charge", "").replace(" ", "").casefold() in UNUSED else "",
            charge_category=charge,
            unit=get("unit", ""),
            resource=get("resource", ""),
            resource_name=get("resource_name", "") or get("resource", "").rpartition("/")[2],
            resource_type=get("resource_type", ""),
            publisher=get("publisher", ""),
            issuer=FORMAT.name,
            service_category=get("family", ""),
            is_correction=get("charge", "").casefold() == "refund",
            accelerator_count=cards.count,
            category=LINES.get(service.casefold(), Category.PEOPLE_PLATFORM),
            reference=reference_of(tags),
            tags=tags,
            extra=beside | {name: text for name, text in extra.items() if text},
            hours_per_quantity=cards.count if cards.by_the_hour else None,
        )

    def _charge(self, values: dict[str, str]) -> ChargeCategory:
        """The category of a charge type, which must fit the view that the source says the file is of."""
        text = values.get("charge", "")
        kind = text.replace(" ", "").casefold()
        commitment = values.get("reservation") or values.get("benefit")
        if self._view == ACTUAL and kind in UNUSED:
            raise FileRefused(
                _("This is an export of amortised cost: it holds unused commitments. Import it with view=amortised."),
                column="ChargeType",
                value=text,
            )
        if self._view == AMORTISED and kind == "purchase" and commitment:
            raise FileRefused(
                _("This is an export of actual cost: it holds purchases of commitments. Import it with view=actual."),
                column="ChargeType",
                value=text,
            )
        if kind not in CHARGES:
            self._notes.warn("charge_type_unknown", detail=text)
        return CHARGES.get(kind, ChargeCategory.ADJUSTMENT)

    def _cards(self, values: dict[str, str], details: dict[str, str], charge: ChargeCategory) -> Accelerators:
        """Cards of a virtual machine; their hours only where the unit is one hour: of `10 Hours` nobody says which."""
        unit = values.get("unit", "")
        is_machine = values.get("service", "").casefold() in ("virtual machines", "azure machine learning")
        unused = values.get("charge", "").replace(" ", "").casefold() in UNUSED
        cards = accelerators_of(
            details.get("ServiceType", "") if is_machine else "",
            unit=unit if unit.casefold() == "1 hour" and not unused else "",
            charge_category=charge,
            notes=self._notes,
        )
        if cards.count and HOURS_IN_MULTIPLES.fullmatch(unit) and unit.casefold() != "1 hour":
            self._notes.warn("hours_in_multiples", detail=unit)
        return cards


def open_export(header: Header, settings: Settings, notes: Notes) -> AzureReader:
    """Check the header by its English names."""
    by_english = Header(header.names, same=english)
    by_english.refuse_twins(NAMES)
    required = ("date", "cost") if settings.currency else ("date", "cost", "currency")
    by_english.insist({NAMES[name][0]: NAMES[name] for name in required})
    return AzureReader(by_english, settings, notes)


FORMAT = Format(slug="azure", name="Azure", recognise=recognise, open=open_export, version=3)
