"""Google Cloud's billing export of BigQuery: standard and detailed table, as CSV of a query or as JSON lines.

The billing month is `invoice.month`, the day of use is `usage_start_time`; around the ends of months they differ.
Credits are money: the billed cost is the cost plus its credits, and credits that cannot be read reject their row.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.vocabulary import Category, ChargeCategory

from ..delivery import Settings
from ..reading.durations import hours_held
from ..reading.faults import RowFault
from ..reading.header import Header
from ..reading.json_items import JsonCursor, JsonRecords
from ..reading.notes import Notes
from ..reading.numbers import NULLS, number_reader
from ..reading.times import time_reader
from .bills import Cells, Columns, added, after, billing_month, clock
from .contract import Format, Keys, Recognition, Records, Row, Sample, ScopeKey
from .focus import currency_of
from .tags import as_text, read_tags, reference_of


def spellings(dotted: str) -> tuple[str, ...]:
    """`service.id`, as a query that flattens the table may call it too."""
    return (dotted, dotted.replace(".", "_"))


COLUMNS = (
    "billing_account_id", "service.id", "service.description", "sku.id", "sku.description", "usage_start_time",
    "usage_end_time", "project.id", "project.name", "project.labels", "labels", "system_labels", "tags",
    "location.location", "location.region", "resource.name", "resource.global_name", "cost", "cost_at_list",
    "currency", "usage.amount", "usage.unit", "usage.amount_in_pricing_units", "usage.pricing_unit", "credits",
    "invoice.month", "cost_type",
)  # fmt: skip
NAMES = {name: spellings(name) for name in COLUMNS}
OF_ROW = (
    "usage_start_time", "usage_end_time", "cost", "cost_at_list", "currency", "usage.amount",
    "usage.amount_in_pricing_units", "credits", "invoice.month",
)  # fmt: skip
REQUIRED = ("billing_account_id", "service.description", "usage_start_time", "usage_end_time", "cost", "credits")
OTHERS = "(others)"
"""Of a JSON line: the column that holds what no other column takes."""

CHARGES = {
    "": ChargeCategory.USAGE,
    "regular": ChargeCategory.USAGE,
    "tax": ChargeCategory.TAX,
    "adjustment": ChargeCategory.ADJUSTMENT,
    "rounding_error": ChargeCategory.ADJUSTMENT,
}
COMMITMENT = re.compile(r"commitment(?: v[0-9]+)?\b", re.IGNORECASE)
GPU = re.compile(r"(?:nvidia )?(?P<card>.*?) gpu\b.*? running in\b", re.IGNORECASE)
CARDS = {
    "tesla a100": "a100-sxm-40gb",
    "tesla a100 80gb": "a100-sxm-80gb",
    "h100 80gb": "h100-sxm-80gb",
    "h100 80gb mega": "h100-sxm-80gb",
    "h100 80gb plus": "h100-sxm-80gb",
    "h200 141gb": "h200-sxm-141gb",
    "l4": "l4-24gb",
    "tesla t4": "t4-16gb",
    "tesla v100": "v100-sxm2-16gb",
    "tesla p100": "p100-sxm2-16gb",
}
"""Cards by the words of their SKU. The vCPU and memory SKUs of the same machine carry none."""

LINES = {
    **dict.fromkeys(("compute engine", "vertex ai", "kubernetes engine", "cloud run", "cloud tpu"), Category.COMPUTE),
    **dict.fromkeys(("batch", "cloud run functions", "gemini api", "cloud functions"), Category.COMPUTE),
    **dict.fromkeys(
        ("cloud storage", "cloud filestore", "cloud sql", "cloud bigtable", "cloud spanner"), Category.STORAGE
    ),
    **dict.fromkeys(("artifact registry", "backup and dr service", "netapp volumes", "alloydb"), Category.STORAGE),
    **dict.fromkeys(("networking", "cloud dns", "cloud vpn", "cloud interconnect"), Category.NETWORK),
    **dict.fromkeys(("bigquery", "cloud dataflow", "cloud dataproc", "cloud pub/sub", "dataplex"), Category.DATA),
}
PARTS_OF_COMPUTE_ENGINE = (
    (re.compile(r"\b(?:PD capacity|snapshot|hyperdisk|image storage|disk)\b", re.IGNORECASE), Category.STORAGE),
    (re.compile(r"\b(?:network|egress|ingress|IP charge|data transfer)\b", re.IGNORECASE), Category.NETWORK),
)

PYTHON_TOKEN = re.compile(
    r"""(?P<decimal>Decimal\((?P<number>'[^']*')\))|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<word>None|True|False)|(?P<rest>[-+\w.]+|[\[\]{},:\s]+)"""
)
AMOUNT = number_reader(native=True)
WORDS = {"None": "null", "True": "true", "False": "false"}


def recognise(sample: Sample) -> Recognition | None:
    """The columns of the export, as a header or as the keys of JSON lines."""
    if is_json(sample.text):
        if '"billing_account_id"' in sample.text and '"usage_start_time"' in sample.text:
            return Recognition(
                90, _("JSON lines with billing_account_id and usage_start_time of a Google Cloud export")
            )
        return None
    marks = [name for name in (*REQUIRED, "sku.description") if sample.header.at(*NAMES[name]) is not None]
    if len(marks) < 5:
        return None
    return Recognition(90, _("columns of a Google Cloud billing export: %(names)s") % {"names": ", ".join(marks)})


def is_json(text: str) -> bool:
    return text.lstrip("\ufeff \r\n\t").startswith(("{", "["))


def records(stream: io.BufferedReader, settings: Settings, notes: Notes) -> Records | None:
    """JSON lines as records; a table is cut like any other."""
    if not is_json(stream.peek(64)[:64].decode("utf-8", "replace")):
        return None
    return JsonRecords(stream, json_lines)


def json_lines(cursor: JsonCursor) -> Iterator[bytes]:
    """Objects one after the other, or one array of them, as the console saves the result of a query."""
    if cursor.peek() == b"[":
        for _place in cursor.places():
            yield cursor.value()
        return
    while cursor.peek():
        yield cursor.value()


def as_fields(record: Any) -> list[str]:
    """A JSON line in the order of `COLUMNS`; what they do not name stands in the last field as JSON."""
    if not isinstance(record, dict):
        raise RowFault("", as_text(record)[:200], "is no JSON object")
    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": as_text(item) for inner, item in value.items()}
        else:
            flat[name] = as_text(value)
    fields = [flat.pop(name, "") for name in COLUMNS]
    others = {name: text for name, text in flat.items() if text and text != "[]"}
    return [*fields, json.dumps(others, ensure_ascii=False, sort_keys=True) if others else ""]


def read_credits(text: str, column: str) -> dict[str, str]:
    """The sum of the credits of every type. Read as JSON or as Python writes lists; never evaluated."""
    cleaned = text.strip()
    if cleaned in NULLS or cleaned == "[]":
        return {}
    sums: dict[str, str] = {}
    for credit in _credits(cleaned, column, text):
        amount = AMOUNT(str(credit.get("amount", "")), column)
        if amount is None:
            raise RowFault(column, text, "holds a credit without an amount")
        kind = str(credit.get("type") or "")
        sums[kind] = added(sums.get(kind), amount)
    return sums


def _credits(cleaned: str, column: str, text: str) -> list[Mapping[str, Any]]:
    for candidate in (cleaned, python_as_json(cleaned)):
        try:
            found = json.loads(candidate, parse_float=str, parse_int=str, parse_constant=str) if candidate else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list) and all(isinstance(credit, dict) for credit in found):
            return found
    raise RowFault(column, text, "cannot be read as credits; they are money, so the row is not taken")


def python_as_json(text: str) -> str | None:
    """A list of dictionaries as Python prints it, in JSON; None where it is something else."""
    out, at = [], 0
    while at < len(text):
        token = PYTHON_TOKEN.match(text, at)
        if not token:
            return None
        at = token.end()
        if found := token["number"] or token["text"]:
            out.append(json.dumps(re.sub(r"\\(.)", r"\1", found[1:-1])))
        else:
            out.append(WORDS.get(token[0], token[0]))
    return "".join(out)


class GcpReader:
    """Reads the rows of one export."""

    def __init__(self, header: Header, settings: Settings, notes: Notes, *, is_json: bool = False) -> None:
        self._settings, self._notes, self._is_json = settings, notes, is_json
        self._columns = Columns(header, NAMES, of_row=OF_ROW)
        self._cells = Cells(
            self._columns,
            header,
            numbers=number_reader(money_text=settings.money_text, native=True),
            times=time_reader(clock(settings, FORMAT.timezone), date_order=settings.date_order or None),
        )
        self.exact_places = self._columns.places("billing_account_id", "project.id", "resource.name", *OF_ROW)

    def row(self, record: Any) -> Row:
        fields = as_fields(record) if self._is_json else record
        cells, columns, text = self._cells, self._columns, self._columns.text
        start = cells.time(fields, "usage_start_time")
        end = after(start, cells.time(fields, "usage_end_time"), cells.label("usage_end_time"))
        cost = cells.cost(fields, "cost")
        credits = read_credits(fields[columns.at["credits"]], cells.label("credits"))
        billed = added(cost, *credits.values())
        month = billing_month(
            text(fields, "invoice.month"), cells.label("invoice.month"), start, self._settings, self._notes
        )
        list_cost = cells.number(fields, "cost_at_list")
        return Row(
            key=columns.key(fields),
            scope=ScopeKey(text(fields, "billing_account_id"), FORMAT.name, month),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=month,
            currency=currency_of(text(fields, "currency"), self._settings, cells.label("currency")),
            billed=billed,
            effective=billed,
            list_cost=cost if list_cost is None else list_cost,
            quantity=cells.number(fields, "usage.amount"),
            accelerator_hours=self._hours(fields),
            extra=columns.extra(fields, {"credits": json.dumps(credits, sort_keys=True)} if credits else None),
        )

    def _hours(self, fields: list[str]) -> str | None:
        """Card-hours of a GPU's own SKU, which counts seconds of cards."""
        text = self._columns.text
        sku = text(fields, "sku.description")
        if (
            not card_of(sku)
            or text(fields, "usage.unit") != "seconds"
            or CHARGES.get(text(fields, "cost_type")) != "Usage"
        ):
            return None
        amount = self._cells.number(fields, "usage.amount")
        return None if amount is None else hours_held(1, Decimal(amount))

    def describe(self, key: Any) -> Keys:
        values, beside = self._columns.shared(key)
        get = values.get
        cost_type, sku = get("cost_type", "").casefold(), get("sku.description", "")
        if cost_type not in CHARGES:
            self._notes.warn("cost_type_unknown", detail=cost_type)
        charge = CHARGES.get(cost_type, ChargeCategory.ADJUSTMENT)
        if charge == ChargeCategory.USAGE and COMMITMENT.match(sku):
            charge = ChargeCategory.PURCHASE
        tags: dict[str, str] = {}
        for name in ("project.labels", "tags", "labels"):
            tags |= read_tags(get(name, ""), self._notes)
        kept = ("service.id", "sku.id", "cost_type", "system_labels", "resource.global_name", "usage.pricing_unit")
        service = get("service.description", "")
        return Keys(
            provider="Google Cloud",
            payer=get("billing_account_id", ""),
            account=get("project.id", "") or get("billing_account_id", ""),
            account_name=get("project.name", ""),
            service=service,
            sku=sku,
            region=get("location.region", "") or get("location.location", ""),
            accelerator=card_of(sku),
            charge_category=charge,
            unit=get("usage.unit", ""),
            resource=get("resource.name", ""),
            issuer=FORMAT.name,
            is_correction=cost_type == "adjustment",
            category=line_of(service, sku),
            reference=reference_of(tags),
            tags=tags,
            extra=beside | {name: values[name] for name in kept if values.get(name) not in (None, "[]")},
        )


def card_of(sku: str) -> str:
    """The accelerator of a GPU's own SKU, "" for every other; a commitment is none."""
    match = GPU.match(sku)
    if not match or COMMITMENT.match(sku):
        return ""
    card = match["card"].casefold()
    return CARDS.get(card) or slugify(card)


def line_of(service: str, sku: str) -> Category:
    """On which budget line a SKU falls where no rule says otherwise."""
    if service.casefold() == "compute engine":
        for pattern, category in PARTS_OF_COMPUTE_ENGINE:
            if pattern.search(sku):
                return category
    return LINES.get(service.casefold(), Category.PEOPLE_PLATFORM)


def open_export(header: Header, settings: Settings, notes: Notes) -> GcpReader:
    """Check the header of a table; JSON lines have the columns of the export."""
    if not len(header):
        return GcpReader(Header([*COLUMNS, OTHERS]), settings, notes, is_json=True)
    header.refuse_twins(NAMES)
    required = REQUIRED if settings.currency else (*REQUIRED, "currency")
    header.insist({name: NAMES[name] for name in required})
    return GcpReader(header, settings, notes)


FORMAT = Format(slug="gcp", name="Google Cloud", recognise=recognise, open=open_export, records=records, version=2)
