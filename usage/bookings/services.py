"""Changes to bookings: lines booked by form or file, and taken back by a reversal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import EXACT
from core.months import Month
from teams import activity, permissions
from teams.models import ClosedMonth, Organisation, Project, User

from ..models import Booking, MonthDraft
from ..pipeline.swap import lock_source
from .facts import BookingFacts, print_of, read_booking
from .files import BookingFile, LineFault, canonical, read_file
from .posting import manual_source, post

MOST_TOLD = 100
"""Faults of a file that a refusal carries; the preview shows them all."""


@dataclass(frozen=True)
class WantedLine:
    """One line of a file as the preview shows it: what it says, and the booking that says it already."""

    line: int
    facts: BookingFacts
    booked: Booking | None
    is_restatement: bool

    @property
    def is_new(self) -> bool:
        return self.booked is None


@dataclass(frozen=True)
class Preview:
    """What booking a file would do, before anything is written."""

    lines: tuple[WantedLine, ...]
    faults: tuple[LineFault, ...]

    @property
    def new(self) -> list[WantedLine]:
        return [line for line in self.lines if line.is_new]

    @property
    def known_count(self) -> int:
        return len(self.lines) - len(self.new)

    def totals(self) -> dict[str, Decimal]:
        """What would be booked, by currency."""
        sums: dict[str, Decimal] = {}
        for line in self.new:
            facts = line.facts
            sums[facts.currency] = EXACT.add(sums.get(facts.currency, Decimal(0)), facts.amount)
        return sums


def projects_to_book_on(by: User | None) -> dict[str, Project]:
    """The active projects a person may book on, by short name. No person: a trusted command."""
    projects = Project.objects.active().select_related("team").order_by("slug")
    if by is not None:
        projects = projects.filter(pk__in=permissions.projects_to_book_on(by))
    return {project.slug: project for project in projects}


def preview_file(content: bytes, *, by: User | None, now: datetime) -> Preview:
    """What a file would book: the lines that are new, those that are known, and everything that is wrong with it."""
    today = Organisation.current().today(now)
    return _compared(read_file(content, projects_to_book_on(by), today=today))


def _compared(file: BookingFile) -> Preview:
    known = _known([facts for _line, facts in file.lines])
    closed = {Month.of(month) for month in ClosedMonth.objects.values_list("month", flat=True)}
    lines, faults, seen = [], list(file.faults), {}  # type: ignore[var-annotated]
    for line, facts in file.lines:
        booked = known.get(facts.identity)
        first = seen.setdefault(facts.identity, line)
        if first != line:
            faults.append(LineFault(line, "key", facts.key, _("stands in line %(line)s already") % {"line": first}))
        elif booked is not None and _print(booked) != facts.content:
            faults.append(LineFault(line, "key", facts.key or facts.document, _clash(booked)))
        else:
            lines.append(WantedLine(line, facts, booked, Month.of(facts.starts_on) in closed))
    return Preview(tuple(lines), tuple(sorted(faults, key=lambda fault: fault.line)))


def _known(facts: Sequence[BookingFacts]) -> dict[str, Booking]:
    """By identity the booking that holds it: one that stands, else one that was reversed and said the same."""
    wanted = {each.identity: each.content for each in facts}
    rows = Booking.objects.filter(identity__in=wanted, reverses__isnull=True).select_related("reversal").order_by("pk")
    found: dict[str, Booking] = {}
    for booking in rows:
        identity = str(booking.identity).replace("-", "")
        if not booking.is_reversed or (identity not in found and _print(booking) == wanted[identity]):
            found[identity] = booking
    return found


def _print(booking: Booking) -> str:
    return str(booking.content).replace("-", "")


def _clash(booked: Booking) -> str:
    return _("is booked already as %(number)s, and says something else there: reverse that one first") % {
        "number": booked
    }


def book_file(content: bytes, *, by: User | None, name: str, now: datetime | None = None) -> list[Booking]:
    """Book the new lines of a file, all or none; answers what was booked. The same file again books nothing."""
    moment = now or timezone.now()
    with transaction.atomic():
        source = manual_source()
        lock_source(source.pk)
        preview = preview_file(content, by=by, now=moment)
        if preview.faults:
            raise refusal_of(preview.faults)
        lines = [(wanted.line, wanted.facts) for wanted in preview.new]
        if not lines:
            return []
        return _book(lines, by=by, name=name, content=content, now=moment)


def refusal_of(faults: Sequence[LineFault]) -> DomainError:
    """The faults of a file as the refusal of the whole."""
    told = [
        Fault(f"line {fault.line}, {fault.column}".rstrip(", "), fault.value, fault.reason, fault.accepted)
        for fault in faults[:MOST_TOLD]
    ]
    return DomainError(_("The file holds faults: nothing was booked."), code="file_refused", faults=told)


@transaction.atomic
def book_line(cells: Mapping[str, str], *, by: User | None, now: datetime | None = None) -> Booking:
    """Book one line from its texts, by the names of the columns of a file."""
    moment = now or timezone.now()
    source = manual_source()
    lock_source(source.pk)
    today = Organisation.current().today(moment)
    facts = read_booking(cells, projects_to_book_on(by), today=today)
    booked = _known([facts]).get(facts.identity)
    if booked is not None:
        raise DomainError(
            _twice(booked, facts), faults=[Fault("key", facts.key, _("is taken by %(number)s") % {"number": booked})]
        )
    return _book([(1, facts)], by=by, name=_("one line"), content=canonical([facts]), now=moment)[0]


def _twice(booked: Booking, facts: BookingFacts) -> str:
    if _print(booked) != facts.content:
        return _("Line %(key)s of this document %(clash)s.") % {"key": facts.key, "clash": _clash(booked)}
    if booked.is_reversed:
        return _(
            "The same line was booked as %(number)s and reversed. To book it again, give it a document and a line of "
            "its own."
        ) % {"number": booked}
    return _(
        "The same line is booked already as %(number)s. If it is another one, give it a document and a line of its own."
    ) % {"number": booked}


def _book(
    lines: Sequence[tuple[int, BookingFacts]], *, by: User | None, name: str, content: bytes, now: datetime
) -> list[Booking]:
    """Write lines that were found new, under the lock of the source."""
    bookings = [Booking(line=line, **facts.columns()) for line, facts in lines]
    post(bookings, manual_source(), by=by, name=name, content=content, now=now)
    for project in {booking.project for booking in bookings}:
        own = [booking for booking in bookings if booking.project == project]
        if len(own) == 1:
            activity.record("booking.added", by=by, project=project, subject=own[0], **told(own[0]))
        else:
            activity.record("bookings.added", by=by, project=project, subject=own[0], lines=len(own))
    return bookings


def told(booking: Booking) -> dict[str, Any]:
    """Facts for the activity log."""
    return {"amount": booking.amount, "currency": booking.currency, "category": booking.category}


@transaction.atomic
def reverse_booking(booking: Booking, *, by: User, reason: str, now: datetime | None = None) -> Booking:
    """Take a booking back by another of the opposite amount, in the same days; both stay and name each other.

    In a closed month the official actual stays as it was known, and the difference shows as a restatement. A month of
    a recurring cost waits for finance again.
    """
    moment = now or timezone.now()
    source = manual_source()
    lock_source(source.pk)
    row = Booking.objects.select_related("project__team", "reversal").get(pk=booking.pk)
    if not permissions.may_book(by, row.project.team):
        raise NotAllowed(_("Only finance and managers of the team reverse bookings."))
    check_reversible(row, reason)
    reversal = _opposite(row, reason.strip())
    name = _("reversal of %(number)s") % {"number": row}
    content = f"reverses,reason\r\n{row},{reason.strip()!r}\r\n".encode()
    post([reversal], source, by=by, name=name, content=content, now=moment)
    MonthDraft.objects.filter(booking=row).update(booking=None)
    activity.record("booking.reversed", by=by, project=row.project, subject=row, reason=reason.strip(), **told(row))
    return reversal


def check_reversible(row: Booking, reason: str) -> None:
    if row.reverses_id:
        raise DomainError(_("This is a reversal itself. Book the line again instead."))
    if row.is_reversed:
        raise DomainError(_("%(number)s is reversed already.") % {"number": row})
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])


SAME = (
    "kind", "project", "category", "task_type", "stage", "reference", "starts_on", "ends_on", "currency", "item",
    "unit", "document", "link", "key", "note",
)  # fmt: skip


def _opposite(row: Booking, reason: str) -> Booking:
    said = print_of({"reverses": row.pk})
    return Booking(
        **{name: getattr(row, name) for name in SAME},
        amount=row.amount.copy_negate(),
        quantity=None if row.quantity is None else row.quantity.copy_negate(),
        identity=said,
        content=said,
        reverses=row,
        reason=reason,
    )
