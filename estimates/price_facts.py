"""A price as it is entered: text turned into a checked fact, or into faults that name the place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from core.money import CURRENCIES, parse_amount

from .models import PriceKind, PriceMode, Verification, unit_of

COLUMNS = (
    "kind",
    "item",
    "provider",
    "region",
    "mode",
    "unit",
    "amount",
    "currency",
    "valid_from",
    "source",
    "verification",
    "withdrawn",
    "reason",
    "note",
)
"""The columns of a price file, in the order in which they are exported."""
REQUIRED = ("kind", "item", "amount", "currency", "valid_from")
LONGEST = {"item": 120, "provider": 60, "region": 60, "source": 400, "reason": 300, "note": 300}
LARGEST_AMOUNT = Decimal(10) ** 12
DECIMALS = 8
YES = {"yes", "true", "1", "y", "是"}
NO = {"no", "false", "0", "n", "", "否"}


@dataclass(frozen=True)
class PriceFacts:
    """One price row to be added. Names are kept as plans ask for them: `item_name`, `name_of`."""

    kind: str
    item: str
    amount: Decimal
    currency: str
    valid_from: date
    provider: str = ""
    region: str = ""
    mode: str = ""
    source: str = ""
    verified: bool = False
    withdrawn: bool = False
    reason: str = ""
    note: str = ""

    @property
    def unit(self) -> str:
        return unit_of(self.kind, self.item).value

    @property
    def offer(self) -> tuple[str, str, str, str, str, str]:
        """What it is a price of."""
        return (self.kind, self.item, self.provider, self.region, self.mode, self.currency)


def read_price(cells: Mapping[str, str], *, place: str = "") -> PriceFacts:
    """Understand the cells of one row; DomainError lists every fault, each at `place` and column."""
    reader = RowReader({name: str(value or "").strip() for name, value in cells.items()}, place)
    facts = reader.read()
    if reader.faults or facts is None:
        raise DomainError(_("This price cannot be used."), code="price_refused", faults=reader.faults)
    return facts


class RowReader:
    """Reads the cells of one row and collects what is wrong with them."""

    def __init__(self, cells: Mapping[str, str], place: str) -> None:
        self.cells = cells
        self.place = place
        self.faults: list[Fault] = []

    def read(self) -> PriceFacts | None:
        for name in REQUIRED:
            if not self.cell(name) and not (name == "amount" and self.cell("withdrawn").lower() in YES):
                self.fault(name, _("is missing"), _("a value in every row"))
        for name, longest in LONGEST.items():
            if len(self.cell(name)) > longest:
                self.fault(name, _("is too long"), _("at most %(longest)s characters") % {"longest": longest})
        kind = self.choice("kind", PriceKind.values)
        mode = self.choice("mode", ["", *PriceMode.values])
        verification = self.choice("verification", ["", *Verification.values])
        withdrawn = self.yes_or_no("withdrawn")
        amount, currency, valid_from = self.amount(), self.currency(), self.day("valid_from")
        item = item_name(kind, self.cell("item"))
        self.check_unit(kind, item)
        if withdrawn and not self.cell("reason"):
            self.fault("reason", _("is missing"), _("why the offer is withdrawn"))
        if self.faults or amount is None or valid_from is None:
            return None
        return PriceFacts(
            kind=kind,
            item=item,
            provider=name_of(self.cell("provider")),
            region=name_of(self.cell("region")),
            mode=mode,
            amount=amount,
            currency=currency,
            valid_from=valid_from,
            source=self.cell("source"),
            verified=verification == Verification.VERIFIED,
            withdrawn=withdrawn,
            reason=self.cell("reason"),
            note=self.cell("note"),
        )

    def cell(self, name: str) -> str:
        return self.cells.get(name, "")

    def fault(self, name: str, message: str, accepted: str) -> None:
        path = f"{self.place}, {name}" if self.place else name
        if all(known.path != path for known in self.faults):
            self.faults.append(Fault(path, self.cell(name), message, accepted))

    def choice(self, name: str, allowed: list[str]) -> str:
        value = self.cell(name).lower()
        if value not in allowed:
            self.fault(name, _("is not known"), ", ".join(word for word in allowed if word))
        return value

    def yes_or_no(self, name: str) -> bool:
        value = self.cell(name).lower()
        if value not in YES | NO:
            self.fault(name, _("is neither yes nor no"), "yes, no")
        return value in YES

    def amount(self) -> Decimal | None:
        text = self.cell("amount")
        accepted = _("an amount such as 2.29: digits and a point, zero or more, at most 8 decimals")
        if not text:
            return Decimal(0)
        try:
            amount = parse_amount(text)
        except ValueError:
            self.fault("amount", _("is not an amount"), accepted)
            return None
        exponent = amount.as_tuple().exponent
        if amount < 0 or amount >= LARGEST_AMOUNT or (isinstance(exponent, int) and -exponent > DECIMALS):
            self.fault("amount", _("is not an amount a price can have"), accepted)
            return None
        return amount

    def currency(self) -> str:
        code = self.cell("currency").upper()
        if code not in CURRENCIES:
            self.fault("currency", _("is not a currency"), _("a code of ISO 4217 such as USD or CNY"))
        return code

    def day(self, name: str) -> date | None:
        try:
            return date.fromisoformat(self.cell(name))
        except ValueError:
            self.fault(name, _("is not a date"), _("a date such as 2027-01-31"))
            return None

    def check_unit(self, kind: str, item: str) -> None:
        given = self.cell("unit")
        if kind in PriceKind.values and given and given != unit_of(kind, item):
            self.fault("unit", _("is not the unit of this kind"), unit_of(kind, item).value)


def item_name(kind: str, text: str) -> str:
    """An item as plans ask for it: a role in small letters, everything else as `name_of`."""
    return " ".join(text.lower().split()) if kind == PriceKind.ROLE else name_of(text)


def name_of(text: str) -> str:
    """A name as plans and the catalogue write it: small letters, `-` for blanks."""
    return "-".join(text.lower().split())
