"""Numbers of a plan as the form shows them and takes them: `7B`, `40 %`, `1.5T`, and the words for their units."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from estimates.engine.field_kinds import Field
from web.figures import currency_word

SIZES = ((Decimal(10) ** 12, "T"), (Decimal(10) ** 9, "B"), (Decimal(10) ** 6, "M"))
COUNTED_IN_SIZES = ("parameter", "token", "vector", "FLOP")
"""Units of which one says 7B and 2T; amounts of money keep all their digits."""
LARGE = Decimal(10) ** 15

UNITS = {
    "parameter": "",
    "token": "",
    "FLOP": "FLOP",
    "accelerator": _("cards"),
    "hour": _("h"),
    "day": _("days"),
    "month": _("months"),
    "share": "",
    "1": "",
    "fte": "",
    "item": "",
    "label": "",
    "vector": "",
    "request": "",
    "request/day": pgettext_lazy("unit", "a day"),
    "accelerator-hour": _("card-hours"),
    "kW": "kW",
    "GB": "GB",
    "TB": "TB",
    "GB/day": _("GB/day"),
    "Gbit/s": "Gbit/s",
    "ms": "ms",
    "TFLOPS": "TFLOPS",
    "kg/kWh": "kg/kWh",
    "byte": _("bytes"),
    "byte/token": _("bytes"),
    "byte/parameter": _("bytes"),
    "token/s/accelerator": _("tokens/s"),
    "1/hour": "",
}
PER = {
    "accelerator-hour": _("card-hour"),
    "accelerator-month": _("card-month"),
    "accelerator": _("card"),
    "TB": "TB",
    "item": pgettext_lazy("unit", "item"),
    "month": _("month"),
    "fte-month": _("month"),
    "kWh": "kWh",
    "request": pgettext_lazy("unit", "request"),
}
"""What stands after the stroke of a unit of money."""


def unit_text(unit: str, currency: str) -> str:
    """The word behind an input: `h`, `USD`, `USD/card-hour`; nothing where the number says it."""
    if unit == "money":
        return currency_word(currency)
    if unit.startswith("money/"):
        per = unit.removeprefix("money/")
        return f"{currency_word(currency)}/{PER.get(per, per)}"
    return str(UNITS.get(unit, ""))


def number_text(number: object, field: Field) -> str:
    """A number as one would type it; text is left as it was typed."""
    if isinstance(number, str) or number is None:
        return number or ""
    amount = Decimal(str(number))
    if field.unit == "share" and abs(amount) < 100:
        return f"{plain_text(amount * 100)} %"
    if field.unit in COUNTED_IN_SIZES:
        for size, letter in SIZES:
            if size <= abs(amount) < LARGE and len((amount / size).normalize().as_tuple().digits) <= 5:
                return f"{plain_text(amount / size)}{letter}"
    return plain_text(amount)


def plain_figure(number: float) -> str:
    """A large count in two digits: `0.14T` reads worse than `140B`."""
    rounded = Decimal(f"{number:.2g}")
    for size, letter in SIZES:
        if rounded >= size:
            return f"{plain_text(rounded / size)}{letter}"
    return plain_text(rounded)


def plain_text(amount: Decimal) -> str:
    """Without zeros that say nothing; a power of ten only where the digits would not be read."""
    if abs(amount) >= LARGE:
        return f"{amount.normalize():e}".replace("+", "")
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def typed_number(text: str) -> str:
    """What the parser of plans takes, from what people type: no blanks inside, a full-width percent sign is one."""
    compact = text.strip().replace("％", "%").replace("\u00a0", " ")
    joined = compact.replace(" ", "")
    return joined if is_number(joined) else compact


def is_number(text: str) -> bool:
    try:
        Decimal(text.rstrip("%kKMBbTt"))
    except InvalidOperation:
        return False
    return True
