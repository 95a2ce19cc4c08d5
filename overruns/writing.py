"""What a judgement writes: flags, crossings, the log, and word of it to people, each in one statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from django.utils.translation import gettext as _

from budgets.models import BudgetLine, Threshold
from budgets.services.lines import facts_of, freeze_line
from core.money import round_money
from teams import activity
from teams.models import Activity

from . import messages
from .forecast import Outlook
from .judge import CROSSED, UNCROSSED, Verdict
from .models import Crossing, Flag

KEPT = (
    "state",
    "crossed_at",
    "value",
    "limit",
    "told_value_share",
    "incomplete",
    "cause",
    "acknowledged_by_id",
    "acknowledged_at",
    "muted_until",
)
"""What a judgement may change of a flag."""


@dataclass
class Judged:
    """What a judgement did."""

    lines: int = 0
    crossed: list[Crossing] = field(default_factory=list)
    uncrossed: list[Crossing] = field(default_factory=list)
    notifications: int = 0

    def add(self, other: Judged) -> None:
        self.lines += other.lines
        self.crossed += other.crossed
        self.uncrossed += other.uncrossed
        self.notifications += other.notifications


@dataclass(frozen=True)
class Said:
    """Something people hear of: how far the line is, and the day on which its forecast passes the threshold."""

    flag: Flag
    share: Decimal
    passes_on: date | None


@dataclass
class Writing:
    """Rows that wait to be written."""

    now: datetime
    new: list[Flag] = field(default_factory=list)
    changed: list[Flag] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    frozen: list[BudgetLine] = field(default_factory=list)

    def add(
        self, line: BudgetLine, threshold: Threshold, flag: Flag | None, verdict: Verdict, outlook: Outlook | None
    ) -> None:
        """The flag as it stands now; a crossing where it changed sides; word of it where people have to know."""
        if flag is None:
            flag = Flag(line=line, threshold=threshold, crossed_at=self.now)
            self.new.append(flag)
            update(flag, verdict, self.now)
        else:
            flag.line, flag.threshold = line, threshold
            before = [getattr(flag, name) for name in KEPT]
            update(flag, verdict, self.now)
            if [getattr(flag, name) for name in KEPT] != before:
                self.changed.append(flag)
        if verdict.transition:
            self.crossings.append(crossing_of(flag, verdict, self.now))
        if verdict.transition == CROSSED and threshold.is_limit and line.freezes_at_limit:
            self.frozen.append(line)
        if verdict.tell:
            self.said.append(Said(flag, verdict.share, outlook.passes(verdict.limit) if outlook else None))

    def write(self, judged: Judged) -> Judged:
        """Write everything, and say what was done."""
        kept = [name.removesuffix("_id") for name in KEPT]
        flags = [*self.new, *self.changed]
        Flag.objects.bulk_create(flags, update_conflicts=True, update_fields=kept, unique_fields=["id"])
        Crossing.objects.bulk_create(self.crossings)
        judged.crossed = [crossing for crossing in self.crossings if crossing.kind == CROSSED]
        judged.uncrossed = [crossing for crossing in self.crossings if crossing.kind == UNCROSSED]
        activity.record_all(log_of(crossing) for crossing in [*judged.crossed, *judged.uncrossed])
        judged.notifications = messages.tell_of_flags(self.said)
        for line in self.frozen:
            freeze_line(line, by=None, reason=_("The limit was reached."), now=self.now)
        return judged


def update(flag: Flag, verdict: Verdict, now: datetime) -> None:
    """Take over the verdict. A flag that rises again asks for a new cause."""
    if verdict.transition == CROSSED:
        flag.crossed_at = now
        flag.cause, flag.acknowledged_by, flag.acknowledged_at = "", None, None
    if verdict.tell:
        flag.told_value_share = verdict.share
    if verdict.state != Flag.State.MUTED:
        flag.muted_until = None
    flag.state = verdict.state
    flag.value, flag.limit, flag.incomplete = verdict.value, verdict.limit, verdict.is_incomplete


def crossing_of(flag: Flag, verdict: Verdict, now: datetime) -> Crossing:
    return Crossing(
        flag=flag,
        kind=verdict.transition,
        at=now,
        value=verdict.value,
        limit=verdict.limit,
        incomplete=verdict.is_incomplete,
        told=verdict.tell,
        is_overrun=flag.threshold.is_limit,
    )


def log_of(crossing: Crossing) -> Activity:
    flag = crossing.flag
    return activity.unwritten(
        "flag.crossed" if crossing.kind == CROSSED else "flag.uncrossed",
        by=None,
        project=flag.line.project,
        subject=flag,
        threshold=str(flag.threshold),
        basis=flag.threshold.basis,
        value=round_money(crossing.value, flag.line.currency),
        limit=round_money(crossing.limit, flag.line.currency),
        **facts_of(flag.line),
    )
