"""Text as the database takes it."""

from __future__ import annotations


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which PostgreSQL cannot hold."""
    return text.replace("\0", "\u2400").encode("utf-8", "replace").decode()
