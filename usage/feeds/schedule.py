"""When to look next. Pure: an instant in, an instant out."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

UTC = ZoneInfo("UTC")


def next_look(after: datetime, *, every_minutes: int | None, daily_at: time | None, zone: ZoneInfo) -> datetime:
    """The first moment of the schedule that lies after an instant.

    `daily_at` is a time of the zone's clock; where the clock jumps over it, it is an hour later that day.
    """
    if daily_at is None:
        return after + timedelta(minutes=every_minutes or 60)
    day = after.astimezone(zone).date()
    moments = (at_clock(day + timedelta(days=offset), daily_at, zone) for offset in (0, 1, 2))
    return next(moment for moment in moments if moment > after)


def at_clock(day: date, clock: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)
