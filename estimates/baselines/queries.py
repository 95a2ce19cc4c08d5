"""Questions about baselines: what past runs say to the plans of a team on a day."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from django.db.models import Count, Max, Q

from estimates.engine.baselines import History
from estimates.engine.recorded import Recorded

from .models import Baseline


def history_of(team_id: int | None, *, on: date) -> History:
    """The figures that hold on a day for a team: its own and the organisation's; the latter alone without a team.

    Rows are only added, so a history is good until there is a newer row.
    """
    newest = Baseline.objects.aggregate(newest=Max("id"), rows=Count("id"))
    if not newest["rows"]:
        return History()
    return History(recorded=_recorded_up_to(newest["newest"], newest["rows"], team_id, on))


@lru_cache(maxsize=256)
def _recorded_up_to(newest: int, rows: int, team_id: int | None, on: date) -> tuple[Recorded, ...]:
    kept = Baseline.objects.filter(pk__lte=newest).in_force(on)
    own = kept.filter(team__isnull=True) if team_id is None else kept.filter(Q(team=team_id) | Q(team__isnull=True))
    return tuple(_recorded(row) for row in own.select_related("project").order_by("id"))


def _recorded(row: Baseline) -> Recorded:
    """A baseline as the engine sees it."""
    return Recorded(
        id=row.pk,
        path=row.quantity,
        low=float(row.low),
        mode=float(row.mode),
        high=float(row.high),
        runs=row.runs,
        since=row.since.isoformat(),
        until=row.until.isoformat(),
        source=row.source,
        project=row.project.slug if row.project else "",
        task=row.task_type,
        family=row.accelerator_family,
        scope="organisation" if row.team_id is None else "team",
    )
