"""Times in which a source brought nothing although it was expected to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from .sources import Source

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from teams.models import User


class SilenceQuerySet(models.QuerySet["Silence"]):
    def visible_to(self, user: User | AnonymousUser) -> SilenceQuerySet:
        return self.filter(source__in=Source.objects.visible_to(user))

    def open(self) -> SilenceQuerySet:
        """Those that last."""
        return self.filter(ended_at__isnull=True)


class Silence(models.Model):
    """One silence of a source, from its last data until data came again. People are told of it once."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="silences")
    since = models.DateTimeField(help_text=_("When the last data came, or the source was opened."))
    noticed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = SilenceQuerySet.as_manager()

    class Meta:
        verbose_name = _("silence")
        verbose_name_plural = _("silences")
        ordering = ["-noticed_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["source"], condition=Q(ended_at__isnull=True), name="one_silence_at_a_time")
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.since}"
