"""Price files: CSV and XLSX read into facts or faults by line and column, and the list of prices written as either."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zipfile import BadZipFile

from django.utils.translation import gettext as _
from openpyxl import Workbook, load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from core.errors import DomainError, Fault
from core.money import exact_text

from .models import Price
from .price_facts import COLUMNS, REQUIRED, PriceFacts, read_price

MOST_BYTES = 5_000_000
MOST_ROWS = 20_000
SPREADSHEET = b"PK\x03\x04"
"""How an XLSX file begins."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Text that a spreadsheet would take for a formula."""


@dataclass(frozen=True)
class PriceFile:
    """What a file says: rows that were understood, with their lines, and everything that is wrong with it."""

    rows: tuple[PriceFacts, ...]
    lines: tuple[int, ...]
    faults: tuple[Fault, ...]


def read_price_file(content: bytes) -> PriceFile:
    """Every row of a CSV or XLSX file; faults name line, column, value and what is accepted."""
    try:
        table = list(_spreadsheet_rows(content) if content.startswith(SPREADSHEET) else _text_rows(content))
        columns = _columns(table)
    except DomainError as refused:
        return PriceFile((), (), tuple(refused.faults))
    rows: list[PriceFacts] = []
    lines: list[int] = []
    faults: list[Fault] = []
    seen: dict[tuple[Any, ...], int] = {}
    for line, cells in table[1:]:
        try:
            facts = _row(columns, line, cells)
        except DomainError as refused:
            faults.extend(refused.faults)
            continue
        first = seen.setdefault((*facts.offer, facts.valid_from), line)
        if first != line:
            faults.append(
                Fault(
                    _place(line, "valid_from"),
                    str(facts.valid_from),
                    _("is the second price of %(item)s from this day; the first is in line %(line)s")
                    % {"item": facts.item, "line": first},
                    _("one price for an offer and a day"),
                )
            )
        rows.append(facts)
        lines.append(line)
    if not rows and not faults:
        faults.append(Fault(_place(2, ""), None, _("The file has no rows."), _("a header, and a row for each price")))
    return PriceFile(tuple(rows), tuple(lines), tuple(faults))


def _place(line: int, column: str) -> str:
    return f"line {line}, {column}" if column else f"line {line}"


def _row(columns: list[str], line: int, cells: list[str]) -> PriceFacts:
    place = f"line {line}"
    if len(cells) > len(columns):
        extra = cells[len(columns)]
        raise DomainError(
            "",
            faults=[
                Fault(place, extra, _("has more cells than the header"), _("%(count)s cells") % {"count": len(columns)})
            ],
        )
    return read_price(dict(zip(columns, map(_unguarded, cells), strict=False)), place=place)


def _unguarded(cell: str) -> str:
    """Without the apostrophe by which the export keeps a spreadsheet from running the text."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def _columns(table: list[tuple[int, list[str]]]) -> list[str]:
    """The names of the header, checked."""
    header = [name.strip().lower() for name in table[0][1]] if table else []
    faults = [
        Fault(f"line 1, {name}", name, _("is not a column of a price file"), ", ".join(COLUMNS))
        for name in header
        if name not in COLUMNS
    ]
    faults += [
        Fault(f"line 1, {name}", None, _("is missing from the header"), ", ".join(COLUMNS))
        for name in REQUIRED
        if name not in header
    ]
    faults += [
        Fault(f"line 1, {name}", name, _("stands twice in the header"), _("each column once"))
        for name in sorted({name for name in header if header.count(name) > 1})
    ]
    if faults:
        raise DomainError("", faults=faults)
    return header


def _text_rows(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not empty, with the line each begins on."""
    _check_size(len(content))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _unreadable(line, _("is not UTF-8 text"), _("a CSV file in UTF-8, or XLSX")) from None
    if "\0" in text:
        raise _unreadable(text[: text.index("\0")].count("\n") + 1, _("holds a zero byte"), _("text"))
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    started = 1
    try:
        for count, cells in enumerate(reader):
            if count > MOST_ROWS:
                raise _unreadable(started, _("is one row too many"), _("at most %(rows)s rows") % {"rows": MOST_ROWS})
            if any(cell.strip() for cell in cells):
                yield started, cells
            started = reader.line_num + 1
    except csv.Error as error:
        raise _unreadable(started, _("cannot be read: %(problem)s") % {"problem": error}, _("CSV")) from None


def _spreadsheet_rows(content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of the first sheet that are not empty."""
    _check_size(len(content))
    try:
        sheet = load_workbook(io.BytesIO(content), read_only=True, data_only=True).worksheets[0]
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            if number > MOST_ROWS + 1:
                raise _unreadable(number, _("is one row too many"), _("at most %(rows)s rows") % {"rows": MOST_ROWS})
            texts = [_cell_text(cell) for cell in cells]
            while texts and not texts[-1]:
                texts.pop()
            if texts:
                yield number, texts
    except (BadZipFile, InvalidFileException, KeyError, IndexError, ValueError, OSError):
        raise _unreadable(1, _("is no spreadsheet that can be read"), _("XLSX, or CSV in UTF-8")) from None


def _cell_text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int | float):
        return exact_text(Decimal(repr(cell)))
    return str(cell)


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise _unreadable(1, _("is too large: %(size)s bytes") % {"size": size}, _("at most 5 MB"))


def _unreadable(line: int, message: str, accepted: str) -> DomainError:
    return DomainError("", faults=[Fault(f"line {line}", None, message, accepted)])


# ---- export


def cells_of(price: Price) -> list[str]:
    """One price as a row of a file that can be imported again."""
    return [
        price.kind,
        price.item,
        price.provider,
        price.region,
        price.mode,
        price.unit,
        exact_text(price.amount),
        price.currency,
        price.valid_from.isoformat(),
        price.source,
        price.verification,
        "yes" if price.withdrawn else "no",
        price.reason,
        price.note,
    ]


def csv_text(prices: Iterable[Price]) -> str:
    """The prices as CSV. Text that a spreadsheet would run is kept from running by an apostrophe."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for price in prices:
        writer.writerow(f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell for cell in cells_of(price))
    return written.getvalue()


def spreadsheet(prices: Iterable[Price]) -> bytes:
    """The prices as XLSX, every cell as text."""
    book = Workbook(write_only=True)
    sheet = book.create_sheet("prices")
    sheet.append(list(COLUMNS))
    for price in prices:
        sheet.append(cells_of(price))
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()
