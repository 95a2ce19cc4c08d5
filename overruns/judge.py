"""Is a threshold of a line reached, and what does that change? Pure: no clock, no database.

Reaching a threshold flags it once. The flag falls back only when the value is 2 % of the line under the threshold, so
that a figure that wavers around it does not ring twice; when it is reached again the same flag rises, and people are
told again only for a higher share than they were told before. What is known counts even when it is incomplete: a lower
bound that reaches a threshold reaches it. Falling back, and forecasts, wait for complete data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

ZERO = Decimal(0)
SLACK = Decimal("0.02")
"""Share of the line by which a value has to fall under a threshold before its flag falls."""
WITHOUT_LINE = Decimal(10**6)
"""The share of a line on which there is no money at all."""

BELOW, ABOVE, ACKNOWLEDGED, MUTED, CLOSED = "below", "above", "acknowledged", "muted", "closed"
CROSSED, UNCROSSED = "crossed", "uncrossed"

MOVES: Mapping[str, tuple[str, ...]] = {
    BELOW: (ABOVE, CLOSED),
    ABOVE: (ACKNOWLEDGED, MUTED, BELOW, CLOSED),
    ACKNOWLEDGED: (ABOVE, MUTED, BELOW, CLOSED),
    MUTED: (ABOVE, ACKNOWLEDGED, BELOW, CLOSED),
    CLOSED: (BELOW,),
}
"""From each state of a flag, where it may go; closed moves on only when its period is opened again."""


@dataclass(frozen=True)
class Watched:
    """A threshold of the line: a share of it or an amount, of actual, of actual and committed, or of a forecast."""

    key: int
    basis: str
    share: Decimal | None = None
    amount: Decimal | None = None
    quantile: str = ""

    def limit(self, budget: Decimal) -> Decimal:
        return self.amount if self.amount is not None else (self.share or ZERO) * budget


@dataclass(frozen=True)
class Figures:
    """What was measured of a line. `is_known` says whether every rate and price was there.

    `begins_on` is since when a guard's figures count: of lines the start of the one that began last.
    """

    budget: Decimal
    actual: Decimal
    committed: Decimal
    forecast: Mapping[str, Decimal] = field(default_factory=dict)
    is_known: bool = True
    is_fresh: bool = True
    is_closed: bool = False
    begins_on: date | None = None

    def value(self, watched: Watched) -> Decimal | None:
        """What the threshold is held against; None where nothing can be said yet."""
        if watched.basis in ("actual", "mfu"):
            return self.actual
        if watched.basis == "committed":
            return self.actual + self.committed
        return self.forecast.get(watched.quantile) if self.is_known and self.is_fresh else None

    def share(self, value: Decimal) -> Decimal:
        return value / self.budget if self.budget > 0 else WITHOUT_LINE


@dataclass(frozen=True)
class Earlier:
    """How the flag of a threshold stood before."""

    state: str = BELOW
    told_share: Decimal | None = None
    muted_until: date | None = None


@dataclass(frozen=True)
class Verdict:
    """How the flag of a threshold stands now."""

    watched: Watched
    state: str
    value: Decimal
    limit: Decimal
    share: Decimal
    transition: str = ""
    tell: bool = False
    is_incomplete: bool = False


def is_reached(watched: Watched, value: Decimal, limit: Decimal) -> bool:
    """The one comparison. What is spent reaches a limit exactly; a forecast has to pass it, for a line that was
    approved to be used up is expected to be used up; an efficiency falls below it. Nothing spent reaches nothing."""
    if watched.basis == "forecast":
        return value > max(limit, ZERO)
    if watched.basis == "mfu":
        return value < limit
    return value > 0 and value >= limit


def has_happened(watched: Watched, figures: Figures, limit: Decimal) -> bool:
    """Has what a forecast would warn of been reached already? Then the warning comes too late to say anything."""
    return watched.basis == "forecast" and figures.actual > 0 and figures.actual >= limit


def is_news(share: Decimal, told: Decimal | None) -> bool:
    """Is this share higher than what people know of? Having heard that a line had no money, they know of none."""
    return told is None or share > told or share < told == WITHOUT_LINE


def has_fallen(watched: Watched, value: Decimal, limit: Decimal, budget: Decimal) -> bool:
    """Is the value clearly on the good side of the limit again?"""
    if watched.basis == "mfu":
        return value >= limit * (1 + SLACK)
    return value <= 0 or value < limit - SLACK * max(budget, ZERO)


def judge(watched: Sequence[Watched], figures: Figures, earlier: Mapping[int, Earlier], today: date) -> list[Verdict]:
    """One verdict per threshold that can be judged and has, or had, something to say."""
    verdicts = (judge_one(each, figures, earlier.get(each.key), today) for each in watched)
    return [verdict for verdict in verdicts if verdict is not None]


def judge_one(watched: Watched, figures: Figures, earlier: Earlier | None, today: date) -> Verdict | None:
    value = figures.value(watched)
    before = earlier or Earlier()
    limit = watched.limit(figures.budget)
    if figures.is_closed:
        return closing(watched, figures, before) if earlier and before.state != CLOSED else None
    if value is None:
        return None
    share = figures.share(value)
    facts: dict[str, Any] = {
        "watched": watched,
        "value": value,
        "limit": limit,
        "share": share,
        "is_incomplete": not figures.is_known,
    }
    is_new_share = is_news(share, before.told_share)
    if before.state in (BELOW, CLOSED):
        if is_reached(watched, value, limit) and not has_happened(watched, figures, limit):
            return Verdict(state=ABOVE, transition=CROSSED, tell=is_new_share, **facts)
        return Verdict(state=BELOW, **facts) if earlier else None
    if figures.is_known and has_fallen(watched, value, limit, figures.budget):
        return Verdict(state=BELOW, transition=UNCROSSED, **facts)
    if before.state == MUTED and before.muted_until is not None and before.muted_until <= today:
        return Verdict(state=ABOVE, tell=is_new_share, **facts)
    return Verdict(state=before.state, **facts)


def closing(watched: Watched, figures: Figures, before: Earlier) -> Verdict:
    """The period is closed: its flags close with it, as they stood."""
    value = figures.value(watched) or ZERO
    return Verdict(
        watched=watched,
        state=CLOSED,
        value=value,
        limit=watched.limit(figures.budget),
        share=figures.share(value),
        transition=CLOSED if before.state != BELOW else "",
    )
