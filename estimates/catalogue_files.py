"""The catalogue the product ships with: published facts, each with its source, date and verification mark."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .price_facts import PriceFacts, read_price

FOLDER = Path(__file__).parent / "catalogue"
TEXT = ("slug", "name", "vendor", "source", "verification", "note")


def shipped_accelerators() -> list[dict[str, Any]]:
    """The columns of each accelerator; figures that are not known are left out."""
    return [
        {
            **{name: value for name, value in row.items() if name in TEXT or (name != "aliases" and value)},
            "aliases": row["aliases"].split(),
        }
        for row in _rows("accelerators.csv")
    ]


def shipped_prices() -> list[PriceFacts]:
    return [read_price(row) for row in _rows("prices.csv")]


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
