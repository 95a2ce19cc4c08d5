"""Prices as leaves: what the graph asks, the plan's own figure that wins, and the row of the price table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

import numpy as np

from core.months import Month
from estimates.engine.books import PriceKey, PriceRow
from estimates.engine.leaves import NOT_KNOWN, Context, Leaf, PriceUse, value_leaf
from estimates.engine.messages import gettext_noop
from estimates.engine.plan import Plan
from estimates.engine.sampling import Array, Range
from estimates.engine.values import Point


@dataclass(frozen=True)
class Price:
    """What one price leaf asks for."""

    kind: str
    unit: str
    english: str
    chinese: str
    item: str = ""
    mode: str = ""
    own_figures: tuple[str, ...] = ()
    """Paths of the plan that win over the table."""
    of: tuple[str, ...] = ()
    """The amounts it multiplies: where all of them are zero the price does not matter."""
    when: Callable[[Context], bool] = lambda context: True
    by_month: bool = False


PRICED_BY_ROW = ("compute.pools", "inference.tiers")


def has_share(mode: str) -> Callable[[Context], bool]:
    """Whether a part of the computing is acquired in this mode; rented pools and tiers have their own prices."""
    return lambda context: (
        mode in acquisition_modes(context)
        and (mode == "own" or not any(context.plan.rows(table) for table in PRICED_BY_ROW))
    )


def acquisition_modes(context: Context) -> tuple[str, ...]:
    """The modes that a plan uses: those of its mix, or the one it names."""
    if context.modes is None:
        context.modes = _modes_of(context.plan)
    return context.modes


def _modes_of(plan: Plan) -> tuple[str, ...]:
    modes = ("on_demand", "committed", "spot", "own")
    mixed = tuple(mode for mode in modes if plan.number(f"compute.mix.{mode}") not in (None, 0))
    named = plan.text("compute.mode") or "on_demand"
    return mixed or (("on_demand",) if named == "rent" else (named,))


_ = gettext_noop
COURSE = "_course"
HOURLY = "money / accelerator / hour"
OWN_HOURLY = "compute.price_per_accelerator_hour"
WARM_AMOUNTS = (
    "corpus_gb_months",
    "last_checkpoint_gb_months",
    "kept_checkpoint_gb_months",
    "artefact_gb_months",
    "log_gb_months",
    "vector_hot_gb_months",
)
ARCHIVED_AMOUNTS = ("archived_corpus_gb_months", "archived_checkpoint_gb_months", "vector_cold_gb_months")
ACCELERATOR_HOURS = ("total_accelerator_hours",)
PRICES = {
    "price_on_demand": Price(
        "accelerator",
        HOURLY,
        "Price on demand",
        "按量单价",
        mode="on_demand",
        own_figures=(OWN_HOURLY,),
        of=ACCELERATOR_HOURS,
        when=has_share("on_demand"),
        by_month=True,
    ),
    "price_committed": Price(
        "accelerator",
        HOURLY,
        "Reserved price",
        "预留单价",
        mode="committed",
        own_figures=("compute.committed.price", OWN_HOURLY),
        when=has_share("committed"),
    ),
    "price_spot": Price(
        "accelerator",
        HOURLY,
        "Spot price",
        "竞价单价",
        mode="spot",
        own_figures=(OWN_HOURLY,),
        of=ACCELERATOR_HOURS,
        when=has_share("spot"),
        by_month=True,
    ),
    "price_capital": Price(
        "purchase",
        "money / accelerator",
        "Purchase of an accelerator",
        "加速卡购置价",
        own_figures=("compute.own.capital",),
        when=has_share("own"),
    ),
    "price_electricity": Price(
        "electricity",
        "money / kWh",
        "Electricity",
        "电价",
        item="industrial",
        own_figures=("compute.own.electricity_price",),
        when=has_share("own"),
    ),
    "price_hot_storage": Price(
        "storage", "money / GB / month", "Warm storage", "热存储单价", item="hot", of=WARM_AMOUNTS
    ),
    "price_archive_storage": Price(
        "storage", "money / GB / month", "Archive", "归档存储单价", item="archive", of=ARCHIVED_AMOUNTS
    ),
    "price_cross_region": Price(
        "network",
        "money / GB",
        "Traffic between regions",
        "跨地域流量单价",
        item="cross_region",
        of=("network__cross_region_gb",),
    ),
    "price_cross_zone": Price(
        "network",
        "money / GB",
        "Traffic between zones",
        "跨可用区流量单价",
        item="cross_zone",
        of=("network__cross_zone_gb",),
    ),
    "price_egress": Price(
        "network", "money / GB", "Traffic to the internet", "公网流量单价", item="egress", of=("network__egress_gb",)
    ),
    "price_peak_bandwidth": Price(
        "network",
        "money / (Gbit / second) / month",
        "Bandwidth",
        "带宽单价",
        item="peak_bandwidth",
        of=("network__peak_gbps",),
    ),
}
"""Every price that the graph can ask for, except those of roles."""


def price_leaf(context: Context, name: str) -> Leaf | None:
    """A price by its leaf name; its `…_course` is there only where it changes during the plan."""
    asked = name.removesuffix(COURSE)
    price = PRICES.get(asked)
    if price is None or not price.when(context) or (name != asked and not price.by_month):
        return None
    for path in price.own_figures:
        figure = context.plan.inputs.get(path)
        if isinstance(figure, Range):
            return value_leaf(figure, path, "plan") if name == asked else None
    key = price_key(context, price)
    rows = rows_of_months(context, key) if price.by_month else [row_in_force(context, key, context.start)]
    context.uses[asked] = [
        PriceUse(asked, price.english, key, unit_of(price, context), row) for row in dict.fromkeys(rows)
    ]
    first, course = course_of(rows)
    if name != asked:
        return None if course is None else Leaf((), "price", _detail(rows[0]), fixed=course)
    if rows[0] is None:
        return value_leaf(NOT_KNOWN, "", "price", _("no row of the price table answers"))
    return value_leaf(Point(first / per_instance(context, price)), "", "price", _detail(rows[0]))


def rows_of_months(context: Context, key: PriceKey) -> list[PriceRow | None]:
    """The row in force in each month: on the first day of the plan, then on the first of every month; one row where
    nothing changes later.

    A plan that is under way when its offer is withdrawn goes on at the price it has.
    """
    days = [context.start]
    if context.prices.changes(key, context.start):
        days += later_months(context.start, context.months)
    rows: list[PriceRow | None] = []
    for day in days:
        rows.append(row_in_force(context, key, day) or (rows[-1] if rows else None))
    return rows


def course_of(rows: Sequence[PriceRow | None]) -> tuple[float, Array | None]:
    """The price of the first month, and that of each month against it where it changes: shape (months,).

    What begins for nothing is measured against its highest price.
    """
    amounts = np.array([float(row.amount) if row else np.nan for row in rows])
    first = float(amounts[0] or amounts.max())
    changes = len(rows) > 1 and bool((amounts != amounts[0]).any())
    return first, amounts / first if changes else None


@lru_cache(maxsize=256)
def later_months(start: date, months: int) -> list[date]:
    """The first days of the months behind the one in which a plan starts."""
    return [(Month.of(start) + offset).start for offset in range(1, months)]


def row_in_force(context: Context, key: PriceKey, day: date) -> PriceRow | None:
    """The row of a day, none where the offer is withdrawn by then; of a day before any price the row of `prices_on`."""
    found = context.prices.on(key, day)
    return context.prices.on(key, context.prices_on) if found is None and day < context.prices_on else found


def price_key(context: Context, price: Price) -> PriceKey:
    """The question put to the price table."""
    plan = context.plan
    item, kind = price.item, price.kind
    if kind in ("accelerator", "purchase"):
        item = plan.text("compute.accelerator") or ""
    if kind == "accelerator" and plan.text("compute.instance.name"):
        kind, item = "instance", listed_name(plan.text("compute.instance.name") or "")
    return offered_key(context, kind, item, price.mode)


def offered_key(
    context: Context, kind: str, item: str, mode: str = "", provider: str | None = None, region: str | None = None
) -> PriceKey:
    """With the provider and region of the plan. Only accelerators insist on them: what stands around them is asked
    of the same provider first, and of any where that one has no price, or nobody has."""
    plan = context.plan
    provider = listed_name(provider or plan.text("compute.provider") or "")
    region = listed_name(region or plan.text("compute.region") or "")
    if kind in ("accelerator", "purchase"):
        spec = context.accelerators.find(item)
        item = spec.slug if spec else item
    key = PriceKey(kind, item, provider, region, mode, plan.currency)
    if kind in ("accelerator", "instance") or context.prices.answers(key):
        return key
    of_provider = PriceKey(kind, item, provider, "", mode, plan.currency)
    return of_provider if context.prices.answers(of_provider) else PriceKey(kind, item, "", "", mode, plan.currency)


def listed_name(text: str) -> str:
    """A provider, a region or an instance as the price table writes it: small letters, `-` for blanks."""
    return "-".join(text.lower().split())


def per_instance(context: Context, price: Price) -> float:
    """How many accelerators share a price."""
    if price.kind == "accelerator" and context.plan.text("compute.instance.name"):
        return context.plan.number("compute.instance.accelerators") or 1.0
    return 1.0


def unit_of(price: Price, context: Context) -> str:
    if price.kind == "accelerator" and context.plan.text("compute.instance.name"):
        return "money / instance / hour"
    return price.unit


def _detail(row: PriceRow | None) -> str:
    return f"{row.provider} {row.region} {row.valid_from}".strip() if row else ""


def row_price(context: Context, leaf: str, what: str, unit: str, key: PriceKey) -> PriceRow | None:
    """A price of the first day, asked for by a row of a list, noted as used."""
    row = row_in_force(context, key, context.start)
    context.uses.setdefault(leaf, []).append(PriceUse(leaf, what, key, unit, row))
    return row
