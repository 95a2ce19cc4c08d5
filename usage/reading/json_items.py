"""JSON documents read as a stream: a cursor walks objects and arrays and hands out the raw text of values.

Numbers of a value are kept as the text that stood in the file, so that no cost ever goes through a float.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from django.utils.translation import gettext as _

from .faults import FileRefused
from .header import Header
from .records import LONGEST_RECORD, Batch

BLOCK = 1 << 18
DEEPEST = 200
"""Objects in objects; no record of a bill is half as deep."""
STRUCTURE = re.compile(rb'["{}\[\]]')
STRING_MARK = re.compile(rb'["\\]')
SCALAR_END = re.compile(rb"[,\]}\s]")
ODD_TEXT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]")
"""Characters that no database stores, escaped or as bytes: NUL and halves of surrogate pairs."""


class JsonCursor:
    """A place in a JSON document that only moves forward; memory holds one value at a time."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._text = b""
        self._at = self._counted = 0
        self._lines = 1

    @property
    def line(self) -> int:
        """The line the cursor stands on."""
        self._lines += self._text.count(b"\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def peek(self) -> bytes:
        """The next byte that is no blank; empty at the end of the document."""
        while True:
            while self._at < len(self._text):
                byte = self._text[self._at : self._at + 1]
                if not byte.isspace():
                    return byte
                self._at += 1
            if not self._more():
                return b""

    def fields(self) -> Iterator[str]:
        """The keys of the object the cursor stands on; the caller takes each value before it asks for the next."""
        self._take(b"{")
        while self.peek() != b"}":
            key = self.loads()
            self._take(b":")
            yield key if isinstance(key, str) else str(key)
            if self.peek() != b"}":
                self._take(b",")
        self._take(b"}")

    def places(self) -> Iterator[None]:
        """The places of the array the cursor stands on; the caller takes each value before it asks for the next."""
        self._take(b"[")
        while self.peek() != b"]":
            yield None
            if self.peek() != b"]":
                self._take(b",")
        self._take(b"]")

    def value(self) -> bytes:
        """The raw text of the value the cursor stands on."""
        first = self.peek()
        if first == b'"':
            end = self._string_end(self._at + 1)
        elif first in (b"{", b"["):
            end = self._closed_end(self._at)
        else:
            end = self._find(SCALAR_END, self._at)
            if not first:
                raise self._early()
            if end == self._at:
                problem = f"a value expected, found {first.decode('ascii', 'replace')!r}"
                raise FileRefused(_("The file is no JSON, on line %(line)s: %(error)s") % _at(self.line, problem))
        raw = self._text[self._at : end]
        self._at = end
        return raw

    def loads(self) -> Any:
        """The value the cursor stands on."""
        try:
            return loads(self.value())
        except (ValueError, RecursionError) as error:
            raise FileRefused(_("The file is no JSON, on line %(line)s: %(error)s") % _at(self.line, error)) from None

    def end(self) -> None:
        """Nothing may follow."""
        if self.peek():
            raise FileRefused(_("Text follows the end of the JSON document, on line %(line)s.") % {"line": self.line})

    def _take(self, mark: bytes) -> None:
        found = self.peek()
        if not found:
            raise self._early()
        if found != mark:
            problem = f"{mark.decode()!r} expected, found {found.decode('ascii', 'replace')!r}"
            raise FileRefused(_("The file is no JSON, on line %(line)s: %(error)s") % _at(self.line, problem))
        self._at += 1

    def _closed_end(self, start: int) -> int:
        """Behind the bracket that closes the one at `start`. Positions move when more is read: see `_find`."""
        depth, place = 0, start
        while True:
            place = self._find(STRUCTURE, place) + 1
            mark = self._text[place - 1 : place]
            if mark == b'"':
                place = self._string_end(place)
            elif mark in (b"{", b"["):
                depth += 1
                if depth > DEEPEST:
                    raise FileRefused(_("The JSON on line %(line)s is nested too deep.") % {"line": self.line})
            else:
                depth -= 1
                if not depth:
                    return place

    def _string_end(self, start: int) -> int:
        place = start
        while True:
            place = self._find(STRING_MARK, place) + 1
            if self._text[place - 1 : place] == b'"':
                return place
            while place >= len(self._text):
                place = self._read_on(place)
            place += 1

    def _find(self, pattern: re.Pattern[bytes], start: int) -> int:
        """Where the pattern matches from `start` on, reading more as needed."""
        while not (match := pattern.search(self._text, start)):
            if pattern is SCALAR_END and self._ended:
                return len(self._text)
            start = self._read_on(len(self._text))
        return match.start()

    def _read_on(self, place: int) -> int:
        """Read another block; answers where `place` is now."""
        before = self._at
        if len(self._text) - before > LONGEST_RECORD:
            message = _("The record on line %(line)s is longer than any record of a bill.")
            raise FileRefused(message % {"line": self.line})
        if not self._more():
            raise self._early()
        return place - before

    @property
    def _ended(self) -> bool:
        return not self._stream.peek(1)

    def _more(self) -> bool:
        block = self._stream.read(BLOCK)
        if not block:
            return False
        self._lines, self._counted = self.line, 0
        self._text = self._text[self._at :] + block
        self._at = 0
        return True

    @staticmethod
    def _early() -> FileRefused:
        return FileRefused(_("The JSON document ends early: the file is truncated."))


def _at(line: int, error: object) -> dict[str, Any]:
    return {"line": line, "error": error}


def loads(raw: bytes) -> Any:
    """A value with its numbers as text; characters that cannot be stored become U+FFFD."""
    if ODD_TEXT.search(raw):
        return _storable(json.loads(raw, parse_float=str, parse_int=str, parse_constant=str))
    return json.loads(raw, parse_float=str, parse_int=str, parse_constant=str)


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\u2400").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value


class JsonRecords:
    """The records of a JSON document: what `walk` finds in it, each the raw text of one value."""

    undecodable = False
    header = Header([])
    raw_header = b""

    def __init__(self, stream: io.BufferedReader, walk: Callable[[JsonCursor], Iterator[bytes]]) -> None:
        if stream.peek(3)[:3] == b"\xef\xbb\xbf":
            stream.read(3)
        self._cursor = JsonCursor(stream)
        self._walk = walk

    def batches(self, size: int) -> Iterator[Batch]:
        batch = Batch([], [])
        for raw in self._walk(self._cursor):
            batch.records.append(raw)
            batch.lines.append(max(1, self._cursor.line - raw.count(b"\n")))
            if len(batch.records) >= size:
                yield batch
                batch = Batch([], [])
        self._cursor.end()
        if batch.records:
            yield batch

    def split(self, batch: Batch) -> list[Any]:
        """Every record as Python values; in place of one that is no JSON, the reason as text."""
        return [_record(raw) for raw in batch.records]


def _record(raw: bytes) -> Any:
    try:
        return loads(raw)
    except (ValueError, RecursionError) as error:
        return f"is no JSON: {error}"
