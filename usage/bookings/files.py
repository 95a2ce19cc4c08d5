"""Files of bookings: CSV read into lines or faults, the template to fill in, and bookings written as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import exact_text
from teams.models import Project

from ..models import Booking
from .facts import COLUMNS, REQUIRED, BookingFacts, numbered, read_booking

MOST_BYTES = 5_000_000
MOST_ROWS = 20_000
ENCODINGS = ("utf-8-sig", "gb18030")
DELIMITERS = (",", ";", "\t")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Text that a spreadsheet would take for a formula."""
EXPORTED = ("number", *COLUMNS, "kind", "booked_at", "booked_by", "reverses", "reversed_by", "reason")
TEMPLATE = """\
project,category,first_day,last_day,amount,currency,document,key,link,task_type,stage,proposal,note
%(project)s,data,2027-01-15,,12500.00,USD,INV-2027-014,1,,,annotation,,Licence of a text corpus
%(project)s,data,2027-01-01,2027-12-31,24000.00,USD,INV-2027-014,2,,,,,"Annotation tool, one year"
%(project)s,people_platform,2027-01-01,2027-01-31,8200.00,USD,,,,,,,Security audit in January
"""


@dataclass(frozen=True)
class LineFault:
    """What is wrong in one place of a file."""

    line: int
    column: str
    value: str
    reason: str
    accepted: str = ""


@dataclass(frozen=True)
class BookingFile:
    """Lines that were understood, with their place in the file, and everything that is wrong with it."""

    lines: tuple[tuple[int, BookingFacts], ...] = ()
    faults: tuple[LineFault, ...] = ()


def read_file(content: bytes, projects: Mapping[str, Project], *, today: date) -> BookingFile:
    """Every line of a CSV file; faults name line, column, value and what is accepted."""
    try:
        rows = _table(content)
        header = _header(rows)
    except DomainError as refused:
        return BookingFile(faults=tuple(_fault(1, fault) for fault in refused.faults))
    read: list[tuple[int, BookingFacts]] = []
    faults: list[LineFault] = []
    for line, cells in rows[1:]:
        try:
            read.append((line, _row(header, cells, projects, today)))
        except DomainError as refused:
            faults.extend(_fault(line, fault) for fault in refused.faults)
    if not read and not faults:
        faults.append(LineFault(2, "", "", _("the file has no lines"), _("a header, and a row for each line")))
    facts = numbered([each for _line, each in read])
    return BookingFile(tuple(zip((line for line, _facts in read), facts, strict=True)), tuple(faults))


def _fault(line: int, fault: Fault) -> LineFault:
    return LineFault(line, fault.path, str(fault.value or "")[:200], fault.message, fault.accepted)


def _table(content: bytes) -> list[tuple[int, list[str]]]:
    """The rows with their line numbers; blank rows are left out."""
    if len(content) > MOST_BYTES:
        raise _refused("", _("the file is larger than 5 MB"))
    text = _decoded(content)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        before = 0
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((before + 1, cells))
            before = reader.line_num
    except csv.Error as error:
        raise _refused(
            "", _("line %(line)s is no CSV: %(error)s") % {"line": reader.line_num, "error": error}
        ) from None
    if len(rows) > MOST_ROWS + 1:
        raise _refused("", _("the file has more than %(most)s lines") % {"most": MOST_ROWS})
    return rows


def _decoded(content: bytes) -> str:
    for encoding in ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" in text:
            raise _refused("", _("the file is no text"), _("CSV in UTF-8 or GB18030"))
        return text
    raise _refused("", _("the file is no text"), _("CSV in UTF-8 or GB18030"))


def _header(rows: list[tuple[int, list[str]]]) -> list[str]:
    header = [name.strip().lower() for name in rows[0][1]] if rows else []
    accepted = ", ".join(COLUMNS)
    faults = [
        Fault(name, name, _("is no column of a file of bookings"), accepted) for name in header if name not in COLUMNS
    ]
    faults += [Fault(name, "", _("is missing from the header"), accepted) for name in REQUIRED if name not in header]
    faults += [
        Fault(name, name, _("stands twice in the header")) for name in sorted(set(header)) if header.count(name) > 1
    ]
    if faults:
        raise DomainError("", faults=faults)
    return header


def _row(header: list[str], cells: list[str], projects: Mapping[str, Project], today: date) -> BookingFacts:
    if len(cells) > len(header):
        raise _refused(cells[len(header)], _("the line has more cells than the header"))
    return read_booking(dict(zip(header, map(_unguarded, cells), strict=False)), projects, today=today)


def _refused(value: str, message: str, accepted: str = "") -> DomainError:
    return DomainError(message, faults=[Fault("", value, message, accepted)])


def _unguarded(cell: str) -> str:
    """Without the apostrophe by which the export keeps a spreadsheet from running the text."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA_STARTS) else cell


def _guarded(cell: str) -> str:
    return "'" + cell if cell.startswith(FORMULA_STARTS) else cell


def csv_text(bookings: Iterable[Booking]) -> Iterable[str]:
    """Bookings as CSV, line by line. Expects `project`, `booked_by` and `reversal` to be fetched."""
    yield _csv_line(EXPORTED)
    for booking in bookings:
        yield _csv_line(_cells(booking))


def _cells(booking: Booking) -> list[str]:
    texts = (booking.document, booking.key, booking.link, booking.task_type, booking.stage, booking.reference)
    return [
        str(booking),
        booking.project.slug,
        booking.category,
        booking.starts_on.isoformat(),
        booking.last_day.isoformat(),
        exact_text(booking.amount),
        booking.currency,
        *map(_guarded, (*texts, booking.note)),
        booking.kind,
        booking.booked_at.isoformat(timespec="seconds"),
        _guarded(booking.booked_by.email if booking.booked_by else ""),
        f"B-{booking.reverses_id}" if booking.reverses_id else "",
        str(booking.reversal) if booking.is_reversed else "",
        _guarded(booking.reason),
    ]


def _csv_line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()


def canonical(lines: Iterable[BookingFacts | Booking]) -> bytes:
    """Lines that came by no file, as the file that would have brought them: kept as the original."""
    rows = [
        [
            each.project.slug,
            each.category,
            each.starts_on.isoformat(),
            each.last_day.isoformat(),
            exact_text(each.amount),
            each.currency,
            each.document,
            each.key,
            each.link,
            each.task_type,
            each.stage,
            each.reference,
            each.note,
        ]
        for each in lines
    ]
    return "".join(_csv_line(row) for row in [list(COLUMNS), *rows]).encode()
