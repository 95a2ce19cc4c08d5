"""Records of a delimited text: a record is a physical line unless a quoted field goes on over the line's end."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from .faults import FileRefused

LONGEST_RECORD = 16 << 20
MOST_LINES_OF_A_RECORD = 10_000
MOST_BLANK_LINES = 1_000_000
MOST_BYTES_OF_A_BATCH = 1 << 26
"""Of its records together, so that long ones are not held by the thousand."""
BOM = b"\xef\xbb\xbf"
ENCODINGS = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "gb18030": "gb18030",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "latin-1": "latin-1",
    "iso-8859-1": "latin-1",
}
"""Spellings of the setting `encoding` and the codec of each. GB18030 contains GBK and GB2312."""

csv.field_size_limit(LONGEST_RECORD)


@dataclass
class Batch:
    """Some records in file order: the bytes of each without its line end, and the line each begins on."""

    records: list[bytes]
    lines: list[int]
    ends_open: bool = False
    """The file ended here, and its last record has no line end."""


class RecordReader:
    """Cuts one part of a delivery into records."""

    def __init__(self, stream: io.BufferedReader, *, delimiter: str = ",", quoted: bool = True) -> None:
        self._stream = stream
        self._delimiter = delimiter
        self._quoted = quoted
        self.line = 0
        self._cut = False

    def header(self) -> bytes:
        """The first record that is not blank, without a byte order mark."""
        while record := self._next_record():
            record = record.removeprefix(BOM) if self.line <= 1 else record
            if record.strip():
                return record.rstrip(b"\r\n")
        return b""

    def batches(self, size: int) -> Iterator[Batch]:
        """The records that follow, blank lines left out, `size` at a time."""
        first, held, blank = True, 0, 0
        batch = Batch([], [])
        readline, quoted = self._stream.readline, self._quoted
        while record := readline(LONGEST_RECORD):
            line = self.line = self.line + 1
            if record[-1:] != b"\n" and len(record) >= LONGEST_RECORD:
                raise self._too_long(line)
            if quoted and record.count(b'"') & 1:
                record = self._whole(record)
            bare = record.rstrip(b"\r\n")
            if first and bare:
                first, bare = False, bare.removeprefix(BOM)
            if not bare or bare.isspace():
                blank += 1
                if blank > MOST_BLANK_LINES:
                    raise FileRefused(_("The file holds more blank lines than any bill."))
                continue
            batch.records.append(bare)
            batch.lines.append(line)
            held += len(bare)
            if record[-1:] != b"\n":
                batch.ends_open = True
            if len(batch.records) >= size or held > MOST_BYTES_OF_A_BATCH:
                yield batch
                batch, held = Batch([], []), 0
        if batch.records:
            yield batch

    def _next_record(self) -> bytes:
        record = self._stream.readline(LONGEST_RECORD)
        if record:
            self.line += 1
            if self._quoted and record.count(b'"') & 1:
                record = self._whole(record)
        return record

    def _whole(self, record: bytes) -> bytes:
        """The record with the lines its open quoted field goes on over."""
        started, lines = self.line, [record]
        size, taken = len(record), 1
        while self._is_open(b"".join(lines)):
            more = self._stream.readline(LONGEST_RECORD)
            if not more:
                raise FileRefused(
                    _("The file ends inside a quoted field that begins on line %(line)s.") % {"line": started}
                )
            self.line += 1
            lines.append(more)
            size, taken = size + len(more), taken + 1
            if size > LONGEST_RECORD or taken > MOST_LINES_OF_A_RECORD:
                raise self._too_long(started)
            while more.count(b'"') & 1 == 0 and (more := self._stream.readline(LONGEST_RECORD)):
                self.line += 1
                lines.append(more)
                size, taken = size + len(more), taken + 1
                if size > LONGEST_RECORD or taken > MOST_LINES_OF_A_RECORD:
                    raise self._too_long(started)
        return b"".join(lines)

    def _is_open(self, record: bytes) -> bool:
        """Does a quoted field still wait for its closing quote? A stray quote in a bare field does not count."""
        try:
            for _row in csv.reader([record.decode("utf-8", "surrogateescape")], delimiter=self._delimiter, strict=True):
                pass
        except csv.Error as error:
            return "unexpected end of data" in str(error)
        return False

    @staticmethod
    def _too_long(line: int) -> FileRefused:
        return FileRefused(_("The record on line %(line)s is longer than any record of a bill.") % {"line": line})


def split_record(record: bytes, delimiter: str, encoding: str = "utf-8") -> list[str]:
    """One record as its fields; bytes that are no text become U+FFFD."""
    text = record.decode(encoding, "replace")
    return next(iter(csv.reader([text], delimiter=delimiter)), [])


class FieldReader:
    """Splits records into fields, many at once where all is well, one by one where something is not."""

    def __init__(self, *, delimiter: str, encoding: str) -> None:
        self._delimiter = delimiter
        self._encoding = encoding
        self.undecodable = False
        """Whether the last batch held bytes that are no text."""

    def split(self, batch: Batch) -> list[list[str] | str]:
        """The fields of every record, in order; in place of a record that cannot be split, the reason as text.

        Bytes that do not decode stay in the text as lone surrogates, for the columns to judge.
        """
        encoding = self._encoding
        self.undecodable = False
        try:
            texts = [record.decode(encoding) for record in batch.records]
        except UnicodeDecodeError:
            self.undecodable = True
            texts = [record.decode(encoding, "surrogateescape") for record in batch.records]
        reader = csv.reader(texts, delimiter=self._delimiter, strict=True)
        try:
            rows: list[list[str] | str] = list(reader)
        except csv.Error:
            return [self._split_one(text) for text in texts]
        if len(rows) != len(texts):
            return [self._split_one(text) for text in texts]
        return rows

    def _split_one(self, text: str) -> list[str] | str:
        try:
            rows = list(csv.reader([text], delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            return str(error)
        return rows[0] if len(rows) == 1 else "the record breaks into several"
