"""A delimited table with a header: the usual way a part of a delivery is cut into records and fields."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from .faults import FileRefused
from .header import Header
from .records import Batch, FieldReader, RecordReader, split_record


class Table:
    """The records of one part, found below a header."""

    def __init__(self, stream: io.BufferedReader, *, delimiter: str, encoding: str) -> None:
        self._records = RecordReader(stream, delimiter=delimiter)
        self._fields = FieldReader(delimiter=delimiter, encoding=encoding)
        self.raw_header = self._records.header()
        if not self.raw_header:
            raise FileRefused(_("The file has no header."))
        try:
            self.header = Header(split_record(self.raw_header, delimiter, encoding))
        except csv.Error:
            message = _("The header cannot be cut into names. Lines must end with LF or CRLF, not with CR alone.")
            raise FileRefused(message) from None

    @property
    def undecodable(self) -> bool:
        return self._fields.undecodable

    def batches(self, size: int) -> Iterator[Batch]:
        return self._records.batches(size)

    def split(self, batch: Batch) -> list[Any]:
        return self._fields.split(batch)
