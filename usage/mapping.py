"""A mapping of any table to our fields: suggested by the header's names, and tried out on the first rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import EXACT, exact_text
from teams import activity, permissions
from teams.models import User

from .delivery import OF_THE_SOURCE, read_settings
from .formats import detection
from .formats.contract import Keys, Row
from .formats.generic_csv import FORMAT, open_mapped
from .models import Source
from .pipeline import files
from .reading.faults import FileRefused, RowFault, RowSkipped
from .reading.notes import Notes
from .reading.table import Table
from .reading.unpack import Delivery

SHOWN, TRIED = 20, 5_000
"""Rows shown, and rows read for sums and faults."""
NAMES: dict[str, tuple[str, ...]] = {
    "start": ("start", "start time", "usage start", "from", "date", "day", "usage date", "开始时间", "消费时间", "日期",
              "账期日", "使用开始时间", "用量日期"),
    "end": ("end", "end time", "usage end", "to", "until", "结束时间", "使用结束时间"),
    "billing_month": ("billing month", "billing period", "month", "invoice month", "账期", "账单月份", "月份",
                      "结算月"),
    "cost": ("cost", "amount", "billed cost", "price", "total", "charge", "net amount", "费用", "金额", "应付金额",
             "消费金额", "总额", "实付金额"),
    "effective": ("effective cost", "amortised cost", "amortized cost", "摊销成本", "摊销金额"),
    "list": ("list cost", "list price", "原价", "目录价", "官网价"),
    "contracted": ("contracted cost", "contract price", "优惠后金额", "合同价"),
    "quantity": ("quantity", "usage", "usage quantity", "用量", "数量", "使用量"),
    "accelerator_hours": ("gpu hours", "accelerator hours", "card hours", "卡时", "gpu卡时", "gpu时"),
    "cpu_core_hours": ("cpu hours", "core hours", "cpu core hours", "核时", "cpu核时"),
    "currency": ("currency", "billing currency", "currency code", "curr", "ccy", "币种", "货币"),
    "unit": ("unit", "usage unit", "单位", "用量单位"),
    "provider": ("provider", "vendor", "cloud", "供应商", "云厂商", "厂商"),
    "payer": ("payer", "payer account", "billing account", "付款账号", "主账号", "财务账号"),
    "account": ("account", "account id", "sub account", "subscription", "账号", "账户", "子账号", "账号id"),
    "account_name": ("account name", "账号名称", "账户名称"),
    "service": ("service", "product", "service name", "产品", "产品名称", "服务", "商品名称"),
    "sku": ("sku", "item", "meter", "计费项", "规格", "商品code"),
    "region": ("region", "location", "zone", "地域", "区域", "可用区"),
    "resource": ("resource", "resource id", "instance id", "machine", "node", "host", "资源id", "实例id", "资源"),
    "resource_name": ("resource name", "instance name", "资源名称", "实例名称", "实例昵称"),
    "resource_type": ("resource type", "instance type", "资源类型", "实例规格"),
    "accelerator": ("accelerator", "gpu", "gpu type", "card", "卡型号", "gpu型号", "加速卡"),
    "user": ("user", "owner", "username", "用户", "使用人", "负责人"),
    "partition": ("partition", "queue", "分区", "队列"),
    "cluster": ("cluster", "集群"),
    "namespace": ("namespace", "命名空间"),
    "tags": ("tags", "labels", "标签"),
    "key": ("id", "row id", "line item id", "record id", "流水号", "订单号"),
    "job": ("job", "job id", "jobid", "作业号", "任务id"),
    "category": ("category", "budget category"),
    "charge_category": ("charge category", "charge type", "费用类型"),
    "reference": ("proposal", "提案"),
}  # fmt: skip
"""What columns are often called, the likeliest first."""


def plain(name: str) -> str:
    """A header's name as it is compared: words in lower case, without what stands in brackets."""
    without = re.sub(r"[(（\[].*?[)）\]]", "", name)
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", without)
    return " ".join(re.sub(r"[_\-./]+", " ", parted).casefold().split())


def suggest(columns: Sequence[str]) -> dict[str, str]:
    """For each of our fields the column whose name says it; no column twice."""
    named = {plain(column): column for column in reversed(columns) if column.strip()}
    found: dict[str, str] = {}
    for name, words in NAMES.items():
        column = next((named[word] for word in words if word in named), None)
        if column is not None and column not in found.values():
            found[name] = column
    return found


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its columns and first rows as they stand, and how they are cut."""

    columns: list[str]
    rows: list[list[str]]
    encoding: str
    delimiter: str


def head(path: Path, name: str, given: Mapping[str, Any]) -> Head:
    """What the file looks like before anything is mapped. A table that is not UTF-8 is taken for GB18030."""
    encoding = str(given.get("encoding") or "")
    if not encoding:
        try:
            return head(path, name, {**given, "encoding": "utf-8"})
        except UnicodeError:
            return head(path, name, {**given, "encoding": "gb18030"})
    settings = read_settings({key: given[key] for key in ("encoding", "delimiter") if given.get(key)})
    for part, stream, _unpacked in Delivery(path).parts():
        with stream:
            sample = detection.take_sample(stream, part or name, settings)
            table = Table(stream, delimiter=sample.delimiter, encoding=settings.encoding)
            if settings.encoding == "utf-8":
                table.raw_header.decode()
            rows = [row for batch in table.batches(5) for row in table.split(batch)[:5] if isinstance(row, list)][:5]
            return Head(table.header.names, rows, settings.encoding, sample.delimiter)
    raise FileRefused(_("The archive holds no file."))


@dataclass(frozen=True)
class ReadRow:
    """A row as it would be read."""

    line: int
    row: Row
    keys: Keys


@dataclass
class Wrong:
    """One kind of fault: where it stands first, and how often it occurs."""

    line: int
    column: str
    value: str
    reason: str
    count: int = 1


@dataclass
class Tried:
    """What a mapping makes of the first rows."""

    rows: list[ReadRow] = field(default_factory=list)
    read: int = 0
    accepted: int = 0
    is_all: bool = True
    sums: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, line: int, row: Row, keys: Keys) -> None:
        self.accepted += 1
        if len(self.rows) < SHOWN:
            self.rows.append(ReadRow(line, row, keys))
        if row.currency:
            sums = self.sums.setdefault(row.currency, {"billed": Decimal(0), "effective": Decimal(0)})
            for name, text in (("billed", row.billed), ("effective", row.effective)):
                sums[name] = EXACT.add(sums[name], Decimal(text or 0))

    def refuse(self, line: int, fault: RowFault) -> None:
        """Faults of one kind are told once."""
        said = (fault.column, fault.reason)
        known = next((each for each in self.wrong if (each.column, each.reason) == said), None)
        if known is None:
            self.wrong.append(Wrong(line, fault.column, fault.value, fault.reason))
        else:
            known.count += 1


def try_out(path: Path, name: str, given: Mapping[str, Any]) -> Tried:
    """Read the first rows by a mapping. A mapping that cannot be is a `FileRefused` or a `DomainError`."""
    settings = read_settings(given)
    tried, notes = Tried(), Notes()
    for part, stream, _unpacked in Delivery(path).parts():
        with stream:
            sample = detection.take_sample(stream, part or name, settings)
            table = Table(stream, delimiter=sample.delimiter, encoding=settings.encoding)
            reader = open_mapped(table.header, settings, notes)
            for batch in table.batches(500):
                for line, fields in zip(batch.lines, table.split(batch), strict=True):
                    tried.read += 1
                    try:
                        if isinstance(fields, str) or len(fields) != len(table.header):
                            raise RowFault("", "", _("cannot be split into the fields of the header"))
                        row = reader.row(fields)
                        tried.add(line, row, reader.describe(row.key))
                    except RowFault as fault:
                        tried.refuse(line, fault)
                    except RowSkipped:
                        continue
                if tried.read >= TRIED:
                    tried.is_all = False
                    return tried
    return tried


@transaction.atomic
def map_source(source: Source, given: Mapping[str, Any], *, sha256: str, name: str, by: User) -> Source:
    """Keep a mapping as a source's settings. It must read at least one row of the file it was made for."""
    row = Source.objects.select_for_update(of=["self"]).get(pk=source.pk)
    if not permissions.may_import_usage(by):
        raise NotAllowed(_("Only an operator, finance or a machine account maps the columns of a source."))
    if row.format not in ("", FORMAT.slug):
        raise DomainError(
            _("This source reads %(format)s. Open another source for other files.") % {"format": row.format}
        )
    tried = try_out(files.path_of(sha256), name, given)
    if not tried.accepted:
        first = tried.wrong[0] if tried.wrong else None
        faults = [Fault(first.column, first.value, first.reason)] if first else []
        raise DomainError(_("With this mapping no row of the file can be read."), faults=faults)
    checked = read_settings(given)
    row.format = FORMAT.slug
    row.meaning = checked.meaning or row.meaning
    row.settings = {key: value for key, value in given.items() if value and key not in OF_THE_SOURCE}
    row.save(update_fields=["format", "meaning", "settings"])
    columns = ", ".join(f"{key}={value}" for key, value in checked.columns.items())
    activity.record("source.mapped", by=by, subject=row, slug=row.slug, columns=columns)
    return row


def sum_texts(tried: Tried) -> list[tuple[str, str, str]]:
    """Currency, billed and effective cost of the rows that were read."""
    return [
        (currency, exact_text(sums["billed"]), exact_text(sums["effective"]))
        for currency, sums in sorted(tried.sums.items())
    ]
