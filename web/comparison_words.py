"""The longer sentences of the comparisons: what another choice means for the money."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from web import figures
from web.plan_card import count_text, days_text
from web.plan_hints import hours_text
from web.plan_numbers import plain_figure

Found = Mapping[str, Any]
Money = Callable[[float | None], str]


def rent_or_own(found: Found, money: Money, difference: float) -> str:
    facts = {
        "rent": money(found["rent_per_hour"]),
        "own": money(found["own_per_busy_hour"]),
        "use": figures.percent_text(found["occupancy"], 0),
        "difference": money(difference),
        "from": figures.percent_text(found["break_even_occupancy"], 0),
    }
    hours = _("A rented card-hour costs %(rent)s, an own one %(own)s at %(use)s use.") % facts
    if found["break_even_occupancy"] is None:
        return f"{hours} " + _("Owning never pays at these prices; renting saves %(difference)s.") % facts
    if found["cheaper"] == "own":
        return f"{hours} " + _("Owning would save %(difference)s, and pays from %(from)s use on.") % facts
    return f"{hours} " + _("Renting saves %(difference)s; owning pays from %(from)s use on.") % facts


def reuse_or_pretrain(found: Found, money: Money) -> str:
    facts = {
        "tasks": figures.grouped(found["break_even_tasks"], 0),
        "saving": money(found["saving_per_task"]),
        "planned": figures.grouped(found["planned_tasks"] or 0, 0),
    }
    return (
        _("A model of one's own pays from %(tasks)s tasks on that are tuned from it; the plan counts %(planned)s.")
        % facts
        + " "
        + _("It saves about %(saving)s for each.") % facts
    )


def mfu_point(found: Found, money: Money) -> str:
    facts = {
        "mfu": figures.percent_text(found["mfu"], 1),
        "worth": money(found["worth"]),
        "hours": count_text(found["accelerator_hours"]),
        "upper": figures.percent_text(found["published_upper_quartile"], 1),
        "paid": figures.percent_text(found["paid_utilisation"], 1),
        "gap": money(found["worth"] * found["gap"] * 100),
    }
    point = _("One point above %(mfu)s is worth %(worth)s and %(hours)s card-hours.") % facts
    if found["gap"] <= 0:
        return (
            f"{point} "
            + _("Of paid hours the plan reaches %(paid)s, above the best quarter of published runs.") % facts
        )
    published = _("The best quarter of published runs reach %(upper)s of paid hours, this plan %(paid)s:") % facts
    return f"{point} {published} " + _("closing that gap is worth about %(gap)s.") % facts


def accelerators(found: Found, options: Sequence[Found], given: Found, money: Money) -> str:
    sentences = []
    if found["count_for_deadline"]:
        sentences.append(
            _("The date needs at least %(count)s cards.") % {"count": figures.grouped(found["count_for_deadline"], 0)}
        )
    following = next((one for one in options if one["count"] > given["count"] and one["feasible"]), None)
    if following is None or given["total"] is None or given["elapsed_days"] is None:
        return " ".join(sentences) or _("More cards would not be feasible.")
    change = following["total"] - given["total"]
    facts = {
        "count": figures.grouped(following["count"], 0),
        "given": figures.grouped(given["count"], 0),
        "days": days_text(following["elapsed_days"]),
        "before": days_text(given["elapsed_days"]),
        "change": money(abs(change)),
    }
    sentence = (
        _("%(count)s cards instead of %(given)s take %(days)s instead of %(before)s and cost %(change)s more.")
        if change > 0
        else _("%(count)s cards instead of %(given)s take %(days)s instead of %(before)s and cost %(change)s less.")
    )
    return " ".join([*sentences, sentence % facts])


def compute_optimal(found: Found, money: Money, difference: float | None) -> str:
    facts = {
        "tokens": plain_figure(found["tokens"]),
        "each": count_text(found["tokens_per_parameter"]),
        "optimal": plain_figure(found["optimal_tokens"]),
        "total": money(found["total_at_optimal_tokens"]),
        "change": money(abs(difference or 0.0)),
    }
    tokens = _("%(tokens)s tokens are %(each)s for each parameter; about 20 are compute-optimal.") % facts
    if not difference:
        return tokens
    if difference > 0:
        return f"{tokens} " + _("With %(optimal)s the plan would cost %(total)s, %(change)s less.") % facts
    return f"{tokens} " + _("With %(optimal)s the plan would cost %(total)s, %(change)s more.") % facts


def checkpoint(found: Found, curve: Sequence[Found], money: Money) -> str:
    best = min(curve, key=lambda one: one["lost_money"])
    facts = {
        "interval": hours_text(found["interval_hours"]),
        "optimum": hours_text(found["optimum_hours"]),
        "best": money(best["lost_money"]),
        "rare": hours_text(curve[-1]["interval_hours"]),
        "rarely": money(curve[-1]["lost_money"]),
    }
    reason = {
        "plan": _("The plan says every %(interval)s; the optimum is every %(optimum)s."),
        "acceptable_loss": _("The loss that is accepted says every %(interval)s; the optimum is every %(optimum)s."),
        "optimum": _("Every %(interval)s is the optimum."),
    }[found["binds"]]
    losses = _("At the optimum failures and saving cost %(best)s, at every %(rare)s they cost %(rarely)s.")
    return f"{reason % facts} {losses % facts}"
