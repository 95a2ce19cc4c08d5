"""Durations of schedulers, and hours held: exact seconds in, hours to thirty places out."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from core.money import EXACT, exact_text

from .faults import RowFault

ELAPSED = re.compile(r"(?:([0-9]{1,5})-)?(?:([0-9]{1,7}):)?([0-9]{1,2}):([0-9]{2})(?:\.[0-9]+)?")
SECONDS = re.compile(r"[0-9]{1,10}(?:\.[0-9]+)?")
PLACES = Decimal(1).scaleb(-30)
SHOWN_PLACES = Decimal(1).scaleb(-24)
HOUR = Decimal(3600)


def seconds_of(text: str, column: str) -> int:
    """Whole seconds of `13663`, `22:32:22`, `1-10:00:00` or `05:01.250`; anything else is a `RowFault`."""
    cleaned = text.strip()
    if SECONDS.fullmatch(cleaned):
        return int(cleaned.partition(".")[0])
    match = ELAPSED.fullmatch(cleaned)
    if match is None:
        raise RowFault(column, text, "is not a duration such as 3600 or 1-02:00:00")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    if days and match.group(2) is None:
        raise RowFault(column, text, "is not a duration such as 3600 or 1-02:00:00")
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@lru_cache(maxsize=1 << 16)
def hours_held(count: Decimal | int, seconds: Decimal | int) -> str:
    """`count` things held for some seconds, in hours, as canonical text. A third of an hour has thirty threes."""
    product = EXACT.multiply(Decimal(count), Decimal(seconds))
    try:
        return exact_text(EXACT.divide(product, HOUR).quantize(PLACES, context=EXACT))
    except InvalidOperation:
        raise RowFault("", f"{product:.3E}", "is more than anything is held") from None


def sum_of_hours(hours: Decimal) -> str:
    """A sum of hours as it is said: three thirds are one again."""
    return exact_text(hours.quantize(SHOWN_PLACES, context=EXACT))
