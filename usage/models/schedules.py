"""Where a source fetches its files by itself, when it looks, and what it has seen there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .imports import Import
from .sources import Source

if TYPE_CHECKING:
    from datetime import datetime

    from django.contrib.auth.models import AnonymousUser

    from teams.models import User


class FeedQuerySet(models.QuerySet["Feed"]):
    def visible_to(self, user: User | AnonymousUser) -> FeedQuerySet:
        return self.filter(source__in=Source.objects.visible_to(user))

    def due(self, now: datetime) -> FeedQuerySet:
        """Those whose time to look has come and that nobody is looking at."""
        free = Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)
        return self.filter(free, is_on=True, next_look_at__lte=now)


class Feed(models.Model):
    """A place below the one configured root where a source's files appear, and how often it is looked at."""

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Watched folder")
        BUCKET = "bucket", _("Object store (S3)")

    source = models.OneToOneField(Source, models.CASCADE, related_name="feed")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    path = models.CharField(_("path below the root"), max_length=500, blank=True)
    pattern = models.CharField(_("file names"), max_length=200, default="*")
    folder_is_one = models.BooleanField(
        _("the files of a folder are parts of one delivery"),
        default=False,
        help_text=_("Delivered together when none of them changes any more; again as a whole when one does."),
    )
    every_minutes = models.PositiveIntegerField(_("every (minutes)"), null=True, blank=True)
    daily_at = models.TimeField(_("daily at"), null=True, blank=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    is_on = models.BooleanField(_("looks by itself"), default=True)
    next_look_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True, help_text=_("A worker is looking, and is believed alive until."))
    last_look_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True)
    last_seen = models.PositiveIntegerField(default=0, help_text=_("Files that the last look found."))
    last_taken = models.PositiveIntegerField(default=0, help_text=_("Deliveries that the last look made."))

    objects = FeedQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["next_look_at"], condition=Q(is_on=True), name="feeds_by_next_look")]
        constraints = [
            models.CheckConstraint(
                condition=Q(every_minutes__isnull=False, daily_at__isnull=True)
                | Q(every_minutes__isnull=True, daily_at__isnull=False),
                name="a_feed_looks_every_so_often_or_daily",
            ),
            models.CheckConstraint(
                condition=Q(every_minutes__isnull=True) | Q(every_minutes__range=(1, 43_200)),
                name="a_feed_looks_at_least_monthly",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.path or '.'}"

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)


class FeedFile(models.Model):
    """A file that was seen at a feed's place: as it was last, and what became of it."""

    class State(models.TextChoices):
        SETTLING = "settling", _("may still be written")
        WAITING = "waiting", _("waits for others")
        TAKEN = "taken", _("delivered")
        KNOWN = "known", _("delivered before")
        REFUSED = "refused", _("refused")
        MARKER = "marker", _("says when others are complete")

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="files")
    name = models.CharField(max_length=1024)
    size = models.PositiveBigIntegerField(default=0)
    tag = models.CharField(max_length=200, blank=True, help_text=_("Changes whenever the file does."))
    state = models.CharField(max_length=10, choices=State.choices)
    reason = models.TextField(blank=True)
    since = models.DateTimeField(help_text=_("When it was first seen with this tag."))
    seen_at = models.DateTimeField()
    delivery = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-since", "-id"]
        constraints = [models.UniqueConstraint(fields=["feed", "name"], name="one_row_per_file_of_a_feed")]

    def __str__(self) -> str:
        return self.name
