"""The burn chart of a budget line: plan, actual, forecast fan, warning line, limit, and where they will cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from django.utils.translation import gettext as _

from web import figures

from .axis import Scale, Tick, amount_ticks, amount_values, date_ticks, day_label, day_number, path, text_width

WIDTH, HEIGHT = 720.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 700.0, 28.0, 220.0
LINE_HEIGHT = 14.0
FAN_ROOM = 1.5
"""A wide fan may lift the picture's top by half, not more: the lines are what one looks at."""

Series = Sequence[tuple[date, Decimal]]


@dataclass(frozen=True)
class ForecastPoint:
    """Cumulative cost at a day to come."""

    day: date
    p10: Decimal
    p50: Decimal
    p90: Decimal


@dataclass(frozen=True)
class Burn:
    """What the chart shows: cumulative amounts by day between the ends of the period, half-open."""

    start: date
    end: date
    currency: str
    limit: Decimal | None = None
    warning_share: Decimal | None = None
    actual: Series = ()
    plan: Series = ()
    forecast: Sequence[ForecastPoint] = ()


@dataclass(frozen=True)
class Label:
    """Words in the picture."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    strong: bool = True

    @property
    def extent(self) -> tuple[float, float]:
        width = text_width(self.text)
        return (self.x - width, self.x) if self.anchor == "end" else (self.x, self.x + width)

    def touches(self, other: Label) -> bool:
        (left, right), (other_left, other_right) = self.extent, other.extent
        return abs(self.y - other.y) < LINE_HEIGHT and left < other_right and other_left < right


@dataclass(frozen=True)
class BurnChart:
    """Where everything stands, in a 720 × 250 picture."""

    label: str
    amounts: list[Tick]
    days: list[Tick]
    actual: str
    plan: str
    forecast: str
    fan: str
    single: tuple[float, float] | None
    limit: float | None
    warning: float | None
    spot: tuple[float, float] | None
    words: list[Label] = field(default_factory=list)


def burn_chart(burn: Burn) -> BurnChart:
    values = amount_values(*amount_range(burn))
    across = Scale(day_number(burn.start), max(day_number(burn.end), day_number(burn.start) + 1), LEFT, RIGHT)
    up = Scale(values[0], values[-1], BOTTOM, TOP)
    actual = points(burn.actual, across, up)
    median = [(across.at(day_number(point.day)), up.at(float(point.p50))) for point in burn.forecast]
    crossing = crossing_day(burn)
    warning = burn.limit * burn.warning_share if burn.limit and burn.warning_share else None
    limit_y = up.at(float(burn.limit)) if burn.limit is not None else None
    spot = (across.at(day_number(crossing)), limit_y) if crossing and limit_y is not None else None
    return BurnChart(
        label=description(burn, crossing),
        amounts=amount_ticks(values, up),
        days=date_ticks(burn.start, burn.end, across),
        actual=path(actual) if len(actual) > 1 else "",
        plan=path(points(burn.plan, across, up)),
        forecast=path(actual[-1:] + median) if median else "",
        fan=fan(burn, actual, across, up),
        single=actual[0] if len(actual) == 1 else None,
        limit=limit_y,
        warning=up.at(float(warning)) if warning is not None else None,
        spot=spot,
        words=place_words(burn, limit_y, up.at(float(warning)) if warning is not None else None, spot, crossing),
    )


def amount_range(burn: Burn) -> tuple[float, float]:
    """What the vertical axis must hold; the fan only so far."""
    firm = [float(amount) for _day, amount in [*burn.actual, *burn.plan]]
    firm += [float(point.p50) for point in burn.forecast]
    firm += [float(burn.limit)] if burn.limit is not None else []
    highest = max([*firm, 0.0])
    fan_top = max([float(point.p90) for point in burn.forecast], default=0.0)
    return min([*firm, 0.0]), max(highest, min(fan_top, highest * FAN_ROOM))


def points(series: Series, across: Scale, up: Scale) -> list[tuple[float, float]]:
    return [(across.at(day_number(day)), up.at(float(amount))) for day, amount in series]


def fan(burn: Burn, actual: list[tuple[float, float]], across: Scale, up: Scale) -> str:
    """From the last actual, along the P90 and back along the P10."""
    if not burn.forecast:
        return ""
    above = [(across.at(day_number(point.day)), up.at(float(point.p90))) for point in burn.forecast]
    below = [(across.at(day_number(point.day)), up.at(float(point.p10))) for point in reversed(burn.forecast)]
    return path([*actual[-1:], *above, *below]) + "Z"


def crossing_day(burn: Burn) -> date | None:
    """The first day on which the actual has reached the limit, or else the P50 of the forecast has passed it."""
    if burn.limit is None:
        return None
    reached = [day for day, amount in burn.actual if amount >= burn.limit]
    passed = [point.day for point in burn.forecast if point.p50 > burn.limit]
    return next(iter([*reached, *passed]), None)


def crossing_text(burn: Burn, day: date) -> str:
    known = {point.day for point in burn.forecast}
    facts = {"day": day_label(day)}
    if day in known and not any(day == actual_day for actual_day, _amount in burn.actual):
        return _("%(day)s: P50 passes the limit") % facts
    return _("%(day)s: limit passed") % facts


def place_words(
    burn: Burn, limit_y: float | None, warning_y: float | None, spot: tuple[float, float] | None, crossing: date | None
) -> list[Label]:
    """Names of the lines at the left, of the crossing near its mark; none on top of another."""
    words: list[Label] = []
    if limit_y is not None and burn.limit is not None:
        text = _("limit %(amount)s") % {"amount": figures.money_text(burn.limit)}
        words.append(Label(LEFT + 6, limit_y - 5, text))
    if warning_y is not None and burn.warning_share:
        text = _("%(share)s warning line") % {"share": figures.percent_text(burn.warning_share, 0)}
        near = limit_y is not None and warning_y - limit_y < LINE_HEIGHT + 2
        words.append(Label(LEFT + 6, warning_y + 12 if near else warning_y - 5, text, strong=False))
    if spot and crossing:
        words.append(free_place(spot, crossing_text(burn, crossing), words))
    return words


def free_place(spot: tuple[float, float], text: str, taken: list[Label]) -> Label:
    """Above the mark if there is room, else higher, else below it."""
    anchor = "end" if spot[0] + text_width(text) > RIGHT else "start"
    places = [Label(spot[0], spot[1] + offset, text, anchor) for offset in (-9, -23, -37, 17, 31)]
    free = [place for place in places if place.y > 9 and not any(place.touches(other) for other in taken)]
    return (free or places)[0]


def description(burn: Burn, crossing: date | None) -> str:
    """The picture in words."""
    spent = figures.money_text(burn.actual[-1][1] if burn.actual else Decimal(0), burn.currency)
    if burn.limit is None:
        sentence = _("Burn of the line: actual %(spent)s.") % {"spent": spent}
    else:
        facts = {"spent": spent, "limit": figures.money_text(burn.limit, burn.currency)}
        sentence = _("Burn of the line: actual %(spent)s against a limit of %(limit)s.") % facts
    return f"{sentence} {crossing_text(burn, crossing)}" if crossing else sentence
