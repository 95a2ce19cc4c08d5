"""Slurm `sacct` text, parsable: `-P` or `-p`, any delimiter, with its header, or without one in the order of XDMoD.

Free text (a job's name, its submit line) may hold the delimiter or line ends. A line that cannot begin a record goes
on with the one before it; where one column is free text, delimiters too many belong to it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.durations import seconds_of
from ..reading.faults import FileRefused, RowFault, RowSkipped
from ..reading.header import Header
from ..reading.notes import Notes
from ..reading.records import BOM, LONGEST_RECORD, Batch
from ..reading.times import Instant, instant, time_reader
from .contract import Format, Recognition, Row, Sample
from .slurm import JOB_ID, STATES, STEP_ID, Job, JobKey, JobRows, state_of
from .slurm_steps import BUSY, USAGE, BusySteps
from .slurm_tres import Tres, asked_for, count_of, counts_in, tres_of

XDMOD_ORDER = (
    "JobID JobIDRaw Cluster Partition QOS Account Group GID User UID Submit Eligible Start End Elapsed ExitCode State"
    " NNodes NCPUS ReqCPUS ReqMem ReqTRES AllocTRES Timelimit NodeList JobName"
).split()
"""The columns of a file without a header."""

FREE_TEXT = frozenset(["jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "container"])
NOTHING = frozenset(["", "Unknown", "None", "NONE", "N/A", "NULL"])
MARK_BETWEEN_NAMES = re.compile(r"\s*[A-Za-z][\w%]*?([^\w\s%]+|\t)[A-Za-z]")
STARTS_WITH_JOB = re.compile(JOB_ID.pattern + r"(?:\.[A-Za-z0-9_+]+)?")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
EPOCH = re.compile(r"[0-9]{9,11}")
EXACT_COLUMNS = (
    "JobID JobIDRaw Cluster Account User Partition State Submit Start End ElapsedRaw Elapsed AllocTRES AllocCPUS NCPUS"
).split()
USED = (*EXACT_COLUMNS, "QOS", "Reservation", "WCKey", "Comment", BUSY)
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


def recognise(sample: Sample) -> Recognition | None:
    lines = [line for line in sample.text.splitlines() if line.strip()][:20]
    if not lines:
        return None
    if header_of(lines[0]):
        return Recognition(85, _("the header has JobID and other columns of sacct"))
    words = {word.casefold() for word in lines[0].split()}
    if "jobid" in words and len(lines) > 1 and set(lines[1]) <= set("- "):
        raise FileRefused(
            _("This is sacct's table for people: its columns are cut off. Ask sacct with -P (parsable)."),
            value=lines[0][:200],
        )
    if any(_is_xdmod(line) for line in lines):
        return Recognition(80, _("the lines have no header and the 26 fields of a job log in XDMoD's order"))
    return None


def _is_xdmod(line: str) -> bool:
    fields = line.split("|", len(XDMOD_ORDER) - 1)
    if len(fields) < len(XDMOD_ORDER) or not STARTS_WITH_JOB.fullmatch(fields[0]):
        return False
    return TIME.fullmatch(fields[10]) is not None and fields[16].split(" ")[0].rstrip("+") in STATES


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


class SacctReader:
    """Reads the fields of one record."""

    def __init__(self, header: Header, settings: Settings, notes: Notes) -> None:
        self._rows = JobRows(settings, notes)
        self._notes = notes
        self._zone = settings.timezone
        self._time = time_reader(settings.timezone)
        self._at = {name: header.at(name) for name in (*USED, "ReqTRES", "ReqGRES", "Restarts")}
        self._rest = header.rest([self._at[name] for name in USED])
        self._tres: dict[str, Tres] = {}
        self._asked: dict[str, Tres | None] = {}
        self.exact_places = frozenset(at for name in EXACT_COLUMNS if (at := self._at[name]) is not None)

    def row(self, fields: list[str]) -> Row:
        get = self._get
        job_id = get(fields, "JobID")
        if STEP_ID.fullmatch(job_id):
            raise RowSkipped("step")
        if not JOB_ID.fullmatch(job_id):
            raise RowFault("JobID", job_id, "is no job id such as 123, 123_4 or 123+1")
        state = state_of(get(fields, "State"))
        if get(fields, "Restarts").strip("0"):
            self._notes.warn("restarted_job", detail=job_id)
        return self._rows.row(
            Job(
                cluster=get(fields, "Cluster"),
                job_id=job_id,
                raw_id=get(fields, "JobIDRaw") or job_id,
                state=state,
                submit=self._moment(fields, "Submit"),
                start=self._moment(fields, "Start"),
                end=self._moment(fields, "End"),
                elapsed=self._elapsed(fields),
                tres=self._held(get(fields, "AllocTRES")),
                wants_accelerators=any(
                    kind in get(fields, name) for name in ("ReqTRES", "ReqGRES") for kind in ("gpu", "shard", "mps")
                ),
                requested=self._requested(get(fields, "ReqTRES")),
                utilised=Decimal(busy) if (busy := get(fields, BUSY)) else None,
                cores=self._cores(fields),
                account=get(fields, "Account"),
                user=get(fields, "User"),
                partition=get(fields, "Partition"),
                qos=get(fields, "QOS"),
                reservation=get(fields, "Reservation"),
                wckey=get(fields, "WCKey"),
                comment=get(fields, "Comment"),
                extra={name: fields[at] for at, name in self._rest if fields[at] not in NOTHING},
            )
        )

    def describe(self, key: JobKey) -> Any:
        return self._rows.describe(key)

    def _get(self, fields: list[str], name: str) -> str:
        at = self._at[name]
        text = fields[at].strip() if at is not None else ""
        return "" if text in NOTHING else text

    def _moment(self, fields: list[str], name: str) -> Instant | None:
        """A time of the cluster's clock, with an offset, or in seconds since 1970; None where it is not known yet."""
        text = self._get(fields, name)
        if not text:
            return None
        if EPOCH.fullmatch(text):
            return instant(datetime.fromtimestamp(int(text), UTC), self._zone)
        return self._time(text, name)

    def _elapsed(self, fields: list[str]) -> int:
        for name in ("ElapsedRaw", "Elapsed"):
            if text := self._get(fields, name):
                return seconds_of(text, name)
        return 0

    def _cores(self, fields: list[str]) -> int | None:
        for name in ("AllocCPUS", "NCPUS"):
            if text := self._get(fields, name):
                return count_of(text, text, name)
        return None

    def _held(self, text: str) -> Tres:
        found = self._tres.get(text)
        if found is None:
            found = self._tres[text] = tres_of(counts_in(text), "AllocTRES")
        return found

    def _requested(self, text: str) -> Tres | None:
        if text not in self._asked:
            self._asked[text] = asked_for(counts_in(text), "ReqTRES")
        return self._asked[text]


def open_sacct(header: Header, settings: Settings, notes: Notes) -> SacctReader:
    """Check that a record says whose it is, when it ran, how long, and what it held. A column asked twice is one."""
    header.insist(
        {name: (name,) for name in ("JobID", "State", "Start", "AllocTRES")} | {"ElapsedRaw": ("ElapsedRaw", "Elapsed")}
    )
    return SacctReader(header, settings, notes)


FORMAT = Format(
    slug="slurm-sacct",
    name="Slurm sacct",
    recognise=recognise,
    open=open_sacct,
    meaning=Meaning.LOG,
    money=Money.RATE_CARD,
    records=SacctRecords,
    version=2,
)
