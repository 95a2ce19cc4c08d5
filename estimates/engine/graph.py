"""The graph of named quantities.

A quantity is one small pure function. Its parameters are the names of what it needs: other quantities, or leaves
(inputs of the plan as `section__key`, prices, figures of the catalogue). From this one declaration come evaluation,
explanation, sensitivity and documentation.

Which quantities apply to a plan follows from what they need: a quantity whose parameters cannot all be had is left
out, unless the parameter has a default. Where there are several ways to one quantity, its variants are tried in the
order of declaration, the first function last.

Arrays have the shape (plans, samples); a side of length 1 stands for "the same everywhere". Quantities by month or by
row of a list have one axis more, in front.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from core.vocabulary import Category
from estimates.engine.plan import Plan
from estimates.engine.sampling import Array

Condition = Callable[[Plan], bool]


@dataclass(frozen=True, eq=False)
class Quantity:
    """A named function with everything the product knows about it."""

    name: str
    formula: Callable[..., Any]
    unit: str
    english: str
    chinese: str
    source: str = ""
    when: Condition | None = None
    cause: Category | None = None
    line: Category | None = None
    behaviour: str = ""
    part: str = ""
    """The subcategory of a cost: `retries`, `depreciation`, `checkpoints`."""
    spread: str = ""
    """The quantity that says how a cost falls on the months."""
    axis: str = ""
    """`month` or `row` for quantities with an axis in front."""
    gathers: Callable[[Quantity], bool] | None = None
    """For totals: which of the active quantities are summed."""
    parameters: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    variants: list[Quantity] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.formula(*args, **kwargs)

    def variant(self, *, when: Condition | None = None, source: str = "") -> Callable[[Callable[..., Any]], Quantity]:
        """Another way to this quantity, used instead where its parameters can be had (and `when` holds)."""

        def declare(formula: Callable[..., Any]) -> Quantity:
            way = replace(
                self, formula=formula, when=when, source=source or self.source, variants=[], **_needs(formula)
            )
            self.variants.append(way)
            return way

        return declare

    @property
    def is_cost(self) -> bool:
        return self.cause is not None

    @property
    def text(self) -> str:
        """The formula as it stands in the code."""
        return formula_text(self.formula)

    @property
    def label(self) -> dict[str, str]:
        """Its name in both languages."""
        return {"en": self.english, "zh": self.chinese}

    @property
    def about(self) -> str:
        return inspect.getdoc(self.formula) or ""

    @property
    def module(self) -> str:
        return self.formula.__module__.rpartition(".")[2]


def quantity(unit: str, english: str, chinese: str, **facts: Any) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare a quantity; the name of the function is its name."""

    def declare(formula: Callable[..., Any]) -> Quantity:
        return Quantity(formula.__name__, formula, unit, english, chinese, **facts, **_needs(formula))

    return declare


@dataclass(frozen=True)
class Place:
    """Where a cost belongs: once by cause, once by line, once by behaviour, and how it falls on the months."""

    cause: Category
    line: Category
    behaviour: str
    spread: str

    def but(self, **changes: Any) -> Place:
        """The same with something else."""
        return replace(self, **changes)


def cost(
    english: str, chinese: str, place: Place, *, part: str = "", when: Condition | None = None
) -> Callable[[Callable[..., Any]], Quantity]:
    """Declare an amount of money that is part of the total; `part` is its subcategory."""
    return quantity(
        "money",
        english,
        chinese,
        cause=place.cause,
        line=place.line,
        behaviour=place.behaviour,
        spread=place.spread,
        part=part,
        when=when,
    )


def _needs(formula: Callable[..., Any]) -> dict[str, Any]:
    parameters = [
        item for item in inspect.signature(formula).parameters.values() if item.kind is not item.VAR_POSITIONAL
    ]
    return {
        "parameters": tuple(item.name for item in parameters),
        "optional": frozenset(item.name for item in parameters if item.default is not item.empty),
    }


def collect(modules: Iterable[ModuleType]) -> dict[str, Quantity]:
    """Every quantity that the modules declare, in order. Two of one name are a mistake of ours."""
    found: dict[str, Quantity] = {}
    for module in modules:
        for name, item in vars(module).items():
            if isinstance(item, Quantity) and item.name == name and item.formula.__module__ == module.__name__:
                if name in found:
                    raise ValueError(f"two quantities are called {name}")
                found[name] = item
    return found


@dataclass(frozen=True)
class Program:
    """The quantities that apply to plans of one structure, in an order in which each finds what it needs."""

    order: tuple[Quantity, ...]
    needs: tuple[tuple[str, ...], ...]
    leaves: tuple[str, ...]
    parts: dict[tuple[str, ...], Program] = field(default_factory=dict, compare=False, repr=False)

    @property
    def by_name(self) -> dict[str, Quantity]:
        return {item.name: item for item in self.order}

    def parameters_of(self, name: str) -> tuple[str, ...]:
        for item, names in zip(self.order, self.needs, strict=True):
            if item.name == name:
                return names
        return ()

    def costs(self) -> tuple[Quantity, ...]:
        return tuple(item for item in self.order if item.is_cost)

    def only_for(self, *wanted: str) -> Program:
        """The part of the program that these quantities need."""
        if wanted not in self.parts:
            needed = set(wanted)
            for item, names in reversed(list(zip(self.order, self.needs, strict=True))):
                if item.name in needed:
                    needed.update(names)
            kept = [pair for pair in zip(self.order, self.needs, strict=True) if pair[0].name in needed]
            self.parts[wanted] = Program(
                tuple(item for item, _ in kept),
                tuple(names for _, names in kept),
                tuple(name for name in self.leaves if name in needed),
            )
        return self.parts[wanted]

    def run(self, leaves: Mapping[str, Array]) -> dict[str, Array]:
        """Evaluate everything. The result holds the leaves too."""
        values = dict(leaves)
        with np.errstate(all="ignore"):
            for item, names in zip(self.order, self.needs, strict=True):
                if item.gathers is None:
                    values[item.name] = item.formula(**{name: values[name] for name in names})
                else:
                    values[item.name] = item.formula(*(values[name] for name in names))
        return values


class _Chooser:
    """Finds the quantities that apply to one plan."""

    def __init__(self, quantities: Mapping[str, Quantity], plan: Plan, has_leaf: Callable[[str], bool]) -> None:
        self.quantities = quantities
        self.plan = plan
        self.has_leaf = has_leaf
        self.chosen: dict[str, tuple[Quantity, tuple[str, ...]] | None] = {}

    def can_have(self, name: str) -> bool:
        if name not in self.quantities:
            return self.has_leaf(name)
        if name not in self.chosen:
            self.chosen[name] = None
            self.chosen[name] = self._choose(self.quantities[name])
        return self.chosen[name] is not None

    def _choose(self, wanted: Quantity) -> tuple[Quantity, tuple[str, ...]] | None:
        if wanted.gathers is not None:
            return wanted, ()
        for way in (*wanted.variants, wanted):
            if way.when is not None and not way.when(self.plan):
                continue
            if all(self.can_have(name) for name in way.parameters if name not in way.optional):
                return way, tuple(name for name in way.parameters if self.can_have(name))
        return None


def compile_program(quantities: Mapping[str, Quantity], plan: Plan, has_leaf: Callable[[str], bool]) -> Program:
    """Choose what applies to a plan, let the totals gather their parts, and put everything in order."""
    chooser = _Chooser(quantities, plan, has_leaf)
    for name in quantities:
        chooser.can_have(name)
    chosen = {name: pair for name, pair in chooser.chosen.items() if pair is not None}
    for name, (item, _) in chosen.items():
        if item.gathers is not None:
            parts = tuple(other for other, (part, _) in chosen.items() if item.gathers(part))
            chosen[name] = (item, parts)
    ordered: dict[str, tuple[Quantity, tuple[str, ...]]] = {}
    for name in chosen:
        _place(name, chosen, ordered)
    leaves = dict.fromkeys(name for _, names in ordered.values() for name in names if name not in ordered)
    return Program(
        tuple(item for item, _ in ordered.values()), tuple(names for _, names in ordered.values()), tuple(leaves)
    )


def _place(
    name: str,
    chosen: Mapping[str, tuple[Quantity, tuple[str, ...]]],
    ordered: dict[str, tuple[Quantity, tuple[str, ...]]],
) -> None:
    """Put a quantity behind everything it needs."""
    if name in ordered or name not in chosen:
        return
    for needed in chosen[name][1]:
        _place(needed, chosen, ordered)
    ordered[name] = chosen[name]


@lru_cache(maxsize=1024)
def formula_text(formula: Callable[..., Any]) -> str:
    """The returned expression and what it is made of, with the signs people write; nothing for longer formulas."""
    body = ast.parse(textwrap.dedent(inspect.getsource(formula))).body[0]
    if not isinstance(body, ast.FunctionDef):
        return ""
    lines = [line for line in body.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    *before, last = lines
    if (
        not isinstance(last, ast.Return)
        or last.value is None
        or not all(isinstance(line, ast.Assign) for line in before)
    ):
        return ""
    parts = [ast.unparse(line) for line in before]
    text = ast.unparse(last.value) + (f", where {'; '.join(parts)}" if parts else "")
    return _readable(text)


def _readable(text: str) -> str:
    for written, read in ((" * ", " · "), (" / ", " ÷ "), ("np.", ""), ("__", "."), (".sum(axis=0)", " (summed)")):
        text = text.replace(written, read)
    return text
