"""Django finds an app's models here: sources, imports, records, allocation, bookings, rollup, runs, clusters."""

from ..clusters.models import CardLot, CardWindow, Cluster, ClusterPartition
from ..runs.models import Run, RunMetric
from .allocation import AllocationRule, AllocationShare, Placement
from .bookings import Booking
from .imports import Import, RejectedRow, Scope
from .reassignments import AllocationOwner, Reassignment
from .records import KeySet, Meter, Record
from .recurring import MonthDraft, RecurringBooking
from .rollup import DailyUsage, Touched
from .schedules import Feed, FeedFile
from .silences import Silence
from .sources import Meaning, Money, Source

__all__ = [
    "AllocationOwner",
    "AllocationRule",
    "AllocationShare",
    "Booking",
    "CardLot",
    "CardWindow",
    "Cluster",
    "ClusterPartition",
    "DailyUsage",
    "Feed",
    "FeedFile",
    "Import",
    "KeySet",
    "Meaning",
    "Meter",
    "Money",
    "MonthDraft",
    "Placement",
    "Reassignment",
    "Record",
    "RecurringBooking",
    "RejectedRow",
    "Run",
    "RunMetric",
    "Scope",
    "Silence",
    "Source",
    "Touched",
]
