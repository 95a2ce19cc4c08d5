"""One value of the document against its field: understood, or a fault that says what would be."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from estimates.engine.field_kinds import MULTIPLES_MAKE_SENSE, Field, Kind
from estimates.engine.messages import Phrase, PlanFault, plan_fault
from estimates.engine.numbers import NotANumber, parse_number, plain
from estimates.engine.reading import NumberText, below
from estimates.engine.values import BASELINE, Pert, Point, Quantiles, Value

PERT_KEYS = ("low", "mode", "high")
QUANTILE_KEYS = ("p10", "p50", "p90")
DAY = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}")
FLAGS = {"true": True, "yes": True, "false": False, "no": False}
HOURS_OF_DAY = 24

Typed = Value | str | bool | date | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that was understood: as the normalised document writes it, and as the engine uses it."""

    written: Any
    typed: Typed


def read_cell(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    """The cell, or None with at least one fault added."""
    return READERS[field.kind](raw, field, path, faults)


def _read_number(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    if isinstance(raw, Mapping):
        return _read_range(raw, field, path, faults)
    if isinstance(raw, str) and not isinstance(raw, NumberText):
        word = raw.strip().lower()
        if word == "baseline":
            if field.baseline:
                return Cell("baseline", BASELINE)
            faults.append(plan_fault(path, raw, "no_baseline", accepted(field)))
            return None
        if field.word and word == field.word:
            return Cell(field.word, field.word)
    amount = _read_amount(raw, field, path, faults)
    return None if amount is None else Cell(plain(amount), Point(float(amount)))


def _read_amount(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Decimal | None:
    """One number within the range of its field."""
    try:
        number = parse_number(raw)
    except NotANumber as error:
        faults.append(plan_fault(path, raw, error.code, accepted(field)))
        return None
    code = _misfit(number.amount, number.suffix, field)
    if code is None:
        return number.amount
    as_typed = f"{written(number.amount * 100)}%" if number.suffix == "%" else written(number.amount)
    faults.append(plan_fault(path, raw, code, accepted(field), number=as_typed))
    return None


def _misfit(amount: Decimal, suffix: str, field: Field) -> str | None:
    """The code of what is wrong with a number that could be read."""
    bounds, size = field.bounds, float(amount)
    if suffix == "%" and field.unit not in ("share", "fte"):
        return "percent_not_here"
    if suffix not in ("", "%") and not MULTIPLES_MAKE_SENSE.intersection(re.split(r"[^A-Za-z]+", field.unit)):
        return "multiple_not_here"
    if bounds.is_below(size):
        return "negative" if size < 0 <= bounds.low else "below"
    if bounds.is_above(size):
        if field.unit == "share" and bounds.high == 1 and suffix != "%":
            if field.key.endswith("mfu") and size > 100:
                return "mfu_is_tflops"
            return "share_as_percent" if 2 <= size <= 100 else "above"
        return "above"
    if field.whole and amount != amount.to_integral_value():
        return "not_whole"
    return None


def _read_range(raw: Mapping[str, Any], field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    """A range {low, mode, high} or {p10, p50, p90}."""
    if not field.ranged:
        faults.append(plan_fault(path, raw, "no_range", accepted(field)))
        return None
    keys = PERT_KEYS if any(key in raw for key in PERT_KEYS) else QUANTILE_KEYS
    known = len(faults)
    for key in raw:
        if key not in keys:
            code = "range_mixed" if key in QUANTILE_KEYS else "unknown_key"
            faults.append(plan_fault(below(path, key), raw[key], code, (Phrase("range"),)))
    missing = [key for key in keys if raw.get(key) is None]
    if missing:
        faults.append(plan_fault(path, raw, "range_incomplete", (Phrase("range"),), missing=", ".join(missing)))
    read = {key: _read_amount(raw[key], field, below(path, key), faults) for key in keys if raw.get(key) is not None}
    amounts = {key: amount for key, amount in read.items() if amount is not None}
    _check_order(amounts, path, faults)
    if len(faults) > known:
        return None
    return _range_cell(keys, list(amounts.values()), path, faults)


def _check_order(amounts: Mapping[str, Decimal], path: str, faults: list[PlanFault]) -> None:
    """Neighbours out of order, among the ends that could be read."""
    for first, second in pairwise(amounts):
        if amounts[first] > amounts[second]:
            order = {"first": first, "second": second}
            value = plain(amounts[first])
            faults.append(plan_fault(below(path, first), value, "range_order", (Phrase("ordered"),), **order))


def _range_cell(keys: tuple[str, ...], amounts: list[Decimal], path: str, faults: list[PlanFault]) -> Cell | None:
    known = len(faults)
    if keys is QUANTILE_KEYS and amounts[0] <= 0:
        faults.append(plan_fault(below(path, keys[0]), plain(amounts[0]), "quantile_zero", (Phrase("range"),)))
    if len(faults) > known:
        return None
    low, middle, high = (float(amount) for amount in amounts)
    shape = Pert if keys is PERT_KEYS else Quantiles
    typed = Point(low) if low == high else shape(low, middle, high)
    return Cell({key: plain(amount) for key, amount in zip(keys, amounts, strict=True)}, typed)


def _read_choice(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    if not isinstance(raw, str):
        faults.append(plan_fault(path, raw, "wrong_type_text", accepted(field)))
        return None
    word = raw.strip()
    for choice in field.choices:
        if choice.lower() == word.lower():
            return Cell(choice, choice)
    near = get_close_matches(word.lower()[:60], [choice.lower() for choice in field.choices], 1, 0.7)
    if near and len(field.choices) < 30:
        faults.append(plan_fault(path, raw, "not_a_choice_near", accepted(field), near=near[0]))
    else:
        faults.append(plan_fault(path, raw, "not_a_choice", accepted(field)))
    return None


def _read_text(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    if not isinstance(raw, str) or isinstance(raw, NumberText):
        faults.append(plan_fault(path, raw, "wrong_type_text", accepted(field)))
        return None
    words = raw.replace("\r\n", "\n").strip()
    if field.slug:
        words = re.sub(r"[\s_]+", "-", words.lower())
    refused = None if words.isprintable() else next((char for char in words if not _may_be_kept(char)), None)
    if refused is not None:
        character = f"U+{ord(refused):04X}"
        faults.append(plan_fault(path, raw, "control_character", accepted(field), character=character))
    elif not words:
        faults.append(plan_fault(path, raw, "empty_text", (*accepted(field), Phrase("leave_out"))))
    elif len(words) > field.longest:
        faults.append(plan_fault(path, raw, "text_too_long", accepted(field), length=len(words)))
    else:
        return Cell(words, words)
    return None


TURN_THE_LINE = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Signs that set the direction of what follows: they would turn the page around the text as well."""


def _may_be_kept(char: str) -> bool:
    """Whether databases, YAML, terminals and pages all take the character."""
    return char in "\n\t" or (
        unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
        and char not in "\ufeff\ufffe\uffff"
        and char not in TURN_THE_LINE
    )


def _read_flag(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    if isinstance(raw, bool):
        return Cell(raw, raw)
    answer = FLAGS.get(raw.strip().lower()) if isinstance(raw, str) else None
    if answer is None:
        faults.append(plan_fault(path, raw, "wrong_type_flag", accepted(field)))
        return None
    return Cell(answer, answer)


def _read_day(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    if isinstance(raw, str) and DAY.fullmatch(raw.strip()):
        try:
            day = date.fromisoformat(raw.strip())
        except ValueError:
            pass
        else:
            return Cell(day.isoformat(), day)
    faults.append(plan_fault(path, raw, "wrong_type_day", accepted(field)))
    return None


def _read_profile(raw: Any, field: Field, path: str, faults: list[PlanFault]) -> Cell | None:
    """24 weights of the hours of a day."""
    if not isinstance(raw, list):
        faults.append(plan_fault(path, raw, "wrong_type_list", accepted(field)))
        return None
    if len(raw) != HOURS_OF_DAY:
        faults.append(plan_fault(path, raw, "profile_length", accepted(field), length=len(raw)))
        return None
    known = len(faults)
    weights = [_read_amount(item, field, below(path, hour), faults) for hour, item in enumerate(raw)]
    amounts = [weight for weight in weights if weight is not None]
    if len(faults) == known and not any(amounts):
        faults.append(plan_fault(path, raw, "profile_zero", accepted(field)))
    if len(faults) > known:
        return None
    return Cell([plain(amount) for amount in amounts], tuple(float(amount) for amount in amounts))


READERS = {
    Kind.NUMBER: _read_number,
    Kind.CHOICE: _read_choice,
    Kind.TEXT: _read_text,
    Kind.FLAG: _read_flag,
    Kind.DAY: _read_day,
    Kind.PROFILE: _read_profile,
}


def accepted(field: Field) -> tuple[Phrase, ...]:
    """What a field takes, in words."""
    if field.kind is Kind.NUMBER:
        return _accepted_number(field)
    if field.kind is Kind.CHOICE:
        if len(field.choices) > 30:
            return (Phrase("currency"),)
        return (Phrase("one_of", {"words": ", ".join(field.choices)}),)
    if field.kind is Kind.TEXT:
        return (Phrase("text", {"length": field.longest}),)
    return (Phrase({Kind.FLAG: "flag", Kind.DAY: "day", Kind.PROFILE: "hours_of_day"}[field.kind]),)


def _accepted_number(field: Field) -> tuple[Phrase, ...]:
    bounds = field.bounds
    ends = {"low": written_bound(bounds.low), "high": written_bound(bounds.high)}
    code = ("above" if bounds.open_low else "from") + ("_below" if bounds.open_high else "_to")
    phrases = [Phrase("whole_from_to" if field.whole else code, ends)]
    if field.unit not in ("", "1", "share"):
        phrases.append(Phrase("in_unit", {"unit": field.unit}))
    if field.ranged:
        phrases.append(Phrase("range"))
    if field.baseline:
        phrases.append(Phrase("word", {"word": "baseline"}))
    if field.word:
        phrases.append(Phrase("word", {"word": field.word}))
    return tuple(phrases)


def written(amount: Decimal) -> str:
    """A number as people write it: all digits where they are few, else an exponent."""
    if amount and not -7 < amount.adjusted() < 10:
        return format(amount.normalize(), "g").replace("E+", "e").replace("e+", "e")
    return format(amount.normalize(), "f")


def written_bound(number: float) -> str:
    """An end of a range, or a default, as people write it."""
    return written(Decimal(repr(number)))
