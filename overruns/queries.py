"""Questions about flags and forecasts."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Case, IntegerField, OuterRef, QuerySet, Subquery, Value, When

from budgets.models import BudgetLine
from core.months import Month
from teams.models import User

from .models import Flag, Forecast, Guard


def open_flags(user: User) -> QuerySet[Flag]:
    """Flags that nobody has answered yet, overruns first, of the projects the person may see."""
    return (
        Flag.objects.visible_to(user)
        .filter(state=Flag.State.ABOVE)
        .select_related("line__project__team", "threshold")
        .order_by(worst_first(), "-crossed_at", "-id")
    )


def open_guards(user: User) -> QuerySet[Guard]:
    """Guards that are reached and that nobody has answered yet, of what the person may see."""
    reached = Guard.objects.visible_to(user).active().filter(state=Flag.State.ABOVE)
    return reached.select_related("project", "team", "run").order_by("-crossed_at", "-id")


def worst_first() -> Case:
    """Overruns, then lines past a warning, then forecasts."""
    return Case(
        When(threshold__basis="actual", threshold__share__gte=1, then=Value(0)),
        When(threshold__basis="forecast", then=Value(2)),
        default=Value(1),
        output_field=IntegerField(),
    )


def standing_flags(lines: Iterable[BudgetLine]) -> dict[int, list[Flag]]:
    """The flags that stand on these lines, the worst of each line first."""
    rows = (
        Flag.objects.standing()
        .filter(line__among=[line.pk for line in lines])
        .select_related("threshold")
        .order_by("line_id", worst_first(), "-crossed_at")
    )
    found: dict[int, list[Flag]] = {}
    for flag in rows:
        found.setdefault(flag.line_id, []).append(flag)
    return found


def latest_forecasts(line_ids: Iterable[int]) -> dict[int, Forecast]:
    """The newest forecast of each line, looked up line by line: not all that were ever made are read."""
    of_line = Forecast.objects.filter(line=OuterRef("pk")).order_by("-at", "-id")
    newest = BudgetLine.objects.filter(pk__among=set(line_ids)).values(newest=Subquery(of_line.values("pk")[:1]))
    return {forecast.line_id: forecast for forecast in Forecast.objects.filter(pk__in=newest)}


def touched_line_ids(touched: Iterable[tuple[int | None, str, Month]]) -> set[int]:
    """The lines that cost of these projects and categories may count on, whatever its month: late cost of a closed
    line counts on the next. Hidden causes count on compute lines."""
    wanted = {(project, "compute" if category == "hidden" else category) for project, category, _month in touched}
    projects = {project for project, _category in wanted if project is not None}
    rows = BudgetLine.objects.filter(project__among=projects).values_list("pk", "project", "category")
    return {line for line, project, category in rows if (project, category) in wanted}
