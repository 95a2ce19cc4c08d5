"""Numbers of bills: exact text in, exact text out; never through a float.

PostgreSQL reads the text itself, so a number that is already plain is passed on as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from core.money import exact_text

from .faults import RowFault

NULLS = frozenset(["", "NULL", "null", "(null)", "None", "''", "-", "--"])
"""Whole values that stand for nothing. Zero is a value."""

_SHORTEST = r"(?:0|-?(?:[1-9][0-9]{0,49}|0(?=\.))(?:\.[0-9]{0,48}[1-9])?)"
CANONICAL = re.compile(_SHORTEST).fullmatch
"""A number in its one shortest spelling: `0`, `13`, `-0.25`; not `-0`, `1.50`, `.5`."""
ALL_CANONICAL = re.compile(rf"{_SHORTEST}(?:\|{_SHORTEST})*").fullmatch
"""Several such numbers, joined by `|`: one look instead of many."""
FOCUS_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:E-?[0-9]{1,3})?")
NATIVE_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
MOST_DIGITS = 60
"""More is no amount but an attack on the reader."""

SYMBOLS = re.compile(r"[$€£¥￥\s\u00a0]|CNY|USD|EUR")
MONEY_TEXTS = {
    "plain": "plain",
    "us": "us",
    "symbols": "us",
    "1,234.56": "us",
    "true": "us",
    "yes": "us",
    "1": "us",
    "eu": "eu",
    "1.234,56": "eu",
}
"""Spellings of the setting `money_text` and what each means."""

NumberReader = Callable[[str, str], str | None]


def number_reader(*, money_text: str = "plain", native: bool = False) -> NumberReader:
    """A function of (text, column) that answers the canonical text, None for a null, or raises `RowFault`.

    `native` allows `1e-05` and `1.2E+3`, which writers of AWS, Azure, GCP and OCI files emit and FOCUS forbids.
    """
    pattern = NATIVE_NUMBER if native else FOCUS_NUMBER

    def read(text: str, column: str) -> str | None:
        if CANONICAL(text) and len(text) <= MOST_DIGITS:
            return text
        cleaned = text.strip()
        if cleaned in NULLS:
            return None
        if money_text != "plain":
            cleaned = without_symbols(cleaned, money_text)
        if not pattern.fullmatch(cleaned):
            raise RowFault(column, text, "is not a number such as -100.2, 3 or 35.2E-7")
        if len(cleaned) > MOST_DIGITS:
            raise RowFault(column, text[:MOST_DIGITS] + "…", f"has more than {MOST_DIGITS} digits")
        return canonical(cleaned, column)

    return read


def canonical(text: str, column: str) -> str:
    """The shortest plain spelling of a number that matched a pattern; absurd exponents are a `RowFault`."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or abs(exponent) > MOST_DIGITS:
        raise RowFault(column, text, "is too large or too small to be an amount")
    return exact_text(number)


def without_symbols(text: str, style: str) -> str:
    """`$10,100.00 ` as `10100.00`, or `1.234,56 €` as `1234.56`."""
    bare = SYMBOLS.sub("", text)
    return bare.replace(",", "") if style == "us" else bare.replace(".", "").replace(",", ".")


def required_number(read: NumberReader) -> NumberReader:
    """As `read`, but a null is a fault: in a cost, empty is not zero."""

    def insist(text: str, column: str) -> str:
        found = read(text, column)
        if found is None:
            raise RowFault(column, text, "is empty; a cost must be a number (zero is written 0)")
        return found

    return insist
