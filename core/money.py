"""Money: exact decimals, rounded in one place, split so that parts add up to the whole."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache

PLAIN_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")

MINOR_DIGITS = {"JPY": 0, "KRW": 0, "VND": 0, "CLP": 0, "ISK": 0, "BHD": 3, "KWD": 3, "OMR": 3, "JOD": 3, "TND": 3}
"""Digits after the point, for the currencies of ISO 4217 that do not have two."""

CURRENCIES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD "
    "CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ "
    "GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR "
    "LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN "
    "PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB "
    "TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG".split()
)
"""Codes of ISO 4217 in use as money."""

EXACT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_EVEN)
"""Wide enough that sums of usage rows are exact; the default context of 28 digits is not."""


def parse_amount(text: str) -> Decimal:
    """A plain decimal such as `-1234.50`; signs, commas, exponents and other digits than 0-9 are a ValueError."""
    cleaned = text.strip()
    if not PLAIN_NUMBER.fullmatch(cleaned):
        raise ValueError(f"{text!r} is not an amount such as 1234.50")
    return Decimal(cleaned)


@cache
def quantum(currency: str) -> Decimal:
    """The smallest unit of a currency: 0.01 for USD, 1 for JPY."""
    return Decimal(1).scaleb(-MINOR_DIGITS.get(currency, 2))


def round_money(amount: Decimal, currency: str) -> Decimal:
    """To the currency's smallest unit, halves to even. The only place where money is rounded."""
    return amount.quantize(quantum(currency), rounding=decimal.ROUND_HALF_EVEN, context=EXACT)


def exact_text(amount: Decimal) -> str:
    """All digits, no exponent, no trailing zeros: `0`, `13`, `18.54371254313`."""
    if amount == 0:
        return "0"
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_sum(amounts: Sequence[Decimal]) -> Decimal:
    """The sum without rounding to 28 digits."""
    total = Decimal(0)
    for amount in amounts:
        total = EXACT.add(total, amount)
    return total


def split(total: Decimal, weights: Sequence[Decimal | Fraction | int], currency: str) -> list[Decimal]:
    """Divide a total by weights in whole smallest units, by largest remainder; the parts add up to the rounded total.

    Ties go to the earlier part. Weights must not be negative and not all zero, else ValueError.
    """
    shares = _in_whole_numbers(weights)
    whole = sum(shares)
    if not shares or whole <= 0 or min(shares) < 0:
        raise ValueError("weights must be zero or more, and not all zero")
    unit = quantum(currency)
    units = int(round_money(total, currency) / unit)
    sign, units = (-1, -units) if units < 0 else (1, units)
    parts = [units * share // whole for share in shares]
    order = sorted(range(len(parts)), key=lambda index: (-(units * shares[index] % whole), index))
    for index in order[: units - sum(parts)]:
        parts[index] += 1
    return [sign * part * unit for part in parts]


def _in_whole_numbers(weights: Sequence[Decimal | Fraction | int]) -> list[int]:
    """Weights in the same proportion as these, without fractions."""
    exact = [weight if isinstance(weight, int) else Fraction(weight) for weight in weights]
    common = math.lcm(*(weight.denominator for weight in exact))
    return [int(weight * common) for weight in exact]
