"""What goes from a line whose period ends to the next one, and back again: by one rule for money and for
accelerator-hours."""

from __future__ import annotations

import decimal
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

from django.utils.translation import gettext as _

from core.errors import DomainError
from core.money import EXACT, exact_text, quantum
from core.months import Month

from ..hours import hours_of_lines
from ..models import BudgetLine, Entry, HoursEntry, LineClosing, Proposal
from ..queries import line_status
from ..rollover import Policy, carried, promises_carried, whole_units
from ..status import LineStatus

ZERO = Decimal(0)


class Movement(NamedTuple):
    """One entry that a closing wrote."""

    kind: str
    line_id: int
    amount: Decimal
    proposal: Proposal | None


class Book(Protocol):
    """A ledger of lines, with what differs between money and hours."""

    def unit(self, line: BudgetLine) -> str:
        """The currency, or what the hours are counted in."""

    def name(self, unit: str) -> str:
        """The unit as people read it."""

    def smallest(self, line: BudgetLine) -> Decimal:
        """The unit in which people decide on amounts of the line."""

    def policy(self, line: BudgetLine) -> Policy:
        """What the line does with what is left."""

    def status(self, line: BudgetLine, now: datetime) -> LineStatus:
        """What stands on the line."""

    def write(self, line: BudgetLine, kind: str, amount: Decimal, unit: str, **facts: Any) -> None:
        """One entry."""

    def written_by(self, closing: LineClosing) -> list[Movement]:
        """The entries of a closing, the oldest first."""

    def takes(self, line: BudgetLine, unit: str) -> bool:
        """May amounts of the unit be carried to the line?"""


class MoneyBook:
    """The entries of money."""

    def unit(self, line: BudgetLine) -> str:
        return line.currency

    def name(self, unit: str) -> str:
        return unit

    def smallest(self, line: BudgetLine) -> Decimal:
        return quantum(line.currency)

    def policy(self, line: BudgetLine) -> Policy:
        return Policy(line.rollover, line.rollover_share, line.rollover_amount, line.carries_overspend)

    def status(self, line: BudgetLine, now: datetime) -> LineStatus:
        return line_status(line, now=now)

    def write(self, line: BudgetLine, kind: str, amount: Decimal, unit: str, **facts: Any) -> None:
        Entry.objects.create(line=line, kind=kind, amount=amount, **facts)

    def written_by(self, closing: LineClosing) -> list[Movement]:
        entries = Entry.objects.filter(closing=closing).select_related("proposal").order_by("at", "id")
        return [Movement(entry.kind, entry.line_id, entry.amount, entry.proposal) for entry in entries]

    def takes(self, line: BudgetLine, unit: str) -> bool:
        return line.currency == unit


class HoursBook:
    """The entries of accelerator-hours."""

    def unit(self, line: BudgetLine) -> str:
        return HoursEntry.objects.filter(line=line).values_list("unit", flat=True).first() or ""

    def name(self, unit: str) -> str:
        return str(HoursEntry.Unit(unit).label)

    def smallest(self, line: BudgetLine) -> Decimal:
        return Decimal("0.0001")

    def policy(self, line: BudgetLine) -> Policy:
        return Policy(line.rollover, line.rollover_share, line.rollover_hours, line.carries_overspend)

    def status(self, line: BudgetLine, now: datetime) -> LineStatus:
        return hours_of_lines([line], now=now)[line.pk].status

    def write(self, line: BudgetLine, kind: str, amount: Decimal, unit: str, **facts: Any) -> None:
        HoursEntry.objects.create(line=line, kind=kind, hours=amount, unit=unit, **facts)

    def written_by(self, closing: LineClosing) -> list[Movement]:
        entries = HoursEntry.objects.filter(closing=closing).select_related("proposal").order_by("at", "id")
        return [Movement(entry.kind, entry.line_id, entry.hours, entry.proposal) for entry in entries]

    def takes(self, line: BudgetLine, unit: str) -> bool:
        return self.unit(line) in ("", unit)


MONEY, HOURS = MoneyBook(), HoursBook()
BOOKS: tuple[Book, ...] = (MONEY, HOURS)


# ---- to the next period


def carried_by(book: Book, line: BudgetLine, status: LineStatus) -> Decimal:
    """What the line would carry over as it stands; nothing comes after the life of a project."""
    if line.period_kind == BudgetLine.PeriodKind.PROJECT:
        return ZERO
    return carried(book.policy(line), status.budget, status.actual, book.smallest(line))


def remaining_promises(status: LineStatus) -> dict[str, Decimal]:
    """What proposals still hold on a line, the oldest first."""
    return {reference: held.remaining for reference, held in status.promises.items() if held.remaining > 0}


def carry(
    book: Book,
    line: BudgetLine,
    following: BudgetLine | None,
    status: LineStatus,
    common: Mapping[str, Any],
    *,
    now: datetime,
) -> Decimal:
    """Release what proposals hold, and carry what the policy says, and what it covers of their promises; answers how
    much is carried."""
    remaining = remaining_promises(status)
    release_all(book, line, remaining, common)
    amount = carried_by(book, line, status)
    if following is None or not amount or not book.takes(following, book.unit(line)):
        return ZERO
    move(book, line, following, amount, common)
    promise_again(book, following, promises_carried(remaining, amount, book.smallest(line)), common, now=now)
    return amount


def release_all(book: Book, line: BudgetLine, remaining: Mapping[str, Decimal], common: Mapping[str, Any]) -> None:
    """Nothing is held on a period that is over."""
    for reference, amount in remaining.items():
        release(book, line, reference, amount, common)


def release(book: Book, line: BudgetLine, reference: str, amount: Decimal, common: Mapping[str, Any]) -> Decimal:
    """Give back what a proposal holds, in whole smallest units; answers how much that is."""
    whole = amount.quantize(book.smallest(line), rounding=decimal.ROUND_CEILING, context=EXACT)
    book.write(line, Entry.Kind.RELEASE, whole, book.unit(line), proposal_id=number_of(reference), **common)
    return whole


def move(book: Book, source: BudgetLine, target: BudgetLine, amount: Decimal, common: Mapping[str, Any]) -> None:
    """Two rollover entries that balance."""
    number, unit = uuid.uuid4(), book.unit(source)
    for line, part in ((source, -amount), (target, amount)):
        book.write(line, Entry.Kind.ROLLOVER, part, unit, transfer=number, **common)


def promise_again(
    book: Book, line: BudgetLine, going: Mapping[str, Decimal], common: Mapping[str, Any], *, now: datetime
) -> None:
    """What proposals held and the carried amount covers, they hold on the next line."""
    if not going:
        return
    others, unit = book.status(line, now).others_spent, book.unit(line)
    for reference, amount in going.items():
        facts = {"others_spent": others, "proposal_id": number_of(reference), **common}
        book.write(line, Entry.Kind.COMMIT, amount, unit, **facts)


def number_of(reference: str) -> int:
    return int(reference.removeprefix("P-"))


# ---- and back


def take_back(
    book: Book,
    closing: LineClosing,
    line: BudgetLine,
    following: BudgetLine,
    common: Mapping[str, Any],
    *,
    now: datetime,
) -> None:
    """What was carried leaves the next line again; refused where it is spent or promised by now."""
    carried_there = [each for each in book.written_by(closing) if each.line_id == following.pk]
    if not carried_there:
        return
    promises = book.status(following, now).promises
    going = {}
    for each in carried_there:
        held = promises.get(each.proposal.reference) if each.proposal else None
        part = whole_units(min(each.amount, held.remaining), book.smallest(line)) if held else ZERO
        if each.proposal and part > 0:
            going[each.proposal.reference] = part
    release_all(book, following, going, common)
    amount = sum((each.amount for each in carried_there if each.kind == Entry.Kind.ROLLOVER), ZERO)
    free = book.status(following, now).free
    if amount > 0 and free < amount:
        raise DomainError(
            _("%(short)s of the %(carry)s %(currency)s carried to %(line)s are used: grant or transfer first.")
            % {
                "carry": exact_text(amount),
                "currency": book.name(book.unit(line)),
                "line": f"{following} {period_text(following)}",
                "short": exact_text(amount - max(free, ZERO)),
            },
            code="short",
        )
    move(book, following, line, amount, common)


def hold_again(book: Book, closing: LineClosing, line: BudgetLine, common: Mapping[str, Any], *, now: datetime) -> None:
    """What the closing released and nobody has used since, proposals that are still open hold again, as far as the line
    has room for it."""
    wanted = released_and_unused(book.written_by(closing), line.pk)
    if wanted:
        room = max(ZERO, book.status(line, now).headroom)
        promise_again(book, line, promises_carried(wanted, room, book.smallest(line)), common, now=now)


def released_and_unused(movements: Sequence[Movement], line_id: int) -> dict[str, Decimal]:
    """By open proposal what the closing released on its line, less what of it was promised on the next line and is
    used there: the part that did not come back."""
    wanted: dict[str, Decimal] = {}
    for each in movements:
        if each.proposal is None or each.proposal.closed_at is not None:
            continue
        reference = each.proposal.reference
        if each.kind == Entry.Kind.RELEASE:
            wanted[reference] = wanted.get(reference, ZERO) + each.amount
        elif each.kind == Entry.Kind.COMMIT and each.line_id != line_id:
            wanted[reference] = wanted.get(reference, ZERO) - each.amount
    return wanted


def period_text(line: BudgetLine) -> str:
    """How people name the period: its month, or its first and last day."""
    if line.period_kind == BudgetLine.PeriodKind.MONTH:
        return str(Month.of(line.start))
    return f"{line.start} – {line.last_day}"
