"""Cutting parsable `sacct` text into records: any delimiter, with its header, or without one in the order of XDMoD.

Free text (a job's name, its submit line) may hold the delimiter or line ends. A line that cannot begin a record goes
on with the one before it; where one column is free text, delimiters too many belong to it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext as _

from ..delivery import Settings
from ..reading.faults import FileRefused
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.records import BOM, LONGEST_RECORD, Batch
from .slurm import JOB_ID, STATES, STEP_ID
from .slurm_steps import BUSY, USAGE, BusySteps

XDMOD_ORDER = (
    "JobID JobIDRaw Cluster Partition QOS Account Group GID User UID Submit Eligible Start End Elapsed ExitCode State"
    " NNodes NCPUS ReqCPUS ReqMem ReqTRES AllocTRES Timelimit NodeList JobName"
).split()
"""The columns of a file without a header."""

FREE_TEXT = frozenset(["jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "container"])
MARK_BETWEEN_NAMES = re.compile(r"\s*[A-Za-z][\w%]*?([^\w\s%]+|\t)[A-Za-z]")
STARTS_WITH_JOB = re.compile(JOB_ID.pattern + r"(?:\.[A-Za-z0-9_+]+)?")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
MOST_LINES = 1_000
"""Of one record; a submit line may carry a script, but not a book."""


def header_of(line: str) -> tuple[str, list[str]] | None:
    """The delimiter and the names of a header line, None where the line is no header of sacct."""
    match = MARK_BETWEEN_NAMES.match(line)
    if match is None:
        return None
    names = [name.strip() for name in line.split(match.group(1))]
    plain = {name.casefold() for name in names}
    if "jobid" not in plain or not plain & {"state", "start", "end", "elapsed", "elapsedraw", "alloctres", "submit"}:
        return None
    return match.group(1), names


class SacctRecords:
    """Cuts sacct text into records, and records into fields."""

    def __init__(self, stream: io.BufferedReader, settings: Settings, notes: Notes) -> None:
        self._stream, self._encoding = stream, settings.encoding
        self._line = 0
        self.undecodable = False
        first = self._first_line()
        text = first.decode(self._encoding, "replace")
        found = header_of(text)
        self._kept: bytes | None = None if found else first
        self._kept_line = self._line
        mark, names = found or (settings.delimiter or "|", names_by_place(settings.columns))
        if found and settings.delimiter and settings.delimiter != mark:
            mark, names = settings.delimiter, [name.strip() for name in text.split(settings.delimiter)]
        self._mark = mark
        self._trailing = names[-1] == "" if found else text.endswith(mark) and text.count(mark) == len(names)
        self.header = Header(names[:-1] if found and self._trailing else names)
        self.raw_header = first if found else mark.join(names).encode()
        self._width = len(self.header)
        self._needed = self._width - 1 + self._trailing
        self._free = [index for index, name in enumerate(self.header.plain) if name in FREE_TEXT]
        self._id_first = self.header.at("JobID") == 0
        self._last = self._free == [self._width - 1]
        self._steps = BusySteps(self.header) if self.header.at(*USAGE) is not None else None
        if self._steps:
            self.header = Header([*self.header.names, BUSY])
        self._ends_open = False

    def _first_line(self) -> bytes:
        while raw := self._stream.readline(LONGEST_RECORD):
            self._line += 1
            if bare := raw.removeprefix(BOM).rstrip(b"\r\n"):
                return bare
        raise FileRefused(_("The file holds no line."))

    def batches(self, size: int) -> Iterator[Batch]:
        batch = Batch([], [])
        for line, record in self._records():
            batch.records.append(record)
            batch.lines.append(line)
            if len(batch.records) > size and not self._is_step(record):
                yield Batch(batch.records[:-1], batch.lines[:-1])
                batch = Batch(batch.records[-1:], batch.lines[-1:])
        if batch.records:
            batch.ends_open = self._ends_open
            yield batch

    def _is_step(self, record: bytes) -> bool:
        """Steps stay with their job, where they say how busy its cards were."""
        if self._steps is None or not self._id_first:
            return False
        return STEP_ID.fullmatch(record.partition(self._mark.encode())[0].decode(self._encoding, "replace")) is not None

    def _records(self) -> Iterator[tuple[int, bytes]]:
        """Records with the line each begins on; what goes on over line ends is joined."""
        begun: list[bytes] = []
        begun_on = marks = 0
        for line, raw in self._lines():
            here = raw.count(self._mark.encode())
            if begun and len(begun) < MOST_LINES and self._goes_on(marks, raw, here):
                begun.append(raw)
                marks += here
                continue
            if begun:
                yield begun_on, b"\n".join(begun)
            begun, begun_on, marks = [raw], line, here
        if begun:
            yield begun_on, b"\n".join(begun)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        if self._kept is not None:
            yield self._kept_line, self._kept
        while raw := self._stream.readline(LONGEST_RECORD):
            self._line += 1
            if len(raw) >= LONGEST_RECORD:
                raise FileRefused(
                    _("The record on line %(line)s is longer than any record of a bill.") % {"line": self._line}
                )
            self._ends_open = raw[-1:] != b"\n"
            bare = raw.rstrip(b"\r\n")
            if bare.strip():
                yield self._line, bare

    def _goes_on(self, marks: int, raw: bytes, here: int) -> bool:
        """Does this line belong to the record before it?"""
        text = raw.decode(self._encoding, "replace")
        if self._begins(text, here):
            return False
        if marks < self._needed:
            return marks + here <= self._needed or bool(self._free)
        return self._last and not self._is_cut(text)

    def _begins(self, text: str, here: int) -> bool:
        if self._id_first:
            return STARTS_WITH_JOB.fullmatch(text.partition(self._mark)[0].strip()) is not None and here > 0
        return here >= self._needed

    def _is_cut(self, text: str) -> bool:
        """A record whose front is missing still shows times or a state; a job's name does not."""
        fields = text.split(self._mark)
        return any(TIME.fullmatch(part) or part.split(" ")[0] in STATES for part in fields) and len(fields) > 1

    def split(self, batch: Batch) -> list[Any]:
        self.undecodable = False
        split = [self._fields(record) for record in batch.records]
        if batch.ends_open and type(split[-1]) is str and batch.records[-1].count(self._mark.encode()) < self._needed:
            raise FileRefused(
                _("The last record (line %(line)s) is cut off: the file is truncated.") % {"line": batch.lines[-1]}
            )
        return self._steps.added_to(split) if self._steps else split

    def _fields(self, record: bytes) -> list[str] | str:
        try:
            text = record.decode(self._encoding)
        except UnicodeDecodeError:
            self.undecodable = True
            text = record.decode(self._encoding, "surrogateescape")
        fields = text.split(self._mark)
        if self._trailing and fields[-1] == "":
            fields.pop()
        width, found = self._width, len(fields)
        if found == width:
            return fields
        if found > width and len(self._free) == 1:
            at, more = self._free[0], found - width
            return [*fields[:at], self._mark.join(fields[at : at + more + 1]), *fields[at + more + 1 :]]
        return f"it has {found} fields, the header has {width}"


def names_by_place(columns: Mapping[str, str]) -> list[str]:
    """The names of a file without a header: by the setting `columns` (`JobID=1,State=5`), else XDMoD's order."""
    places = {int(place): name for name, place in columns.items() if place.isdecimal() and int(place) < 1_000}
    if not places:
        return list(XDMOD_ORDER)
    return [places.get(place, "") for place in range(1, max(places) + 1)]
