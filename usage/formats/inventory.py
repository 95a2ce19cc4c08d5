"""What lies in storage: inventories of object stores (S3, OSS, COS, Google), lists of `find -printf` and `du`.

A delivery is a snapshot: it replaces the one before, bears no money, and is kept as sums, so that a list of a million
objects becomes some thousand rows. Which sums, says `holdings.py`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from django.utils.translation import gettext as _

from core.vocabulary import Category

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.faults import FileRefused, RowFault, RowSkipped
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.numbers import NULLS
from ..reading.records import Batch, FieldReader, RecordReader, split_record
from ..reading.times import instant, time_reader
from .contract import Format, Keys, Recognition, Records, Row, Sample, ScopeKey
from .holdings import Holdings, Sum
from .service import as_one

NAMES = {
    "bucket": ("bucket", "bucket_name"),
    "path": ("path", "key", "object", "object_key", "object_name", "name", "file", "file_name", "filename"),
    "bytes": ("bytes", "size", "size_bytes", "object_size", "content_length", "file_size"),
    "modified": ("modified", "last_modified", "last_modified_date", "mtime", "updated", "modify_time", "update_time"),
    "accessed": ("accessed", "last_access", "last_accessed", "atime", "last_access_time", "last_read", "access_time"),
    "class": ("class", "storage_class", "tier", "access_tier", "storageclass"),
    "etag": ("etag", "e_tag", "md5", "md5_hash", "checksum", "hash", "crc32c"),
    "deleted": ("is_delete_marker", "deleted"),
}
CLASSES = frozenset(
    """STANDARD STANDARD_IA ONEZONE_IA INTELLIGENT_TIERING REDUCED_REDUNDANCY GLACIER GLACIER_IR DEEP_ARCHIVE OUTPOSTS
    SNOW EXPRESS_ONEZONE IA ARCHIVE COLDARCHIVE DEEPCOLDARCHIVE MAZ_STANDARD MAZ_STANDARD_IA MAZ_INTELLIGENT_TIERING
    NEARLINE COLDLINE MULTI_REGIONAL REGIONAL HOT COOL COLD WARM""".split()
)
WHOLE = re.compile(r"[0-9]{1,18}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")
ETAG = re.compile(r'"?[0-9A-Fa-f]{32}(?:-[0-9]+)?"?')
EPOCH = re.compile(r"-?[0-9]{1,11}(?:\.[0-9]+)?")
FIND = re.compile(rb"([0-9]{1,18})[\t ]([0-9]{9,11}(?:\.[0-9]+)?)[\t ](?:([0-9]{9,11}(?:\.[0-9]+)?)[\t ])?(.+)")
DU = re.compile(rb"([0-9]{1,15})\t(\.?/.*|\.|[^\t]*/[^\t]*)")
MARKS = {"true": "yes", "false": "no"}
KIBIBYTE = 1024


class Thing(NamedTuple):
    """One object or file of a list."""

    path: str
    size: int
    modified: datetime | None
    accessed: datetime | None
    storage_class: str
    etag: str


def recognise(sample: Sample) -> Recognition | None:
    """A header with a path and its bytes, a row as object stores write them, or lines of `find` and `du`."""
    header = Header(sample.header.names, same=as_one)
    if header.at(*NAMES["path"]) is not None and header.at(*NAMES["bytes"]) is not None:
        if any(header.at(*NAMES[name]) is not None for name in ("modified", "accessed", "class", "etag")):
            return Recognition(60, _("a path, its bytes, and when it was used, as an inventory has them"))
        return None
    first = sample.head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r")
    if numbered(sample.settings) or places_of(sample.header.names):
        return Recognition(70, _("rows without a header, as inventories of object stores have them"))
    if FIND.fullmatch(first):
        return Recognition(70, _("bytes, times and a path on each line, as find prints them"))
    if DU.fullmatch(first):
        return Recognition(50, _("blocks and a path on each line, as du prints them"))
    return None


def places_of(fields: list[str]) -> dict[str, int]:
    """Where a row without a header has what: bucket, key, bytes, time, class, as S3, OSS and COS write them."""
    found: dict[str, int] = {}
    texts, numbers = [], []
    for at, text in enumerate(fields):
        if text.upper() in CLASSES:
            found.setdefault("class", at)
        elif MOMENT.fullmatch(text):
            found.setdefault("modified", at)
        elif ETAG.fullmatch(text):
            found.setdefault("etag", at)
        elif WHOLE.fullmatch(text):
            numbers.append(at)
        elif text.casefold() not in MARKS and text:
            texts.append(at)
    if len(texts) < 2 or "modified" not in found or not [at for at in numbers if at > texts[1]]:
        return {}
    return found | {"bucket": texts[0], "path": texts[1], "bytes": next(at for at in numbers if at > texts[1])}


class Listing:
    """Lines of `find` or `du`, or rows without a header, in the order of `NAMES`."""

    raw_header = b""

    def __init__(self, stream: io.BufferedReader, split: Any, encoding: str, *, quoted: bool) -> None:
        self.header = Header(list(NAMES))
        self.undecodable = False
        self._records = RecordReader(stream, quoted=quoted)
        self._split_batch, self._encoding = split, encoding

    def batches(self, size: int) -> Iterator[Batch]:
        return self._records.batches(size)

    def split(self, batch: Batch) -> list[Any]:
        return self._split_batch(self, batch)


def records(stream: io.BufferedReader, settings: Settings, notes: Notes) -> Records | None:
    """Lists without a header; a table with one is cut like any other."""
    head = stream.peek(1 << 16)[: 1 << 16].removeprefix(b"\xef\xbb\xbf")
    first = head.partition(b"\n")[0].rstrip(b"\r")
    if FIND.fullmatch(first):
        return Listing(stream, split_find, settings.encoding, quoted=False)
    if DU.fullmatch(first):
        notes.warn_once("blocks_of_1024")
        return Listing(stream, Blocks().split, settings.encoding, quoted=False)
    if places := numbered(settings) or places_of(cells_of(first, settings.encoding)):
        return Listing(stream, Unnamed(places, settings.encoding).split, settings.encoding, quoted=True)
    return None


def cells_of(line: bytes, encoding: str) -> list[str]:
    """The cells of a first line; none where it cannot be cut."""
    try:
        return split_record(line, ",", encoding)
    except csv.Error:
        return []


def numbered(settings: Settings) -> dict[str, int]:
    """Places by the setting `columns`, `path=2,bytes=3` or `Key=2,Size=3`, for a list without a header."""
    given = {as_one(name): int(text) - 1 for name, text in settings.columns.items() if WHOLE.fullmatch(text)}
    places = {
        ours: given[alias] for ours, theirs in NAMES.items() for alias in reversed(theirs) if given.get(alias, -1) >= 0
    }
    return places if "path" in places and "bytes" in places else {}


def split_find(listing: Listing, batch: Batch) -> list[Any]:
    return [find_fields(record) for record in batch.records]


def find_fields(record: bytes) -> list[str] | str:
    match = FIND.fullmatch(record)
    if match is None:
        return "has not the bytes, times and path of the first line"
    size, modified, accessed, path = (part.decode("utf-8", "replace") if part else "" for part in match.groups())
    return ["", path, size, modified, accessed, "", "", ""]


class Blocks:
    """Lines of `du`. A folder stands behind what lies in it, and repeats its blocks: it is no file of its own."""

    def __init__(self) -> None:
        self._before = ""

    def split(self, listing: Listing, batch: Batch) -> list[Any]:
        return [self._fields(record) for record in batch.records]

    def _fields(self, record: bytes) -> list[str] | str:
        match = DU.fullmatch(record)
        if match is None:
            return "has not the blocks and the path of the first line"
        path = match[2].decode("utf-8", "replace")
        is_folder = self._before.startswith(path.rstrip("/") + "/")
        self._before = path
        return ["", path, str(int(match[1]) * KIBIBYTE), "", "", "", "", "folder" if is_folder else ""]


class Unnamed:
    """Rows without a header. Keys are written as in an address: `a%20b` is `a b`."""

    def __init__(self, places: dict[str, int], encoding: str) -> None:
        self._places = places
        self._fields = FieldReader(delimiter=",", encoding=encoding)

    def split(self, listing: Listing, batch: Batch) -> list[Any]:
        rows = self._fields.split(batch)
        listing.undecodable = self._fields.undecodable
        return [self._ordered(row) if isinstance(row, list) else row for row in rows]

    def _ordered(self, row: list[str]) -> list[str] | str:
        if max(self._places.values()) >= len(row):
            return "has fewer fields than the first row"
        found = {name: row[at] for name, at in self._places.items()}
        found["path"] = unquote_plus(found["path"])
        return [found.get(name, "") for name in NAMES]


class InventoryReader:
    """Takes objects into sums; `summary` hands them out at the end."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._header = Header(header.names, same=as_one)
        self._at = {name: self._header.at(*aliases) for name, aliases in NAMES.items()}
        self._settings, self._notes = settings, notes
        self._time = time_reader(settings.timezone, date_order=settings.date_order or None)
        self.holdings = Holdings(notes)
        self.exact_places = frozenset(at for name in ("bytes",) if (at := self._at[name]) is not None)

    def goes_on_from(self, before: Any) -> None:
        """Several parts are one snapshot."""
        self.holdings = before.holdings

    def row(self, fields: list[str]) -> None:
        text = self._text
        deleted = text(fields, "deleted").casefold()
        if deleted in ("true", "1", "yes"):
            raise RowSkipped("delete_marker")
        path = text(fields, "path")
        if deleted == "folder" or path.endswith("/"):
            raise RowSkipped("folder")
        if not path:
            raise RowFault("path", "", "is empty")
        size = text(fields, "bytes")
        if not WHOLE.fullmatch(size):
            raise RowFault(self._name("bytes"), size, "is no whole number of bytes")
        bucket = text(fields, "bucket")
        self.holdings.add(
            Thing(
                path=f"{bucket}/{path.lstrip('/')}" if bucket else path.removeprefix("./"),
                size=int(size),
                modified=self._moment(fields, "modified"),
                accessed=self._moment(fields, "accessed"),
                storage_class=text(fields, "class").upper(),
                etag=text(fields, "etag").strip('"'),
            )
        )

    def _name(self, name: str) -> str:
        at = self._at[name]
        return name if at is None else self._header.names[at]

    def _text(self, fields: list[str], name: str) -> str:
        at = self._at[name]
        text = fields[at].strip() if at is not None else ""
        return "" if text in NULLS else text

    def _moment(self, fields: list[str], name: str) -> datetime | None:
        text = self._text(fields, name)
        if not text or text in ("-", "never"):
            return None
        if EPOCH.fullmatch(text):
            seconds = float(text.partition(".")[0])
            if not 0 <= seconds < 7_258_118_400:
                raise RowFault(self._name(name), text, "is no time of this age")
            return datetime.fromtimestamp(seconds, UTC)
        return self._time(text, self._name(name)).at

    def summary(self) -> Iterator[Row]:
        """The sums of the snapshot, on the day it was taken."""
        taken = self._settings.issued_at or self.holdings.newest
        if taken is None:
            taken = datetime(1970, 1, 1, tzinfo=UTC)
            self._notes.warn_once("snapshot_without_a_day")
        day = taken.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        start, end = instant(day, self._settings.timezone), instant(day + timedelta(days=1), self._settings.timezone)
        for found in self.holdings.sums(taken):
            yield Row(
                key=found.key,
                scope=ScopeKey("", "", None),
                usage_start=start.text,
                usage_end=end.text,
                billing_month=start.month,
                currency="",
                billed=None,
                effective=None,
                quantity=found.quantity,
                extra=found.extra,
            )

    def describe(self, key: Sum.Key) -> Keys:
        return Keys(
            service="storage",
            sku=key.storage_class,
            state=key.age,
            unit="bytes" if key.sort == "objects" else "",
            resource=key.place,
            resource_type=key.sort,
            category=Category.STORAGE,
            extra={"kind": key.kind} if key.kind else {},
        )


def open_inventory(header: Header, settings: Settings, notes: Notes) -> InventoryReader:
    """Check that paths and bytes are there, and no column twice."""
    by_words = Header(header.names, same=as_one)
    by_words.refuse_twins(NAMES)
    missing = [name for name in ("path", "bytes") if by_words.at(*NAMES[name]) is None]
    if missing:
        raise FileRefused(
            _("An inventory needs a path and its bytes; set columns=path=1,bytes=2 for a list without a header."),
            column=", ".join(missing),
        )
    return InventoryReader(header, settings, notes)


FORMAT = Format(
    slug="inventory",
    name="Storage inventory",
    recognise=recognise,
    open=open_inventory,
    meaning=Meaning.STATEMENT,
    money=Money.NONE,
    records=records,
    whole_file=True,
)
