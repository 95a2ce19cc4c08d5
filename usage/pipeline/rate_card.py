"""Money of quantities that no bill carries: accelerator-hours at the price of the day of use.

What a price is asked for comes from the source's setting `rate_card` (by partition, else by the accelerator as the log
names it), else from the catalogue's names of accelerators. Without a price there is no money, and it is said.
Days of a closed month keep the prices that were known when it was closed; later ones reach open months only.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from core.money import EXACT, exact_text
from core.months import Month
from estimates.engine.books import PriceBook, PriceKey, PriceRow
from estimates.models import Price
from estimates.queries import accelerator_names, price_book
from teams.models import ClosedMonth, Organisation

from ..delivery import Settings
from ..formats.contract import Keys, Row
from ..reading.notes import Notes

PLACES = Decimal(1).scaleb(-30)
COST_PLACES = Decimal(1).scaleb(-18)
SLICE = re.compile(r"[-_ ]?[0-9]+g\.[0-9]+gb$")
"""The part of an accelerator's name that says which slice of it; prices are of the whole."""
USUAL_MODE = "own"
"""How a cluster without a bill was acquired, where the setting does not say."""


class RateCard:
    """Prices rows of one delivery."""

    def __init__(self, settings: Settings, notes: Notes) -> None:
        organisation = Organisation.current()
        self._offers = {name.casefold(): offer for name, offer in settings.rate_card.items()}
        self._notes = notes
        self._currency = settings.currency or organisation.currency
        self._zone = organisation.zone
        self._book = price_book()
        self._names = accelerator_names()
        self._closed = dict(ClosedMonth.objects.values_list("month", "closed_at"))
        self._books: dict[date, PriceBook] = {}
        self._found: dict[tuple[PriceKey, date], PriceRow | None] = {}
        self._missing: dict[PriceKey, date] = {}
        self._asked: set[PriceKey] = set()
        self._newest = max((row.sequence for row in self._book.rows), default=0)

    @property
    def currency(self) -> str:
        return self._currency

    def amount_on(self, key: PriceKey, day: date) -> Decimal | None:
        """The price of one accelerator-hour on a day; None where there is none."""
        price = self._price(key, day)
        return None if price is None else price.amount

    @property
    def digest(self) -> bytes:
        """Changes whenever a row could get another price."""
        closed = sorted((month.isoformat(), at.isoformat()) for month, at in self._closed.items())
        text = f"{self._newest} {len(self._book.rows)} {closed} {self._currency} {sorted(self._offers.items())}"
        return hashlib.blake2b(text.encode(), digest_size=16).digest()

    @property
    def told(self) -> dict[str, Any]:
        """For the import's answer: what had no price, and what was asked of a price table up to which row."""
        asked = sorted(key.as_list() for key in self._asked)
        return {"price_missing": self._missing_keys(), "rated": {"newest_price": self._newest, "keys": asked}}

    def _missing_keys(self) -> list[dict[str, Any]]:
        """What had no price, with the first day it was needed on."""
        return [
            {
                "kind": key.kind,
                "item": key.item,
                "provider": key.provider,
                "region": key.region,
                "mode": key.mode,
                "currency": key.currency,
                "day": day.isoformat(),
            }
            for key, day in sorted(self._missing.items(), key=lambda pair: pair[0].as_list())
        ]

    def key_of(self, keys: Keys) -> PriceKey:
        """What the rows of a key set ask the price table for."""
        card = SLICE.sub("", keys.accelerator)
        named = (self._offers.get(name.casefold()) for name in (keys.partition, keys.accelerator, card, "*") if name)
        written = next((offer for offer in named if offer), "") or card or keys.partition
        item, mode, provider, region = [*written.split("/", 3), "", "", ""][:4]
        known = self._names.get("-".join(item.lower().split()), item)
        key = PriceKey("accelerator", known, provider, region, mode or USUAL_MODE, self._currency)
        self._asked.add(key)
        return key

    def priced(self, row: Row, key: PriceKey, accelerator_hours: str | None) -> Row:
        """The row with its cost; without one where it held no accelerator, or where a price is missing."""
        bare = row._replace(currency="", billed=None, effective=None, list_cost=None, contracted=None)
        if accelerator_hours in (None, "0"):
            return bare
        cost = self._cost(row, key, Decimal(accelerator_hours))
        if cost is None:
            return bare
        text = exact_text(cost)
        return bare._replace(currency=self._currency, billed=text, effective=text)

    def _cost(self, row: Row, key: PriceKey, hours: Decimal) -> Decimal | None:
        start, end = datetime.fromisoformat(row.usage_start), datetime.fromisoformat(row.usage_end)
        total = Decimal(0)
        for day, part in self._parts(key, start, end, hours):
            price = self._price(key, day)
            if price is None:
                return None
            total = EXACT.add(total, EXACT.multiply(part, price.amount))
        return total.quantize(COST_PLACES, context=EXACT)

    def _parts(self, key: PriceKey, start: datetime, end: datetime, hours: Decimal) -> Iterator[tuple[date, Decimal]]:
        """The hours by the first day of each stretch in which the price cannot change; they add up to the whole."""
        first, last = start.astimezone(self._zone).date(), end.astimezone(self._zone).date()
        changes = [day for day in self._changes(key, first) if day <= last] if first != last else []
        seconds = Decimal((end - start).total_seconds())
        begun, left = first, hours
        moment = start
        for day in changes:
            midnight = datetime(day.year, day.month, day.day, tzinfo=self._zone)
            if midnight >= end:
                break
            share = EXACT.divide(Decimal((midnight - moment).total_seconds()), seconds)
            part = EXACT.multiply(hours, share).quantize(PLACES, context=EXACT)
            yield begun, part
            begun, moment, left = day, midnight, EXACT.subtract(left, part)
        yield begun, left

    def _changes(self, key: PriceKey, after: date) -> list[date]:
        """Days after one on which a price starts, or a closed month begins or ends."""
        months = [Month.of(month) for month in self._closed]
        edges = {day for month in months for day in (month.start, month.end) if day > after}
        return sorted(edges | set(self._book.changes(key, after)))

    def _price(self, key: PriceKey, day: date) -> PriceRow | None:
        if (key, day) in self._found:
            return self._found[key, day]
        price = self._found[key, day] = self._book_of(day).on(key, day)
        if price is None:
            self._missing[key] = min(day, self._missing.get(key, day))
        elif not price.verified:
            self._notes.warn("price_unverified", detail=f"{key.item} {key.mode}")
        return price

    def _book_of(self, day: date) -> PriceBook:
        """The prices that count on a day: of a closed month those entered before it was closed."""
        month = Month.of(day).start
        closed_at = self._closed.get(month)
        if closed_at is None:
            return self._book
        if month not in self._books:
            known = set(Price.objects.filter(entered_at__lte=closed_at).values_list("id", flat=True))
            self._books[month] = PriceBook(row for row in self._book.rows if row.id in known)
        return self._books[month]
