"""What every Slurm format shares: states, TRES, and how one run of a job becomes a row.

One fact per run of an allocation; steps add nothing. Elapsed decides how long cards were held, also where the wall
clock disagrees: in autumn an end may stand before its start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from core.vocabulary import Category

from ..delivery import Settings
from ..reading.durations import hours_held
from ..reading.faults import RowFault, RowSkipped
from ..reading.notes import Notes
from ..reading.times import Instant, later
from .contract import Keys, Row, ScopeKey
from .slurm_tres import Tres

JOB_ID = re.compile(r"[0-9]+(?:_(?:[0-9]+|\[[0-9,:%-]*\]))?(?:\+[0-9]+)?")
"""`123`, `123_4`, `123_[4-7%2]`, `123+1`."""
STEP_ID = re.compile(JOB_ID.pattern + r"\.[A-Za-z0-9_+]+")

OPEN_STATES = frozenset(["RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "STOPPED", "SIGNALING", "STAGE_OUT"])
WAITING_STATES = frozenset(["PENDING", "CONFIGURING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"])
ENDED_STATES = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REVOKED",
        "TIMEOUT",
    ]
)
STATES = OPEN_STATES | WAITING_STATES | ENDED_STATES

FAILURE_CAUSES = {
    "BOOT_FAIL": "node_failure",
    "LAUNCH_FAILED": "node_failure",
    "NODE_FAIL": "node_failure",
    "RECONFIG_FAIL": "node_failure",
    "PREEMPTED": "preemption",
    "REQUEUED": "requeue",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "OUT_OF_MEMORY": "out_of_memory",
    "FAILED": "job_failure",
    "CANCELLED": "cancellation",
}
"""Why the hours of a run that did not complete were lost."""

REFERENCE = re.compile(r"headroom[_-]proposal\s*[=:]\s*([^\s,;|]+)", re.IGNORECASE)
ENDED_RANK = 1 << 40
"""An ended record wins over an open one however long that one has been running."""
AUTUMN = timedelta(hours=2)


def state_of(text: str) -> str:
    """The state's word: `CANCELLED by 1001`, `CANCELLED+` and the cut-off `OUT_OF_ME+` are understood."""
    first = (text.split() or [""])[0]
    word = first.rstrip("+").upper()
    if word in STATES:
        return word
    matches = [state for state in STATES if state.startswith(word)] if first.endswith("+") and word else []
    if len(matches) != 1:
        raise RowFault("State", text, "is no state of a Slurm job that this version knows")
    return matches[0]


@dataclass(frozen=True)
class Job:
    """One run of one allocation, as either format reads it. Times are None where the job has not got there."""

    cluster: str
    job_id: str
    raw_id: str
    state: str
    submit: Instant | None
    start: Instant | None
    end: Instant | None
    elapsed: int
    tres: Tres
    wants_accelerators: bool = False
    requested: Tres | None = None
    utilised: Decimal | None = None
    """Seconds of cards that were busy, where its steps say so."""
    cores: int | None = None
    account: str = ""
    user: str = ""
    partition: str = ""
    qos: str = ""
    reservation: str = ""
    wckey: str = ""
    comment: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)


class JobKey(NamedTuple):
    """What many jobs share."""

    cluster: str
    account: str
    user: str
    partition: str
    qos: str
    reservation: str
    wckey: str
    state: str
    accelerator: str
    cards: Decimal | None
    unit: str
    reference: str


JOBS_OF_A_WINDOW = 5
"""So many jobs, each submitted at another time, do not start together on a full hour by chance."""


class JobRows:
    """Turns jobs into rows."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        self._settings, self._notes = settings, notes
        self._zone = settings.timezone
        self._earliest: datetime | None = None
        self._submits: set[datetime] = set()
        """When the jobs were submitted that start first of all."""

    def row(self, job: Job) -> Row:
        """The job's row; what waits or never ran is skipped, a job that ends before it starts is a `RowFault`."""
        start = self._started(job)
        self._check_clock(job, start)
        self._look_for_a_window(job, start)
        end = later(start, timedelta(seconds=max(job.elapsed, 1)), self._zone, "Start")
        is_open = job.state in OPEN_STATES
        cores = job.cores if job.cores is not None else job.tres.cores
        cluster = job.cluster or self._settings.cluster
        return Row(
            key=self._key(job, cluster),
            scope=ScopeKey("", "", None, cluster),
            usage_start=start.text,
            usage_end=end.text,
            billing_month=start.month,
            currency="",
            billed=None,
            effective=None,
            quantity=hours_held(parts, job.elapsed) if (parts := job.tres.slices or job.tres.shards) else None,
            accelerator_hours=self._accelerator_hours(job),
            cpu_core_hours=None if cores is None else hours_held(cores, job.elapsed),
            extra=self._kept(job),
            row_key="|".join((cluster, job.raw_id, job.job_id, job.submit.text if job.submit else "", start.text)),
            rank=job.elapsed + (0 if is_open else ENDED_RANK),
            provisional=is_open,
            job=job.job_id,
        )

    def _started(self, job: Job) -> Instant:
        if job.state in WAITING_STATES:
            raise RowSkipped("pending")
        if job.start is None:
            raise RowSkipped("not_started")
        if job.state == "CANCELLED" and not job.elapsed and job.end == job.start:
            raise RowSkipped("not_started")
        return job.start

    def _look_for_a_window(self, job: Job, start: Instant) -> None:
        """`-T` cuts every job at the window: none starts earlier, and many at once on a full hour, submitted before.

        Warned of as soon as it looks so, and taken back when a job turns up that started earlier.
        """
        if self._earliest is None or start.at < self._earliest:
            self._earliest, self._submits = start.at, set()
            self._notes.counts.pop("cut_at_the_window", None)
        if start.at != self._earliest or start.at.minute or start.at.second or job.submit is None:
            return
        if job.submit.at < start.at and len(self._submits) < JOBS_OF_A_WINDOW:
            self._submits.add(job.submit.at)
            if len(self._submits) == JOBS_OF_A_WINDOW:
                self._notes.warn_once("cut_at_the_window", detail=start.text)

    def _check_clock(self, job: Job, start: Instant) -> None:
        if job.end is None or job.state in OPEN_STATES:
            return
        held = job.end.at - start.at
        if held < timedelta(0) and (not job.elapsed or held < -AUTUMN):
            raise RowFault("End", job.end.text, f"is before Start {start.text}")
        if held != timedelta(seconds=job.elapsed):
            self._notes.warn("elapsed_differs", detail=job.job_id)

    def _accelerator_hours(self, job: Job) -> str | None:
        """None, with a warning, where cards were wanted or the partition has them, and the log is silent about them."""
        held = job.tres.held(self._settings.shares_per_card)
        if held is None and job.tres.shards and job.elapsed:
            self._notes.warn("shares_of_a_card_unknown", detail=job.partition or job.job_id)
            return None
        if not held and not job.tres.slices:
            expected = job.wants_accelerators or job.partition in self._settings.rate_card
            if expected and job.elapsed:
                self._notes.warn("accelerator_hours_unknown", detail=job.partition or job.job_id)
                return None
        return None if held is None else hours_held(held, job.elapsed)

    def _kept(self, job: Job) -> str | None:
        """What the log says beside: the moment of submission in seconds since 1970, for how long jobs wait, and the
        accelerator-hours that were asked for and that were busy."""
        said: dict[str, str | int] = dict(job.extra)
        if job.submit is not None:
            said["submit"] = int(job.submit.at.timestamp())
        wanted = job.requested.held(self._settings.shares_per_card) if job.requested else None
        if wanted:
            said["requested_hours"] = hours_held(wanted, job.elapsed)
        held = job.tres.held(self._settings.shares_per_card)
        if held and job.utilised is not None:
            said["utilised_hours"] = hours_held(1, min(job.utilised, held * job.elapsed))
        return json.dumps(said, ensure_ascii=False, sort_keys=True) if said else None

    def _key(self, job: Job, cluster: str) -> JobKey:
        if job.elapsed and "[" in job.job_id:
            self._notes.warn("array_rest_with_elapsed_time", detail=job.job_id)
        return JobKey(
            cluster,
            job.account,
            job.user,
            job.partition,
            job.qos,
            job.reservation,
            job.wckey,
            job.state,
            job.tres.accelerator,
            job.tres.held(self._settings.shares_per_card),
            "MIG-slice-hour" if job.tres.slices else "shard-hour" if job.tres.shards else "",
            reference_in(job.comment, job.wckey),
        )

    def describe(self, key: JobKey) -> Keys:
        tags = {"qos": key.qos, "reservation": key.reservation, "wckey": key.wckey}
        return Keys(
            provider="Slurm",
            account=key.account,
            service="Slurm",
            sku=key.partition,
            accelerator=key.accelerator,
            state=key.state,
            unit=key.unit,
            user=key.user,
            partition=key.partition,
            cluster=key.cluster,
            accelerator_count=key.cards,
            category=Category.COMPUTE,
            reference=key.reference,
            tags={name: value for name, value in tags.items() if value},
            extra={"failure_cause": cause} if (cause := FAILURE_CAUSES.get(key.state)) else {},
        )


def reference_in(*texts: str) -> str:
    """The proposal that a comment or a workload key names as `headroom_proposal=P-12`."""
    for text in texts:
        if match := REFERENCE.search(text):
            return match.group(1)[:60]
    return ""
