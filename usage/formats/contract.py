"""What a format is: how it is recognised, and how one of its records becomes a row.

A row comes in two parts. `Row` holds what differs from row to row, as text that PostgreSQL reads. Its `key` is any
hashable value made of the fields that many rows share; `describe(key)` turns it into `Keys` once for all of them.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, runtime_checkable

from core.vocabulary import Category, ChargeCategory

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.records import Batch


class ScopeKey(NamedTuple):
    """What a delivery of a statement replaces as a whole."""

    payer: str
    issuer: str
    month: date | None
    part: str = ""

    @property
    def text(self) -> str:
        month = f"{self.month:%Y-%m}" if self.month else ""
        return "|".join(part for part in (self.issuer, self.payer, month, self.part) if part) or "all"


class Row(NamedTuple):
    """What differs from row to row. Numbers are canonical text or None, times are ISO text in UTC."""

    key: Any
    scope: ScopeKey
    usage_start: str
    usage_end: str
    billing_month: date
    currency: str
    billed: str | None
    effective: str | None
    list_cost: str | None = None
    contracted: str | None = None
    quantity: str | None = None
    accelerator_hours: str | None = None
    cpu_core_hours: str | None = None
    extra: str | None = None
    """JSON of the columns we do not map, where they differ from row to row."""
    row_key: str | None = None
    """Of a log, or of rows with an identity of their own: what the row is known by within its source, as any text."""
    rank: int | None = None
    provisional: bool = False
    job: str = ""


@dataclass(frozen=True)
class Keys:
    """What rows share, canonical: the meter, the resource, the tags."""

    provider: str = ""
    payer: str = ""
    account: str = ""
    account_name: str = ""
    service: str = ""
    sku: str = ""
    region: str = ""
    accelerator: str = ""
    state: str = ""
    charge_category: str = ChargeCategory.USAGE
    unit: str = ""
    resource: str = ""
    resource_name: str = ""
    resource_type: str = ""
    user: str = ""
    partition: str = ""
    cluster: str = ""
    namespace: str = ""
    pod: str = ""
    publisher: str = ""
    issuer: str = ""
    service_category: str = ""
    is_correction: bool = False
    accelerator_count: Decimal | None = None
    category: str = Category.COMPUTE
    reference: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    hours_per_quantity: Decimal | None = field(default=None, compare=False)
    """Accelerator-hours in one unit of the row's quantity, where the row does not say them itself."""

    def as_dict(self) -> dict[str, Any]:
        """The columns of `KeySet` and `Meter`."""
        return {name: getattr(self, name) for name in KEYS_COLUMNS}


UNUSED = "unused"
"""The state of usage that was committed to and not used: its effective cost is what was wasted."""
KEYS_COLUMNS = tuple(item.name for item in fields(Keys) if item.name != "hours_per_quantity")
METER_COLUMNS = (
    "provider",
    "payer",
    "account",
    "account_name",
    "service",
    "sku",
    "region",
    "accelerator",
    "state",
    "charge_category",
    "unit",
)


def digest_of(columns: Mapping[str, Any]) -> str:
    """32 hexadecimal digits that two equal sets of columns share."""
    text = json.dumps(columns, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


class RowReader(Protocol):
    """Reads the records of one file."""

    exact_places: frozenset[int]
    """Columns with amounts, times and ids, where a byte that is no text rejects the row."""

    def row(self, fields: Any) -> Row | None:
        """One record as a `Row`, None where it went into a sum; raises `RowFault` or `RowSkipped`."""
        ...

    def describe(self, key: Any) -> Keys:
        """What a row's `key` stands for; raises `RowFault`."""
        ...


@runtime_checkable
class Summing(Protocol):
    """A reader that keeps no row of its own for a record, but sums; all parts of a delivery are summed together."""

    def goes_on_from(self, before: Any) -> None:
        """Go on with the sums of the reader of the part before."""
        ...

    def summary(self) -> Iterator[Row]:
        """The sums as rows, when everything was read."""
        ...


class Records(Protocol):
    """Cuts one part of a delivery into records, and each record into its fields."""

    header: Header
    raw_header: bytes

    @property
    def undecodable(self) -> bool:
        """Whether the last batch held bytes that are no text; they stand in the fields as lone surrogates."""
        ...

    def batches(self, size: int) -> Iterator[Batch]:
        """The records in file order, `size` at a time."""
        ...

    def split(self, batch: Batch) -> list[Any]:
        """What `RowReader.row` reads of every record, in order; in place of a record that cannot be cut, why, as text.

        Lists have the width of the header, and are checked for bytes that are no text; other values are passed on.
        """
        ...


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, for recognition."""

    name: str
    head: bytes
    text: str
    header: Header
    delimiter: str
    settings: Settings = field(default_factory=Settings)
    rows: tuple[list[str], ...] = ()


@dataclass(frozen=True)
class Recognition:
    """A format that knows the file: how sure, and why, in words for the page."""

    certainty: int
    reason: str


@dataclass(frozen=True)
class Format:
    """One format.

    `recognise` says why a sample is of this format, None where it is not, and raises `FileRefused` for a file of
    the right vendor but the wrong dataset. `open` checks the header and answers the reader of its records; `records`
    cuts a part into records where it is no delimited table.
    """

    slug: str
    name: str
    recognise: Callable[[Sample], Recognition | None]
    open: Callable[[Header, Settings, Notes], RowReader]
    meaning: Meaning = Meaning.STATEMENT
    money: Money = Money.OWN
    timezone: str = "UTC"
    version: int = 1
    """Changes when the same text is read as other rows than before."""
    records: Callable[[io.BufferedReader, Settings, Notes], Records | None] | None = None
    """Answers None for a part that is a delimited table."""
    whole_file: bool = False
    """A row is judged by those before it (a totals row), so none may be passed over as known."""
    settings: tuple[str, ...] = ()
