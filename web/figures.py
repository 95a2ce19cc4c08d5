"""Numbers as people read them, in the language of the moment: 1,240,000 USD and 1.24M; 1,240,000 美元 and 124 万."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal

from django.utils import translation
from django.utils.translation import pgettext_lazy

from core.money import EXACT, MINOR_DIGITS

Number = Decimal | int | float
MINUS = "−"
NOTHING = "–"
CURRENCY_WORDS = {
    "USD": pgettext_lazy("after an amount", "USD"),
    "CNY": pgettext_lazy("after an amount", "CNY"),
    "EUR": pgettext_lazy("after an amount", "EUR"),
    "GBP": pgettext_lazy("after an amount", "GBP"),
    "JPY": pgettext_lazy("after an amount", "JPY"),
    "HKD": pgettext_lazy("after an amount", "HKD"),
    "SGD": pgettext_lazy("after an amount", "SGD"),
    "TWD": pgettext_lazy("after an amount", "TWD"),
    "KRW": pgettext_lazy("after an amount", "KRW"),
}
SCALES = {"en": [(10**9, "B"), (10**6, "M"), (10**3, "K")], "zh": [(10**8, " 亿"), (10**4, " 万")]}
"""Steps of the short forms, greatest first, and what stands after the number."""


def is_chinese() -> bool:
    return (translation.get_language() or "en").startswith("zh")


def decimal_of(number: Number) -> Decimal:
    return number if isinstance(number, Decimal) else Decimal(str(number))


def grouped(number: Number, digits: int) -> str:
    """With thousands separators and a true minus sign; never minus zero."""
    rounded = decimal_of(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN, context=EXACT)
    return f"{abs(rounded):,f}" if not rounded else f"{rounded:,f}".replace("-", MINUS)


def amount_digits(amount: Number, currency: str = "") -> int:
    """Whole units from a thousand on; the currency's own digits below; enough to show one cent's parts."""
    size, minor = abs(decimal_of(amount)), MINOR_DIGITS.get(currency, 2)
    if size == 0 or size >= 1000:
        return 0
    if size >= Decimal(1).scaleb(-minor):
        return minor
    return min(1 - size.adjusted(), 12)


def money_text(amount: Number | None, currency: str = "") -> str:
    """`1,240,000 USD`, `18.54 USD`, `−1,180`; a dash for an amount nobody knows."""
    if amount is None:
        return NOTHING
    text = grouped(amount, amount_digits(amount, currency))
    return f"{text} {currency_word(currency)}" if currency else text


def currency_word(currency: str) -> str:
    return str(CURRENCY_WORDS.get(currency, currency))


def compact_text(amount: Number | None, currency: str = "") -> str:
    """Three digits and a word of size: `1.82M`, `592K`; `182 万`, `59.2 万`. Below ten thousand all digits."""
    if amount is None:
        return NOTHING
    value = decimal_of(amount)
    text = scaled(value) if abs(value) >= 10_000 else money_text(value)
    return f"{text}{joint(text)}{currency_word(currency)}" if currency else text


def joint(text: str) -> str:
    """`59.2 万美元`, but `592K USD`."""
    return "" if text[-1] in "万亿" else " "


def scaled(value: Decimal) -> str:
    scales = SCALES["zh" if is_chinese() else "en"]
    for index, (size, word) in enumerate(scales):
        if abs(value) >= size:
            short = value / size
            digits = max(2 - short.adjusted(), 0)
            rounded = round(short, digits)
            if index and abs(rounded) * size >= scales[index - 1][0]:
                return scaled(Decimal(scales[index - 1][0]).copy_sign(value))
            return trimmed(grouped(rounded, digits)) + word
    return grouped(value, 0)


def trimmed(text: str) -> str:
    """Without the zeros after the point that say nothing."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_text(amount: Number | str | None) -> str:
    """Every digit there is, grouped: `128,618.34371254313`."""
    if amount is None or amount == "":
        return NOTHING
    value = Decimal(amount) if isinstance(amount, str) else decimal_of(amount)
    exponent = value.as_tuple().exponent
    return grouped(value, max(-exponent, 0) if isinstance(exponent, int) else 0)


def percent_text(share: Number | None, digits: int = 1) -> str:
    """A share of one as `77.0 %`; `77.0%` in Chinese."""
    if share is None:
        return NOTHING
    text = grouped(decimal_of(share) * 100, digits)
    return f"{text}%" if is_chinese() else f"{text} %"
