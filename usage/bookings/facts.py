"""One line to book, read from text: what the form, the file and the API all go through."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import CURRENCIES, exact_text, parse_amount, quantum
from core.vocabulary import CAUSES, TaskType
from teams.models import Project

from ..models import Booking

COLUMNS = (
    "project",
    "category",
    "first_day",
    "last_day",
    "amount",
    "currency",
    "document",
    "key",
    "link",
    "task_type",
    "stage",
    "proposal",
    "note",
)
REQUIRED = ("project", "category", "first_day", "amount", "currency")
LENGTHS = {"document": 120, "key": 120, "link": 500, "stage": 60, "note": 2000}
PROPOSAL = re.compile(r"P-[1-9][0-9]{0,8}")
MOST_DAYS = 3660
MOST_MONEY = Decimal("1e15")
FIRST_DAY = date(2000, 1, 1)


@dataclass(frozen=True)
class BookingFacts:
    """What one line says, checked."""

    project: Project
    category: str
    starts_on: date
    ends_on: date
    amount: Decimal
    currency: str
    document: str = ""
    key: str = ""
    link: str = ""
    task_type: str = ""
    stage: str = ""
    reference: str = ""
    note: str = ""
    repeats: int = 0
    """How many lines of the same file, before this one, say exactly the same."""

    @property
    def kind(self) -> str:
        return Booking.Kind.INVOICE if self.document else Booking.Kind.JOURNAL

    @property
    def last_day(self) -> date:
        return self.ends_on - timedelta(days=1)

    @property
    def content(self) -> str:
        """32 digits of all that the line says."""
        said = {name: str(value) for name, value in vars(self).items() if name not in ("project", "amount", "repeats")}
        return print_of({**said, "project": self.project.pk, "amount": exact_text(self.amount)})

    @property
    def identity(self) -> str:
        """32 digits of what tells the line from others: its document and key; without them all that it says."""
        if self.document and self.key:
            return print_of({"document": self.document.casefold(), "key": self.key.casefold()})
        return print_of({"content": self.content, "repeats": self.repeats})

    def columns(self) -> dict[str, Any]:
        """The columns of `Booking`."""
        values = {name: value for name, value in vars(self).items() if name != "repeats"}
        return {**values, "kind": self.kind, "identity": self.identity, "content": self.content}


def print_of(said: Mapping[str, Any]) -> str:
    text = json.dumps(said, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def read_booking(cells: Mapping[str, str], projects: Mapping[str, Project], *, today: date) -> BookingFacts:
    """A line from its texts; every fault at once, each under the name of its column.

    `projects` are those this person may book on, by short name.
    """
    given = {name: (cells.get(name) or "").strip() for name in COLUMNS}
    reader = _Reader(given, [])
    project = reader.one_of("project", projects)
    first, last = reader.day("first_day", today), reader.day("last_day", today)
    amount, currency = reader.amount(), reader.currency()
    facts: dict[str, Any] = {
        "category": reader.word("category", [str(cause) for cause in CAUSES], needed=True),
        "task_type": reader.word("task_type", [str(task) for task in TaskType]),
        "reference": reader.proposal(),
        **{name: reader.text(name) for name in ("document", "key", "stage", "note")},
        "link": reader.link(),
    }
    reader.period(first, last)
    reader.precision(amount, currency)
    if reader.faults or project is None or first is None or amount is None:
        raise DomainError(_("The line cannot be booked."), code="booking_refused", faults=reader.faults)
    ends_on = (last or first) + timedelta(days=1)
    return BookingFacts(project=project, starts_on=first, ends_on=ends_on, amount=amount, currency=currency, **facts)


@dataclass
class _Reader:
    """Reads the texts of one line and collects what is wrong with them."""

    given: Mapping[str, str]
    faults: list[Fault]

    def refuse(self, name: str, message: str, accepted: str = "") -> None:
        self.faults.append(Fault(name, self.given[name], message, accepted))

    def missing(self, name: str, accepted: str) -> bool:
        if not self.given[name] and name in REQUIRED:
            self.refuse(name, _("is missing"), accepted)
        return not self.given[name]

    def one_of(self, name: str, known: Mapping[str, Project]) -> Project | None:
        accepted = ", ".join(sorted(known)[:20])
        if self.missing(name, accepted):
            return None
        found = known.get(self.given[name])
        if found is None:
            self.refuse(name, _("is no project that you may book on"), accepted)
        return found

    def word(self, name: str, known: list[str], *, needed: bool = False) -> str:
        accepted = ", ".join(known)
        if self.missing(name, accepted):
            return ""
        found = self.given[name].lower()
        if found not in known:
            self.refuse(name, _("is unknown"), accepted)
        return found

    def day(self, name: str, today: date) -> date | None:
        if self.missing(name, "2027-01-31"):
            return None
        try:
            day = date.fromisoformat(self.given[name])
        except ValueError:
            self.refuse(name, _("is no day"), "2027-01-31")
            return None
        if not FIRST_DAY <= day <= today + timedelta(days=MOST_DAYS):
            self.refuse(name, _("is too far away"), f"{FIRST_DAY} – {today + timedelta(days=MOST_DAYS)}")
            return None
        return day

    def period(self, first: date | None, last: date | None) -> None:
        if first is None or last is None:
            return
        if last < first:
            self.refuse("last_day", _("is before the first day"), f"≥ {first}")
        elif (last - first).days > MOST_DAYS:
            self.refuse("last_day", _("is more than ten years after the first day"))

    def amount(self) -> Decimal | None:
        if self.missing("amount", "1234.50"):
            return None
        try:
            amount = parse_amount(self.given["amount"])
        except ValueError:
            self.refuse("amount", _("is no amount in plain digits"), "1234.50, -1234.50")
            return None
        if not amount or abs(amount) >= MOST_MONEY:
            self.refuse("amount", _("must not be zero, and have at most 15 digits before the point"), "1234.50")
        return amount

    def precision(self, amount: Decimal | None, currency: str) -> None:
        if amount is not None and currency in CURRENCIES and abs(amount) < MOST_MONEY and amount % quantum(currency):
            self.refuse(
                "amount",
                _("is finer than the smallest unit of %(currency)s") % {"currency": currency},
                exact_text(quantum(currency)),
            )

    def currency(self) -> str:
        if self.missing("currency", "USD, CNY, EUR …"):
            return ""
        code = self.given["currency"].upper()
        if code not in CURRENCIES:
            self.refuse("currency", _("is no currency of ISO 4217"), "USD, CNY, EUR …")
        return code

    def proposal(self) -> str:
        text = self.given["proposal"].upper()
        if text and not PROPOSAL.fullmatch(text):
            self.refuse("proposal", _("is no number of a proposal"), "P-12")
        return text

    def text(self, name: str) -> str:
        text = self.given[name]
        if len(text) > LENGTHS[name]:
            self.refuse(name, _("is longer than %(most)s characters") % {"most": LENGTHS[name]})
        if "\0" in text:
            self.refuse(name, _("holds a character that is no text"))
        return text

    def link(self) -> str:
        text = self.text("link")
        try:
            parts = urlsplit(text)
        except ValueError:
            parts = urlsplit("")
        if text and (parts.scheme not in ("http", "https") or not parts.netloc):
            self.refuse("link", _("is no web address"), "https://…")
        return text


def numbered(facts: list[BookingFacts]) -> list[BookingFacts]:
    """The lines of one file; of lines that say exactly the same, each knows how many came before it."""
    seen: dict[str, int] = {}
    found = []
    for each in facts:
        before = seen.get(each.content, 0)
        seen[each.content] = before + 1
        found.append(replace(each, repeats=before))
    return found
