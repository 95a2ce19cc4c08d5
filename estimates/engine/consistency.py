"""Rules between fields: each looks at a draft and refuses what cannot be true together."""

from __future__ import annotations

import math
from datetime import date

from estimates.engine.fields import FIELDS
from estimates.engine.messages import Phrase
from estimates.engine.values import Baseline, Pert, Point, Quantiles, Value
from estimates.engine.walking import Draft

SUM_TOLERANCE = 1e-9
MOST_GROWTH = 1e6
"""How often a service or a store may multiply over its months."""


def check_together(draft: Draft, prefix: str, start: date | None) -> None:
    """Every rule between fields. `start` is when the plan begins, if that is known."""
    _deadline(draft, prefix, start)
    _active_parameters(draft, prefix)
    _embedding(draft, prefix)
    _wasted_shares(draft, prefix)
    _growth(draft, prefix)
    _residual(draft, prefix)
    _mix(draft, prefix)
    _layout(draft, prefix)
    _owned_tiers(draft, prefix)
    for table in ("compute.pools", "inference.tiers"):
        _row_shares(draft, prefix, table)


def lowest(value: Value | None) -> float | None:
    """The least an input can be, as far as the document says."""
    match value:
        case Point(number):
            return number
        case Pert(low=number) | Quantiles(p10=number):
            return number
    return None


def highest(value: Value | None) -> float | None:
    """The most an input can be, as far as the document says."""
    match value:
        case Point(number):
            return number
        case Pert(high=number) | Quantiles(p90=number):
            return number
    return None


def _deadline(draft: Draft, prefix: str, start: date | None) -> None:
    deadline = draft.days.get("deadline")
    begins = draft.days.get("start", start)
    if deadline and begins and deadline <= begins:
        allowed = (Phrase("day_after", {"day": begins.isoformat()}),)
        draft.refuse(
            prefix + "deadline", deadline.isoformat(), "deadline_before_start", allowed, start=begins.isoformat()
        )


def _active_parameters(draft: Draft, prefix: str) -> None:
    active, total = lowest(draft.inputs.get("model.active_parameters")), highest(draft.inputs.get("model.parameters"))
    if active is not None and total is not None and active > total:
        allowed = (Phrase("at_most", {"high": f"{total:g}"}),)
        draft.refuse(prefix + "model.active_parameters", active, "active_above_total", allowed, parameters=f"{total:g}")


def _embedding(draft: Draft, prefix: str) -> None:
    """An input embedding is a part of the parameters a token passes."""
    whole = draft.inputs.get("model.active_parameters", draft.inputs.get("model.parameters"))
    most, least = highest(draft.inputs.get("model.embedding_parameters")), lowest(whole)
    if most is not None and least is not None and most >= least:
        allowed = (Phrase("below_number", {"high": f"{least:g}"}),)
        code = "embedding_is_all"
        draft.refuse(prefix + "model.embedding_parameters", most, code, allowed, parameters=f"{least:g}")


def _wasted_shares(draft: Draft, prefix: str) -> None:
    first, second = "data.duplicate_share", "data.low_quality_share"
    lows = [lowest(draft.inputs.get(path)) or 0 for path in (first, second)]
    if sum(lows) > 1 + SUM_TOLERANCE:
        draft.refuse(prefix + second, lows[1], "shares_above_one", (Phrase("sum_one"),), first=first, second=second)


def _growth(draft: Draft, prefix: str) -> None:
    """What grows by a share each month must stay a number one can imagine."""
    for section in ("inference", "vectors"):
        growth, months = highest(draft.inputs.get(f"{section}.growth_per_month")), f"{section}.months"
        if growth is None or growth <= 0:
            continue
        count = highest(draft.inputs.get(months)) or float(FIELDS[months].default or 1)
        if (count - 1) * math.log1p(growth) > math.log(MOST_GROWTH):
            allowed = (Phrase("growth", {"times": f"{MOST_GROWTH:g}"}),)
            path = f"{section}.growth_per_month"
            draft.refuse(prefix + path, draft.seen[path], "grows_too_much", allowed, months=f"{count:g}")


def _residual(draft: Draft, prefix: str) -> None:
    residual, capital = (
        lowest(draft.inputs.get("compute.own.residual")),
        highest(draft.inputs.get("compute.own.capital")),
    )
    if residual is not None and capital is not None and residual > capital:
        allowed = (Phrase("at_most", {"high": f"{capital:g}"}),)
        draft.refuse(
            prefix + "compute.own.residual", residual, "residual_above_capital", allowed, capital=f"{capital:g}"
        )


def _mix(draft: Draft, prefix: str) -> None:
    shares = {path: value for path, value in draft.inputs.items() if path.startswith("compute.mix.")}
    mode = draft.words.get("compute.mode", "rent")
    if not shares:
        return
    if mode == "own":
        draft.refuse(prefix + "compute.mix", draft.seen["compute.mix"], "mix_with_own", (Phrase("leave_out"),))
    elif mode != "mixed" and highest(shares.get("compute.mix.own")):
        draft.refuse(prefix + "compute.mode", mode, "mix_without_mixed", (Phrase("word", {"word": "mixed"}),))
    rented = [path for path, value in shares.items() if highest(value) and path != "compute.mix.own"]
    if len(rented) > 1 and _asks_for_one_mode(draft):
        draft.refuse(prefix + rented[1], draft.seen[rented[1]], "exclusive", (Phrase("leave_out"),), other=rented[0])
    _adds_up(draft, prefix, "compute.mix", list(shares.values()))


def _asks_for_one_mode(draft: Draft) -> bool:
    """Whether a pool, or a tier that is acquired like the plan, takes its price from the list: it asks for one mode."""
    pools, tiers = (draft.tables.get(table, []) for table in ("compute.pools", "inference.tiers"))
    of_plan = [] if draft.has("compute.price_per_accelerator_hour") else [tier for tier in tiers if "mode" not in tier]
    return any("price_per_accelerator_hour" not in row for row in (*pools, *of_plan))


def _row_shares(draft: Draft, prefix: str, table: str) -> None:
    rows = draft.tables.get(table, [])
    shares = [row["share"] for row in rows if "share" in row]
    if shares and len(shares) == len(rows):
        _adds_up(draft, prefix, table, [share for share in shares if isinstance(share, Point | Pert | Quantiles)])


def _owned_tiers(draft: Draft, prefix: str) -> None:
    """A service runs on own cards as a whole; its tiers then neither rent nor have a price."""
    mode = draft.words.get("compute.mode", "rent")
    for index, tier in enumerate(draft.tables.get("inference.tiers", [])):
        owned = tier.get("mode") == "own"
        wrong = ["mode"] if "mode" in tier and owned != (mode == "own") else []
        if mode == "own" and "price_per_accelerator_hour" in tier:
            wrong.append("price_per_accelerator_hour")
        for key in wrong:
            path = f"inference.tiers.{index}.{key}"
            other = f"compute.mode: {mode}"
            draft.refuse(prefix + path, draft.seen.get(path), "exclusive", (Phrase("leave_out"),), other=other)


def _adds_up(draft: Draft, prefix: str, path: str, shares: list[Value]) -> None:
    """Plain shares add up to 1; ranges must at least be able to."""
    if any(isinstance(share, Baseline) for share in shares):
        return
    least = sum(lowest(share) or 0 for share in shares)
    most = sum(highest(share) or 0 for share in shares)
    if least > 1 + SUM_TOLERANCE or most < 1 - SUM_TOLERANCE:
        wrong = least if least > 1 else most
        draft.refuse(prefix + path, draft.seen[path], "shares_not_one", (Phrase("sum_one"),), sum=f"{wrong:.6g}")


def _layout(draft: Draft, prefix: str) -> None:
    """The product of the parallel sizes divides the count; what is left over may be context or expert parallel."""
    count = draft.inputs.get("compute.count")
    sizes = [draft.inputs.get(f"compute.parallelism.{key}") for key in ("data", "tensor", "pipeline")]
    group = 1
    for size in sizes:
        group *= int(size.value) if isinstance(size, Point) else 1
    if isinstance(count, Point) and group > 1 and count.value % group:
        parameters: dict[str, str | int] = {"group": group, "count": f"{count.value:g}"}
        draft.refuse(
            prefix + "compute.parallelism",
            draft.seen["compute.parallelism"],
            "layout_does_not_divide",
            (Phrase("leave_out"),),
            **parameters,
        )
