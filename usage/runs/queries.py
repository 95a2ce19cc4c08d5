"""Questions about runs."""

from __future__ import annotations

from django.db.models import Max

from ..formats.metrics.contract import Point
from .attempts import Known
from .models import Run, RunMetric


def known_series(run: Run, first: Point) -> Known:
    """What is stored of the series that a delivery's first point belongs to."""
    stored = RunMetric.objects.filter(run=run, name=first.name)
    same = stored.filter(step=first.step, at=first.at).order_by("attempt").first() if first.at else None
    last = stored.aggregate(attempt=Max("attempt"), step=Max("step"), at=Max("at"))
    if last["attempt"] is None:
        return Known()
    return Known(
        same_attempt=same.attempt if same else None,
        last_attempt=last["attempt"],
        last_step=last["step"],
        last_at=last["at"],
    )
