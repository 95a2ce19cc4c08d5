"""The estimate beside the form: the total and its range, where it goes, what stands behind it, what moves it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from core.vocabulary import CAUSES
from estimates.answers import as_money
from estimates.baselines.models import BaselineQuantity
from estimates.engine.explain import leaf_words
from estimates.engine.fields import FIELDS
from estimates.engine.plan import Plan
from teams.labels import CATEGORIES
from web import figures
from web.charts.breakdown import Driver
from web.plan_fields import words, words_of
from web.plan_groups import field_path
from web.plan_places import pattern_of

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MOST_DRIVERS = 6


@dataclass(frozen=True)
class Fact:
    """One line under the total: what, how much, within what range."""

    label: str
    value: str
    spread: str = ""
    quantity: str = ""
    """Its name in the engine, by which one asks why."""


@dataclass(frozen=True)
class Card:
    """What the estimate of a plan says at a glance."""

    currency: str
    total: Decimal | None
    low: Decimal | None
    high: Decimal | None
    known_part: Decimal | None
    """What is known of the total where a price is missing."""
    ask: Decimal | None
    ask_label: str
    shares: tuple[tuple[str, float], ...]
    facts: tuple[Fact, ...]
    drivers: tuple[Driver, ...]
    middle: float
    missing: tuple[str, ...]
    chances: tuple[str, ...]
    headroom: Decimal | None
    new_money: Decimal | None
    seconds: str
    feasible: bool
    learned: tuple[str, ...] = ()
    """Figures of past runs that the estimate stands on."""


def card_of(plan: Plan, answer: Mapping[str, Any], *, headroom: Decimal | None, seconds: float) -> Card:
    """The card of an answer. `headroom` is in the plan's currency."""
    cost, currency = answer["cost"], plan.currency
    total = cost["total"]
    ask = as_money(answer["ask"]["total"], currency)
    return Card(
        currency=currency,
        total=as_money(total["mean"], currency),
        low=as_money(total["p10"], currency),
        high=as_money(total["p90"], currency),
        known_part=as_money((cost.get("known_part") or {}).get("mean"), currency),
        ask=ask,
        ask_label=ask_label(answer["contingency"]["share"]),
        shares=shares_of(cost["by_cause"]),
        facts=tuple(facts_of(answer["quantities"])),
        drivers=tuple(drivers_of(plan, answer["sensitivity"])),
        middle=total["p50"] or 0.0,
        missing=tuple(dict.fromkeys(missing_text(use) for use in answer["price_missing"])),
        chances=tuple(chances_of(answer["probability"])),
        headroom=headroom,
        new_money=None if ask is None or headroom is None else max(ask - max(headroom, Decimal(0)), Decimal(0)),
        seconds=f"{seconds:.2f}",
        feasible=answer["feasible"],
        learned=tuple(learned_text(row) for row in answer.get("baselines", [])),
    )


def learned_text(row: Mapping[str, Any]) -> str:
    """`Goodput: 5 runs, 2026-01-01 – 2026-06-30`."""
    label = BaselineQuantity(row["what"]).label if row["what"] in BaselineQuantity.values else row["what"]
    runs = ngettext("%(count)s run", "%(count)s runs", row["runs"]) % {"count": row["runs"]}
    return f"{label}: {runs}, {row['period']}"


def ask_label(contingency: float) -> str:
    if not contingency:
        return _("Ask, without contingency")
    return _("Ask, with %(share)s contingency") % {"share": figures.percent_text(contingency, 0)}


def shares_of(by_cause: Mapping[str, Mapping[str, float | None]]) -> tuple[tuple[str, float], ...]:
    """Name and mean of every cause that costs something known."""
    return tuple((str(CATEGORIES[cause]), mean) for cause in CAUSES if (mean := by_cause[cause]["mean"]))


def missing_text(use: Mapping[str, Any]) -> str:
    """`h100-sxm-80gb, spot` for a price that was asked for and not found."""
    parts = (use["item"], use["provider"], use["region"], use["mode"].replace("_", "-"))
    return ", ".join(part for part in parts if part)


# ---- what stands behind the total


def facts_of(quantities: Mapping[str, Mapping[str, Any]]) -> list[Fact]:
    found = []
    for name, label, written in FACTS:
        quantity = quantities.get(name)
        if quantity is None or not quantity["mean"]:
            continue
        low, high = quantity["p10"], quantity["p90"]
        spread = "" if low == high else f"{written(low)} – {written(high)}"
        found.append(Fact(str(label), written(quantity["p50"]), spread, name))
    return found


def count_text(number: float) -> str:
    """Three digits that matter, with separators: 69,100."""
    if number and abs(number) < 100:
        return figures.trimmed(figures.grouped(number, 2))
    digits = 3 - len(str(int(abs(number))))
    return figures.grouped(round(number, digits), 0)


def scientific(number: float) -> str:
    """9.7 × 10²²."""
    if not number:
        return "0"
    power = math.floor(math.log10(abs(number)))
    return f"{number / 10**power:.1f} × 10{str(power).translate(SUPERSCRIPTS)}"


def days_text(days: float) -> str:
    return _("%(days)s days") % {"days": figures.trimmed(figures.grouped(days, 1 if days < 100 else 0))}


def share_text(share: float) -> str:
    return figures.percent_text(share, 1)


def times_text(number: float) -> str:
    return f"{number:.2f} ×"


def money_each(number: float) -> str:
    return figures.money_text(number)


FACTS: Sequence[tuple[str, Any, Callable[[float], str]]] = (
    ("training_flops", gettext_lazy("Training FLOPs"), scientific),
    ("total_accelerator_hours", gettext_lazy("Accelerator-hours"), count_text),
    ("elapsed_days", gettext_lazy("Wall clock"), days_text),
    ("goodput", gettext_lazy("Goodput"), share_text),
    ("redundancy_factor", gettext_lazy("Redundancy factor"), times_text),
    ("peak_accelerators", gettext_lazy("Accelerators at the peak"), count_text),
    ("service_utilisation", gettext_lazy("Use of what is held"), share_text),
    ("cost_per_request", gettext_lazy("Cost of a request"), money_each),
    ("cost_per_million_tokens", gettext_lazy("Cost of a million tokens"), money_each),
    ("vector_index_gb", gettext_lazy("Size of the index, GB"), count_text),
    ("cost_per_vector", gettext_lazy("Cost of a vector"), money_each),
)
"""Quantities people ask for first, in order; those that a plan has are shown."""


def chances_of(probability: Mapping[str, float | None]) -> list[str]:
    """Probabilities that are worth a line."""
    said = {
        "over_budget": gettext_lazy("%(share)s likely to pass the budget"),
        "misses_deadline": gettext_lazy("%(share)s likely to miss the date"),
        "infeasible": gettext_lazy("%(share)s likely not to work out at all"),
    }
    return [
        str(sentence) % {"share": figures.percent_text(share, 0)}
        for name, sentence in said.items()
        if (share := probability.get(name)) and share >= 0.005
    ]


# ---- what moves it


def drivers_of(plan: Plan, sensitivity: Sequence[Mapping[str, Any]]) -> list[Driver]:
    """The ranges that move the total most."""
    moving = [one for one in sensitivity if one["low"] is not None and one["high"] != one["low"]][:MOST_DRIVERS]
    rows = Counter(row_name(plan, one["input"]) for one in moving)
    return [Driver(input_label(plan, one["input"], rows), one["low"], one["high"]) for one in moving]


def input_label(plan: Plan, name: str, rows: Mapping[str, int]) -> str:
    """An input by its label; the only figure of a row by what the row is called, as there is little room."""
    for member in plan.members:
        if name.startswith(f"members.{member.name}."):
            inner = name.removeprefix(f"members.{member.name}.")
            return f"{member.name}: {input_label(member.plan, inner, {row_name(member.plan, inner): 1})}"
    place = field_path(ERRORS_OF.get(name, name))
    declared = FIELDS.get(pattern_of(place))
    if declared is None:
        english, chinese, _unit = leaf_words(name)
        return words_of(english, chinese)
    row = row_name(plan, place)
    if not row:
        return words(declared.label)
    return row if rows[row] == 1 else f"{row}: {words(declared.label)}"


ERRORS_OF = {"model_error": "model_error.sigma"}
"""Inputs that the engine calls otherwise than the plan does."""


def row_name(plan: Plan, place: str) -> str:
    """What the row of a list is called: a role, a rung, a peak; else its number."""
    steps = place.split(".")
    number = next((step for step in steps if step.isdigit()), None)
    if number is None:
        return ""
    rows = plan.rows(".".join(steps[: steps.index(number)]))
    cells = rows[int(number)] if int(number) < len(rows) else {}
    named = next((cells[key] for key in ("role", "name", "accelerator") if cells.get(key)), None)
    return str(named) if named else str(int(number) + 1)
