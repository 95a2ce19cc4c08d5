"""What a refused plan says: sentences by code, kept apart from their parameters so that a door can translate them.

The engine knows no gettext. `gettext_noop` only marks a sentence for extraction; a door that speaks another language
calls `fault.translated(gettext)`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import Fault


def gettext_noop(sentence: str) -> str:
    """Mark a sentence for translation and leave it as it is."""
    return sentence


_ = gettext_noop

SENTENCES: Mapping[str, str] = {
    # reading
    "too_long": _("The plan has %(size)s bytes; 262144 (256 KB) are allowed."),
    "not_utf8": _("The plan is not UTF-8 text: the byte at position %(position)s cannot be read."),
    "control_character": _("The text holds a character that cannot be kept: %(character)s."),
    "broken_yaml": _("This is not readable YAML at line %(line)s, column %(column)s: %(problem)s."),
    "broken_json": _("This is not readable JSON at line %(line)s, column %(column)s: %(problem)s."),
    "several_documents": _("The text holds more than one YAML document (line %(line)s)."),
    "empty": _("The plan is empty."),
    "not_a_mapping": _("A plan is a list of keys with values; this is something else."),
    "duplicate_key": _("The key stands here twice (line %(line)s, column %(column)s)."),
    "duplicate_json_key": _("The key stands here twice."),
    "anchor": _("Anchors and aliases (& and *) are not allowed (line %(line)s, column %(column)s)."),
    "tag": _("Tags (!) are not allowed (line %(line)s, column %(column)s)."),
    "key_not_text": _("A key must be plain text."),
    "too_deep": _("The plan is nested deeper than 20 levels."),
    "too_many_values": _("The plan holds more than 20000 values."),
    "not_json": _("A value of the type %(type)s cannot stand in a plan."),
    # keys
    "unknown_key": _("This key is not known."),
    "unknown_key_near": _("This key is not known. Did you mean %(near)s?"),
    "given_twice": _("The same is already given as %(other)s."),
    "speed_of_stages": _("Tokens per second hold for one size of model; the stages of model.stages differ in size."),
    "missing": _("This is missing."),
    "missing_for_task": _("A plan with task %(task)s needs this."),
    "missing_because": _("%(because)s makes this necessary."),
    "exclusive": _("This cannot stand beside %(other)s: give one of them."),
    "shared_only": _("In a life plan this belongs to its members."),
    "whole_only": _("This belongs to the life plan as a whole, not to one member."),
    # types
    "wrong_type_section": _("Keys with values are expected here."),
    "wrong_type_list": _("A list is expected here."),
    "wrong_type_row": _("Each entry of this list is a set of keys with values."),
    "wrong_type_number": _("This is not a number."),
    "wrong_type_text": _("This is not text."),
    "wrong_type_flag": _("This is neither yes nor no."),
    "wrong_type_day": _("This is not a day of the calendar."),
    "too_many_rows": _("The list has %(rows)s entries."),
    "empty_list": _("The list is empty."),
    "text_too_long": _("The text has %(length)s characters."),
    "empty_text": _("The text is empty."),
    "not_a_choice": _("This is not one of the accepted words."),
    "not_a_choice_near": _("This is not one of the accepted words. Did you mean %(near)s?"),
    # numbers
    "not_finite": _("NaN and infinity are not figures one can plan with."),
    "too_large_to_read": _("The number is larger than anything a plan can hold."),
    "too_small_to_read": _("The number is closer to zero than anything a plan can hold."),
    "too_many_digits": _("The number has more than 40 digits."),
    "comma": _("Write numbers with a point for decimals and without commas: 1000000 or 1_000_000."),
    "with_unit": _("Give the number alone, without a unit."),
    "not_decimal": _("Write numbers in decimal digits, such as 31 or 1e12; 0x, 0o and 0b are not read."),
    "percent_not_here": _("A percentage makes no sense here."),
    "multiple_not_here": _("K, M, B and T make no sense here."),
    "below": _("%(number)s is too low."),
    "negative": _("%(number)s is negative."),
    "above": _("%(number)s is too high."),
    "share_as_percent": _("%(number)s is above 1. If you mean %(number)s percent, write %(number)s%%."),
    "mfu_is_tflops": _("%(number)s is no MFU. An achieved figure in TFLOPS goes into compute.tflops_per_accelerator."),
    "not_whole": _("%(number)s is not a whole number."),
    "no_baseline": _("There is no history from which this could be taken."),
    "no_range": _("This is a decision, not a guess: give one number."),
    "range_incomplete": _("The range lacks %(missing)s."),
    "range_mixed": _("A range has either low, mode and high or p10, p50 and p90."),
    "range_order": _("The range is out of order: %(first)s is above %(second)s."),
    "quantile_zero": _("Quantiles must be above zero, because they are interpolated in logarithms."),
    "profile_length": _("The profile has %(length)s numbers."),
    "profile_zero": _("All hours of the profile are zero."),
    # between fields
    "deadline_before_start": _("The deadline is not after the start %(start)s."),
    "active_above_total": _("There are more active parameters than parameters (%(parameters)s)."),
    "embedding_is_all": _("The input embedding is not smaller than the parameters a token passes (%(parameters)s)."),
    "shares_above_one": _("%(first)s and %(second)s together are above 1."),
    "shares_not_one": _("The shares add up to %(sum)s, not to 1."),
    "grows_too_much": _("Over %(months)s months this grows beyond anything that can be planned."),
    "residual_above_capital": _("The residual value is above the capital of %(capital)s."),
    "layout_does_not_divide": _("The layout needs groups of %(group)s accelerators, which do not divide %(count)s."),
    "mix_without_mixed": _("The mix holds own accelerators: say mode: mixed."),
    "mix_with_own": _("A mix of ways to rent makes no sense with mode: own; say mode: mixed."),
    "nothing_to_do": _("Nothing here costs anything: give at least one of the figures of this section."),
    "members_without_life": _("Only a plan with task: life has members."),
    "life_in_life": _("A life plan cannot be a member of another."),
    "member_twice": _("Another member has this name already."),
    "member_unknown": _("No earlier member has this name."),
    "accelerator_unknown": _("This accelerator is not in the catalogue."),
    "precision_unknown": _("The catalogue has no dense peak of %(accelerator)s at %(precision)s."),
    "other_currency": _("A member has the currency of the life plan, %(currency)s."),
    "many_more": _("There are %(count)s more faults."),
}

ACCEPTED: Mapping[str, str] = {
    "number": _("a number"),
    "from_to": _("a number from %(low)s to %(high)s"),
    "above_to": _("a number above %(low)s, up to %(high)s"),
    "from_below": _("a number from %(low)s, below %(high)s"),
    "above_below": _("a number above %(low)s, below %(high)s"),
    "whole_from_to": _("a whole number from %(low)s to %(high)s"),
    "in_unit": _("unit: %(unit)s"),
    "range": _("a range {low, mode, high} or {p10, p50, p90}"),
    "ordered": _("low ≤ mode ≤ high, or p10 ≤ p50 ≤ p90"),
    "one_of": _("one of: %(words)s"),
    "word": _("the word %(word)s"),
    "keys": _("the keys %(keys)s"),
    "one_key_of": _("one of the keys %(keys)s"),
    "currency": _("a currency code of ISO 4217, such as USD, EUR or CNY"),
    "day": _("a day such as 2027-01-31, from 2000 to 2099"),
    "day_after": _("a day after %(day)s"),
    "flag": _("true or false"),
    "text": _("text of at most %(length)s characters"),
    "list": _("a list of at most %(rows)s entries"),
    "rows": _("a list of entries under %(path)s"),
    "hours_of_day": _("24 numbers of zero or more, one for each hour of the day"),
    "section": _("keys with values, such as %(example)s"),
    "utf8": _("UTF-8 text"),
    "document": _("YAML or JSON with the keys of docs/plan.md"),
    "once": _("each key once"),
    "plain_yaml": _("plain YAML, without anchors, aliases and tags"),
    "leave_out": _("leave it out"),
    "growth": _("a growth that multiplies by at most %(times)s over all months"),
    "sum_one": _("shares that add up to 1"),
    "below_number": _("below %(high)s"),
    "at_most": _("at most %(high)s"),
    "hardware": _("an accelerator of the catalogue, or compute.peak_tflops and compute.memory_gb"),
    "precision": _("a precision of this accelerator (%(words)s), or compute.peak_tflops"),
}


@dataclass(frozen=True)
class Phrase:
    """One sentence by its code, and what is filled in."""

    code: str
    parameters: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class PlanFault(Fault):
    """A fault of a plan that can be said in any language."""

    reason: Phrase = Phrase("unknown_key")
    allowed: tuple[Phrase, ...] = ()

    @property
    def code(self) -> str:
        return self.reason.code

    def as_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "value": self.value,
            "message": self.message,
            "accepted": self.accepted,
            "code": self.code,
        }

    def translated(self, translate: Callable[[str], str]) -> Fault:
        """The same fault in the language `translate` (such as gettext) turns sentences into."""
        message = translate(SENTENCES[self.reason.code]) % self.reason.parameters
        accepted = [translate(ACCEPTED[phrase.code]) % phrase.parameters for phrase in self.allowed]
        return Fault(self.path, self.value, message, "; ".join(accepted))


def plan_fault(
    path: str, value: Any, code: str, allowed: tuple[Phrase, ...] = (), **parameters: str | int
) -> PlanFault:
    """A fault with its English sentences; `value` is shortened to what can be shown."""
    accepted = "; ".join(ACCEPTED[phrase.code] % phrase.parameters for phrase in allowed)
    message = SENTENCES[code] % parameters
    return PlanFault(path, shown(value), message, accepted, Phrase(code, parameters), allowed)


def shown(value: Any) -> Any:
    """What stood in the document, as JSON that is short and can be printed anywhere."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 10**18:
        return value
    if isinstance(value, float) and abs(value) < 1e300:
        return value
    text = value if isinstance(value, str) else outline(value)
    return printable(text if len(text) <= 80 else text[:77] + "...")


def outline(value: Any) -> str:
    """A word or two about a value that is no short scalar; never walks deep into it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(str(key)[:20] for key in list(value)[:4]) + (", ..." if len(value) > 4 else "") + "}"
    if isinstance(value, list | tuple):
        return f"[{len(value)}]"
    if isinstance(value, int):
        return f"{'-' if value < 0 else ''}1e{int(value.bit_length() * 0.30103)}"
    return str(value)


def printable(text: str) -> str:
    """Characters that a terminal, a page or a database refuses are written as escapes."""
    return "".join(char if is_showable(char) else ascii(char)[1:-1] for char in text)


def is_showable(char: str) -> bool:
    """Neither a control, format, surrogate or unassigned character, nor a break of line."""
    return char.isprintable() or unicodedata.category(char) == "Zs"
