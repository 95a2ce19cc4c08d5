"""FOCUS cost and usage: 1.0 to 1.2 and later by column name, and the names of 0.5. https://focus.finops.org"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from django.utils.translation import gettext as _

from core.money import CURRENCIES
from core.vocabulary import Category, ChargeCategory

from ..accelerators import Accelerators, accelerators_of
from ..delivery import Settings
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import ALL_CANONICAL, CANONICAL, NULLS, NumberReader, number_reader, required_number
from ..reading.times import Instant, TimeReader, time_reader
from .contract import UNUSED, Format, Keys, Recognition, Row, Sample, ScopeKey
from .tags import read_tags, reference_of

BILLED, EFFECTIVE, CATEGORY = "BilledCost", "EffectiveCost", "ChargeCategory"
START, END = "ChargePeriodStart", "ChargePeriodEnd"
BILL_START, BILL_END, CURRENCY = "BillingPeriodStart", "BillingPeriodEnd", "BillingCurrency"

OUR_HOURS, OUR_CORE_HOURS = "x_AcceleratorHours", "x_CpuCoreHours"
OUR_ACCELERATOR, OUR_STATE = "x_Accelerator", "x_State"
"""Columns of our own export, so that it comes back with the hours it went out with."""

ALIASES: dict[str, tuple[str, ...]] = {
    EFFECTIVE: ("EffectiveCost", "AmortizedCost"),
    CATEGORY: ("ChargeCategory", "ChargeType"),
    "RegionId": ("RegionId", "Region"),
    "ConsumedQuantity": ("ConsumedQuantity", "UsageQuantity"),
    "ConsumedUnit": ("ConsumedUnit", "UsageUnit"),
    "ProviderName": ("ServiceProviderName", "ProviderName"),
}
"""Columns that had another name in another version; the first that the file has is read."""

KEY_COLUMNS = (
    CATEGORY,
    "ChargeClass",
    "BillingAccountId",
    "InvoiceIssuerName",
    "SubAccountId",
    "SubAccountName",
    "ServiceName",
    "ServiceCategory",
    "SkuId",
    "RegionId",
    "ProviderName",
    "PublisherName",
    "ResourceId",
    "ResourceName",
    "ResourceType",
    "ConsumedUnit",
    "PricingUnit",
    "Tags",
    "SkuPriceDetails",
    OUR_ACCELERATOR,
    OUR_STATE,
)
KEY_EXTRA = (
    "AvailabilityZone",
    "BillingAccountName",
    "BillingAccountType",
    "CapacityReservationId",
    "CapacityReservationStatus",
    "ChargeDescription",
    "ChargeFrequency",
    "CommitmentDiscountCategory",
    "CommitmentDiscountId",
    "CommitmentDiscountName",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "CommitmentDiscountUnit",
    "ContractedUnitPrice",
    "HostProviderName",
    "InvoiceId",
    "ListUnitPrice",
    "PricingCategory",
    "PricingCurrency",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyListUnitPrice",
    "RegionName",
    "ServiceSubcategory",
    "SkuMeter",
    "SkuPriceId",
    "SubAccountType",
)
"""Columns we keep with the key set as they are: they repeat from row to row."""

NUMBERS = (BILLED, EFFECTIVE, "ListCost", "ContractedCost", "ConsumedQuantity", "PricingQuantity")
PERIOD = ("BillingAccountId", "InvoiceIssuerName", BILL_START, BILL_END, CURRENCY)
"""Columns that together say a row's scope and currency."""

CHARGE_CATEGORIES = {str(category).casefold(): str(category) for category in ChargeCategory}
LINE_OF_SERVICE = {
    "ai and machine learning": Category.COMPUTE,
    "compute": Category.COMPUTE,
    "analytics": Category.DATA,
    "databases": Category.STORAGE,
    "storage": Category.STORAGE,
    "networking": Category.NETWORK,
    "web": Category.NETWORK,
}
"""On which budget line a ServiceCategory falls where no rule says otherwise; the rest is platform."""
SERVICE_CATEGORIES = frozenset(
    name.casefold()
    for name in (
        "AI and Machine Learning",
        "Analytics",
        "Business Applications",
        "Compute",
        "Databases",
        "Developer Tools",
        "Multicloud",
        "Identity",
        "Integration",
        "Internet of Things",
        "Management and Governance",
        "Media",
        "Migration",
        "Mobile",
        "Networking",
        "Security",
        "Storage",
        "Web",
        "Other",
    )
)
OTHER_DATASETS = {
    "ContractCommitmentId": "Contract Commitment",
    "BillingPeriodStatus": "Billing Period",
    "InvoiceDetailCost": "Invoice Detail",
}


def names_of(column: str) -> tuple[str, ...]:
    return ALIASES.get(column, (column,))


def recognise(sample: Sample) -> Recognition | None:
    """FOCUS names its costs like nobody else; its other datasets are refused by name."""
    header = sample.header
    for column, dataset in OTHER_DATASETS.items():
        if column in header and BILLED not in header:
            raise FileRefused(
                _("This is a FOCUS %(dataset)s dataset. Headroom imports the Cost and Usage dataset.")
                % {"dataset": dataset},
                column=column,
                value=column,
            )
    if "InvoiceDetailId" in header and START not in header and header.at(*names_of(EFFECTIVE)) is None:
        raise FileRefused(_("This is a FOCUS Invoice Detail dataset. Headroom imports the Cost and Usage dataset."))
    marks = [name for name in (BILLED, *names_of(EFFECTIVE), START, *names_of(CATEGORY), BILL_START) if name in header]
    if len(marks) < 3:
        return None
    return Recognition(90, _("the columns %(names)s are FOCUS's own") % {"names": ", ".join(marks)})


class FocusReader:
    """Reads the records of one FOCUS file by the places its header names."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._at = {name: header.at(*names_of(name)) for name in (*KEY_COLUMNS, *KEY_EXTRA)}
        self._times: TimeReader = time_reader(
            settings.timezone,
            date_order=settings.date_order or None,
            on_offset=lambda: notes.warn("offset_in_time"),
        )
        self._number: NumberReader = number_reader(money_text=settings.money_text)
        self._cost = required_number(self._number)
        key_places = [place for name in (*KEY_COLUMNS, *KEY_EXTRA) if (place := self._at[name]) is not None]
        self._key_names = [name for name in (*KEY_COLUMNS, *KEY_EXTRA) if self._at[name] is not None]
        self._key: Callable[[list[str]], Any] = _getter(key_places)
        self._periods: dict[tuple[str, ...], tuple[ScopeKey, str]] = {}
        period_places = [header.at(*names_of(name)) for name in PERIOD]
        self._period = texts_at(period_places)
        number_places = [header.at(*names_of(name)) for name in NUMBERS]
        self._numbers: Callable[[list[str]], Sequence[Any]] = texts_at(number_places)
        self._numbers_missing = None in number_places
        self._start, self._end = place_of(header, START), place_of(header, END)
        used_places = [*number_places, *period_places, self._start, self._end]
        self._numbers_beside = [
            (name, at)
            for name in ("CommitmentDiscountQuantity", "PricingCurrencyEffectiveCost")
            if (at := header.at(name)) is not None
        ]
        self._hours = [header.at(name) for name in (OUR_HOURS, OUR_CORE_HOURS)]
        used = [*key_places, *used_places, *self._hours, *(at for _, at in self._numbers_beside)]
        self._rest = [*header.rest(used), *((at, name) for name, at in self._numbers_beside)]
        self._default_month: Instant | None = None
        if settings.billing_period:
            first = settings.billing_period.start
            self._default_month = self._times(f"{first}T00:00:00", BILL_START)
            self._default_end = self._times(f"{settings.billing_period.end}T00:00:00", BILL_END)
        ids = [
            self._at[name] for name in ("BillingAccountId", "SubAccountId", "InvoiceIssuerName", "ResourceId", "SkuId")
        ]
        self.exact_places = frozenset(at for at in (*used_places, *ids) if at is not None)

    def row(self, fields: list[str]) -> Row:
        seen, starts, ends = self._times.seen, fields[self._start], fields[self._end]
        start = seen.get(starts) or self._times(starts, START)
        end = seen.get(ends) or self._times(ends, END)
        if end.at <= start.at:
            raise RowFault(END, ends, f"is not after {START} {starts}")
        numbers = self._numbers(fields)
        if self._numbers_missing or not ALL_CANONICAL("|".join(numbers)):
            numbers = self._read_numbers(numbers)
        billed, effective, listed, contracted, quantity, pricing = numbers
        period = self._period(fields)
        scope, currency = self._periods.get(period) or self._new_period(period)
        hours = core_hours = extra = None
        if self._hours != [None, None]:
            hours, core_hours = self._own_hours(fields)
        if self._rest or (pricing != quantity and quantity is not None):
            extra = self._extra(fields, pricing if quantity is not None and pricing != quantity else None)
        return Row(
            self._key(fields),
            scope,
            start.text,
            end.text,
            scope.month or start.month,
            currency,
            billed,
            effective,
            listed,
            contracted,
            pricing if quantity is None else quantity,
            hours,
            core_hours,
            extra,
        )

    def _read_numbers(self, texts: Sequence[str]) -> list[str | None]:
        """Numbers in another spelling than the shortest, and nulls where one may be."""
        costs = [self._cost(text, name) for text, name in zip(texts[:2], NUMBERS[:2], strict=True)]
        return costs + [self._number(text, name) for text, name in zip(texts[2:], NUMBERS[2:], strict=True)]

    def _own_hours(self, fields: list[str]) -> list[str | None]:
        """Hours of cards and of cores, as our own export names them."""
        names = (OUR_HOURS, OUR_CORE_HOURS)
        return [
            None if at is None else self._number(fields[at], name) for at, name in zip(self._hours, names, strict=True)
        ]

    def _new_period(self, texts: tuple[str, ...]) -> tuple[ScopeKey, str]:
        """The scope and the currency of rows with these texts."""
        payer, issuer, start_text, end_text, currency = texts
        start, end = self._billing_period(start_text, end_text)
        if end.at <= start.at:
            raise RowFault(BILL_END, end_text, f"is not after {BILL_START} {start_text}")
        scope = ScopeKey(_blank(payer), _blank(issuer), start.month)
        found = self._periods[texts] = (scope, currency_of(currency, self._settings, CURRENCY))
        return found

    def _billing_period(self, start_text: str, end_text: str) -> tuple[Instant, Instant]:
        if self._default_month and start_text.strip() in NULLS:
            return self._default_month, self._default_end
        return self._times(start_text, BILL_START), self._times(end_text, BILL_END)

    def _extra(self, fields: list[str], pricing: str | None) -> str | None:
        if pricing is None and not self._rest:
            return None
        kept = {name: fields[at] for at, name in self._rest if fields[at] not in NULLS}
        if pricing is not None:
            kept["PricingQuantity"] = pricing
        return json.dumps(kept, ensure_ascii=False, sort_keys=True) if kept else None

    def describe(self, key: Any) -> Keys:
        texts = key if isinstance(key, tuple) else (key,)
        values = {name: _blank(text) for name, text in zip(self._key_names, texts, strict=True)}
        get = values.get
        charge = CHARGE_CATEGORIES.get(get(CATEGORY, "").casefold())
        if charge is None:
            raise RowFault(CATEGORY, get(CATEGORY, ""), "is not one of Usage, Purchase, Tax, Credit, Adjustment")
        service_category = get("ServiceCategory", "")
        if service_category and service_category.casefold() not in SERVICE_CATEGORIES:
            self._notes.warn("service_category_unknown", detail=service_category)
        details = read_tags(get("SkuPriceDetails", ""), self._notes)
        unit = get("ConsumedUnit", "") or get("PricingUnit", "")
        cards = accelerators_of_details(details, unit, charge, self._notes)
        tags = read_tags(get("Tags", ""), self._notes)
        extra = {name: values[name] for name in KEY_EXTRA if values.get(name)}
        if details:
            extra["SkuPriceDetails"] = get("SkuPriceDetails", "")
        return Keys(
            provider=get("ProviderName", ""),
            payer=get("BillingAccountId", ""),
            account=get("SubAccountId", "") or get("BillingAccountId", ""),
            account_name=get("SubAccountName", "") or get("BillingAccountName", ""),
            service=get("ServiceName", ""),
            sku=get("SkuId", ""),
            region=get("RegionId", ""),
            accelerator=get(OUR_ACCELERATOR, "") or cards.slug,
            state=UNUSED if get("CommitmentDiscountStatus", "").casefold() == "unused" else get(OUR_STATE, ""),
            charge_category=charge,
            unit=unit,
            resource=get("ResourceId", ""),
            resource_name=get("ResourceName", ""),
            resource_type=get("ResourceType", ""),
            publisher=get("PublisherName", ""),
            issuer=get("InvoiceIssuerName", ""),
            service_category=service_category,
            is_correction=get("ChargeClass", "").casefold() == "correction",
            accelerator_count=cards.count,
            category=LINE_OF_SERVICE.get(service_category.casefold(), Category.PEOPLE_PLATFORM)
            if service_category
            else Category.COMPUTE,
            reference=reference_of(tags),
            tags=tags,
            extra=extra,
            hours_per_quantity=cards.count if cards.by_the_hour else None,
        )


def place_of(header: Header, name: str) -> int:
    """Where a column stands that the file must have."""
    place = header.at(*names_of(name))
    if place is None:
        raise FileRefused(_("Columns are missing: %(names)s.") % {"names": name}, column=name)
    return place


def texts_at(places: Sequence[int | None]) -> Callable[[list[str]], tuple[str, ...]]:
    """The texts at some places of a row; nothing where the file has no such column."""
    if None not in places:
        return itemgetter(*places)
    return lambda fields: tuple("" if place is None else fields[place] for place in places)


def _getter(places: list[int]) -> Callable[[list[str]], Any]:
    return itemgetter(*places)


def _blank(text: str) -> str:
    cleaned = text.strip()
    return "" if cleaned in NULLS else cleaned


def currency_of(text: str, settings: Settings, column: str) -> str:
    """The row's currency as a code of ISO 4217, through the source's map and default; else a `RowFault`."""
    cleaned = _blank(text)
    mapped = settings.currency_map.get(cleaned, cleaned) or settings.currency
    if mapped not in CURRENCIES:
        reason = "is no currency of ISO 4217; the setting currency_map can map it" if mapped else "is empty"
        raise RowFault(column, text, reason)
    return mapped


def accelerators_of_details(details: dict[str, str], unit: str, charge: str, notes: Notes) -> Accelerators:
    """Cards of a SKU by its own words: GpuCount, else the instance type of the catalogue."""
    count = details.get("GpuCount") or details.get("x_GpuCount") or ""
    number = Decimal(count) if CANONICAL(count) else None
    instance = details.get("InstanceType") or details.get("x_InstanceType") or ""
    return accelerators_of(instance, unit=unit, charge_category=charge, count=number, notes=notes)


def open_focus(header: Header, settings: Settings, notes: Notes) -> FocusReader:
    """Check the header: every missing column at once, no used name twice, then read by place."""
    columns = (
        *KEY_COLUMNS,
        *KEY_EXTRA,
        BILLED,
        START,
        END,
        BILL_START,
        BILL_END,
        CURRENCY,
        "ListCost",
        "ContractedCost",
    )
    header.refuse_twins({name: names_of(name) for name in columns if name not in ALIASES} | ALIASES)
    required = [BILLED, EFFECTIVE, CATEGORY, START, END]
    if not settings.currency:
        required.append(CURRENCY)
    if not settings.billing_period:
        required += [BILL_START, BILL_END]
    header.insist({name: names_of(name) for name in required})
    return FocusReader(header, settings, notes)


FORMAT = Format(slug="focus", name="FOCUS", recognise=recognise, open=open_focus, version=4)
