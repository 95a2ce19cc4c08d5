"""How money falls on the months. Each share has a month axis in front and adds up to one over it.

`month_starts` are the hours from the start of the plan to the beginning of each month, the first one 0.
"""

from __future__ import annotations

import numpy as np

from estimates.engine.graph import quantity
from estimates.engine.sampling import Array

HOURS_PER_MONTH = 730.5
NEVER = 1e30
MONTH = {"axis": "month"}


def share_of_window(month_starts: Array, month_ends: Array, begin: Array, length: Array) -> Array:
    """The part of a window of time that lies in each month; a window without length lies in the month it begins in."""
    end, none = begin + length, begin * 0.0
    reached = _months_reached(month_starts, end)
    starts, ends = month_starts[:reached], month_ends[:reached]
    covered = np.minimum(ends, end) - np.maximum(starts, begin)
    shares = np.maximum(covered, none) / length
    if not np.all(length > none):
        at_once = (starts <= begin) & (begin < ends)
        shares = np.where(length > none, shares, at_once * 1.0)
    behind = np.zeros((month_starts.shape[0] - reached, *shares.shape[1:]))
    return np.concatenate([shares, behind]) if behind.size else shares


def _months_reached(month_starts: Array, end: Array) -> int:
    """How many months begin before all windows are over: those behind hold nothing, and cost nothing to compute."""
    behind = month_starts > np.max(end, axis=-1, keepdims=True)
    return int(np.sum(~np.all(behind, axis=tuple(range(1, behind.ndim)))))


@quantity("hour", "End of time", "时间终点")
def end_of_time() -> float:
    """Longer than any plan."""
    return NEVER


@quantity("hour", "Months end", "各月终点", **MONTH)
def month_ends(month_starts: Array, end_of_time: float) -> Array:
    """Where the next begins; the last month shown never ends, so that nothing is lost behind it."""
    return np.concatenate([month_starts[1:], month_starts[:1] + end_of_time])


@quantity("1", "Share of a run in each month", "各月训练时间占比", **MONTH)
def run_month_share(month_starts: Array, month_ends: Array, elapsed_hours: Array) -> Array:
    """By the hours of the main run; experiments and evaluation are booked along with it."""
    return share_of_window(month_starts, month_ends, elapsed_hours * 0.0, elapsed_hours)


@quantity("1", "Share at the start", "期初一次性", **MONTH)
def upfront_month_share(month_starts: Array) -> Array:
    """All of it in the first month."""
    return (month_starts <= month_starts[:1]) * 1.0


@quantity("1", "Share of warm storage in each month", "各月热存储占比", **MONTH)
def storage_month_share(month_starts: Array, month_ends: Array, warm_hours: Array) -> Array:
    """Evenly while data lies in warm storage."""
    return share_of_window(month_starts, month_ends, warm_hours * 0.0, warm_hours)


@quantity("1", "Share of the archive in each month", "各月归档存储占比", **MONTH)
def archive_month_share(month_starts: Array, month_ends: Array, warm_hours: Array, archive_hours: Array) -> Array:
    """Evenly after that, as long as the estimate counts an archive."""
    return share_of_window(month_starts, month_ends, warm_hours, archive_hours)


@quantity("1", "Share of the planned work of people in each month", "各月人力占比", **MONTH)
def people_month_share(
    month_starts: Array, month_ends: Array, people__months: Array, people_row_cost: Array, hours_per_month: float
) -> Array:
    """Each person from the start, for the months planned."""
    rows = people__months * hours_per_month
    shares = share_of_window(month_starts[:, None], month_ends[:, None], rows * 0.0, rows)
    whole = people_row_cost.sum(axis=0)
    weighted = (shares * people_row_cost).sum(axis=1) / whole
    return np.where(whole > whole * 0.0, weighted, (month_starts <= month_starts[:1]) * 1.0)


@quantity("1", "Share of the project in each month", "各月项目时间占比", **MONTH)
def project_month_share(month_starts: Array, month_ends: Array, project_hours: Array) -> Array:
    """Evenly while the project lasts."""
    return share_of_window(month_starts, month_ends, project_hours * 0.0, project_hours)
