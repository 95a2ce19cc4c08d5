"""Django finds an app's models here: sources, imports, records, allocation, rollup, runs."""

from ..runs.models import Run, RunMetric
from .allocation import AllocationRule, AllocationShare, Placement
from .imports import Import, RejectedRow, Scope
from .records import KeySet, Meter, Record
from .rollup import DailyUsage, Touched
from .schedules import Feed, FeedFile
from .sources import Meaning, Money, Source

__all__ = [
    "AllocationRule",
    "AllocationShare",
    "DailyUsage",
    "Feed",
    "FeedFile",
    "Import",
    "KeySet",
    "Meaning",
    "Meter",
    "Money",
    "Placement",
    "Record",
    "RejectedRow",
    "Run",
    "RunMetric",
    "Scope",
    "Source",
    "Touched",
]
