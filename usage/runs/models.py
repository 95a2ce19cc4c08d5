"""Runs of training as their own logs show them: progress and quality, never money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from teams import permissions
from teams.models import Project, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class RunQuerySet(models.QuerySet["Run"]):
    def visible_to(self, user: User | AnonymousUser) -> RunQuerySet:
        """Runs of the projects one may see; runs without a project for a role in the whole organisation."""
        own = Q(project__in=Project.objects.visible_to(user))
        sees_all = user.is_authenticated and permissions.may_see_all_usage(user)
        return self.filter(own | Q(project__isnull=True) if sees_all else own)


class Run(models.Model):
    """One training job that reports metrics. `job` is what the scheduler's log calls it: their usage meets there."""

    class State(models.TextChoices):
        RUNNING = "running", pgettext_lazy("of a run", "running")
        FINISHED = "finished", _("finished")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")

    slug = models.SlugField(_("short name"), max_length=120, unique=True)
    name = models.CharField(_("name"), max_length=200)
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.RUNNING)
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, blank=True, related_name="runs", verbose_name=_("project")
    )
    experiment = models.CharField(_("experiment"), max_length=120, blank=True)
    reference = models.CharField(_("proposal"), max_length=60, blank=True, help_text=_("Such as P-12."))
    job = models.CharField(_("job"), max_length=200, blank=True)
    facts = models.JSONField(_("parameters and tags"), default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("run")
        verbose_name_plural = _("runs")
        ordering = ["-id"]
        indexes = [models.Index(fields=["job"], condition=~Q(job=""), name="runs_by_job")]

    def __str__(self) -> str:
        return self.name


class RunMetric(models.Model):
    """One value of one series at one step. After a resume a step is computed again: that is another attempt.

    A value that was not a number (a loss that went to NaN) is null. The time is null where the log has no clock.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="metrics")
    name = models.CharField(_("series"), max_length=200)
    step = models.BigIntegerField(_("step"))
    attempt = models.PositiveSmallIntegerField(_("attempt"), default=1)
    at = models.DateTimeField(_("time"), null=True)
    value = models.FloatField(_("value"), null=True)

    class Meta:
        verbose_name = _("run metric")
        verbose_name_plural = _("run metrics")
        constraints = [
            models.UniqueConstraint(fields=["run", "name", "step", "attempt"], name="one_value_per_step_and_attempt"),
            models.CheckConstraint(condition=Q(step__gte=0), name="steps_are_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.name} {self.step}: {self.value}"
