"""What a cluster's page says of a month: held and idle, pieces, months side by side, and how jobs waited and ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from core.months import Month
from teams.models import Organisation
from usage.clusters import idle, jobs, queries
from usage.clusters.capacity import CardDay
from usage.clusters.months import ClusterMonth, months_of
from usage.clusters.placed import Fragments, fragments_of
from usage.ended import lost_of
from usage.models import Cluster
from web import figures
from web.charts.stack import Column

MONTHS_SHOWN = 12


@dataclass(frozen=True)
class IdleRow:
    """One kind of card in the month, with the money of what nobody held."""

    sums: queries.CardMonth
    price: Decimal | None
    currency: str

    @property
    def cost(self) -> Decimal | None:
        return None if self.price is None else self.price * self.sums.idle


@dataclass(frozen=True)
class FragmentsRow:
    """One kind of card: its pieces, their share of what was idle, and what they cost."""

    sums: Fragments
    idle: IdleRow | None

    @property
    def share_of_idle(self) -> Decimal | None:
        return self.sums.hours / self.idle.sums.idle if self.idle and self.idle.sums.idle else None

    @property
    def cost(self) -> Decimal | None:
        price = self.idle.price if self.idle else None
        return None if price is None else price * self.sums.hours

    @property
    def currency(self) -> str:
        return self.idle.currency if self.idle else ""


def words_of(cluster: Cluster, month: Month | None, piece: int | None) -> dict[str, Any]:
    """The words of the page on a month: the one asked for, else the last that the log tells of."""
    until = queries.known_until(cluster)
    month = month or Month.of(until - timedelta(days=1) if until else Organisation.current().today(timezone.now()))
    year = days_of_year(cluster, month, until)
    days = [each for each in year if Month.of(each.day) == month]
    months = months_of(cluster, year)
    rows = [
        IdleRow(each, *idle.price_of(cluster, each.accelerator, month.start)) for each in queries.by_accelerator(days)
    ]
    by_kind = {row.sums.accelerator: row for row in rows}
    ended = jobs.hours_by_state(cluster, month.start, month.end)
    pieces = [FragmentsRow(each, by_kind.get(each.accelerator)) for each in fragments_of(cluster, days, piece)]
    return {
        "month": month.start,
        "until": until,
        "months": months,
        "month_columns": month_columns(months),
        "month_label": month_label(months),
        "rows": rows,
        "columns": columns_of(days),
        "label": label_of(days, month),
        "pieces": pieces,
        "piece_columns": piece_columns([row.sums for row in pieces]),
        "piece_label": piece_label([row.sums for row in pieces], month),
        "waits": jobs.queue_waits(cluster, month),
        "ended": ended,
        "lost": lost_of(ended),
    }


def days_of_year(cluster: Cluster, last: Month, until: date | None) -> list[CardDay]:
    """The known days of the twelve months that end with one."""
    first = queries.first_day(cluster)
    start = max(first or last.start, (last + -(MONTHS_SHOWN - 1)).start)
    end = min(until or start, last.end)
    return queries.days_of_cluster(cluster, start, end) if end > start else []


def month_columns(months: Sequence[ClusterMonth]) -> list[Column]:
    """Held, maintenance and idle of each month."""
    return [
        Column(
            str(each.month),
            [float(part) for part in (each.allocated, each.maintenance, each.idle)],
            float(each.capacity),
        )
        for each in months
    ]


def month_label(months: Sequence[ClusterMonth]) -> str:
    """The picture in words, month by month."""
    said = _("%(month)s: of %(capacity)s there were %(allocated)s held, %(maintenance)s in maintenance, %(idle)s idle")
    names = ("capacity", "allocated", "maintenance", "idle")
    return "; ".join(
        said % {"month": str(each.month), **{name: figures.grouped(getattr(each, name), 0) for name in names}}
        for each in months
    )


def columns_of(days: Sequence[CardDay]) -> list[Column]:
    """Held, maintenance and idle of each day, all kinds of cards together."""
    by_day: dict[date, list[CardDay]] = {}
    for each in days:
        by_day.setdefault(each.day, []).append(each)
    return [
        Column(
            str(day.day),
            [float(sum(getattr(each, name) for each in own)) for name in ("allocated", "maintenance", "idle")],
            float(sum(each.capacity for each in own)),
        )
        for day, own in sorted(by_day.items())
    ]


def label_of(days: Sequence[CardDay], month: Month) -> str:
    sums = {
        name: figures.grouped(sum((getattr(each, name) for each in days), Decimal(0)), 0)
        for name in ("capacity", "maintenance", "allocated", "idle")
    }
    return _(
        "Accelerator-hours of %(month)s by day: of %(capacity)s there were %(allocated)s held, %(maintenance)s in "
        "maintenance and %(idle)s idle."
    ) % {"month": str(month), **sums}


def piece_columns(found: Sequence[Fragments]) -> list[Column]:
    """Pieces of each day while a job waited for more, and the others; none where nothing lay in pieces."""
    by_day: dict[date, tuple[Decimal, Decimal]] = {}
    for each in found:
        for day in each.days:
            waited, others = by_day.get(day.day, (Decimal(0), Decimal(0)))
            by_day[day.day] = (waited + day.waited, others + day.hours - day.waited)
    if not any(waited or others for waited, others in by_day.values()):
        return []
    return [Column(str(day.day), [float(part) for part in parts]) for day, parts in sorted(by_day.items())]


def piece_label(found: Sequence[Fragments], month: Month) -> str:
    hours, waited = (
        figures.grouped(sum((getattr(each, name) for each in found), Decimal(0)), 0) for name in ("hours", "waited")
    )
    return _(
        "Free accelerator-hours of %(month)s that lay in pieces, by day: %(hours)s, and %(waited)s of them while a job "
        "waited that they cannot hold."
    ) % {"month": str(month), "hours": hours, "waited": waited}
