"""How large the pages of a Parquet column say they are, read from their headers alone (Thrift's compact protocol).

The footer's sizes are claims that a writer may leave wrong; a page's own header is what the reader sets memory aside
by. https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

from __future__ import annotations

from typing import IO, Any

HEADER = 1 << 14
MOST_HEADER = 1 << 24
DICTIONARY_PAGE = 2
MOST_PAGES = 1_000_000
DEEPEST = 16
"""Structs and lists in each other."""


class PageFault(Exception):
    """The pages are not where or what the footer says."""


class CutOffError(Exception):
    """More bytes are needed to read the header to its end."""


def largest_pages(file: IO[bytes], column: Any) -> tuple[int, int]:
    """The unpacked bytes of the largest page of values, and of the largest dictionary, of one column chunk."""
    at = column.data_page_offset
    if column.has_dictionary_page and column.dictionary_page_offset:
        at = min(at, column.dictionary_page_offset)
    end = at + column.total_compressed_size
    largest = {False: 0, True: 0}
    for _page in range(MOST_PAGES):
        if at >= end:
            return largest[False], largest[True]
        kind, unpacked, packed, length = page_at(file, at)
        if unpacked < 0 or packed < 0:
            raise PageFault("a page has a negative size")
        is_dictionary = kind == DICTIONARY_PAGE
        largest[is_dictionary] = max(largest[is_dictionary], unpacked)
        at += length + packed
    raise PageFault("a column has more pages than any")


def page_at(file: IO[bytes], at: int) -> tuple[int, int, int, int]:
    """Kind, unpacked and packed size of the page at an offset, and the length of its header."""
    size = HEADER
    while size <= MOST_HEADER:
        file.seek(at)
        block = file.read(size)
        try:
            header = Compact(block)
            fields = header.struct()
        except CutOffError:
            if len(block) < size:
                raise PageFault("a page lies behind the end of the file") from None
            size *= 8
            continue
        try:
            return fields[1], fields[2], fields[3], header.at
        except KeyError:
            raise PageFault("a page has no size") from None
    raise PageFault("the header of a page has no end")


class Compact:
    """Reads one struct of Thrift's compact protocol; only its numbers are kept."""

    def __init__(self, block: bytes) -> None:
        self._block = block
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, int]:
        found: dict[int, int] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._signed()
            value = self._value(kind, depth)
            if value is not None:
                found[number] = value
        return found

    def _value(self, kind: int, depth: int) -> int | None:
        if depth > DEEPEST:
            raise PageFault("a header is nested too deep")
        if kind in (1, 2):
            return 2 - kind
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            self._skip(8)
        elif kind == 8:
            self._skip(self._varint())
        elif kind in (9, 10):
            self._list(depth)
        elif kind == 12:
            self.struct(depth + 1)
        else:
            raise PageFault("a header is of no known form")
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        count = head >> 4
        for _item in range(self._varint() if count == 15 else count):
            if head & 15 in (1, 2):
                self._skip(1)
            else:
                self._value(head & 15, depth + 1)

    def _byte(self) -> int:
        if self.at >= len(self._block):
            raise CutOffError
        self.at += 1
        return self._block[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self._block):
            raise CutOffError

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise PageFault("a number of a header has no end")

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
