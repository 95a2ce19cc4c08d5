"""How busy the cards of a Slurm job were, as its steps say in `gres/gpuutil`.

The figure is of the whole step: percent of one card, summed over the cards (four busy cards are 400), in
`TRESUsageInTot`; `TRESUsageInAve` is that of a mean task. Steps are added up, whether they ran at once or one after
another. The step `extern` holds no work. Without a figure nothing is known, which is not nothing done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from core.money import EXACT

from ..reading.durations import seconds_of
from ..reading.faults import RowFault
from ..reading.header import Header

USAGE = ("TRESUsageInTot", "TRESUsageInAve")
BUSY = "busy card seconds"
"""A column of ours, of a job: what its steps say."""
PERCENT_NUMBER = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?")
PERCENT = re.compile(rf"(?:^|,)gres/gpuutil=({PERCENT_NUMBER.pattern})(?:,|$)")
MOST = Decimal(100_000)
"""A thousand busy cards; more is what a card without a meter answers."""
EXTERN = ".extern"


def busy_seconds(percent: Decimal, tasks: int, seconds: int) -> Decimal | None:
    """Card-seconds of a step of some tasks whose mean task is busy so many percent; None of what is no figure."""
    whole = EXACT.multiply(percent, Decimal(tasks))
    return None if whole > MOST else EXACT.divide(EXACT.multiply(whole, Decimal(seconds)), Decimal(100))


class BusySteps:
    """Adds a column to the rows of a table: what the steps that follow a job say of its cards."""

    def __init__(self, header: Header) -> None:
        self._id, self._tasks = header.at("JobID"), header.at("NTasks")
        self._usage = [(at, name) for name in USAGE if (at := header.at(name)) is not None]
        self._elapsed = [at for name in ("ElapsedRaw", "Elapsed") if (at := header.at(name)) is not None]

    def added_to(self, rows: Sequence[list[str] | str]) -> list[list[str] | str]:
        """The rows with one field more; what could not be cut stays as it is."""
        found: list[list[str] | str] = []
        job, busy = "", Decimal(0)
        known = False
        for fields in reversed(rows):
            if isinstance(fields, str) or self._id is None:
                found.append(fields)
                continue
            name, dot, _step = fields[self._id].strip().partition(".")
            if name != job:
                job, busy, known = name, Decimal(0), False
            if dot:
                seconds = self._seconds(fields)
                if seconds is not None:
                    busy, known = EXACT.add(busy, seconds), True
                found.append([*fields, ""])
            else:
                found.append([*fields, f"{busy:f}" if known else ""])
                job = ""
        return found[::-1]

    def _seconds(self, fields: list[str]) -> Decimal | None:
        if self._id is None or fields[self._id].strip().endswith(EXTERN):
            return None
        for at, name in self._usage:
            match = PERCENT.search(fields[at])
            if match is None:
                continue
            tasks = fields[self._tasks].strip() if self._tasks is not None else ""
            many = int(tasks) if name == "TRESUsageInAve" and re.fullmatch(r"[0-9]{1,6}", tasks) else 1
            try:
                elapsed = next((seconds_of(text, "Elapsed") for at in self._elapsed if (text := fields[at].strip())), 0)
            except RowFault:
                return None
            return busy_seconds(Decimal(match.group(1)), many, elapsed)
        return None
