"""A cluster month by month: what there was, what stood still or was reserved, and the three numbers of its hours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from core.months import Month

from .capacity import CardDay
from .models import Cluster
from .utilised import ThreeHours, three_hours


@dataclass(frozen=True)
class ClusterMonth:
    """All kinds of cards together, in accelerator-hours of the days that are known."""

    month: Month
    capacity: Decimal
    maintenance: Decimal
    reserved: Decimal
    allocated: Decimal
    idle: Decimal
    hours: ThreeHours


def months_of(cluster: Cluster, days: Sequence[CardDay]) -> list[ClusterMonth]:
    """The months of some days, in order."""
    if not days:
        return []
    by_month: dict[Month, list[CardDay]] = {}
    for each in days:
        by_month.setdefault(Month.of(each.day), []).append(each)
    measured = three_hours(cluster, days[0].day, days[-1].day + timedelta(days=1))
    return [_month(month, own, measured.get(month, ThreeHours())) for month, own in sorted(by_month.items())]


def _month(month: Month, days: Sequence[CardDay], hours: ThreeHours) -> ClusterMonth:
    names = ("capacity", "maintenance", "reserved", "allocated", "idle")
    sums = {name: sum((getattr(each, name) for each in days), Decimal(0)) for name in names}
    return ClusterMonth(month=month, hours=hours, **sums)
