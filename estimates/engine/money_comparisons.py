"""Comparisons about money: rent or own, reuse or pretrain, burst, where the same money does most, what a cut risks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from core.vocabulary import Category
from estimates.engine.case import Case
from estimates.engine.conditions import BUILDING
from estimates.engine.leaves import Context, PriceUse
from estimates.engine.plan_warnings import break_even_tasks, saving_per_task
from estimates.engine.price_leaves import PRICES, price_key, unit_of
from estimates.engine.sampling import Range, quantile
from estimates.engine.summary import figure

Answer = dict[str, Any]
MONTHS = 12
MONTH_HOURS = 730.5
CUTS = (0.1, 0.2, 0.3)
AGAIN = 0.1
MOVED = 0.1


def own_hourly(context: Context) -> tuple[dict[str, float], list[str]]:
    """The parts of an own accelerator-hour at the medians, and what is missing to know them."""
    capital, electricity = (_price_or_own_figure(context, name) for name in ("price_capital", "price_electricity"))
    board = context.plan.number("compute.own.board_kw")
    if board is None and context.spec is not None and context.spec.board_w:
        board = context.spec.board_w / 1000.0
    if capital is None or electricity is None or board is None:
        named = {"price_capital": capital, "price_electricity": electricity, "board_kw": board}
        return {}, [name for name, value in named.items() if value is None]
    figures = {key: _median(context, f"compute.own.{key}") for key in ("life_hours", "occupancy", "pue")}
    own = {key: context.plan.number(f"compute.own.{key}") or 0.0 for key in OWN_FIGURES}
    energy = board * own["load"] * figures["pue"] * electricity
    return {
        "depreciation": (capital - own["residual"]) / figures["life_hours"],
        "electricity": energy,
        "facility": (own["fixed_power_per_month"] + own["space"]) / MONTH_HOURS,
        "operations": own["operations"] / MONTH_HOURS,
        "occupancy": figures["occupancy"],
    }, []


OWN_FIGURES = ("residual", "load", "fixed_power_per_month", "space", "operations")


def _median(context: Context, path: str) -> float:
    given = context.plan.inputs.get(path)
    if isinstance(given, Range):
        return quantile(given, 0.5)
    known = context.history.value(path, context.plan)
    return quantile(known.value, 0.5) if known else float("nan")


def _price_or_own_figure(context: Context, name: str) -> float | None:
    """A price for a comparison only: no total depends on it."""
    for path in PRICES[name].own_figures:
        given = context.plan.number(path)
        if given is not None:
            return given
    price = PRICES[name]
    key = price_key(context, price)
    row = context.prices.on(key, max(context.start, context.prices_on))
    context.compared[name] = PriceUse(name, price.english, key, unit_of(price, context), row)
    return float(row.amount) if row else None


def _rent(case: Case) -> float | None:
    rate = case.median("mean_rent_rate")
    if math.isfinite(rate) and rate > 0 and not case.has("depreciation_rate"):
        return rate
    return _price_or_own_figure(case.context, "price_on_demand")


def _own_and_rent(case: Case) -> tuple[Mapping[str, float], float | None, list[str]]:
    """The parts of an own hour, the price of a rented one, and what is missing to know them."""
    if case.hourly is None:
        parts, missing = own_hourly(case.context)
        rent = _rent(case)
        case.hourly = parts, rent, [*missing, *([] if rent else ["price_on_demand"])]
    return case.hourly


def rent_or_own(case: Case) -> Answer | None:
    """The occupancy from which an own accelerator-hour costs less than a rented one."""
    if not case.has("total_accelerator_hours"):
        return None
    found, rent, missing = _own_and_rent(case)
    if missing or not rent:
        return {"missing": missing}
    parts = dict(found)
    occupancy = parts.pop("occupancy")
    full = sum(parts.values())
    hours = case.mean("total_accelerator_hours")
    break_even = full / rent
    return {
        "rent_per_hour": figure(rent),
        "own_per_busy_hour": figure(full / occupancy),
        "own_parts": {name: figure(value) for name, value in parts.items()},
        "occupancy": figure(occupancy),
        "break_even_occupancy": figure(break_even) if break_even <= 1 else None,
        "rent_total": figure(hours * rent),
        "own_total": figure(hours * full / occupancy),
        "cheaper": "own" if full / occupancy < rent else "rent",
    }


def reuse_or_pretrain(case: Case) -> Answer | None:
    """From how many downstream tasks a model of one's own costs less than adapting an existing one each time."""
    tasks = break_even_tasks(case)
    if not math.isfinite(tasks):
        return None
    return {
        "break_even_tasks": figure(math.ceil(tasks)),
        "planned_tasks": case.plan.number("data.reusable_for_projects"),
        "pretrain_total": figure(case.total),
        "saving_per_task": figure(saving_per_task(case)),
        "assumption": "each task: full fine-tuning of a reused model on 1 % of the pretraining tokens, against a head",
    }


def burst(case: Case) -> Answer | None:
    """An own base and rented peaks over twelve months, against all rented and all owned."""
    if not case.has("total_accelerator_hours"):
        return None
    found, rent, missing = _own_and_rent(case)
    if missing or not rent:
        return {"missing": missing}
    own_month = sum(part for name, part in found.items() if name != "occupancy") * MONTH_HOURS
    demand = _monthly_hours(case) / MONTH_HOURS
    if not np.isfinite(demand).all():
        return None
    bases = sorted({0.0, *np.ceil(demand).tolist(), float(np.ceil(demand.mean()))})
    rows = [
        {
            "base": base,
            "total": figure(base * own_month * MONTHS + np.maximum(demand - base, 0.0).sum() * MONTH_HOURS * rent),
        }
        for base in bases
    ]
    best = min(rows, key=lambda row: row["total"])
    return {
        "all_rented": rows[0]["total"],
        "all_owned": rows[-1]["total"],
        "best_base": best["base"],
        "best_total": best["total"],
        "options": rows,
    }


def _monthly_hours(case: Case) -> Any:
    """Mean accelerator-hours in each of the first twelve months."""
    monthly = np.zeros(MONTHS)
    hours = case.evaluation.run_hours_of_a_year
    monthly[: len(hours)] = hours[:, min(case.index, hours.shape[1] - 1)]
    return monthly


def allocation(case: Case) -> Answer | None:
    """A tenth of the total, spent on compute, on data, or on the platform: the effect in teaching tokens.

    Data: processing at twice the money halves the waste. Platform: twice the money for people and platform halves what
    failures and rollback take. Both are assumptions, and said to be.
    """
    computing = _computing(case)
    if case.plan.task not in BUILDING or not math.isfinite(case.total) or not computing > 0:
        return None
    money = MOVED * case.total
    efficiency = case.median("data_efficiency")
    wasted = case.median("wasted_tokens") / case.median("paid_tokens")
    processing = case.mean("processing_cost")
    platform = case.costs.mean_by_line[Category.PEOPLE_PLATFORM][case.index]
    lost = 1.0 - case.median("goodput")
    gains: dict[str, float | None] = {"compute": money / computing, "data": None, "platform": None}
    if processing > 0 and efficiency > 0:
        gains["data"] = (1.0 - wasted * 0.5 ** (money / processing)) / (1.0 - wasted) - 1.0 if wasted < 1 else None
    if platform > 0:
        gains["platform"] = (1.0 - lost * 0.5 ** (money / platform)) / (1.0 - lost) - 1.0
    known = {name: gain for name, gain in gains.items() if gain is not None}
    return {
        "money": figure(money),
        "gain_in_teaching_tokens": {name: None if gain is None else figure(gain) for name, gain in gains.items()},
        "best": max(known, key=lambda name: known[name]),
        "assumption": "twice the money halves the waste of data, or the losses of the platform",
    }


def _computing(case: Case) -> float:
    """The main run's hours at their full rate: of own accelerators with depreciation and power."""
    return case.mean("accelerator_hours") * case.mean("hourly_rate")


def cut(case: Case) -> Answer | None:
    """Less computing against the rework it risks: the probability of rework from which the cut costs more."""
    computing = _computing(case)
    if case.plan.task not in BUILDING or not computing > 0:
        return None
    rows = []
    for share in CUTS:
        saved = share * computing
        rework = saved + AGAIN * computing
        rows.append(
            {
                "cut": share,
                "saved": figure(saved),
                "rework": figure(rework),
                "tokens_per_parameter": figure(case.median("tokens_per_parameter") * (1.0 - share)),
                "break_even_probability": figure(saved / rework),
            }
        )
    return {"options": rows, "assumption": "rework repeats what was cut, and a tenth of the run to get back to speed"}
