"""What lies in storage by the newest snapshot of each inventory: by class, cold, checkpoints of runs, copies."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.fields.json import KT, KeyTextTransform
from django.db.models.functions import Cast

from .fields import ExactNumericField
from .formats.holdings import COLD, UNKNOWN_AGE
from .formats.inventory import FORMAT
from .models import Record, Source


@dataclass(frozen=True)
class Held:
    """Bytes of one class or kind, and how many of them nobody used for ninety days."""

    name: str
    total: Decimal
    cold: Decimal


@dataclass(frozen=True)
class ColdPlace:
    """A place with bytes that nobody used for ninety days; by access where the inventory knows it, else by change."""

    place: str
    kind: str
    storage_class: str
    by_access: bool
    total: Decimal
    objects: int


@dataclass(frozen=True)
class RunCheckpoints:
    """The checkpoints of one run: all of them, and the last."""

    run: str
    steps: int
    files: int
    total: int
    last_step: int
    last_bytes: int

    @property
    def before_the_last(self) -> int:
        return self.total - self.last_bytes


@dataclass(frozen=True)
class Copies:
    """One content that lies in several places."""

    copies: int
    bytes_each: int
    beyond_one: int
    paths: list[str]


def inventories() -> QuerySet[Source]:
    """Sources that deliver inventories and have one that is live."""
    return Source.objects.filter(format=FORMAT.slug, scopes__live__isnull=False).distinct()


def snapshot(source: Source, sort: str, known_at: datetime | None = None) -> QuerySet[Record]:
    """The rows of a source's newest snapshot of one sort: objects, checkpoints or copies; now, or as known then."""
    return Record.objects.filter(
        KNOWN_NOW if known_at is None else known_then(known_at),
        key_set__source=source,
        key_set__resource_type=sort,
    ).select_related("key_set__meter")


KNOWN_NOW = Q(known_until=None)


def known_then(moment: datetime) -> Q:
    """Rows that a delivery before the moment brought, and none before it took away."""
    stayed = Q(known_until=None) | Q(known_until__live_at=None) | Q(known_until__live_at__gt=moment)
    return Q(known_from__live_at__lte=moment) & stayed


def taken_on(source: Source, known_at: datetime | None = None) -> date | None:
    """The day of the snapshot that is live."""
    newest = (
        snapshot(source, "objects", known_at).order_by("-usage_start").values_list("usage_start", flat=True).first()
    )
    return newest.date() if newest else None


def held_by_class(source: Source, known_at: datetime | None = None) -> list[Held]:
    return _held(source, F("key_set__meter__sku"), known_at)


def held_by_kind(source: Source, known_at: datetime | None = None) -> list[Held]:
    return _held(source, KeyTextTransform("kind", "key_set__extra"), known_at)


def _held(source: Source, name: Any, known_at: datetime | None) -> list[Held]:
    sums: dict[str, list[Decimal]] = {}
    named = snapshot(source, "objects", known_at).order_by().annotate(named=name)
    for label, age, total in named.values_list("named", "key_set__meter__state").annotate(total=Sum("quantity")):
        found = sums.setdefault(label or "", [Decimal(0), Decimal(0)])
        found[0] += total or 0
        found[1] += (total or 0) if age in COLD else 0
    return sorted((Held(label, *found) for label, found in sums.items()), key=lambda held: (-held.total, held.name))


def cold_places(source: Source, most: int, known_at: datetime | None = None) -> list[ColdPlace]:
    """The places with most bytes that nobody used for ninety days."""
    found = (
        snapshot(source, "objects", known_at)
        .filter(key_set__meter__state__in=COLD)
        .order_by()
        .values_list(
            "key_set__resource", KeyTextTransform("kind", "key_set__extra"), "key_set__meter__sku", KT("extra__age_by")
        )
        .annotate(total=Sum("quantity"), files=Sum(Cast(KT("extra__objects"), ExactNumericField())))
        .order_by("-total", "key_set__resource")[:most]
    )
    return [
        ColdPlace(place, kind or "", storage_class, by == "access", total, int(objects or 0))
        for place, kind, storage_class, by, total, objects in found
    ]


def checkpoints(source: Source, known_at: datetime | None = None) -> list[RunCheckpoints]:
    """Runs by the bytes of their checkpoints, the largest first."""
    found = [
        RunCheckpoints(
            row.key_set.resource,
            row.extra["steps"],
            row.extra["files"],
            row.extra["bytes"],
            row.extra["last_step"],
            row.extra["last_bytes"],
        )
        for row in snapshot(source, "checkpoints", known_at)
        if row.extra
    ]
    return sorted(found, key=lambda run: (-run.total, run.run))


def copies(source: Source, known_at: datetime | None = None) -> list[Copies]:
    """Contents that lie in several places, those that waste most first."""
    found = [
        Copies(row.extra["copies"], row.extra["bytes_each"], row.extra["bytes_beyond_one"], row.extra["paths"])
        for row in snapshot(source, "copies", known_at)
        if row.extra
    ]
    return sorted(found, key=lambda each: (-each.beyond_one, each.paths))


def knows_access(source: Source, known_at: datetime | None = None) -> bool:
    """Whether the snapshot says when anything was last read."""
    rows = snapshot(source, "objects", known_at).exclude(key_set__meter__state=UNKNOWN_AGE)
    return rows.filter(extra__age_by="access").exists()
