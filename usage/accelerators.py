"""Accelerators behind a row: by what the row says, else by the catalogue of instance types. Never by a substring."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path

from core.vocabulary import ChargeCategory

from .reading.notes import Notes

CATALOGUE = Path(__file__).parent / "catalogue" / "instance_types.csv"
HOURS = frozenset(["hour", "hours", "hrs", "hr", "h", "1 hour", "instance hours", "instance-hours", "compute hours"])
ACCELERATED = ("p2.", "p3", "p4", "p5", "p6", "g4", "g5", "g6", "trn", "inf", "standard_n", "a2-", "a3-", "a4-", "g2-")
"""Beginnings of instance types that are known to carry accelerators of some kind: worth a warning if not listed."""


@dataclass(frozen=True)
class Accelerators:
    """How many cards of which type one unit holds; no count where nobody says."""

    slug: str = ""
    count: Decimal | None = None
    by_the_hour: bool = False
    """The row's quantity is hours, so that cards × quantity are accelerator-hours."""


NOTHING = Accelerators()


@cache
def instance_types() -> dict[str, tuple[str, Decimal]]:
    """The catalogue: instance type → accelerator and number of cards."""
    with CATALOGUE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {row["instance_type"].casefold(): (row["accelerator"], Decimal(row["count"])) for row in rows}


def accelerators_of(
    instance_type: str,
    *,
    unit: str,
    charge_category: str,
    notes: Notes,
    count: Decimal | None = None,
) -> Accelerators:
    """Cards of an instance, on usage rows counted in hours only: a licence or a tax may name the instance too."""
    name = instance_type.strip().casefold()
    known = instance_types().get(name)
    if count is None and known is None:
        if name.startswith(ACCELERATED):
            notes.warn("instance_type_unknown", detail=instance_type)
        return NOTHING
    slug = known[0] if known else instance_type.strip()
    cards = count if count is not None else known[1] if known else None
    by_the_hour = charge_category == ChargeCategory.USAGE and unit.strip().casefold() in HOURS
    return Accelerators(slug=slug if cards else "", count=cards, by_the_hour=by_the_hour and bool(cards))
