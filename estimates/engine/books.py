"""Prices and accelerators as the engine sees them: immutable rows, and the rules by which one of them is picked.

A price row has no end. The price of an offer on a day is the latest row that starts on or before the day; of those
with the same start, the one entered last. An offer whose latest row is withdrawn has no price. Between several
offers, verified ones win over unverified ones, and of those left the middle one by amount is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

KINDS = {
    "accelerator": "accelerator-hour",
    "instance": "instance-hour",
    "storage": "GB-month",
    "network": "GB",
    "electricity": "kWh",
    "role": "fte-month",
    "purchase": "accelerator",
}
"""What can have a price, and the usual unit of it."""

STORAGE_ITEMS = ("hot", "archive")
NETWORK_ITEMS = ("cross_region", "cross_zone", "egress", "peak_bandwidth")
"""What the engine asks the price table for: by grade, not by the provider's product name. The unit of `peak_bandwidth`
is Gbit/s-month. The item of an accelerator, and of a purchase, is its slug; of an instance its name; of a role its
name in lower case; of electricity `industrial`."""

MODES = ("on_demand", "committed", "spot", "own", "")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp8", "int8", "fp4")


@dataclass(frozen=True)
class PriceRow:
    """One fact about a price, with where it comes from and how far it was verified."""

    id: int | str
    kind: str
    item: str
    provider: str
    region: str
    mode: str
    unit: str
    amount: Decimal
    currency: str
    valid_from: date
    source: str = ""
    verified: bool = False
    withdrawn: bool = False
    sequence: int = 0


class PriceKey(NamedTuple):
    """What an estimate asked a price for. An empty provider or region asks for any."""

    kind: str
    item: str
    provider: str
    region: str
    mode: str
    currency: str

    def matches(self, row: PriceRow) -> bool:
        """Whether a row answers this question, on any day. This is also how an estimate is found to be affected."""
        return (
            row.kind == self.kind
            and row.item == self.item
            and row.mode == self.mode
            and row.currency == self.currency
            and self.provider in ("", row.provider)
            and self.region in ("", row.region)
        )

    def as_list(self) -> list[str]:
        return list(self)


MOST_ANSWERED = 20_000


@dataclass(frozen=True)
class PriceBook:
    """All rows that may be used. Announced rows (starting later) belong in it: a run is priced month by month."""

    rows: tuple[PriceRow, ...]
    index: Mapping[tuple[str, str, str, str], tuple[PriceRow, ...]] = field(init=False, repr=False, compare=False)
    answered: dict[tuple[PriceKey, date], PriceRow | None] = field(init=False, repr=False, compare=False)
    """Questions that were put before: thousands of plans ask the same few."""

    def __init__(self, rows: Iterable[PriceRow] = ()) -> None:
        object.__setattr__(self, "rows", tuple(rows))
        index: dict[tuple[str, str, str, str], list[PriceRow]] = {}
        for row in self.rows:
            index.setdefault((row.kind, row.item, row.mode, row.currency), []).append(row)
        object.__setattr__(self, "index", {key: tuple(found) for key, found in index.items()})
        object.__setattr__(self, "answered", {})

    def answers(self, key: PriceKey) -> list[PriceRow]:
        """Every row that answers the key, whatever its start."""
        found = self.index.get((key.kind, key.item, key.mode, key.currency), ())
        return [row for row in found if key.matches(row)]

    def on(self, key: PriceKey, day: date) -> PriceRow | None:
        """The row in force on a day, or None where there is no price.

        Verified offers win over unverified ones; of several the middle one by amount (the lower of two).
        """
        if (key, day) not in self.answered:
            if len(self.answered) >= MOST_ANSWERED:
                self.answered.clear()
            self.answered[key, day] = self._on(key, day)
        return self.answered[key, day]

    def _on(self, key: PriceKey, day: date) -> PriceRow | None:
        latest: dict[tuple[str, str], PriceRow] = {}
        for row in self.answers(key):
            offer = (row.provider, row.region)
            known = latest.get(offer)
            if row.valid_from <= day and (known is None or _is_later(row, known)):
                latest[offer] = row
        offers = [row for row in latest.values() if not row.withdrawn]
        candidates = [row for row in offers if row.verified] or offers
        if not candidates:
            return None
        candidates.sort(key=lambda row: (row.amount, row.provider, row.region, str(row.id)))
        return candidates[(len(candidates) - 1) // 2]

    def changes(self, key: PriceKey, after: date) -> list[date]:
        """The days after `after` on which a row that answers the key starts, in order."""
        return sorted({row.valid_from for row in self.answers(key) if row.valid_from > after})


def _is_later(row: PriceRow, known: PriceRow) -> bool:
    return (row.valid_from, row.sequence) > (known.valid_from, known.sequence)


@dataclass(frozen=True)
class AcceleratorSpec:
    """One kind of accelerator. Peaks are dense TFLOPS by precision; what is not known is absent, never guessed."""

    slug: str
    name: str
    vendor: str
    memory_gb: float | None
    bandwidth_gbs: float | None
    peaks: Mapping[str, float]
    board_w: float | None = None
    interconnect_gbs: float | None = None
    aliases: tuple[str, ...] = ()
    """Other names by which plans may call it."""


@dataclass(frozen=True)
class AcceleratorBook:
    """The catalogue of accelerators by slug, and by the other names that are nobody's slug."""

    specs: tuple[AcceleratorSpec, ...]
    index: Mapping[str, AcceleratorSpec] = field(init=False, repr=False, compare=False)

    def __init__(self, specs: Iterable[AcceleratorSpec] = ()) -> None:
        object.__setattr__(self, "specs", tuple(specs))
        others = {alias: spec for spec in reversed(self.specs) for alias in spec.aliases}
        object.__setattr__(self, "index", others | {spec.slug: spec for spec in self.specs})

    def find(self, slug: str) -> AcceleratorSpec | None:
        return self.index.get(slug)
