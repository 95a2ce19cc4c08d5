"""The one number parser of plans: exact, bounded, and the same for YAML, JSON and the form."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal

NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]+(?:_[0-9]+)*)?(?:\.(?P<part>[0-9]+(?:_[0-9]+)*)?)?"
    r"(?:[eE](?P<exponent>[+-]?[0-9]+))?(?P<space> ?)(?P<suffix>%|[kKMBbTt]?)"
)
COMMA = re.compile(r"[+-]?[0-9][0-9,._]*,[0-9.,_]*[0-9]?\s*%?")
WITH_UNIT = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*[^\W\d_][^\n]*")
NOT_DECIMAL = re.compile(r"[+-]?0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)", re.IGNORECASE)
NOT_FINITE = re.compile(r"[+-]?\.?(?:nan|inf|infinity)", re.IGNORECASE)

POWERS = {"": 0, "%": -2, "K": 3, "M": 6, "B": 9, "T": 12}

MOST_DIGITS = 40
LARGEST = Decimal("1e40")
SMALLEST = Decimal("1e-40")


class NotANumber(ValueError):
    """The text is no number a plan can hold; `code` is a code of `messages.SENTENCES`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number, and the suffix it was written with: `%`, `K`, `M`, `B`, `T` or none."""

    amount: Decimal
    suffix: str = ""


def parse_number(raw: object) -> Number:
    """Read `1e12`, `1_000_000`, `2T`, `7B`, `40%`, or a number of JSON; NotANumber says what is wrong.

    Nothing is computed before the size is known, so that 10^400 costs nothing. True and False are no numbers.
    """
    if isinstance(raw, str):
        return parse_number_text(raw.strip())
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        raise NotANumber("wrong_type_number")
    if isinstance(raw, int):
        if raw.bit_length() > 140:
            raise NotANumber("too_large_to_read")
        return Number(bounded(Decimal(raw)))
    if not (raw.is_finite() if isinstance(raw, Decimal) else math.isfinite(raw)):
        raise NotANumber("not_finite")
    amount = Decimal(repr(raw)) if isinstance(raw, float) else raw
    if len(amount.as_tuple().digits) > MOST_DIGITS:
        raise NotANumber("too_many_digits")
    return Number(bounded(amount))


def parse_number_text(text: str) -> Number:
    match = NUMBER.fullmatch(text)
    if match is None or not (match["whole"] or match["part"]) or (match["space"] and not match["suffix"]):
        raise NotANumber(misreading(text))
    whole = (match["whole"] or "").replace("_", "")
    part = (match["part"] or "").replace("_", "")
    digits = (whole + part).lstrip("0")
    if not digits:
        return Number(Decimal(0), match["suffix"].upper())
    if len(digits.rstrip("0")) > MOST_DIGITS:
        raise NotANumber("too_many_digits")
    exponent_text = (match["exponent"] or "0").lstrip("+")
    if len(exponent_text) > 6 or len(text) > 400:
        raise NotANumber("too_small_to_read" if exponent_text.startswith("-") else "too_large_to_read")
    exponent = int(exponent_text) - len(part) + POWERS[match["suffix"].upper()]
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    amount = Decimal((1 if match["sign"] == "-" else 0, tuple(map(int, kept)), exponent))
    return Number(bounded(amount), match["suffix"].upper())


def misreading(text: str) -> str:
    """Why a text is no number, as a code."""
    if len(text) > 400:
        return "wrong_type_number"
    if NOT_FINITE.fullmatch(text):
        return "not_finite"
    if COMMA.fullmatch(text):
        return "comma"
    if NOT_DECIMAL.fullmatch(text):
        return "not_decimal"
    if WITH_UNIT.fullmatch(text):
        return "with_unit"
    return "wrong_type_number"


def bounded(amount: Decimal) -> Decimal:
    if amount and amount.copy_abs().compare(LARGEST) > 0:
        raise NotANumber("too_large_to_read")
    if amount and amount.copy_abs().compare(SMALLEST) < 0:
        raise NotANumber("too_small_to_read")
    return amount


def plain(amount: Decimal) -> int | float:
    """As JSON writes it: whole numbers as whole numbers, others as the nearest float, which prints the same digits."""
    if amount == amount.to_integral_value() and abs(amount) < 2**63:
        return int(amount)
    return float(amount)
