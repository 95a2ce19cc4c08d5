"""Reading a text with one format and no database: what `pipeline.parse` does with it, in a few lines."""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from usage.delivery import read_settings
from usage.formats import detection
from usage.formats.contract import Keys, Row
from usage.reading.faults import RowFault, RowSkipped
from usage.reading.notes import Notes
from usage.reading.table import Table


@dataclass
class Found:
    """What a text holds: rows with what they share, rows refused, rows skipped."""

    format: str
    rows: list[tuple[Row, Keys]] = field(default_factory=list)
    faults: list[tuple[int, str, str, str]] = field(default_factory=list)
    """Line, column, value, reason."""
    skipped: list[str] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


def read(content: bytes | str, wanted: str = "", **settings: str) -> Found:
    """Recognise and read a whole text."""
    raw = content.encode() if isinstance(content, str) else content
    stream = io.BufferedReader(io.BytesIO(raw), buffer_size=1 << 20)
    checked, notes = read_settings(settings), Notes()
    detected = detection.detect(stream, "sample", checked, wanted)
    cut = detected.format.records
    records = (cut and cut(stream, checked, notes)) or Table(
        stream, delimiter=detected.delimiter, encoding=checked.encoding
    )
    reader = detected.format.open(records.header, checked, notes)
    found = Found(detected.format.slug, notes=notes)
    for batch in records.batches(3):
        for line, fields in zip(batch.lines, records.split(batch), strict=True):
            try:
                if isinstance(fields, str):
                    raise RowFault("", "", fields)
                if isinstance(records, Table) and len(fields) != len(records.header):
                    raise RowFault("", "", f"has {len(fields)} fields, the header has {len(records.header)}")
                row = reader.row(fields)
                if row is None:
                    continue
                found.rows.append((row, reader.describe(row.key)))
            except RowFault as fault:
                found.faults.append((line, fault.column, fault.value, fault.reason))
            except RowSkipped as skipped:
                found.skipped.append(skipped.kind)
    return found
