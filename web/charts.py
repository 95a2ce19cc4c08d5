"""Pictures as numbers: where each mark of a chart stands. Pure functions; `templates/web/charts/` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from web.figures import money_text, percent_text

BAR_WIDTH = 400.0
BAR_SPAN = 1.25
"""The bar's picture spans 0 to 125 % of the line."""


@dataclass(frozen=True)
class Bar:
    """Places on the headroom bar, in units of its 400 × 24 picture."""

    label: str
    limit: float
    warning: float | None
    actual: float
    committed: tuple[float, float]
    past: tuple[float, float]
    promised: tuple[float, float]
    whisker: tuple[float, float, float] | None
    beyond: bool


def headroom_bar(
    *, budget: Decimal, actual: Decimal, committed: Decimal, forecast: Any = None, warning: Decimal = Decimal("0.8")
) -> Bar:
    """The line's budget is the limit mark; what lies past it is red, what lies past the picture ends in an arrow."""
    scale = BAR_WIDTH / BAR_SPAN / float(budget) if budget > 0 else 0.0

    def place(amount: Decimal | float) -> float:
        return round(min(max(float(amount) * scale, 0.0), BAR_WIDTH), 1)

    limit = round(BAR_WIDTH / BAR_SPAN, 1)
    used, promised = place(actual), place(actual + committed)
    if budget <= 0:
        used = BAR_WIDTH if actual > 0 else 0.0
        promised = BAR_WIDTH if actual + committed > 0 else 0.0
    start = min(used, limit)
    return Bar(
        label=bar_label(budget, actual, committed, forecast),
        limit=limit,
        warning=round(limit * float(warning), 1) if warning and budget > 0 else None,
        actual=start,
        committed=(start, round(max(min(promised, limit) - start, 0.0), 1)),
        past=(limit, round(max(used - limit, 0.0), 1)),
        promised=(max(used, limit), round(max(promised - max(used, limit), 0.0), 1)),
        whisker=(place(forecast.p10), place(forecast.p50), place(forecast.p90)) if forecast and scale else None,
        beyond=float(actual + committed) * scale > BAR_WIDTH,
    )


def bar_label(budget: Decimal, actual: Decimal, committed: Decimal, forecast: Any) -> str:
    """The picture in words, for who does not see it."""
    if budget <= 0:
        facts = {"actual": money_text(actual), "committed": money_text(committed)}
        return _("no budget; actual %(actual)s, committed %(committed)s") % facts
    shares = {"actual": percent_text(actual / budget), "committed": percent_text(committed / budget)}
    words = _("actual %(actual)s, committed %(committed)s of the line") % shares
    if not forecast:
        return words
    ends = {name: percent_text(Decimal(str(getattr(forecast, name))) / budget) for name in ("p10", "p50", "p90")}
    return words + _(", forecast %(p50)s (%(p10)s to %(p90)s)") % ends
