"""Bills of the Chinese clouds, read by one reader from one mapping per vendor.

What they share: the payable amount after discounts (应付金额) is the cost; vouchers (代金券) and prepaid cards are
ways to pay it, unless the source says `vouchers=discount`. Times are Asia/Shanghai, `-` and `--` are nothing, ids may
carry a tab or an apostrophe in front, and a totals row may end the file: it is checked against the sum and is no row.
GBK files need `encoding=gb18030`. The month's final file replaces the month; daily files that add need
`meaning=append`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.money import EXACT, exact_text
from core.months import Month, midnight
from core.vocabulary import Category, ChargeCategory

from ..accelerators import NOTHING, Accelerators
from ..delivery import Settings
from ..reading.durations import hours_held
from ..reading.faults import FileRefused, RowSkipped
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import NULLS, number_reader
from ..reading.times import Instant, instant, time_reader
from .bills import (
    Cells,
    Columns,
    Names,
    added,
    after,
    billing_month,
    clock,
    exclusive,
    month_of,
    negated,
)
from .contract import Format, Keys, Recognition, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import read_tags, reference_of

SHANGHAI = "Asia/Shanghai"
AMOUNTS = ("list", "discount", "coupon", "rounding", "cost", "voucher")
OF_ROW = ("month", "start", "end", "record", "duration", "quantity", "currency", *AMOUNTS)
BESIDE = ("record", "duration", "discount", "coupon", "rounding", "voucher")
"""Columns of a row that have no place in `Row` and are kept as they stand."""
KEPT = ("kind", "mode", "product_code", "config", "zone", "group")
"""Columns of a key that have no place in `Keys`."""
CHECKED = ("cost", "list")
"""Amounts of a totals row that are compared with the sum."""
DURATION = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(?P<unit>\D*)")
SECONDS_OF = {
    **dict.fromkeys(("秒", "s", "second", "seconds"), 1),
    **dict.fromkeys(("分钟", "分", "minute", "minutes"), 60),
    **dict.fromkeys(("小时", "时", "h", "hour", "hours"), 3600),
    **dict.fromkeys(("天", "日", "day", "days"), 86400),
}
TOTALS = ("合计", "总计", "总合计", "total", "grand total")
SUBTOTALS = ("小计", "subtotal")
CURRENCIES = {"人民币": "CNY", "美元": "USD", "港币": "HKD"}
CENT = Decimal("0.01")
MEMORY = 100_000
GPUS = re.compile(r"GPU[^0-9;；,，]*(?P<count>[0-9]{1,4})\s*[*x×]\s*(?P<card>[^;；,，|]+)", re.IGNORECASE)

USAGE, PURCHASE, ADJUSTMENT = ChargeCategory.USAGE, ChargeCategory.PURCHASE, ChargeCategory.ADJUSTMENT
KINDS = (
    (("调账", "补结算", "adjust", "调整", "抹零"), ADJUSTMENT),
    (
        ("新购", "续费", "续订", "变更", "变配", "升级", "降级", "购买", "purchase", "renew", "upgrade", "prepay"),
        PURCHASE,
    ),
    (("使用", "按量", "按需", "后付费", "小时结", "日结", "月结", "postpay", "pay-as-you-go", "payasyougo"), USAGE),
    (("包年", "包月", "预付费", "subscription"), PURCHASE),
)
"""Words of a kind of charge, or of a mode of billing, in the order in which they decide."""
REFUNDS = ("退款", "退订", "退费", "退货", "refund", "return")

LINES = (
    (
        ("存储", "云硬盘", "数据库", "oss", "obs", "evs", "sfs", "nas", "cpfs", "bos", "cds", "storage", "rds"),
        Category.STORAGE,
    ),
    (("带宽", "流量", "网络", "公网", "负载均衡", "eip", "cdn", "nat", "vpc", "slb", "elb", "blb"), Category.NETWORK),
    (("大数据", "数据湖", "数据集成", "maxcompute", "dataworks", "emr", "kafka"), Category.DATA),
    (
        ("服务器", "计算", "容器", "gpu", "ecs", "cvm", "bcc", "bbc", "pai", "modelarts", "机器学习", "大模型"),
        Category.COMPUTE,
    ),
)
"""Words of a service and the budget line it falls on; Latin words must stand alone."""


def cards_of_words(words: str) -> Accelerators:
    """`GPU:8*NVIDIA A100` as eight cards of the name that the bill gives them."""
    match = GPUS.search(words)
    if not match or not int(match["count"]):
        return NOTHING
    return Accelerators(slug=slugify(match["card"]), count=Decimal(match["count"]), by_the_hour=True)


def clean(text: str) -> str:
    """A cell without what spreadsheets need in front of an id, and "" for a placeholder."""
    cleaned = text.strip().removeprefix("'").strip()
    return "" if cleaned in NULLS else cleaned


@dataclass(frozen=True)
class ChineseBill:
    """A vendor's bill as data: the names of its columns in both languages, and its words for kinds of charges.

    `cards` finds the accelerators of a row's texts, by the hour where its seconds of use are theirs.
    """

    slug: str
    name: str
    provider: str
    columns: Names
    required: tuple[str, ...]
    marks: tuple[str, ...]
    """Columns that together are this vendor's alone; each may be any of several names, divided by `|`."""
    charges: Mapping[str, ChargeCategory] = field(default_factory=dict)
    cards: Callable[[Mapping[str, str], Notes], Accelerators] = lambda values, notes: NOTHING
    utc_mark: str = ""
    """A column of the vendor's API, whose times are UTC."""


class ChineseReader:
    """Reads the rows of one bill."""

    def __init__(self, bill: ChineseBill, header: Header, settings: Settings, notes: Notes) -> None:
        self._bill, self._settings, self._notes = bill, settings, notes
        self._zone = clock(settings, "UTC" if bill.utc_mark and bill.utc_mark in header else SHANGHAI)
        self._columns = Columns(header, bill.columns, of_row=OF_ROW, clean=clean)
        self._cells = Cells(
            self._columns,
            header,
            numbers=number_reader(money_text=settings.money_text),
            times=time_reader(self._zone, date_order=settings.date_order or "ymd"),
        )
        self.exact_places = self._columns.places("payer", "account", "resource", *OF_ROW)
        self._currencies = replace(settings, currency_map={**CURRENCIES, **settings.currency_map})
        self._sums: dict[str, dict[str, Decimal]] = {}
        self._is_ended = False
        self._cards: dict[Any, Accelerators] = {}

    def row(self, fields: list[str]) -> Row:
        first = next((cleaned for text in fields if (cleaned := clean(text))), "").rstrip(":：").casefold()
        if first in SUBTOTALS:
            raise RowSkipped("subtotal")
        if first in TOTALS:
            self._check_totals(fields)
            raise RowSkipped("total")
        if self._is_ended:
            raise FileRefused(_("Rows stand below the totals row."), value=first)
        row = self._usage(fields)
        self._count(row.currency, fields)
        return row

    def _usage(self, fields: list[str]) -> Row:
        cells, columns, text = self._cells, self._columns, self._columns.text
        payable = cells.cost(fields, "cost")
        if self._settings.vouchers == "discount":
            payable = added(payable, negated(cells.number(fields, "voucher")))
        start, end, month = self._times(fields)
        key = columns.key(fields)
        return Row(
            key=key,
            scope=ScopeKey(text(fields, "payer"), self._bill.provider, month),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=month,
            currency=currency_of(text(fields, "currency"), self._currencies, cells.label("currency")),
            billed=payable,
            effective=payable,
            list_cost=cells.number(fields, "list"),
            quantity=cells.number(fields, "quantity"),
            accelerator_hours=self._hours(fields, key, start, end),
            extra=columns.extra(fields, self._beside(fields)),
        )

    def _times(self, fields: list[str]) -> tuple[Instant, Instant, date]:
        """Start and end of use and the month of the bill; a refund without times has those of its month."""
        cells, text = self._cells, self._columns.text
        named = text(fields, "month")
        if text(fields, "start"):
            start = cells.time(fields, "start")
            month = billing_month(named, cells.label("month"), start, self._settings, self._notes)
        else:
            period = self._settings.billing_period
            month = period.start if period and not named else month_of(named, cells.label("month"))
            start = instant(midnight(month, self._zone), self._zone)
        if text(fields, "end"):
            return start, after(start, exclusive(cells.time(fields, "end"), self._zone), cells.label("end")), month
        end = instant(midnight(Month.of(month).end, self._zone), self._zone)
        if end.at <= start.at:
            end = instant(start.at + timedelta(days=1), self._zone)
        return start, end, month

    def _hours(self, fields: list[str], key: Any, start: Instant, end: Instant) -> str | None:
        """Card-hours of metered use: by the row's own duration, else from start to end."""
        cards = self._cards_of(key)
        if cards.count is None or not cards.by_the_hour:
            return None
        seconds = self._seconds(fields)
        if seconds is None:
            seconds = Decimal(int((end.at - start.at).total_seconds()))
        return hours_held(cards.count, seconds)

    def _cards_of(self, key: Any) -> Accelerators:
        """Cards whose use the rows of a key meter; none on purchases, refunds and adjustments."""
        found = self._cards.get(key)
        if found is None:
            if len(self._cards) > MEMORY:
                self._cards.clear()
            values, _beside = self._columns.shared(key)
            is_metered = self._charge(values) == USAGE and not is_refund(values)
            found = self._cards[key] = self._bill.cards(values, self._notes) if is_metered else NOTHING
        return found

    def _seconds(self, fields: list[str]) -> Decimal | None:
        """A duration such as `3600秒`, or a quantity of seconds or hours."""
        text = self._columns.text
        for number, unit in (("duration", "duration_unit"), ("quantity", "unit")):
            match = DURATION.fullmatch(text(fields, number))
            if match:
                factor = SECONDS_OF.get((match["unit"] or text(fields, unit)).strip().casefold())
                if factor:
                    return EXACT.multiply(Decimal(match["number"]), Decimal(factor))
        return None

    def _beside(self, fields: list[str]) -> dict[str, str]:
        """What a row says beyond its places; a payable amount that is not what its parts make is warned of."""
        amounts = {name: self._cells.number(fields, name) for name in AMOUNTS}
        if "rounding" in self._columns.at and amounts["list"] is not None:
            parts = (amounts["list"], *(negated(amounts[name]) for name in ("discount", "coupon", "rounding")))
            if added(*parts) != amounts["cost"]:
                self._notes.warn("amounts_disagree", detail=str(amounts["cost"]))
        found = {self._cells.label(name): self._columns.text(fields, name) for name in BESIDE}
        return {label: text for label, text in found.items() if text}

    def _count(self, currency: str, fields: list[str]) -> None:
        sums = self._sums.setdefault(currency, dict.fromkeys(CHECKED, Decimal(0)))
        for name in CHECKED:
            amount = self._cells.number(fields, name)
            sums[name] = EXACT.add(sums[name], Decimal(amount or 0))

    def _check_totals(self, fields: list[str]) -> None:
        """The totals row must say what the rows above it add up to; else rows are missing or were edited."""
        self._is_ended = True
        text = self._columns.text(fields, "currency")
        currency = CURRENCIES.get(text, text) or (next(iter(self._sums), "") if len(self._sums) < 2 else "")
        if not currency:
            self._notes.warn_once("totals_unchecked", detail=", ".join(self._sums))
            return
        sums = self._sums.get(currency, dict.fromkeys(CHECKED, Decimal(0)))
        for name in CHECKED:
            said = self._cells.number(fields, name)
            if said is not None and not agrees(Decimal(said), sums[name]):
                raise FileRefused(
                    _("The totals row says %(said)s %(currency)s, the rows add up to %(sum)s: rows are missing.")
                    % {"said": said, "sum": exact_text(sums[name]), "currency": currency},
                    column=self._cells.label(name),
                    value=said,
                )

    def describe(self, key: Any) -> Keys:
        values, _beside = self._columns.shared(key)
        get = values.get
        charge = self._charge(values)
        if charge == ADJUSTMENT and not is_known_adjustment(values):
            self._notes.warn("charge_kind_unknown", detail=get("kind", ""))
        cards = self._cards_of(key)
        tags = read_tags(get("tags", ""), self._notes)
        service = get("product") or get("product_code") or ""
        return Keys(
            provider=self._bill.provider,
            payer=get("payer", ""),
            account=get("account", "") or get("payer", ""),
            account_name=get("account_name", "") or get("payer_name", ""),
            service=service,
            sku=get("sku", "") or get("spec", ""),
            region=get("region", ""),
            accelerator=cards.slug,
            charge_category=charge,
            unit=get("unit", ""),
            resource=get("resource", ""),
            resource_name=get("resource_name", ""),
            resource_type=get("spec", ""),
            issuer=self._bill.provider,
            is_correction=is_refund(values) or charge == ADJUSTMENT,
            accelerator_count=cards.count,
            category=line_of(service, get("product_code", "")),
            reference=reference_of(tags),
            tags=tags,
            extra={self._cells.label(name): values[name] for name in KEPT if name in values},
        )

    def _charge(self, values: Mapping[str, str]) -> ChargeCategory:
        """By the kind of the row; a refund by the mode of billing of what it gives back."""
        kind, mode = values.get("kind", ""), values.get("mode", "")
        known = self._bill.charges.get(kind)
        if known is not None:
            return known
        by_mode = kind_of(mode)
        if is_refund(values):
            return by_mode or USAGE
        return kind_of(kind) or by_mode or (ADJUSTMENT if kind else USAGE)


def kind_of(words: str) -> ChargeCategory | None:
    lowered = words.casefold()
    return next((charge for marks, charge in KINDS if any(mark in lowered for mark in marks)), None)


def is_refund(values: Mapping[str, str]) -> bool:
    kind = values.get("kind", "").casefold()
    return any(mark in kind for mark in REFUNDS)


def is_known_adjustment(values: Mapping[str, str]) -> bool:
    return kind_of(values.get("kind", "")) == ADJUSTMENT


def agrees(said: Decimal, total: Decimal) -> bool:
    """Equal, at the digits that the totals row shows (two at least)."""
    exponent = said.as_tuple().exponent
    step = min(CENT, Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0))
    return abs(EXACT.subtract(said, total)) * 2 <= step


def line_of(*texts: str) -> Category:
    """The budget line of a service, by its words."""
    lowered = " ".join(texts).casefold()
    for words, category in LINES:
        for word in words:
            if re.search(rf"(?<![a-z]){word}(?![a-z])" if word.isascii() else word, lowered):
                return category
    return Category.PEOPLE_PLATFORM


def format_of(bill: ChineseBill) -> Format:
    """The format that reads a vendor's bill."""

    def recognise(sample: Sample) -> Recognition | None:
        found = [name for marks in bill.marks if (name := present(sample.header, marks))]
        if len(found) < len(bill.marks):
            return None
        reason = _("columns of a bill of %(vendor)s: %(names)s") % {"vendor": bill.name, "names": ", ".join(found)}
        return Recognition(85, reason)

    def open_bill(header: Header, settings: Settings, notes: Notes) -> ChineseReader:
        header.refuse_twins(bill.columns)
        required = bill.required if settings.currency else (*bill.required, "currency")
        if settings.billing_period is None and "start" not in required:
            required = (*required, "month")
        header.insist({bill.columns[name][0]: bill.columns[name] for name in required})
        return ChineseReader(bill, header, settings, notes)

    return Format(
        slug=bill.slug,
        name=bill.name,
        recognise=recognise,
        open=open_bill,
        timezone=SHANGHAI,
        whole_file=True,
    )


def present(header: Header, marks: str) -> str:
    """The first of some names, divided by `|`, that a header holds."""
    return next((name for name in marks.split("|") if name in header), "")
