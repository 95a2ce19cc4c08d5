"""What is kept of the engine's answer beside the answer itself: totals as money, and how two answers differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from core.errors import DomainError
from core.money import round_money
from estimates.engine import lasting
from estimates.engine.plan import Plan

from .models import Estimate

LARGEST_TOTAL = Decimal(10) ** 25

Answer = Mapping[str, Any]


def fill(estimate: Estimate, plan: Plan, answer: Answer, ground: str) -> None:
    """Set what an estimate keeps of its plan and of the whole answer, and what that rests on beside plan and prices."""
    priced, lasts = lasting.split(answer)
    fill_priced(estimate, plan, priced)
    estimate.lasting, estimate.lasting_ground = lasts, ground
    estimate.plan = plan.document
    estimate.name = plan.name
    estimate.currency = plan.currency
    estimate.samples = answer["samples"]


def fill_priced(estimate: Estimate, plan: Plan, priced: Answer) -> None:
    """Set what prices move of an answer. Totals stay empty where the answer has none."""
    total = priced["cost"]["total"]
    ask = as_money(priced["ask"]["total"], plan.currency)
    money = {name: as_money(total[name], plan.currency) for name in ("mean", "p10", "p50", "p90")}
    estimate.priced = priced
    estimate.engine_version = priced["engine_version"]
    estimate.total_mean, estimate.total_p10 = money["mean"], money["p10"]
    estimate.total_p50, estimate.total_p90 = money["p50"], money["p90"]
    estimate.ask_total = ask


def as_money(number: float | None, currency: str) -> Decimal | None:
    """A number of the engine as money, in the currency's smallest unit."""
    if number is None:
        return None
    amount = round_money(Decimal(repr(number)), currency)
    if abs(amount) >= LARGEST_TOTAL:
        raise DomainError(_("This plan costs more than can be written down; look for a figure that is too large."))
    return amount


def prices_of(answer: Answer) -> list[dict[str, Any]]:
    """Every price that an answer rests on, those of its comparisons too."""
    return [*answer["prices"], *answer["prices_compared"]]


def moved_prices(before: Sequence[Answer], after: Sequence[Answer]) -> list[dict[str, Any]]:
    """What differs between the prices of two answers: kind, what, the amounts before and after; none if missing."""
    old, new = _amounts(before), _amounts(after)
    return [
        {"kind": kind, "what": what, "old": old.get((kind, what), []), "new": new.get((kind, what), [])}
        for kind, what in sorted(old.keys() | new.keys())
        if old.get((kind, what)) != new.get((kind, what))
    ]


def _amounts(prices: Sequence[Answer]) -> dict[tuple[str, str], list[float]]:
    """Amounts by kind, and item and mode; several where the price changes during the plan."""
    amounts: dict[tuple[str, str], list[float]] = {}
    for row in prices:
        what = ", ".join(part for part in (row["item"], row["mode"].replace("_", " ")) if part)
        amounts.setdefault((row.get("kind", ""), what), []).append(row["amount"])
    return amounts


def why_no_total(answer: Answer) -> str:
    """What keeps an answer from having a total."""
    missing = [str(use["item"]) for use in answer["price_missing"]]
    if missing:
        return _("there is no price for %(what)s") % {"what": ", ".join(dict.fromkeys(missing))}
    return _("it is not feasible")
