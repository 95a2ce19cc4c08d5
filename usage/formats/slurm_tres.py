"""What a Slurm allocation held: cards, slices of MIG, and shares of cards that others hold too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from core.money import EXACT

from ..reading.faults import RowFault

GPU = re.compile(r"gres/gpu(?::(.+))?")
SHARE = re.compile(r"gres/(shard|mps)(?::(.+))?")
MPS_OF_A_CARD = Decimal(100)
"""https://slurm.schedmd.com/gres.html: a count of 100 is one GPU."""
SLICE = re.compile(r"[0-9]+g\.[0-9]+gb")
"""A MIG slice is a type of its own and no whole card."""
COUNT = re.compile(r"[0-9]{1,9}")


class Tres(NamedTuple):
    """What an allocation held; None where nobody says. Shards and MPS are of cards that others hold too."""

    cards: int | None = None
    accelerator: str = ""
    slices: int = 0
    cores: int | None = None
    shards: int = 0
    mps: int = 0
    """Hundredths of a card."""

    def held(self, shares_per_card: int | None) -> Decimal | None:
        """Cards, or the fraction of one that shares are; None where nobody says."""
        if self.cards or not (self.shards or self.mps):
            return None if self.cards is None else Decimal(self.cards)
        if self.shards and shares_per_card is None:
            return None
        of_mps = EXACT.divide(Decimal(self.mps), MPS_OF_A_CARD)
        return EXACT.add(of_mps, EXACT.divide(Decimal(self.shards), Decimal(shares_per_card or 1)))


def tres_of(held: Mapping[str, str], column: str) -> Tres:
    """Cards from `{"cpu": "64", "gres/gpu": "8", "gres/gpu:h100": "8"}`: the plain count wins over the typed ones."""
    plain: int | None = None
    typed: dict[str, int] = {}
    slices: dict[str, int] = {}
    shares: dict[str, dict[str, int]] = {"shard": {}, "mps": {}}
    for name, count in held.items():
        if share := SHARE.fullmatch(name):
            shares[share.group(1)][share.group(2) or ""] = count_of(count, f"{name}={count}", column)
        elif match := GPU.fullmatch(name):
            number = count_of(count, f"{name}={count}", column)
            kind = match.group(1)
            if kind is None:
                plain = number
            else:
                (slices if SLICE.search(kind) else typed)[kind] = number
    cores = count_of(held["cpu"], f"cpu={held['cpu']}", column) if "cpu" in held else None
    cards = plain if plain is not None else sum(typed.values()) if held else None
    named = typed or slices or {kind for found in shares.values() for kind in found if kind}
    counts = {name: found.get("", sum(found.values())) for name, found in shares.items()}
    return Tres(cards, "+".join(sorted(named)), sum(slices.values()), cores, counts["shard"], counts["mps"])


def asked_for(held: Mapping[str, str], column: str) -> Tres | None:
    """What a job asked for; None where it cannot be read, for nothing is paid by it."""
    try:
        return tres_of(held, column)
    except RowFault:
        return None


def counts_in(text: str) -> dict[str, str]:
    """`cpu=64,gres/gpu=8` as a mapping."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    return {name: count for name, _equals, count in pairs}


def count_of(text: str, shown: str, column: str) -> int:
    """A count of cards or cores; `shown` stands in the refusal of anything else."""
    if not COUNT.fullmatch(text):
        raise RowFault(column, shown, "is not a count of resources")
    return int(text)
