"""One pass over a delivery: records are recognised, read, and staged; bad ones go to quarantine. Memory stays flat."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from core.money import EXACT, exact_text

from ..delivery import Settings
from ..formats import detection
from ..formats.contract import Format, Records, Row, RowReader, Summing
from ..models import Import, Meaning, Money, RejectedRow, Source
from ..reading.faults import FileRefused, RowFault, RowSkipped
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.records import Batch
from ..reading.table import Table
from ..reading.text import storable
from ..reading.unpack import Delivery, Unpacked
from .keysets import KeyEntry, KeySets, Scopes
from .rate_card import RateCard
from .seen import LiveRows
from .staging import Staging

BATCH = 5_000
MOST_KEPT = 100_000
"""Rejected rows kept with their text; more are counted only."""
TEXT_KEPT = 20_000
TELL_EVERY = 1.0
"""Seconds between two reports of progress."""
BAD_ROWS, BAD_SHARE = 20, Decimal("0.05")
"""A file with more bad rows than both of these is refused whole."""


@dataclass
class Reading:
    """What one pass over a delivery found."""

    format: Format
    reason: str
    read: int = 0
    accepted: int = 0
    rejected: int = 0
    claimed: int = 0
    staged: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    short_by: int | None = None
    sums: int | None = None
    """How many rows the sums of a format that keeps no others came to."""


ReadRow = tuple[int, Row, KeyEntry | None, int | None]
"""A row of a batch: its place in it, what was read, its key set and scope where they are known."""


class RestartError(Exception):
    """The pass must begin again without an assumption that turned out wrong."""


@dataclass
class Pass:
    """Everything one pass needs; `tell` reports progress and raises when the import is cancelled."""

    delivery: Import
    source: Source
    settings: Settings
    staging: Staging
    key_sets: KeySets
    scopes: Scopes
    notes: Notes
    live: LiveRows | None
    tell: Callable[[int, Reading], None]
    pad_short_rows: bool = True
    meaning: str = ""
    money: str = ""
    rates: RateCard | None = None
    """Of a source whose money is the price table."""
    issued: str = "\\N"
    """Of a log: when the delivery was issued, as COPY reads it."""
    reading: Reading | None = None
    """What the pass has found so far, also where the file is refused in the end."""

    def settle(self, found: Format) -> None:
        """What the delivery means, by its settings, else its source, else its format."""
        self.meaning = self.settings.meaning or self.source.meaning or found.meaning
        self.money = self.settings.money or self.source.money or found.money
        if self.money == Money.RATE_CARD:
            self.rates = RateCard(self.settings, self.notes)
        if self.meaning == Meaning.LOG:
            self.issued = self.delivery.ordered_by.isoformat()


def read_delivery(context: Pass, file: Delivery, wanted: str) -> Reading:
    """Read every part of the file into staging."""
    reading: Reading | None = None
    part: PartReader | None = None
    for name, stream, unpacked in file.parts():
        with stream:
            settings = context.settings
            if unpacked.is_own_text:
                settings = replace(settings, encoding="utf-8", delimiter="")
            elif file.names_of_columns and not settings.columns:
                settings = replace(settings, columns=by_place(file.names_of_columns))
            detected = detection.detect(stream, name, settings, wanted or (reading.format.slug if reading else ""))
            if reading is None:
                reading = context.reading = Reading(detected.format, detected.reason)
                context.settle(detected.format)
            part = PartReader(context, reading, detected, stream, unpacked, settings, before=part)
            with no_collection():
                part.run()
    if reading is None or part is None:
        raise FileRefused(_("The archive holds no file."))
    part.stage_summary()
    context.staging.pause()
    reading.skipped += context.notes.inner
    reading.read += context.notes.inner.total()
    if context.settings.strict and reading.rejected:
        raise FileRefused(_("A row is bad, and this source is strict: the file is refused whole."))
    if reading.rejected > BAD_ROWS and reading.rejected > BAD_SHARE * reading.read:
        raise FileRefused(
            _("%(bad)s of %(all)s rows are bad: the file is refused whole.")
            % {"bad": reading.rejected, "all": reading.read}
        )
    if reading.rejected and not reading.accepted:
        raise FileRefused(_("No row of the file is acceptable."))
    return reading


def by_place(names: tuple[str, ...]) -> dict[str, str]:
    """Names of columns as the setting `columns` says them of a table without a header: `Key=2`."""
    return {name: str(place) for place, name in enumerate(names, 1)}


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Rows are made by the million and hold no circles: looking for some would take a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class PartReader:
    """Reads one part: a table with a header of its own, or what the format cuts into records itself."""

    def __init__(
        self,
        context: Pass,
        reading: Reading,
        detected: detection.Detected,
        stream: io.BufferedReader,
        unpacked: Unpacked,
        settings: Settings,
        *,
        before: PartReader | None,
    ) -> None:
        self._context, self._reading = context, reading
        self._unpacked, self._settings = unpacked, settings
        self._records = records_of(detected, settings, context.notes, stream)
        self._is_table = isinstance(self._records, Table)
        self._header: Header = self._records.header
        self._rows: RowReader = detected.format.open(self._header, settings, context.notes)
        if before is not None and isinstance(self._rows, Summing) and isinstance(before._rows, Summing):
            self._rows.goes_on_from(before._rows)
        self._salt = print_salt(detected.format, settings, self._records.raw_header)
        self._told = time.monotonic()
        self._first = True
        self._bad: list[RejectedRow] = []

    def run(self) -> None:
        for batch in self._records.batches(BATCH):
            self._take(batch)
            if time.monotonic() - self._told > TELL_EVERY:
                self._context.staging.pause()
                self._context.tell(self._unpacked.packed_position(), self._reading)
                self._told = time.monotonic()

    def _take(self, batch: Batch) -> None:
        blake2b, salt = hashlib.blake2b, self._salt
        prints = [blake2b(record, digest_size=16, salt=salt).digest() for record in batch.records]
        self._reading.read += len(prints)
        lines = batch.lines
        if self._context.live is not None:
            claimed = self._context.live.claim(prints)
            count = sum(claimed)
            if count:
                self._reading.claimed += count
                self._reading.accepted += count
                fresh = [index for index, known in enumerate(claimed) if not known]
                batch = Batch([batch.records[i] for i in fresh], [lines[i] for i in fresh], batch.ends_open)
                prints = [prints[i] for i in fresh]
        if batch.records:
            self._parse(batch, prints)

    def _parse(self, batch: Batch, prints: list[bytes]) -> None:
        split = self._records.split(batch)
        if self._is_table:
            self._settle_width(split, batch)
        width, short = len(self._header), self._reading.short_by or 0
        read_row = self._rows.row
        rows: list[ReadRow] = []
        entry_of, scope_of = self._context.key_sets.known.get, self._context.scopes.ids.get
        odd_text, is_table = self._records.undecodable, self._is_table
        for index, fields in enumerate(split):
            try:
                if type(fields) is str:
                    raise RowFault("", "", f"cannot be split into fields: {fields}")
                if is_table and (short or len(fields) != width):
                    fields = self._mended(fields, width, short)
                if (odd_text or b"\0" in batch.records[index]) and type(fields) is list:
                    self._clean(fields, batch.lines[index])
                row = read_row(fields)
                if row is None:
                    self._reading.accepted += 1
                    continue
                rows.append((index, row, entry_of(row.key), scope_of(row.scope)))
            except RowFault as fault:
                self._reject(batch.lines[index], fault, batch.records[index])
            except RowSkipped as skipped:
                self._reading.skipped[skipped.kind] += 1
        self._stage(self._known(rows), batch, prints)
        self._keep_rejected()

    def stage_summary(self) -> None:
        """What a format that sums its rows up has to say when all parts are read."""
        if not isinstance(self._rows, Summing) or not self._reading.accepted:
            return
        accepted = self._reading.accepted
        rows = list(self._rows.summary())
        prints = [hashlib.blake2b(repr(row).encode(), digest_size=16, salt=self._salt).digest() for row in rows]
        found: list[ReadRow] = [(at, row, None, None) for at, row in enumerate(rows)]
        self._stage(self._known(found), Batch([b""] * len(rows), [1] * len(rows)), prints)
        self._reading.accepted, self._reading.sums = accepted, len(rows)

    def _settle_width(self, split: list[Any], batch: Batch) -> None:
        """Rows that all lack the same last fields are padded; a cut-off last record refuses the file."""
        width = len(self._header)
        last = split[-1]
        if self._first:
            self._first = False
            lengths = {len(fields) if type(fields) is list else width for fields in split}
            only = next(iter(lengths))
            alone = len(split) == 1 and batch.ends_open
            if self._context.pad_short_rows and len(lengths) == 1 and only < width and not alone:
                self._reading.short_by = width - only
                self._context.notes.warn_once("rows_short", detail=f"{only} of {width}")
        if batch.ends_open and type(last) is list and len(last) < width - (self._reading.short_by or 0):
            raise FileRefused(
                _("The last record (line %(line)s) is cut off: the file is truncated.") % {"line": batch.lines[-1]}
            )

    def _mended(self, fields: list[str], width: int, short: int) -> list[str]:
        if short and len(fields) == width:
            raise RestartError
        if short and len(fields) == width - short:
            return fields + [""] * short
        raise RowFault("", "", f"has {len(fields)} fields, the header has {width}")

    def _clean(self, fields: list[str], line: int) -> None:
        """Bytes that are no text: replaced in free text and counted, a fault where an amount, time or id stands."""
        for place, text in enumerate(fields):
            cleaned = storable(text)
            if cleaned == text:
                continue
            if place in self._rows.exact_places:
                raise RowFault(self._header.names[place], cleaned, "holds bytes that are no text")
            fields[place] = cleaned
            self._context.notes.warn("bytes_replaced", line=line, detail=self._header.names[place])

    def _known(self, rows: list[ReadRow]) -> list[ReadRow]:
        """The rows with the ids of their key sets and scopes; what is new is stored first."""
        keys = {row.key for _index, row, entry, _scope in rows if entry is None}
        new_scopes = {row.scope for _index, row, _entry, scope in rows if scope is None}
        if not keys and not new_scopes:
            return rows
        context, known, scopes = self._context, self._context.key_sets, self._context.scopes
        context.staging.pause()
        new_keys = {key for key in keys if known.fault(key) is None}
        known.learn(new_keys, self._rows, context.rates.key_of if context.rates else None)
        scopes.learn(new_scopes)
        return [
            (index, row, entry or known.known.get(row.key), scope or scopes.ids[row.scope])
            for index, row, entry, scope in rows
        ]

    def _stage(self, rows: list[ReadRow], batch: Batch, prints: list[bytes]) -> None:
        blake2b, known, lines = hashlib.blake2b, self._context.key_sets, batch.lines
        bears_money = self._context.money != Money.NONE
        keeps_keys = self._context.meaning != Meaning.STATEMENT
        issued, rates = self._context.issued, self._context.rates
        out: list[str] = []
        number = self._reading.staged
        for index, row, entry, scope in rows:
            if entry is None or scope is None:
                fault = known.fault(row.key) or RowFault("", "", "cannot be read")
                self._reject(lines[index], fault, batch.records[index])
                continue
            hours = accelerator_hours_of(row, entry)
            if rates and entry.price_key:
                row = rates.priced(row, entry.price_key, hours)
            body = copy_body(row, scope, entry.id, hours, bears_money, self._row_key(row) if keeps_keys else NULL)
            row_print = blake2b(body.encode(), digest_size=16).hexdigest()
            number += 1
            out.append(f"{number}\t{lines[index]}\t{prints[index].hex()}\t{row_print}\t{issued}\t{body}\n")
        self._reading.staged = number
        self._reading.accepted += len(out)
        if out:
            self._context.staging.write(out)

    def _row_key(self, row: Row) -> str:
        """What the row of a log or an append is known by, among all sources."""
        if self._context.meaning == Meaning.LOG and row.row_key is None:
            raise FileRefused(_("Rows of this format have no key: its deliveries cannot be a log."), column="meaning")
        if row.row_key is None:
            return NULL
        return hashlib.blake2b(f"{self._context.source.pk} {row.row_key}".encode(), digest_size=16).hexdigest()

    def _reject(self, line: int, fault: RowFault, record: bytes) -> None:
        self._reading.rejected += 1
        if self._reading.rejected > MOST_KEPT:
            return
        self._bad.append(
            RejectedRow(
                delivery=self._context.delivery,
                line=line,
                column=fault.column[:200],
                value=storable(fault.value)[:1000],
                reason=fault.reason,
                text=storable(record[:TEXT_KEPT].decode(self._settings.encoding, "replace")),
            )
        )

    def _keep_rejected(self) -> None:
        if self._bad:
            self._context.staging.pause()
            RejectedRow.objects.bulk_create(self._bad)
            self._bad = []


def records_of(detected: detection.Detected, settings: Settings, notes: Notes, stream: io.BufferedReader) -> Records:
    """The part's records, cut by the format's own hand or as a delimited table."""
    cut = detected.format.records
    own = cut(stream, settings, notes) if cut is not None else None
    return own or Table(stream, delimiter=detected.delimiter, encoding=settings.encoding)


def print_salt(format_: Format, settings: Settings, header: bytes) -> bytes:
    """Two records are equal by their text only where header, settings and reader are the same."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{format_.slug} {format_.version} ".encode() + settings.digest_of_reading())
    digest.update(header)
    return digest.digest()


NULL = "\\N"


def accelerator_hours_of(row: Row, entry: KeyEntry) -> str | None:
    """As the row says, else by what one unit of its quantity holds."""
    if row.accelerator_hours is not None or entry.hours_per_quantity is None or row.quantity is None:
        return row.accelerator_hours
    return exact_text(EXACT.multiply(Decimal(row.quantity), entry.hours_per_quantity))


def copy_body(row: Row, scope_id: int, key_set_id: int, hours: str | None, bears_money: bool, row_key: str) -> str:
    """The row as COPY text, from the scope on. Equal rows have equal bodies: the row's print is taken of it."""
    if bears_money:
        costs = f"{row.billed or NULL}\t{row.effective or NULL}\t{row.list_cost or NULL}\t{row.contracted or NULL}"
        money = f"{row.currency}\t{costs}"
    else:
        money = f"\t{NULL}\t{NULL}\t{NULL}\t{NULL}"
    return (
        f"{scope_id}\t{key_set_id}\t{row.usage_start}\t{row.usage_end}\t{row.billing_month}\t{money}"
        f"\t{row.quantity or NULL}\t{hours or NULL}\t{row.cpu_core_hours or NULL}\t{row_key}"
        f"\t{NULL if row.rank is None else row.rank}\t{'t' if row.provisional else 'f'}\t{copy_text(row.job)}"
        f"\t{NULL if row.extra is None else copy_text(row.extra)}"
    )


def copy_text(text: str) -> str:
    """Free text as COPY reads it back unchanged."""
    if not text:
        return text
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
