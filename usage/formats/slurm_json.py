"""Slurm `sacct --json`, in the shapes of its data parsers from v0.0.37 on."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from ..delivery import Settings
from ..models import Meaning, Money
from ..reading.faults import FileRefused, RowFault
from ..reading.header import Header
from ..reading.json_items import JsonCursor, JsonRecords
from ..reading.notes import Notes
from ..reading.times import Instant, instant
from .contract import Format, Keys, Recognition, Row, Sample
from .slurm import Job, JobKey, JobRows, state_of
from .slurm_steps import PERCENT_NUMBER, busy_seconds
from .slurm_tres import asked_for, tres_of

MARKS = ('"jobs"', '"job_id"', '"association"', '"allocation_nodes"')
EXTRA = ("name", "nodes", "working_directory", "submit_line", "group", "allocation_nodes")


def recognise(sample: Sample) -> Recognition | None:
    if not sample.text.lstrip("\ufeff \r\n\t").startswith("{"):
        return None
    if sum(mark in sample.text for mark in MARKS) < 3 and not (
        '"jobs"' in sample.text and "slurm" in sample.text.lower()
    ):
        return None
    return Recognition(90, _("the JSON holds jobs as sacct --json prints them"))


def jobs(cursor: JsonCursor) -> Iterator[bytes]:
    """Every element of `jobs`; errors that sacct reports refuse the file."""
    found = False
    for key in cursor.fields():
        if key == "jobs" and cursor.peek() == b"[":
            found = True
            for _place in cursor.places():
                yield cursor.value()
        elif key == "errors":
            if errors := cursor.loads():
                raise FileRefused(_("sacct reports errors: the answer is not complete."), value=str(errors)[:500])
        else:
            cursor.value()
    if not found:
        raise FileRefused(_("The JSON has no list of jobs."))


def records(stream: io.BufferedReader, settings: Settings, notes: Notes) -> JsonRecords:
    return JsonRecords(stream, jobs)


class SacctJsonReader:
    """Reads one job."""

    exact_places: frozenset[int] = frozenset()

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self._rows = JobRows(settings, notes)
        self._inner = notes.inner
        self._zone = settings.timezone

    def row(self, fields: Any) -> Row:
        if not isinstance(fields, dict) or "job_id" not in fields:
            raise RowFault("job_id", str(fields)[:100], "is missing: this is no job")
        if isinstance(steps := fields.get("steps"), list) and steps:
            self._inner["step"] += len(steps)
        time, state = _object(fields, "time"), _object(fields, "state").get("current")
        if not isinstance(state, list):
            state = [state]
        if not time:
            raise RowFault("time", "", "is missing")
        start, end = self._moment(time, "start"), self._moment(time, "end")
        allocated = _entries(_object(fields, "tres").get("allocated"))
        requested = _entries(_object(fields, "tres").get("requested"))
        return self._rows.row(
            Job(
                cluster=_text(fields.get("cluster")),
                job_id=display_id(fields),
                raw_id=_text(fields["job_id"]),
                state=state_of(_text(state[0] if state else "")),
                submit=self._moment(time, "submission"),
                start=start,
                end=end,
                elapsed=_elapsed(time, start, end),
                tres=tres_of(allocated, "tres.allocated"),
                wants_accelerators=any("gpu" in name or "shard" in name or "mps" in name for name in requested),
                requested=asked_for(requested, "tres.requested"),
                utilised=_busy(fields.get("steps")),
                account=_text(fields.get("account")),
                user=_text(fields.get("user")) or _text(_object(fields, "association").get("user")),
                partition=_text(fields.get("partition")),
                qos=_text(fields.get("qos")),
                reservation=_name(_object(fields, "reservation").get("name")),
                wckey=_text(_object(fields, "wckey").get("wckey")),
                comment=" ".join(_text(part) for part in _object(fields, "comment").values()),
                extra={name: text for name in EXTRA if (text := _text(fields.get(name)))},
            )
        )

    def describe(self, key: JobKey) -> Keys:
        return self._rows.describe(key)

    def _moment(self, time: dict[str, Any], name: str) -> Instant | None:
        """Seconds since 1970; 0 is a time that has not come."""
        seconds = number_of(time.get(name), f"time.{name}")
        if not seconds:
            return None
        try:
            return instant(datetime.fromtimestamp(seconds, UTC), self._zone)
        except (ValueError, OverflowError, OSError):
            raise RowFault(f"time.{name}", str(seconds), "is not a time that exists") from None


def number_of(value: Any, column: str) -> int | None:
    """A whole number: plain, or as `{"set": true, "infinite": false, "number": 480}`; None where it is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None or value == "":
        return None
    digits = str(value)
    if not digits.isascii() or not digits.isdigit() or len(digits) > 11:
        raise RowFault(column, digits[:100], "is not a whole number")
    return int(digits)


def _elapsed(time: dict[str, Any], start: Instant | None, end: Instant | None) -> int:
    """Elapsed decides; where a version of Slurm leaves it out, the span from start to end."""
    elapsed = number_of(time.get("elapsed"), "time.elapsed")
    if elapsed is not None:
        return elapsed
    return int((end.at - start.at).total_seconds()) if start and end and end.at > start.at else 0


def display_id(job: dict[str, Any]) -> str:
    """The id as sacct prints it: `501_1` for a task of an array, `510+0` for a part of a heterogeneous job."""
    array, het = _object(job, "array"), _object(job, "het")
    task, array_id = number_of(array.get("task_id"), "array.task_id"), number_of(array.get("job_id"), "array.job_id")
    if array_id and task is not None:
        return f"{array_id}_{task}"
    offset, het_id = number_of(het.get("job_offset"), "het.job_offset"), number_of(het.get("job_id"), "het.job_id")
    if het_id and offset is not None:
        return f"{het_id}+{offset}"
    return _text(job["job_id"])


def _entries(listed: Any) -> dict[str, str]:
    """`[{"type": "gres", "name": "gpu:h100", "count": 8}]` as `{"gres/gpu:h100": "8"}`."""
    if not isinstance(listed, list):
        return {}
    found: dict[str, str] = {}
    for entry in listed:
        if isinstance(entry, dict):
            name = "/".join(part for part in (_text(entry.get("type")), _text(entry.get("name"))) if part)
            count = number_of(entry.get("count"), f"tres.allocated {name}")
            found[name] = str(count or 0)
    return found


def _busy(steps: Any) -> Decimal | None:
    """Card-seconds that the steps say were busy; None where none says so."""
    found = [_busy_of(step) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    known = [seconds for seconds in found if seconds is not None]
    return sum(known, Decimal(0)) if known else None


def _busy_of(step: dict[str, Any]) -> Decimal | None:
    listed = _object(_object(step, "tres"), "requested").get("total")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    percent = next((str(entry.get("count")) for entry in entries if entry.get("name") == "gpuutil"), "")
    if not PERCENT_NUMBER.fullmatch(percent) or _text(_object(step, "step").get("name")) == "extern":
        return None
    try:
        elapsed = number_of(_object(step, "time").get("elapsed"), "steps.time.elapsed")
    except RowFault:
        return None
    return None if elapsed is None else busy_seconds(Decimal(percent), 1, elapsed)


def _object(job: dict[str, Any], name: str) -> dict[str, Any]:
    value = job.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _name(value: Any) -> str:
    """A name; v0.0.37 writes 0 where there is none."""
    return "" if value == "0" else _text(value)


def open_sacct_json(header: Header, settings: Settings, notes: Notes) -> SacctJsonReader:
    return SacctJsonReader(settings, notes)


FORMAT = Format(
    slug="slurm-json",
    name="Slurm sacct --json",
    recognise=recognise,
    open=open_sacct_json,
    meaning=Meaning.LOG,
    money=Money.RATE_CARD,
    records=records,
    version=2,
)
