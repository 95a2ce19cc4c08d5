"""Parquet as the table it holds: a stream of CSV text, written a few rows at a time, that everything else reads.

Decimals come out with every digit, doubles as the shortest text that reads back as the same double. Maps, lists and
tags become JSON; other groups are taken apart as `service.id`. Only a page of each column is in memory at a time, so
pages and groups are measured before they are read.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import IO, Any

import pyarrow as arrow
import pyarrow.compute as compute
import pyarrow.parquet
from django.utils.translation import gettext as _

from core.money import exact_text

from .faults import FileRefused
from .pages import PageFault, largest_pages

MAGIC, ENCRYPTED = b"PAR1", b"PARE"
SHORTEST = 12
ROWS_AT_ONCE = 4_000
BLOCK = 1 << 20
LARGEST_PAGE, LARGEST_DICTIONARY = 1 << 27, 1 << 24
MOST_VALUES_OF_A_ROW = 10_000
KEPT_WHOLE = frozenset(
    ("tags", "skupricedetails", "x_discounts", "product", "resource_tags", "cost_category", "discount", "labels")
)
"""Groups that are one value, a set of tags, and not columns of their own."""


class ParquetText(io.RawIOBase):
    """The text of a Parquet file; `file` must be able to seek."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._parquet = opened(file)
        self._blocks = self._text()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ready:
            try:
                self._ready = next(self._blocks)
            except StopIteration:
                return b""
            except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
                raise damaged(error) from None
        size = len(self._ready) if size < 0 else size
        answer, self._ready = self._ready[:size], self._ready[size:]
        return answer

    def close(self) -> None:
        self._file.close()
        super().close()

    def _text(self) -> Iterator[bytes]:
        """The header and the rows, about a megabyte at a time."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        names: list[str] | None = None
        for columns in self._tables():
            if names is None:
                names = [name for name, _texts in columns]
                writer.writerow(names)
            for row in zip(*(texts for _name, texts in columns), strict=True):
                writer.writerow(row)
                if out.tell() > BLOCK:
                    yield taken(out)
        yield taken(out)

    def _tables(self) -> Iterator[list[tuple[str, list[str]]]]:
        """Some rows as columns of text; the first holds no row, and names the columns."""
        schema = self._parquet.schema_arrow
        yield columns_of(arrow.RecordBatch.from_pylist([], schema=schema))
        for batch in self._parquet.iter_batches(batch_size=ROWS_AT_ONCE, use_threads=False):
            yield columns_of(batch)


def taken(out: io.StringIO) -> bytes:
    """What was written so far; what is no text goes on as the bytes it was."""
    text = out.getvalue().encode("utf-8", "surrogateescape")
    out.seek(0)
    out.truncate()
    return text


def opened(file: IO[bytes]) -> pyarrow.parquet.ParquetFile:
    """The file, once its end is there and nothing in it is larger than it may be."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 4))
    end = file.read(4)
    if size < SHORTEST or end != MAGIC:
        if end == ENCRYPTED:
            raise FileRefused(_("The Parquet file is encrypted. Deliver it without encryption."))
        raise FileRefused(_("The Parquet file has no footer: it is truncated."))
    file.seek(0)
    try:
        plain = pyarrow.parquet.ParquetFile(file)
        refuse_bombs(file, plain.metadata)
        names = [field.name for field in plain.schema_arrow if arrow.types.is_string(field.type)]
        file.seek(0)
        return pyarrow.parquet.ParquetFile(
            file, buffer_size=BLOCK, pre_buffer=False, read_dictionary=names, coerce_int96_timestamp_unit="us"
        )
    except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise damaged(error) from None


def damaged(error: Exception) -> FileRefused:
    return FileRefused(_("The Parquet file is damaged: %(error)s") % {"error": str(error)[:300]})


def refuse_bombs(file: IO[bytes], metadata: pyarrow.parquet.FileMetaData) -> None:
    """Pages that claim more than any writer puts in one, and rows with more values than any bill has."""
    for group in range(metadata.num_row_groups):
        found = metadata.row_group(group)
        for place in range(found.num_columns):
            column = found.column(place)
            if not column.num_values:
                continue
            if column.num_values > MOST_VALUES_OF_A_ROW * max(found.num_rows, 1):
                raise FileRefused(
                    _("A row of the Parquet file holds more values than any bill."), column=column.path_in_schema
                )
            try:
                page, dictionary = largest_pages(file, column)
            except PageFault as fault:
                raise damaged(fault) from None
            if page > LARGEST_PAGE or dictionary > LARGEST_DICTIONARY:
                raise FileRefused(
                    _("Unpacked, the file is larger than any bill of its size could be."),
                    column=column.path_in_schema,
                    value=str(max(page, dictionary)),
                )


def columns_of(batch: arrow.RecordBatch) -> list[tuple[str, list[str]]]:
    """The columns of some rows by name, each as texts; nothing is the empty text."""
    found = []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if arrow.types.is_struct(field.type) and field.name.casefold() not in KEPT_WHOLE:
            for inner, part in zip(field.type, column.flatten(), strict=True):
                found.append((f"{field.name}.{inner.name}", texts_of(part)))
        else:
            found.append((field.name, texts_of(column)))
    return found


def texts_of(column: arrow.Array) -> list[str]:
    """Every value of one column as a bill in CSV would write it."""
    kind = column.type
    if arrow.types.is_dictionary(kind):
        return words_of(column)
    if arrow.types.is_null(kind):
        return [""] * len(column)
    if arrow.types.is_timestamp(kind):
        return times_of(column)
    if arrow.types.is_float32(kind) or arrow.types.is_float16(kind):
        narrow = column.to_numpy(zero_copy_only=False)
        return [
            "" if value is None else plain_number(str(number))
            for value, number in zip(column.to_pylist(), narrow, strict=True)
        ]
    write = writer_of(kind)
    return ["" if value is None else write(value) for value in column.to_pylist()]


def words_of(column: arrow.DictionaryArray) -> list[str]:
    """The values of a column that names them by number; of a large dictionary only those that occur are made."""
    places = column.indices.to_pylist()
    wanted = sorted({place for place in places if place is not None})
    words = texts_of(column.dictionary.take(arrow.array(wanted, arrow.int64())))
    by_place: dict[int | None, str] = dict(zip(wanted, words, strict=True))
    by_place[None] = ""
    return [by_place[place] for place in places]


def writer_of(kind: arrow.DataType) -> Callable[[Any], str]:
    """How one value of a type is written."""
    types = arrow.types
    if types.is_string(kind) or types.is_large_string(kind):
        return str
    if types.is_floating(kind):
        return shortest
    if types.is_decimal(kind):
        return exact_text
    if types.is_boolean(kind):
        return lambda value: "true" if value else "false"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return lambda value: value.decode("utf-8", "surrogateescape")
    if types.is_nested(kind):
        return as_json(kind)
    return str


def shortest(value: float) -> str:
    """The shortest text that reads back as this double, without an exponent."""
    return plain_number(repr(value))


def plain_number(text: str) -> str:
    """`1e-07` as 0.0000001 and `3.0` as 3; what is no number stays the word it is, for the row's reader to refuse."""
    if "e" in text:
        return exact_text(Decimal(text))
    return text.removesuffix(".0")


def as_json(kind: arrow.DataType) -> Callable[[Any], str]:
    """JSON of a map, a list or a group. What a group lacks is left out, so that its tags are those it has."""

    def prepared(value: Any, kind: arrow.DataType) -> Any:
        if value is None:
            return None
        if arrow.types.is_map(kind):
            return {str(key): prepared(item, kind.item_type) for key, item in value}
        if arrow.types.is_struct(kind):
            inner = {field.name: prepared(value[field.name], field.type) for field in kind}
            return {name: item for name, item in inner.items() if item is not None}
        if arrow.types.is_list(kind) or arrow.types.is_large_list(kind) or arrow.types.is_fixed_size_list(kind):
            return [prepared(item, kind.value_type) for item in value]
        return value

    return lambda value: json.dumps(prepared(value, kind), ensure_ascii=False, default=as_word)


def as_word(value: Any) -> str:
    """What JSON has no form for: exact decimals, times, bytes."""
    if isinstance(value, Decimal):
        return exact_text(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def times_of(column: arrow.TimestampArray) -> list[str]:
    """Moments in ISO text: with Z where the file says they are UTC, else bare, on the source's clock."""
    mark = "Z" if column.type.tz else ""
    bare = column.cast(arrow.timestamp(column.type.unit, "UTC")) if mark else column
    bare = compute.cast(bare, arrow.timestamp("us", "UTC" if mark else None), safe=False)
    texts = compute.cast(bare.cast(arrow.timestamp("us")), arrow.string()).to_pylist()
    return ["" if text is None else text.removesuffix(".000000") + mark for text in texts]
