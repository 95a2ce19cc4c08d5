"""What no meter sees in the example organisation: people on projects, month by month, and an invoice of power."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from budgets.models import BudgetLine, Proposal
from budgets.queries import line_status
from core.months import Month
from core.vocabulary import Category
from teams.models import Project, User
from usage.bookings.recurring import add_recurring, confirm_months
from usage.bookings.services import book_line
from usage.models import MonthDraft, RecurringBooking

MONTHS = 3
RATES = {"USD": Decimal(14500), "CNY": Decimal(62000)}
"""Of a research engineer, as the agreement of the example says."""


def book_people(told: Sequence[tuple[Project, Proposal, Decimal]], finance: User, now: datetime) -> None:
    """People of each project, so many that its line is spent to a share by the end of this month; finance has confirmed
    the months before, but for the last month of the last project."""
    first = Month.of(now.date()) + -(MONTHS - 1)
    for project, proposal, share in told:
        line = BudgetLine.objects.get(project=project, category=Category.PEOPLE_PLATFORM)
        monthly = line_status(line).budget * share / MONTHS
        people = max((monthly / RATES[project.currency]).quantize(Decimal("0.1")), Decimal("0.1"))
        item = RecurringBooking(
            basis=RecurringBooking.Basis.ROLE,
            name="Research engineers",
            project=project,
            category=Category.PEOPLE_PLATFORM,
            reference=proposal.reference,
            currency=project.currency,
            item="research engineer",
            quantity=people,
            starts_on=first.start,
        )
        add_recurring(item, by=finance, now=now)
    last = (Month.of(now.date()) + -1).start
    before = MonthDraft.objects.waiting().filter(month__lte=last)
    kept_waiting = before.filter(month=last, recurring__project=told[-1][0])
    drafts = before.exclude(pk__in=kept_waiting.values("pk"))
    confirm_months({draft.pk: draft.amount for draft in drafts if draft.amount}, by=finance, now=now)


def book_invoices(project: Project, finance: User, now: datetime) -> None:
    """An invoice of power for one project."""
    month = Month.of(now.date()) + -1
    book_line(
        {
            "project": project.slug,
            "category": Category.POWER_FACILITY,
            "first_day": month.start.isoformat(),
            "last_day": f"{month}-{month.days}",
            "amount": "3180.40",
            "currency": project.currency,
            "document": f"POWER-{month}",
            "key": "1",
            "note": "Power and cooling of the evaluation rack",
        },
        by=finance,
        now=now,
    )
