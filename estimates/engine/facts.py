"""Facts as leaves: numbers that follow from the plan's words, the catalogue, the calendar and the published tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np

from core.months import Month
from estimates.engine import row_facts
from estimates.engine.leaves import NOT_KNOWN, Context, Leaf, point_leaf, value_leaf
from estimates.engine.messages import gettext_noop
from estimates.engine.peaks import convention, peak_of, peak_precision, uses_paid_mfu
from estimates.engine.price_leaves import acquisition_modes, offered_key, row_price
from estimates.engine.row_prices import POOLS, TIERS
from estimates.engine.sampling import Z_10, Range
from estimates.engine.values import Point, Quantiles

_ = gettext_noop
REFERENCE_PEAK_TFLOPS = 989.0
ATTENTION_COUNTED = {"full": 1.0, "causal": 0.5, "none": 0.0}
BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}
STATE_BYTES = {"adam": 16.0, "adam_8bit": 10.0, "adafactor": 8.0, "lion": 12.0, "muon": 12.0, "sgd": 12.0}
"""Bytes a parameter of weights (2), gradients (2), master weights (4) and what the optimiser keeps (8 for Adam)."""
RECOMPUTE_FACTOR = {"model": 1.0, "hardware": 4.0 / 3.0}


@dataclass(frozen=True)
class Fact:
    """A number that no one types in."""

    unit: str
    english: str
    chinese: str
    find: Callable[[Context], Leaf | None]


def _peak(context: Context) -> Leaf | None:
    given = context.plan.inputs.get("compute.peak_tflops")
    if isinstance(given, Range):
        return value_leaf(given, "compute.peak_tflops", "plan")
    if context.spec is None:
        return None
    precision = peak_precision(context.plan)
    peak = peak_of(context.spec, precision)
    return (peak and point_leaf(peak, "catalogue", f"{context.spec.name}, {precision}")) or None


def _from_catalogue(path: str, attribute: str, scale: float = 1.0) -> Callable[[Context], Leaf | None]:
    def find(context: Context) -> Leaf | None:
        given = context.plan.inputs.get(path)
        if isinstance(given, Range):
            return value_leaf(given, path, "plan")
        figure = getattr(context.spec, attribute, None) if context.spec else None
        return point_leaf(figure * scale, "catalogue", context.spec.name) if figure and context.spec else None

    return find


def _from_history(path: str) -> Callable[[Context], Leaf | None]:
    """The plan's figure, or what history and the published tables say."""

    def find(context: Context) -> Leaf | None:
        given = context.plan.inputs.get(path)
        if isinstance(given, Range):
            return value_leaf(given, path, "plan")
        known = context.history.value(path, context.plan)
        return value_leaf(known.value, path, "baseline", known.source) if known else None

    return find


def _paid_mfu(context: Context) -> Leaf | None:
    return _from_history("compute.paid_mfu")(context) if uses_paid_mfu(context.plan) else None


def _share_of_base(context: Context) -> Leaf | None:
    return _from_history("data.share_of_base")(context) if "data.base_tokens" in context.plan.inputs else None


def _residual(context: Context) -> Leaf:
    given = context.plan.number("model_error.sigma")
    known = context.history.residual(context.plan)
    sigma = known.value.typical if given is None else given
    around_one = Quantiles(math.exp(-Z_10 * sigma), 1.0, math.exp(Z_10 * sigma)) if sigma else Point(1.0)
    if given is None:
        return value_leaf(around_one, "model_error", "baseline", known.source)
    return value_leaf(around_one, "model_error", "plan")


def _share(mode: str) -> Callable[[Context], Leaf | None]:
    def find(context: Context) -> Leaf | None:
        if mode not in acquisition_modes(context):
            return None
        given = context.plan.inputs.get(f"compute.mix.{mode}")
        if isinstance(given, Range):
            return value_leaf(given, f"compute.mix.{mode}", "plan")
        return point_leaf(1.0, "convention", f"mode: {context.plan.text('compute.mode') or 'rent'}")

    return find


def _hours_to_deadline(context: Context) -> Leaf | None:
    deadline = context.plan.day("deadline")
    if deadline is None:
        return None
    return point_leaf((deadline - context.start).days * 24.0, "calendar", f"{context.start} – {deadline}")


@lru_cache(maxsize=256)
def month_starts(start: date, months: int) -> np.ndarray:
    """Hours from the start of a plan to the beginning of each month; the first one 0."""
    first = Month.of(start)
    return np.array([0.0] + [((first + offset).start - start).days * 24.0 for offset in range(1, months)])


def _month_starts(context: Context) -> Leaf:
    return Leaf((), "calendar", str(context.start), fixed=month_starts(context.start, context.months))


def role_key_item(role: str) -> str:
    """How the price table knows a role."""
    return " ".join(role.lower().split())


def _role_rate(context: Context, leaf: str, role: str) -> Range:
    key = offered_key(context, "role", role_key_item(role))
    row = row_price(context, leaf, role, "money / fte / month", key)
    return Point(float(row.amount)) if row else NOT_KNOWN


def _people_rate(context: Context) -> Leaf | None:
    rows = context.plan.rows("people")
    if not rows:
        return None
    context.uses.pop("people_rate", None)
    rates: list[Range] = []
    for row in rows:
        given = row.get("monthly_rate")
        rates.append(given if isinstance(given, Range) else _role_rate(context, "people_rate", str(row["role"])))
    streams = tuple(f"people.{index}.monthly_rate" for index in range(len(rows)))
    return Leaf(tuple(rates), "plan", _("rates given, or the price table"), streams, by_row=True)


def _recovery_rate(context: Context) -> Leaf | None:
    role = context.plan.text("operations.role")
    if role:
        context.uses.pop("recovery_rate", None)
        return value_leaf(_role_rate(context, "recovery_rate", role), "operations.role", "price", role)
    rows = context.plan.rows("people")
    if not rows:
        return None
    given = rows[0].get("monthly_rate")
    rate = given if isinstance(given, Range) else _role_rate(context, "recovery_rate", str(rows[0]["role"]))
    return value_leaf(rate, "people.0.monthly_rate", "plan", str(rows[0]["role"]))


def _forward_mfu(context: Context) -> Leaf | None:
    given = context.plan.inputs.get("compute.mfu")
    if isinstance(given, Range):
        return value_leaf(given, "compute.mfu", "plan")
    return _from_history("inference.forward_mfu")(context)


def _bytes(context: Context) -> Leaf:
    precision = context.plan.text("compute.precision") or "bf16"
    return point_leaf(BYTES[precision], "convention", precision)


def _state_bytes(context: Context) -> Leaf:
    optimiser = context.plan.text("model.optimiser") or "adam"
    return point_leaf(STATE_BYTES[optimiser], "convention", optimiser)


def _feasibility(context: Context) -> Leaf:
    return point_leaf(1.0 if context.feasible else float("nan"), "convention", _("not known where losses pass a half"))


def _interconnect(context: Context) -> Leaf | None:
    given = context.plan.inputs.get("network.interconnect_share")
    return value_leaf(given, "network.interconnect_share", "plan") if isinstance(given, Range) else None


MASKED_SHARE = 0.15
DEVLIN = _("Devlin et al. 2018 (arXiv:1810.04805), section 3.1: 15 of 100 tokens are masked")


def _signal_share(context: Context) -> Leaf | None:
    path = "objective.signal_share"
    if context.plan.text("objective.kind") == "masked" and path not in context.plan.given:
        return point_leaf(MASKED_SHARE, "convention", DEVLIN)
    given = context.plan.inputs.get(path)
    return value_leaf(given, path, "plan") if isinstance(given, Range) else None


FACTS = {
    "peak_tflops": Fact("FLOP / second / accelerator", "Dense peak", "稠密峰值（TFLOPS）", _peak),
    "memory_gb": Fact(
        "GB / accelerator", "Memory of an accelerator", "单卡显存", _from_catalogue("compute.memory_gb", "memory_gb")
    ),
    "bandwidth_gbs": Fact(
        "GB / second / accelerator", "Memory bandwidth", "显存带宽", _from_catalogue("", "bandwidth_gbs")
    ),
    "interconnect_gbs": Fact(
        "GB / second / accelerator", "Interconnect", "互联带宽", _from_catalogue("", "interconnect_gbs")
    ),
    "reference_peak_tflops": Fact(
        "FLOP / second / accelerator",
        "Dense peak of the reference card",
        "参考卡稠密峰值",
        lambda context: point_leaf(REFERENCE_PEAK_TFLOPS, "convention", "H100 SXM, bf16"),
    ),
    "attention_counted": Fact(
        "1",
        "Attention counted",
        "注意力计入比例",
        lambda context: point_leaf(
            ATTENTION_COUNTED[convention(context.plan, "attention", "full")],
            "convention",
            convention(context.plan, "attention", "full"),
        ),
    ),
    "recompute_factor": Fact(
        "1",
        "Recomputation counted",
        "重计算计入系数",
        lambda context: point_leaf(
            RECOMPUTE_FACTOR[convention(context.plan, "counts", "model")],
            "convention",
            convention(context.plan, "counts", "model"),
        ),
    ),
    "features_cached": Fact(
        "1",
        "Features are cached",
        "是否缓存特征",
        lambda context: point_leaf(float(context.plan.flag("finetune.cache_features")), "plan"),
    ),
    "objective__signal_share": Fact(
        "1", "Tokens that give a learning signal", "产生学习信号的 token 占比", _signal_share
    ),
    "paid_mfu": Fact("1", "MFU of paid hours", "付费时长口径 MFU", _paid_mfu),
    "share_of_base": Fact("1", "Tokens against those of the base", "token 数与基座之比", _share_of_base),
    "residual": Fact("1", "Residual of the method", "方法残差", _residual),
    "feasibility": Fact("1", "Feasible at the medians", "中位数下是否可行", _feasibility),
    "hours_to_deadline": Fact("hour", "Hours to the deadline", "距期限小时数", _hours_to_deadline),
    "month_starts": Fact("hour", "Months begin", "各月起点", _month_starts),
    "share_on_demand": Fact("1", "Share on demand", "按量占比", _share("on_demand")),
    "share_committed": Fact("1", "Share reserved", "预留占比", _share("committed")),
    "share_spot": Fact("1", "Share spot", "竞价占比", _share("spot")),
    "share_own": Fact("1", "Share own", "自建占比", _share("own")),
    "own_life_hours": Fact("hour", "Hours of life", "使用寿命", _from_history("compute.own.life_hours")),
    "own_occupancy": Fact("1", "Occupancy", "占用率", _from_history("compute.own.occupancy")),
    "own_board_kw": Fact(
        "kW / accelerator", "Board power", "单卡功率", _from_catalogue("compute.own.board_kw", "board_w", 0.001)
    ),
    "own_pue": Fact("1", "PUE", "PUE", _from_history("compute.own.pue")),
    "carbon_kg_per_kwh": Fact(
        "kg / kWh", "Carbon of the electricity", "电力碳排放因子", _from_history("compute.carbon_kg_per_kwh")
    ),
    "forward_mfu": Fact("1", "MFU of forward passes", "前向计算 MFU", _forward_mfu),
    "bandwidth_share": Fact(
        "1", "Share of memory bandwidth reached", "显存带宽利用率", _from_history("inference.bandwidth_share")
    ),
    "weight_bytes": Fact("byte / parameter", "Bytes of a weight", "每权重字节", _bytes),
    "cache_bytes": Fact("byte / token", "Bytes of a cache entry", "缓存每元素字节", _bytes),
    "state_bytes_per_parameter": Fact("byte / parameter", "State of a parameter", "每参数状态字节", _state_bytes),
    "tier_share": Fact("1", "Share of each tier", "各等级请求占比", row_facts.tier_share),
    "tier_batch": Fact("request", "Batch of each tier", "各等级批大小", row_facts.tier_batch),
    "tier_peak_cover": Fact("1", "Covered peak of each tier", "各等级峰值保障", row_facts.tier_peak_cover),
    "tier_price": Fact("money / accelerator / hour", "Price of each tier", "各等级卡时价格", TIERS.first),
    "tier_price_course": Fact(
        "1", "Price of each tier by month against the first", "各等级逐月价格相对首月", TIERS.course
    ),
    "pool_peak_tflops": Fact(
        "FLOP / second / accelerator", "Dense peak of each pool", "各池稠密峰值", row_facts.pool_peak
    ),
    "pool_memory_gb": Fact(
        "GB / accelerator", "Memory of an accelerator of each pool", "各池单卡显存", row_facts.pool_memory
    ),
    "pool_mfu": Fact("1", "MFU of each pool", "各池 MFU", row_facts.pool_mfu),
    "pool_published": Fact("1", "Pool at published paid hours", "按公开付费时长的资源池", row_facts.pool_published),
    "pool_price": Fact("money / accelerator / hour", "Price of each pool", "各池卡时价格", POOLS.first),
    "pool_price_course": Fact(
        "1", "Price of each pool by month against the first", "各池逐月价格相对首月", POOLS.course
    ),
    "rung_mfu": Fact("1", "MFU of each rung", "各级实验 MFU", row_facts.rung_mfu),
    "hourly_weight": Fact("1", "Weights of the hours", "各时段权重", row_facts.hourly_weight),
    "hours_of_weight": Fact("hour", "Hours of each weight", "各权重小时数", row_facts.hours_of_weight),
    "people_rate": Fact("money / fte / month", "Rates of the people", "人月成本", _people_rate),
    "recovery_rate": Fact("money / fte / month", "Rate of who recovers", "处理人员人月成本", _recovery_rate),
    "network__interconnect_share": Fact("1", "Interconnect on top", "额外互联占比", _interconnect),
}
"""Every fact by the name of its leaf."""
