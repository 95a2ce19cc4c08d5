"""What a field of the plan document is: its place, type, unit, range, default, and its words in both languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """The same words in both languages of the product."""

    en: str
    zh: str

    def in_language(self, code: str) -> str:
        """English unless the language code is one of Chinese (`zh-hans`)."""
        return self.zh if code.startswith("zh") else self.en


class Kind(Enum):
    """The type of a field."""

    NUMBER = "number"
    CHOICE = "choice"
    TEXT = "text"
    FLAG = "flag"
    DAY = "day"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The range a number must lie in."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    def is_below(self, number: float) -> bool:
        return number < self.low or (self.open_low and number == self.low)

    def is_above(self, number: float) -> bool:
        return number > self.high or (self.open_high and number == self.high)


SHARE = Bounds(0, 1)
SHARE_ABOVE_ZERO = Bounds(0, 1, open_low=True)
SHARE_BELOW_ONE = Bounds(0, 1, open_high=True)
MONEY = Bounds(0, 1e15)
UNIT_PRICE = Bounds(0, 1e9)
COUNT = Bounds(0, 1e18)
ONE_OR_MORE = Bounds(1, 1e18)

MULTIPLES_MAKE_SENSE = frozenset(
    "parameter token FLOP money request item vector accelerator label sequence hour GB TB TFLOPS".split()
)
"""Units of which one says K, M, B or T."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """One key of the plan document.

    `path` is its place, with `*` for the number of a row: `people.*.fte`. `tasks` are the task types whose form shows
    it first (empty: all); it is accepted in every plan. `unit` is a word such as `token`, `hour`, `share`, `money`.
    """

    path: str
    kind: Kind
    label: Words
    hint: Words | None = None
    section: str = ""
    tasks: frozenset[str] = frozenset()
    unit: str = ""
    bounds: Bounds = Bounds(-1e18, 1e18)
    whole: bool = False
    ranged: bool = True
    baseline: bool = False
    word: str = ""
    """A word accepted instead of a number: `auto`."""
    choices: Mapping[str, Words] = field(default_factory=dict)
    default: float | str | bool | None = None
    """The constant that holds when the key is not given; `baseline` for a figure from history."""
    required: bool = False
    """In a row: the row makes no sense without it. For the whole plan see `requirements.py`."""
    convention: bool = False
    """Whether keys of a convention (attention, counts, peak_precision) may stand beside the number."""
    slug: bool = False
    """Text that is a key of a catalogue: lower case, with `-` for blanks."""
    longest: int = 200
    basic: bool = False
    """Whether the form shows it without opening anything."""

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A list of rows in the plan document; the fields of a row have paths `PATH.*.KEY`."""

    path: str
    label: Words
    hint: Words | None = None
    section: str = ""
    tasks: frozenset[str] = frozenset()
    most_rows: int = 100


Hint = tuple[str, str] | None


def number(path: str, unit: str, bounds: Bounds, en: str, zh: str, hint: Hint = None, **more: Any) -> Field:
    """A number, a range, and where it makes sense `baseline`."""
    return Field(
        path=path, kind=Kind.NUMBER, unit=unit, bounds=bounds, label=Words(en, zh), hint=hint and Words(*hint), **more
    )


def choice(path: str, en: str, zh: str, choices: Mapping[str, tuple[str, str]], **more: Any) -> Field:
    """One of a closed list of words."""
    words = {word: Words(*labels) for word, labels in choices.items()}
    hint = more.pop("hint", None)
    return Field(path=path, kind=Kind.CHOICE, label=Words(en, zh), choices=words, hint=hint and Words(*hint), **more)


def text(path: str, en: str, zh: str, hint: Hint = None, **more: Any) -> Field:
    """Free text of one or more lines."""
    return Field(path=path, kind=Kind.TEXT, label=Words(en, zh), hint=hint and Words(*hint), **more)


def flag(path: str, en: str, zh: str, hint: Hint = None, **more: Any) -> Field:
    """Yes or no."""
    return Field(path=path, kind=Kind.FLAG, label=Words(en, zh), hint=hint and Words(*hint), **more)


def day(path: str, en: str, zh: str, hint: Hint = None, **more: Any) -> Field:
    """A day of the calendar, written 2027-01-31."""
    return Field(path=path, kind=Kind.DAY, label=Words(en, zh), hint=hint and Words(*hint), **more)


def table(path: str, en: str, zh: str, hint: Hint = None, **more: Any) -> Table:
    """A list of rows."""
    return Table(path=path, label=Words(en, zh), hint=hint and Words(*hint), **more)
