"""Keys of rows as addresses and forms write them."""

from __future__ import annotations

MOST_DIGITS = 18
"""Of a key of 64 bits."""


def row_key(text: str) -> int | None:
    """The key that a text names; None for all that is no key: `²`, `１２`, `-1`, or more digits than a key has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
