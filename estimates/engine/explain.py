"""The explanation of a quantity: a tree of formulas down to the figures that were typed in, looked up or assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from estimates.engine.baselines import History
from estimates.engine.books import AcceleratorBook, PriceBook
from estimates.engine.evaluation import Evaluation, evaluate
from estimates.engine.facts import FACTS
from estimates.engine.fields import FIELDS
from estimates.engine.hardware import refuse_unknown_hardware
from estimates.engine.leaves import Context, Leaf
from estimates.engine.plan import Plan
from estimates.engine.price_leaves import COURSE, PRICES
from estimates.engine.quantities import QUANTITIES
from estimates.engine.sampling import Array, quantile
from estimates.engine.summary import figure, summary
from estimates.engine.whole import Stage, evaluate_life, life_quantities

ORIGINS: Mapping[str, tuple[str, str]] = {
    "plan": ("from the plan", "来自计划"),
    "default": ("default of the plan document", "计划文档默认值"),
    "price": ("from the price table", "来自价格表"),
    "catalogue": ("from the catalogue of accelerators", "来自加速卡规格库"),
    "baseline": ("from history or published tables", "来自历史或公开数据"),
    "calendar": ("from the calendar", "来自日历"),
    "convention": ("a convention", "口径约定"),
}


MONTHS_SHOWN = 24
SUM_OF_A_LIFE = "The sum over the members of the life."


class UnknownQuantity(LookupError):
    """No quantity of this name applies to the plan."""


def explain(
    plan: Plan,
    quantity: str,
    *,
    prices: PriceBook,
    accelerators: AcceleratorBook,
    prices_on: date,
    samples: int = 4000,
    baseline: History | None = None,
) -> dict[str, Any]:
    """The tree of one quantity; UnknownQuantity where the plan has none of this name.

    A life plan has the sums over its members, and all quantities of a member under its name: `run.goodput`.
    """
    refuse_unknown_hardware(plan, accelerators)
    context = Context(plan, prices, accelerators, prices_on, baseline or History())
    if plan.members:
        return explain_life(evaluate_life(context, samples), quantity)
    return explain_in(evaluate([context], samples), 0, quantity)


def explain_life(stages: Sequence[Stage], quantity: str) -> dict[str, Any]:
    """The tree of a sum over the members of a life, or of a quantity of one of them."""
    for stage in stages:
        inner = quantity.removeprefix(f"{stage.member.name}.")
        if inner != quantity:
            return member_node(stage, inner)
    sums = life_quantities(stages)
    if quantity not in sums:
        raise UnknownQuantity(f"no quantity {quantity!r} in this plan; there are: {', '.join(sorted(sums))}")
    unit, samples = sums[quantity]
    inputs = [member_node(stage, quantity) for stage in stages if quantity in stage.evaluation.values]
    return {
        "name": quantity,
        "label": QUANTITIES[quantity].label,
        "unit": unit,
        "value": summary(samples),
        "formula": " + ".join(node["name"] for node in inputs),
        "about": SUM_OF_A_LIFE,
        "source": "",
        "inputs": inputs,
    }


def member_node(stage: Stage, quantity: str) -> dict[str, Any]:
    """The tree of a quantity of one member, under the member's name."""
    name, node = stage.member.name, explain_in(stage.evaluation, 0, quantity)
    label = {language: f"{name}: {words}" for language, words in node["label"].items()}
    return {**node, "name": f"{name}.{quantity}", "label": label}


def explain_in(evaluation: Evaluation, index: int, quantity: str) -> dict[str, Any]:
    """The tree of a quantity of an evaluated plan."""
    known = evaluation.program.by_name
    if quantity not in known:
        raise UnknownQuantity(f"no quantity {quantity!r} in this plan; there are: {', '.join(sorted(known))}")
    return _Tree(evaluation, index).node(quantity)


class _Tree:
    """Builds the tree; what was shown once is only named when it comes again."""

    def __init__(self, evaluation: Evaluation, index: int) -> None:
        self.evaluation = evaluation
        self.index = index
        self.quantities = evaluation.program.by_name
        self.needs = dict(zip((item.name for item in evaluation.program.order), evaluation.program.needs, strict=True))
        self.shown: set[str] = set()

    def node(self, name: str) -> dict[str, Any]:
        item = self.quantities.get(name)
        if item is None:
            return leaf_node(name, self.evaluation.leaves[name][self.index])
        node: dict[str, Any] = {
            "name": name,
            "label": item.label,
            "unit": item.unit,
            "value": self._value(name, item.axis),
            "formula": item.text,
            "about": item.about,
            "source": item.source,
        }
        if item.is_cost:
            node |= {"cause": str(item.cause), "line": str(item.line)}
        needs = self.needs[name]
        if name in self.shown:
            return {**node, "shown_above": True, "inputs": []}
        self.shown.add(name)
        return {**node, "inputs": [self.node(needed) for needed in needs]}

    def _value(self, name: str, axis: str) -> Any:
        samples = self.evaluation.samples_of(name, self.index)
        if not axis:
            return summary(samples)
        return [figure(row.mean()) for row in samples]


def leaf_node(name: str, leaf: Leaf) -> dict[str, Any]:
    """A figure that is not computed."""
    english, chinese, unit = leaf_words(name)
    words = ORIGINS[leaf.origin]
    return {
        "name": name.replace("__", "."),
        "label": {"en": english, "zh": chinese},
        "unit": unit,
        "value": _leaf_value(leaf),
        "origin": leaf.origin,
        "origin_label": {"en": words[0], "zh": words[1]},
        "detail": leaf.detail,
        "inputs": [],
    }


def _leaf_value(leaf: Leaf) -> Any:
    if leaf.fixed is not None:
        return _months(leaf.fixed.T[..., :MONTHS_SHOWN])
    levels = [
        {"p10": figure(quantile(value, 0.1)), "p50": figure(quantile(value, 0.5)), "p90": figure(quantile(value, 0.9))}
        for value in leaf.values
    ]
    return levels if leaf.by_row else levels[0]


def _months(fixed: Array) -> Any:
    """Figures by month; of rows, those of each."""
    return [figure(number) for number in fixed] if fixed.ndim == 1 else [_months(row) for row in fixed]


def leaf_words(name: str) -> tuple[str, str, str]:
    """English, Chinese and unit of a leaf."""
    if name in FACTS:
        fact = FACTS[name]
        return fact.english, fact.chinese, fact.unit
    if name in PRICES:
        return PRICES[name].english, PRICES[name].chinese, PRICES[name].unit
    if name.removesuffix(COURSE) in PRICES:
        price = PRICES[name.removesuffix(COURSE)]
        return f"{price.english}, by month against the first", f"{price.chinese}（逐月相对首月）", "1"
    path = name.replace("__", ".")
    field = FIELDS.get(path) or FIELDS.get(f"{path.rpartition('.')[0]}.*.{path.rpartition('.')[2]}")
    if field is None:
        return path, path, ""
    return field.label.en, field.label.zh, field.unit
