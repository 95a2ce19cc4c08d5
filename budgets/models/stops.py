"""Jobs that may not start, whatever money is left."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from teams.models import Project, User


class StopQuerySet(models.QuerySet["Stop"]):
    def in_force(self) -> StopQuerySet:
        return self.filter(released_at__isnull=True)


class Stop(models.Model):
    """A project, or one job of it, whose question "may it start?" is answered no until somebody releases it."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="stops")
    job = models.CharField(_("job"), max_length=200, blank=True, help_text=_("Empty: every job of the project."))
    reason = models.TextField(_("reason"))
    at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)
    released_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    release_reason = models.TextField(blank=True)

    objects = StopQuerySet.as_manager()

    class Meta:
        verbose_name = _("stop")
        verbose_name_plural = _("stops")
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["project"], condition=Q(released_at__isnull=True), name="stops_in_force")]
        constraints = [
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) | ~Q(release_reason=""), name="a_stop_is_released_with_a_reason"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job or self.project}: {self.reason}"
