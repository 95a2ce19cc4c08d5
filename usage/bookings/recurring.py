"""Changes to recurring costs: begun, ended, drafted month by month, corrected and confirmed by finance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import EXACT, exact_text, round_money, split
from core.months import Month
from estimates.engine.books import PriceBook, PriceKey
from estimates.queries import price_book
from teams import activity, permissions
from teams.models import Organisation, Project, User

from ..models import Booking, MonthDraft, RecurringBooking
from ..pipeline.swap import lock_source
from .facts import print_of
from .files import canonical
from .posting import manual_source, post

Basis = RecurringBooking.Basis
KINDS = {
    Basis.ROLE: Booking.Kind.PEOPLE,
    Basis.TARIFF: Booking.Kind.POWER,
    Basis.DEPRECIATION: Booking.Kind.HARDWARE,
    Basis.AMOUNT: Booking.Kind.REGULAR,
}
PRICED = {Basis.ROLE: ("role", "fte-month"), Basis.TARIFF: ("electricity", "kWh")}
"""What is asked of the price table, and the unit of its price."""
NEEDED = {
    Basis.ROLE: ("item", "quantity"),
    Basis.TARIFF: ("item", "quantity"),
    Basis.DEPRECIATION: ("capital", "residual", "life_months"),
    Basis.AMOUNT: ("amount",),
}
MOST_QUANTITY = {Basis.ROLE: Decimal(10_000), Basis.TARIFF: Decimal(10) ** 12}
MOST_LIFE = 240
MOST_MONTHS_BACK = 36


@dataclass(frozen=True)
class Reckoned:
    """What one month comes to. No amount: the price table has no price."""

    rate: Decimal | None
    amount: Decimal | None


def price_key(item: RecurringBooking) -> PriceKey:
    return PriceKey(PRICED[Basis(item.basis)][0], item.item, "", "", "", item.currency)


def reckoned(item: RecurringBooking, month: Month, quantity: Decimal | None, book: PriceBook) -> Reckoned:
    """One month of a recurring cost, in whole smallest units. A machine's months add up to its loss of value."""
    if item.basis == Basis.AMOUNT:
        return Reckoned(None, item.amount)
    if item.basis == Basis.DEPRECIATION:
        loss = EXACT.subtract(item.capital or Decimal(0), item.residual or Decimal(0))
        parts = split(loss, [1] * (item.life_months or 1), item.currency)
        return Reckoned(None, parts[month - Month.of(item.starts_on)])
    price = book.on(price_key(item), month.start)
    if price is None or quantity is None:
        return Reckoned(None, None)
    return Reckoned(price.amount, round_money(EXACT.multiply(price.amount, quantity), item.currency))


@transaction.atomic
def add_recurring(item: RecurringBooking, *, by: User | None, now: datetime | None = None) -> RecurringBooking:
    """Begin a recurring cost, and draft its months up to this one."""
    moment = now or timezone.now()
    project = (
        Project.objects.select_related("team").select_for_update(of=("self",), no_key=True).get(pk=item.project_id)
    )
    if by is not None and not permissions.may_book(by, project.team):
        raise NotAllowed(_("Only finance and managers of the team write down recurring costs."))
    check_recurring(item, Organisation.current().today(moment))
    item.item, item.created_by = item.item.strip().lower(), by
    item.save()
    activity.record("recurring.added", by=by, project=project, subject=item, name=item.name, start=item.starts_on)
    _draft([item], Organisation.current().today(moment))
    return item


def check_recurring(item: RecurringBooking, today: date) -> None:
    """Every fault at once."""
    faults = []
    if not item.name.strip():
        faults.append(Fault("name", item.name, _("is missing")))
    for name in NEEDED[Basis(item.basis)]:
        if getattr(item, name) in (None, ""):
            faults.append(Fault(name, getattr(item, name), _("is missing")))
    most = MOST_QUANTITY.get(Basis(item.basis))
    if most and item.quantity is not None and not 0 < item.quantity <= most:
        faults.append(Fault("quantity", exact_text(item.quantity), _("must be more than zero"), f"≤ {most}"))
    faults += _faults_of_depreciation(item) if item.basis == Basis.DEPRECIATION else []
    if item.amount is not None and (item.amount <= 0 or round_money(item.amount, item.currency) != item.amount):
        faults.append(Fault("amount", exact_text(item.amount), _("must be more than zero, in whole smallest units")))
    if item.starts_on < (Month.of(today) + -MOST_MONTHS_BACK).start:
        faults.append(
            Fault("starts_on", str(item.starts_on), _("is more than three years ago: book earlier months by hand"))
        )
    if item.ends_on and item.ends_on <= item.starts_on:
        faults.append(Fault("ends_on", str(item.ends_on), _("is before the first month")))
    if faults:
        raise DomainError(_("The recurring cost cannot be kept."), code="recurring_refused", faults=faults)


def _faults_of_depreciation(item: RecurringBooking) -> list[Fault]:
    faults = []
    if item.capital is not None and item.residual is not None and not 0 <= item.residual < item.capital:
        faults.append(
            Fault("residual", exact_text(item.residual), _("must be less than the price, and not below zero"))
        )
    if item.life_months is not None and not 0 < item.life_months <= MOST_LIFE:
        faults.append(Fault("life_months", item.life_months, _("must be between 1 and 240")))
    return faults


@transaction.atomic
def end_recurring(item: RecurringBooking, *, by: User, last_month: Month) -> RecurringBooking:
    """The cost comes for the last time in a month. Drafts of later months go; what is booked is reversed by hand."""
    row = RecurringBooking.objects.select_for_update(of=("self",)).select_related("project__team").get(pk=item.pk)
    if not permissions.may_book(by, row.project.team):
        raise NotAllowed(_("Only finance and managers of the team end recurring costs."))
    end = (last_month + 1).start
    if end < row.starts_on:
        raise DomainError(_("It cannot end before it began."), faults=[Fault("last_month", str(last_month), "")])
    booked = row.drafts.filter(booking__isnull=False, month__gte=end).order_by("month").first()
    if booked is not None:
        message = _("%(month)s is booked already: reverse it first.") % {"month": Month.of(booked.month)}
        raise DomainError(message, faults=[Fault("last_month", str(last_month), message)])
    row.ends_on = end
    row.save(update_fields=["ends_on"])
    row.drafts.filter(month__gte=end).delete()
    activity.record("recurring.ended", by=by, project=row.project, subject=row, name=row.name, end=last_month.start)
    return row


@transaction.atomic
def draft_months(*, now: datetime) -> int:
    """Draft what is missing of every recurring cost up to this month, and reckon what waits anew; may run twice.

    Answers how many drafts are new or changed.
    """
    today = Organisation.current().today(now)
    begun = RecurringBooking.objects.running_in(Month.of(today))
    return _draft(list(begun.select_for_update(of=("self",), no_key=True).order_by("pk")), today)


def _draft(items: list[RecurringBooking], today: date) -> int:
    book = price_book()
    known = {
        (draft.recurring_id, draft.month): draft
        for draft in MonthDraft.objects.select_for_update(of=("self",)).filter(recurring__in=items).order_by("pk")
    }
    new, changed = [], []
    for item in items:
        for month in months_of(item, today):
            draft = known.get((item.pk, month.start))
            if draft is None:
                found = reckoned(item, month, item.quantity, book)
                new.append(
                    MonthDraft(
                        recurring=item, month=month.start, quantity=item.quantity, rate=found.rate, amount=found.amount
                    )
                )
            elif draft.booking_id is None:
                found = reckoned(item, month, draft.quantity, book)
                if (draft.rate, draft.amount) != (found.rate, found.amount):
                    draft.rate, draft.amount = found.rate, found.amount
                    changed.append(draft)
    MonthDraft.objects.bulk_create(new)
    MonthDraft.objects.bulk_update(changed, ["rate", "amount"])
    return len(new) + len(changed)


def months_of(item: RecurringBooking, today: date) -> list[Month]:
    """The months in which it comes, up to and with the current one."""
    month, found = Month.of(item.starts_on), []
    while month.start <= today and (item.end is None or month.start < item.end):
        found.append(month)
        month += 1
    return found


@transaction.atomic
def edit_draft(draft: MonthDraft, *, by: User, quantity: Decimal, reason: str) -> MonthDraft:
    """Another number of persons, or of kWh, in one month, with the reason."""
    row = MonthDraft.objects.select_for_update(of=("self",)).select_related("recurring__project__team").get(pk=draft.pk)
    if not permissions.may_confirm_bookings(by):
        raise NotAllowed(_("Only finance changes a month."))
    if row.booking_id is not None:
        raise DomainError(_("The month is booked: reverse the booking first."))
    most = MOST_QUANTITY.get(Basis(row.recurring.basis))
    if most is None:
        raise DomainError(_("This cost has no quantity that could differ."))
    if not 0 < quantity <= most:
        message = _("must be more than zero")
        raise DomainError(message, faults=[Fault("quantity", exact_text(quantity), message, f"≤ {most}")])
    if not reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    found = reckoned(row.recurring, Month.of(row.month), quantity, price_book())
    before, row.quantity, row.rate, row.amount = row.quantity, quantity, found.rate, found.amount
    row.edited_by, row.edit_reason = by, reason.strip()
    row.save()
    activity.record(
        "recurring.edited",
        by=by,
        project=row.recurring.project,
        subject=row.recurring,
        name=row.recurring.name,
        month=str(Month.of(row.month)),
        old=before,
        new=quantity,
        reason=reason.strip(),
    )
    return row


@transaction.atomic
def confirm_months(seen: Mapping[int, Decimal], *, by: User, now: datetime | None = None) -> list[Booking]:
    """Book the drafts that finance looked at, all or none. `seen` holds the amount that was shown for each."""
    moment = now or timezone.now()
    source = manual_source()
    lock_source(source.pk)
    if not permissions.may_confirm_bookings(by):
        raise NotAllowed(_("Only finance confirms recurring costs."))
    today = Organisation.current().today(moment)
    drafts = list(
        MonthDraft.objects.due(today)
        .select_for_update(of=("self",))
        .select_related("recurring__project__team")
        .filter(pk__in=seen)
        .order_by("pk")
    )
    if len(drafts) < len(seen) or any(draft.amount is None or draft.amount != seen[draft.pk] for draft in drafts):
        raise DomainError(_("Something changed since you looked: look again, then confirm."), code="changed")
    if not drafts:
        raise DomainError(_("There is nothing to confirm."))
    bookings = [_booking_of(draft) for draft in drafts]
    months = sorted({str(Month.of(draft.month)) for draft in drafts})
    name = _("recurring costs %(months)s") % {"months": ", ".join(months)}
    post(bookings, source, by=by, name=name, content=canonical(bookings), now=moment)
    for draft, booking in zip(drafts, bookings, strict=True):
        draft.booking = booking
    MonthDraft.objects.bulk_update(drafts, ["booking"])
    for project in {booking.project for booking in bookings}:
        own = [booking for booking in bookings if booking.project == project]
        activity.record("recurring.confirmed", by=by, project=project, lines=len(own), months=", ".join(months))
    return bookings


def _booking_of(draft: MonthDraft) -> Booking:
    item, month = draft.recurring, Month.of(draft.month)
    said = print_of({"draft": draft.pk})
    return Booking(
        kind=KINDS[Basis(item.basis)],
        project=item.project,
        category=item.category,
        task_type=item.task_type,
        stage=item.stage,
        reference=item.reference,
        starts_on=month.start,
        ends_on=month.end,
        amount=draft.amount,
        currency=item.currency,
        item=item.item or item.name,
        quantity=draft.quantity,
        unit=PRICED.get(Basis(item.basis), ("", ""))[1],
        note=" · ".join(part for part in (item.name, draft.edit_reason) if part),
        identity=said,
        content=said,
    )
