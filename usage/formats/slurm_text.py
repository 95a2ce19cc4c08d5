"""Slurm `sacct` text, parsable (`-P` or `-p`): what the fields of its records say of a job."""

from __future__ import annotations

import re
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
from ..reading.times import Instant, instant, time_reader
from .contract import Format, Recognition, Row, Sample
from .slurm import JOB_ID, STATES, STEP_ID, Job, JobKey, JobRows, state_of
from .slurm_records import STARTS_WITH_JOB, TIME, XDMOD_ORDER, SacctRecords, header_of
from .slurm_steps import BUSY
from .slurm_tres import Tres, asked_for, count_of, counts_in, tres_of

NOTHING = frozenset(["", "Unknown", "None", "NONE", "N/A", "NULL"])
EPOCH = re.compile(r"[0-9]{9,11}")
EXACT_COLUMNS = (
    "JobID JobIDRaw Cluster Account User Partition State Submit Start End ElapsedRaw Elapsed AllocTRES AllocCPUS NCPUS"
).split()
USED = (*EXACT_COLUMNS, "QOS", "Reservation", "WCKey", "Comment", BUSY)


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
