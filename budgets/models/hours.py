"""A budget of accelerator-hours beside the money of a line. Neither is converted into the other."""

from __future__ import annotations

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from teams.models import User
from usage.fields import ExactNumericField

from .fields import only_added
from .lines import BudgetLine
from .proposals import Proposal


class HoursEntry(models.Model):
    """One movement of accelerator-hours on a line. Only ever added."""

    class Kind(models.TextChoices):
        GRANT = "grant", _("grant")
        COMMIT = "commit", _("commit")
        RELEASE = "release", _("release")

    class Unit(models.TextChoices):
        REAL = "real", _("accelerator-hours")
        EQUIVALENT = "equivalent", _("equivalent accelerator-hours")

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="hours_entries")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    unit = models.CharField(_("unit"), max_length=10, choices=Unit.choices)
    hours = models.DecimalField(_("hours"), max_digits=20, decimal_places=4)
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, related_name="hours_entries")
    others_spent = ExactNumericField(null=True)
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(_("at"), default=timezone.now)
    reason = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("entry of hours")
        verbose_name_plural = _("entries of hours")
        ordering = ["at", "id"]
        constraints = [
            ExclusionConstraint(
                name="hours_of_a_line_have_one_unit",
                expressions=[("line", RangeOperators.EQUAL), ("unit", RangeOperators.NOT_EQUAL)],
            ),
            models.CheckConstraint(condition=~Q(hours=0), name="hours_entry_moves_something"),
            models.CheckConstraint(
                condition=Q(kind="grant", proposal__isnull=True) | Q(hours__gt=0, proposal__isnull=False),
                name="promised_hours_are_positive_and_of_a_proposal",
            ),
            models.CheckConstraint(
                condition=Q(kind="commit", others_spent__isnull=False)
                | (~Q(kind="commit") & Q(others_spent__isnull=True)),
                name="promised_hours_know_what_was_used",
            ),
        ]
        triggers = [only_added("hours_entries_are_only_added")]

    def __str__(self) -> str:
        return f"{self.line}: {self.kind} {self.hours} h"
