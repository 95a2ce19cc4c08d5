"""What the estimate has to say beside single fields: the price picked, the optimum, the money of a share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from estimates.engine.plan import Plan
from estimates.engine.values import Baseline
from web import figures
from web.plan_card import missing_text
from web.plan_numbers import plain_figure

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A sentence beside a field; `kind` is `hint`, `warn` or `error`."""

    text: str
    kind: str = "hint"


def hints_of(plan: Plan, answer: Answer) -> dict[str, Said]:
    """Sentences by the path of their field."""
    said: dict[str, Said] = {}
    for source in (assumed, peak, count, price, tokens, data_work, duplicates, checkpoints, utilisation, roles):
        said.update(source(plan, answer))
    return said


def level(answer: Answer, name: str) -> float | None:
    """The middle of a quantity, where the plan has it."""
    quantity = answer["quantities"].get(name)
    return quantity["p50"] if quantity else None


PLACES_OF = {"paid_mfu": "compute.paid_mfu"}
"""Fields that the engine calls otherwise."""


def assumed(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    """What stands in for a figure that was left to history, as long as the organisation has none."""
    for assumption in answer.get("assumptions", ()):
        path = PLACES_OF.get(assumption["input"], assumption["input"])
        if assumption["origin"] == "baseline" and isinstance(plan.inputs.get(path), Baseline):
            low, high = (plain_figure(assumption[share]) for share in ("p10", "p90"))
            spread = low if low == high else f"{low} – {high}"
            yield path, Said(_("assumed, not measured here: %(spread)s") % {"spread": spread})


def peak(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    flops = level(answer, "peak_flops_per_second")
    if flops:
        facts = {
            "precision": (plan.text("compute.precision") or "").upper(),
            "tflops": figures.trimmed(figures.grouped(flops / 1e12, 1)),
        }
        yield "compute.accelerator", Said(_("dense %(precision)s %(tflops)s TFLOPS") % facts)


def count(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    needed, given = level(answer, "count_for_deadline"), plan.number("compute.count")
    if needed is None or given is None:
        return
    least = math.ceil(needed)
    kind = "warn" if given < least else "hint"
    yield "compute.count", Said(_("the date needs at least %(count)s") % {"count": figures.grouped(least, 0)}, kind)


def price(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    """The hourly price that was picked, or that there is none."""
    for row in answer["prices"]:
        if row["unit"] in ("accelerator-hour", "instance-hour"):
            yield "compute.mode", price_said(row, _("card-hour") if row["unit"] == "accelerator-hour" else _("hour"))
            return
    for use in answer["price_missing"]:
        if use["kind"] in ("accelerator", "instance"):
            yield "compute.mode", Said(_("no price in the list for %(what)s") % {"what": missing_text(use)}, "warn")
            return


def price_said(row: Mapping[str, Any], unit: str) -> Said:
    facts = {
        "amount": figures.money_text(row["amount"], row["currency"]),
        "unit": unit,
        "day": date_format(date.fromisoformat(row["valid_from"]), "DATE_FORMAT"),
        "provider": row["provider"] or _("price list"),
    }
    if row["verified"]:
        return Said(_("%(amount)s/%(unit)s from %(day)s, %(provider)s") % facts)
    return Said(_("%(amount)s/%(unit)s from %(day)s, %(provider)s: an example, check before use") % facts, "warn")


def tokens(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    optimum, paid = level(answer, "compute_optimal_tokens"), plan.number("data.tokens")
    if not optimum or not paid or plan.task != "pretrain":
        return
    facts = {"tokens": plain_figure(optimum)}
    if paid > 2 * optimum:
        yield "data.tokens", Said(_("compute-optimal is %(tokens)s; more makes serving cheaper") % facts)
    elif paid < optimum / 2:
        yield "data.tokens", Said(_("compute-optimal is %(tokens)s; fewer leave it undertrained") % facts, "warn")
    else:
        yield "data.tokens", Said(_("compute-optimal is %(tokens)s") % facts)


def data_work(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    """Continued pretraining takes less computing, so that data weighs more; nobody has published how much more."""
    total, of_data = answer["cost"]["total"]["mean"], answer["cost"]["by_line"]["data"]["mean"]
    if plan.task != "continued_pretrain" or not total or of_data is None:
        return
    facts = {"share": figures.percent_text(of_data / total, 0)}
    sentence = _("data is %(share)s of the total; its share is clearly higher than in pretraining from scratch") % facts
    yield "data.processing_cost_per_tb", Said(sentence, "hint" if of_data else "warn")


def duplicates(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    money = level(answer, "wasted_cost")
    wasted = (plan.number("data.duplicate_share") or 0) + (plan.number("data.low_quality_share") or 0)
    if money and wasted:
        facts = {"share": figures.percent_text(wasted, 0), "money": figures.money_text(round(money, -1), plan.currency)}
        yield "data.duplicate_share", Said(_("%(share)s is %(money)s of compute") % facts)


def checkpoints(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    optimum, interval = level(answer, "checkpoint_optimum_hours"), level(answer, "checkpoint_interval_hours")
    accelerators = level(answer, "accelerator_count")
    if not optimum or not interval or not accelerators:
        return
    facts = {"hours": hours_text(optimum), "count": figures.grouped(accelerators, 0)}
    far = not 0.5 <= interval / optimum <= 2
    sentence = _("best for %(count)s cards: %(hours)s") % facts
    yield "reliability.checkpoint_interval_hours", Said(sentence, "warn" if far else "hint")


def hours_text(hours: float) -> str:
    if hours < 1:
        return _("%(minutes)s min") % {"minutes": round(hours * 60)}
    return _("%(hours)s h") % {"hours": figures.trimmed(figures.grouped(hours, 1))}


def utilisation(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    """What stands in for an MFU that nobody gave."""
    mfu = answer["quantities"].get("mfu")
    if not mfu or mfu["p50"] is None:
        return
    if isinstance(plan.inputs.get("compute.mfu"), Baseline):
        facts = {"low": figures.percent_text(mfu["p10"], 0), "high": figures.percent_text(mfu["p90"], 0)}
        yield "compute.mfu", Said(_("from published runs of this kind: %(low)s – %(high)s") % facts)


def roles(plan: Plan, answer: Answer) -> Iterator[tuple[str, Said]]:
    """What a post costs, beside each role."""
    found = {row["item"]: row for row in answer["prices"] if row["unit"] == "fte-month"}
    missing = {use["item"] for use in answer["price_missing"] if use["kind"] == "role"}
    for number, row in enumerate(plan.rows("people")):
        role = str(row.get("role", "")).lower()
        if role in found:
            yield f"people.{number}.monthly_rate", price_said(found[role], _("month"))
        elif role in missing:
            yield f"people.{number}.monthly_rate", Said(_("no price for this role: give one here"), "warn")
