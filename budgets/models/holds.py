"""Money set aside for a job that is about to start."""

from __future__ import annotations

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from teams.models import User

from .fields import MONEY
from .lines import BudgetLine
from .proposals import Proposal


class HoldQuerySet(models.QuerySet["Hold"]):
    def in_force(self, now: datetime) -> HoldQuerySet:
        """Those that have not run out; one whose job has started runs out no more."""
        return self.filter(Q(expires_at__gt=now) | Q(started_at__isnull=False), ended_at__isnull=True)


class Hold(models.Model):
    """What a job may cost, kept free on a line from the question "may it start?". It runs out unless the job starts;
    then it is committed, and the job's own metered cost uses it up, until the job is over."""

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="holds")
    job = models.CharField(_("job"), max_length=120)
    amount = models.DecimalField(_("amount"), **MONEY)
    hours = models.DecimalField(
        _("hours"), max_digits=20, decimal_places=4, null=True, help_text=_("In the unit of the line's hours.")
    )
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, related_name="holds")
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = HoldQuerySet.as_manager()

    class Meta:
        verbose_name = _("hold")
        verbose_name_plural = _("holds")
        ordering = ["-at", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="hold_of_something"),
            models.UniqueConstraint(
                fields=["line", "job"], condition=Q(ended_at__isnull=True), name="one_hold_per_job"
            ),
        ]
        indexes = [
            models.Index(fields=["line", "expires_at"], condition=Q(ended_at__isnull=True), name="holds_of_a_line")
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.amount}"
