"""The headroom bar: actual, committed, forecast range, warning line and limit of a budget line in one picture."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from django.utils.translation import gettext as _

from web.figures import Number, money_text, percent_text

WIDTH = 400.0
LIMIT = 320.0
"""The picture spans 0 to 125 % of the line, so the limit stands at four fifths."""
VISIBLE = 1.5
"""Money that is there is seen, however little of the line it is."""


class Forecast(Protocol):
    """Cost of the line at the end of its period: quantiles."""

    @property
    def p10(self) -> Number: ...
    @property
    def p50(self) -> Number: ...
    @property
    def p90(self) -> Number: ...


@dataclass(frozen=True)
class Span:
    """A piece of the bar."""

    x: float
    width: float


@dataclass(frozen=True)
class Bar:
    """Where the marks stand, in units of the 400 × 24 picture; None is a mark that is not drawn."""

    label: str
    room: Span
    actual: Span | None
    committed: Span | None
    actual_past: Span | None
    committed_past: Span | None
    whisker: tuple[float, float, float] | None
    warning: float | None
    continues: bool


def headroom_bar(
    *,
    budget: Decimal,
    actual: Decimal,
    committed: Decimal,
    forecast: Forecast | None = None,
    warning: Decimal | None = Decimal("0.8"),
) -> Bar:
    """What lies past the limit is drawn in the colour of an overrun; a line without budget is past it at once."""
    used = share_of(actual, budget)
    taken = used + share_of(max(committed, Decimal(0)), budget)
    used_x, taken_x = place(used), place(taken)
    if actual > 0:
        used_x = max(used_x, VISIBLE)
        taken_x = max(taken_x, used_x)
    if committed > 0 and used_x < LIMIT:
        taken_x = max(taken_x, used_x + VISIBLE)
    return Bar(
        label=label(budget, actual, committed, forecast),
        room=Span(0.0, LIMIT),
        actual=span(0.0, min(used_x, LIMIT)),
        committed=span(min(used_x, LIMIT), min(taken_x, LIMIT)),
        actual_past=span(LIMIT, used_x),
        committed_past=span(max(used_x, LIMIT), taken_x),
        whisker=whisker(forecast, budget),
        warning=round(LIMIT * float(warning), 1) if warning and budget > 0 else None,
        continues=taken > WIDTH / LIMIT,
    )


def share_of(amount: Decimal, budget: Decimal) -> float:
    """Of the line; endless where money is spent from a line that has none."""
    if budget > 0:
        return float(amount) / float(budget)
    return float("inf") if amount > 0 else 0.0


def place(share: float) -> float:
    return round(min(max(share, 0.0) * LIMIT, WIDTH), 1) if share != float("inf") else WIDTH


def span(start: float, end: float) -> Span | None:
    return Span(start, round(end - start, 1)) if end > start else None


def whisker(forecast: Forecast | None, budget: Decimal) -> tuple[float, float, float] | None:
    if forecast is None or budget <= 0:
        return None
    ends = [place(float(value) / float(budget)) for value in (forecast.p10, forecast.p50, forecast.p90)]
    return (ends[0], ends[1], max(ends[2], ends[0] + VISIBLE))


def label(budget: Decimal, actual: Decimal, committed: Decimal, forecast: Forecast | None) -> str:
    """The picture in words, for who does not see it."""
    if budget <= 0:
        facts = {"actual": money_text(actual), "committed": money_text(committed)}
        return _("no budget; actual %(actual)s, committed %(committed)s") % facts
    shares = {"actual": percent_text(actual / budget), "committed": percent_text(committed / budget)}
    if forecast is None:
        return _("actual %(actual)s of the line, committed %(committed)s") % shares
    for name, value in (("p10", forecast.p10), ("p50", forecast.p50), ("p90", forecast.p90)):
        shares[name] = percent_text(Decimal(str(value)) / budget)
    return _("actual %(actual)s of the line, committed %(committed)s, forecast %(p50)s (%(p10)s to %(p90)s)") % shares
