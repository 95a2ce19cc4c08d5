"""What other choices would cost: each comparison of an answer as a sentence about money, with a table or a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from web import comparison_words as say
from web import figures
from web.charts.choices import Choice, Course
from web.plan_card import count_text, days_text, scientific
from web.plan_hints import hours_text
from web.plan_numbers import plain_figure
from web.plan_sources import source_text

Found = Mapping[str, Any]
Money = Callable[[float | None], str]


@dataclass(frozen=True)
class Line:
    """One row of a comparison's table; the chosen one is what the plan says."""

    cells: tuple[str, ...]
    is_chosen: bool = False


@dataclass(frozen=True)
class Comparison:
    """One other way to do it, and what that means for the money."""

    key: str
    sentence: str
    money: float = 0.0
    """How much is at stake: the greatest comes first."""
    head: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    choices: tuple[Choice, ...] = ()
    course: Course | None = None
    note: str = ""
    member: str = ""

    @property
    def title(self) -> str:
        return str(TITLES[self.key])


@dataclass(frozen=True)
class Factor:
    """One of the four factors, and what it is."""

    label: str
    value: str
    meaning: str


@dataclass(frozen=True)
class Strip:
    """Scale × MFU × goodput × data: what is left of the operations that are paid for."""

    factors: tuple[Factor, ...]
    useful: str
    share: str


def comparisons_of(answer: Found) -> list[Comparison]:
    """Those that apply to the plan, or to the members of a life, with the most money first."""
    found = told(answer)
    for member in answer.get("members", ()):
        found += [replace(one, member=str(member["name"])) for one in told(member)]
    return sorted(found, key=lambda one: -one.money)


def told(answer: Found) -> list[Comparison]:
    def money(amount: float | None) -> str:
        return figures.money_text(amount, answer["currency"])

    compared = answer.get("comparisons") or {}
    known = {key: found for key, found in compared.items() if key in TELLERS and is_known(key, found)}
    tellings = (TELLERS[key](found, money, answer) for key, found in known.items())
    return [one for one in tellings if one is not None]


def is_known(key: str, found: Found) -> bool:
    """Whether the figures are there without which a comparison says nothing: a price may be missing."""
    return "missing" in found or all(found.get(name) is not None for name in NEEDED.get(key, ()))


def strip_of(answer: Found) -> Strip | None:
    """The four factors of a plan that trains."""
    found = answer.get("four_factors")
    if not found or not found["scale_flops"]:
        return None
    return Strip(
        (
            Factor(_("Scale"), scientific(found["scale_flops"]), _("FLOP that the paid hours could do at peak")),
            Factor(_("MFU"), share(found["mfu"]), _("of the peak is reached while the run runs")),
            Factor(_("Goodput"), share(found["goodput"]), _("of the paid time makes progress that is kept")),
            Factor(_("Data"), share(found["data_efficiency"]), _("of the tokens teach, times their measured gain")),
        ),
        useful=scientific(found["useful_flops"]),
        share=share(found["useful_flops"] / found["scale_flops"]),
    )


def share(number: float | None) -> str:
    return figures.percent_text(number, 1)


# ---- money


def rent_or_own(found: Found, money: Money, answer: Found) -> Comparison:
    if missing := found.get("missing"):
        names = ", ".join(str(MISSING.get(name, name)) for name in missing)
        return Comparison(
            "rent_or_own", _("To compare renting with owning, this is missing: %(what)s.") % {"what": names}
        )
    difference = abs(found["rent_total"] - found["own_total"])
    parts = tuple(Line((str(PARTS[name]), money(amount))) for name, amount in found["own_parts"].items())
    return Comparison(
        "rent_or_own",
        say.rent_or_own(found, money, difference),
        difference,
        (_("Full cost of an own card-hour"), ""),
        (*parts, Line((_("rented"), money(found["rent_per_hour"])))),
    )


def reuse_or_pretrain(found: Found, money: Money, answer: Found) -> Comparison:
    planned = found["planned_tasks"] or 0
    gain = planned * found["saving_per_task"] - found["pretrain_total"]
    return Comparison(
        "reuse_or_pretrain",
        say.reuse_or_pretrain(found, money),
        abs(gain),
        note=_(
            "Assumed: each task tunes a reused model on a hundredth of the pretraining tokens, against a head alone."
        ),
    )


def burst(found: Found, money: Money, answer: Found) -> Comparison | None:
    if found.get("missing"):
        return None
    base = found["best_base"]
    facts = {"count": count_text(base), "best": money(found["best_total"]), "rented": money(found["all_rented"])}
    sentence = (
        _("Over twelve months own %(count)s cards and rented peaks are cheapest: %(best)s; all rented %(rented)s.")
        if base
        else _("Over twelve months it is cheapest to rent everything: %(best)s.")
    )
    lines = tuple(Line((count_text(one["base"]), money(one["total"])), one["base"] == base) for one in found["options"])
    saved = found["all_rented"] - found["best_total"]
    return Comparison("burst", sentence % facts, saved, (_("Own cards"), _("Twelve months")), lines)


def allocation(found: Found, money: Money, answer: Found) -> Comparison:
    asked = found["gain_in_teaching_tokens"]
    gains = {name: asked[name] for name in WHERE if asked.get(name) is not None}
    facts = {"money": money(found["money"]), "best": WHERE[found["best"]], "gain": gained(gains[found["best"]])}
    return Comparison(
        "allocation",
        _("A tenth more, %(money)s, does most for %(best)s; tokens that teach: %(gain)s.") % facts,
        found["money"],
        choices=tuple(
            Choice(str(WHERE[name]), gain, gained(gain), name == found["best"]) for name, gain in gains.items()
        ),
        note=_("Assumed: twice the money halves the waste of the data, or the losses of the platform."),
    )


def gained(gain: float) -> str:
    """`+28.9 %`; from twice as many on `× 14`."""
    return f"+{share(gain)}" if gain < 1 else f"× {count_text(1 + gain)}"


def cut(found: Found, money: Money, answer: Found) -> Comparison:
    middle = found["options"][len(found["options"]) // 2]
    facts = {
        "cut": figures.percent_text(middle["cut"], 0),
        "saved": money(middle["saved"]),
        "chance": figures.percent_text(middle["break_even_probability"], 0),
    }
    lines = tuple(
        Line(
            (
                figures.percent_text(one["cut"], 0),
                money(one["saved"]),
                money(one["rework"]),
                figures.percent_text(one["break_even_probability"], 0),
            )
        )
        for one in found["options"]
    )
    return Comparison(
        "cut",
        _("Computing %(cut)s less saves %(saved)s, and costs more once rework is likelier than %(chance)s.") % facts,
        found["options"][-1]["saved"],
        (_("Cut"), _("saves"), _("rework costs"), _("pays below a risk of")),
        lines,
        note=_("Rework repeats what was cut, and a tenth of the run to get back to speed."),
    )


# ---- the run


def mfu_point(found: Found, money: Money, answer: Found) -> Comparison:
    return Comparison(
        "mfu_point",
        say.mfu_point(found, money),
        found["worth"] * max(found["gap"] * 100, 1.0),
        note=source_text(found["source"]),
    )


def accelerators(found: Found, money: Money, answer: Found) -> Comparison | None:
    options = list({one["count"]: one for one in found["options"]}.values())
    given = found["options"][len(found["options"]) // 2]
    lines = tuple(
        Line(
            (
                figures.grouped(one["count"], 0),
                days_text(one["elapsed_days"]),
                share(one["goodput"]),
                money(one["total"]) if one["feasible"] else _("not feasible"),
                yes(one["meets_deadline"]),
                yes(one["memory_fits"]),
            ),
            one is given or one["count"] == given["count"],
        )
        for one in options
        if one["elapsed_days"] is not None
    )
    totals = [one["total"] for one in options if one["feasible"] and one["total"] is not None]
    if not totals or not lines:
        return None
    return Comparison(
        "accelerators",
        say.accelerators(found, options, given, money),
        max(totals) - min(totals),
        (_("Cards"), _("takes"), _("goodput"), _("total"), _("in time"), _("fits memory")),
        lines,
    )


def yes(answer: bool | None) -> str:
    return figures.NOTHING if answer is None else _("yes") if answer else _("no")


def compute_optimal(found: Found, money: Money, answer: Found) -> Comparison:
    total, now = found["total_at_optimal_tokens"], answer["cost"]["total"]["p50"]
    difference = None if total is None or now is None else now - total
    return Comparison(
        "compute_optimal",
        say.compute_optimal(found, money, difference),
        abs(difference or 0.0),
        ("", _("Parameters"), _("Tokens")),
        (
            Line((_("the same work, spent best"), *(plain_figure(one) for one in found["same_work"].values()))),
            Line((_("this model, compute-optimal"), "", plain_figure(found["optimal_tokens"]))),
            Line((_("this plan"), "", plain_figure(found["tokens"])), is_chosen=True),
        ),
    )


def checkpoint(found: Found, money: Money, answer: Found) -> Comparison | None:
    curve = [one for one in found["curve"] if one["lost_money"] is not None]
    if not curve:
        return None
    losses = [one["lost_money"] for one in curve]
    return Comparison(
        "checkpoint",
        say.checkpoint(found, curve, money),
        max(losses) - min(losses),
        course=Course(
            labels=tuple(hours_text(one["interval_hours"]) for one in curve),
            lines=(
                (_("lost work and stalls"), tuple(losses)),
                (_("storage, if every one is kept"), tuple(one["storage_money_if_all_kept"] or 0.0 for one in curve)),
            ),
            currency=answer["currency"],
        ),
    )


def finetune(found: Found, money: Money, answer: Found) -> Comparison | None:
    asked = {name: found["strategies"][name]["compute_money"] for name in STRATEGIES}
    rows = {name: amount for name, amount in asked.items() if amount is not None}
    if len(rows) < len(STRATEGIES):
        return None
    facts = {name: money(amount) for name, amount in rows.items()}
    return Comparison(
        "finetune",
        _("Computing costs %(full)s with all parameters, %(lora)s with LoRA, %(head_only)s for the head alone.")
        % facts,
        max(rows.values()) - min(rows.values()),
        choices=tuple(
            Choice(str(STRATEGIES[name]), amount, money(amount), name == found["chosen"])
            for name, amount in rows.items()
        ),
    )


def precision(found: Found, money: Money, answer: Found) -> Comparison | None:
    rows = {name: one for name, one in found["precisions"].items() if one["compute_money"] is not None}
    if found["chosen"] not in rows:
        return None
    now = rows[found["chosen"]]["compute_money"]
    best = min(rows, key=lambda name: rows[name]["compute_money"])
    lines = tuple(
        Line(
            (
                name.upper(),
                figures.trimmed(figures.grouped(one["peak_tflops"], 1)),
                count_text(one["accelerator_hours"]),
                money(one["compute_money"]),
            ),
            name == found["chosen"],
        )
        for name, one in sorted(rows.items(), key=lambda pair: pair[1]["compute_money"])
    )
    facts = {"best": best.upper(), "now": found["chosen"].upper(), "saved": money(now - rows[best]["compute_money"])}
    sentence = (
        _("%(best)s instead of %(now)s would save %(saved)s at most: the MFU of it is usually lower.")
        if rows[best]["compute_money"] < now
        else _("No precision of this card is faster than %(now)s.")
    )
    head = (_("Precision"), "TFLOPS", _("card-hours"), _("computing"))
    return Comparison("precision", sentence % facts, now - rows[best]["compute_money"], head, lines)


Teller = Callable[[Found, Money, Found], Comparison | None]
TELLERS: Mapping[str, Teller] = {
    teller.__name__: teller
    for teller in (
        rent_or_own,
        reuse_or_pretrain,
        mfu_point,
        accelerators,
        compute_optimal,
        checkpoint,
        finetune,
        precision,
        burst,
        allocation,
        cut,
    )
}
NEEDED = {
    "rent_or_own": ("rent_per_hour", "own_per_busy_hour", "rent_total", "own_total"),
    "reuse_or_pretrain": ("saving_per_task", "pretrain_total"),
    "mfu_point": ("worth", "accelerator_hours", "gap"),
    "compute_optimal": ("tokens", "tokens_per_parameter", "optimal_tokens"),
    "checkpoint": ("interval_hours", "optimum_hours"),
    "burst": ("best_total", "all_rented"),
    "allocation": ("money",),
}
TITLES = {
    "rent_or_own": gettext_lazy("Rent or own"),
    "reuse_or_pretrain": gettext_lazy("Reuse a model or pretrain one"),
    "mfu_point": gettext_lazy("One more point of MFU"),
    "accelerators": gettext_lazy("More or fewer cards"),
    "compute_optimal": gettext_lazy("Tokens against the optimum"),
    "checkpoint": gettext_lazy("How often to save"),
    "finetune": gettext_lazy("All parameters, LoRA, or the head"),
    "precision": gettext_lazy("Another precision"),
    "burst": gettext_lazy("Own a base, rent the peaks"),
    "allocation": gettext_lazy("Where a little more money does most"),
    "cut": gettext_lazy("Computing less"),
}
WHERE = {"compute": gettext_lazy("compute"), "data": gettext_lazy("data"), "platform": gettext_lazy("platform")}
STRATEGIES = {
    "full": gettext_lazy("all parameters"),
    "lora": gettext_lazy("LoRA"),
    "head_only": gettext_lazy("head alone"),
}
PARTS = {
    "depreciation": gettext_lazy("depreciation"),
    "electricity": gettext_lazy("electricity"),
    "facility": gettext_lazy("facility"),
    "operations": gettext_lazy("operations"),
}
MISSING = {
    "price_capital": gettext_lazy("the purchase price of a card"),
    "price_electricity": gettext_lazy("the price of electricity"),
    "board_kw": gettext_lazy("the power of a card"),
    "price_on_demand": gettext_lazy("the price of a rented card"),
}
