"""A budget of accelerator-hours beside the money of a line. Neither is converted into the other."""

from __future__ import annotations

import pgtrigger
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from teams.models import User
from usage.fields import ExactNumericField

from .closing import LineClosing
from .fields import only_added
from .lines import BudgetLine
from .proposals import Proposal


class HoursEntry(models.Model):
    """One movement of accelerator-hours on a line. Only ever added."""

    class Kind(models.TextChoices):
        GRANT = "grant", _("grant")
        COMMIT = "commit", _("commit")
        RELEASE = "release", _("release")
        TRANSFER = "transfer", _("transfer")
        ROLLOVER = "rollover", _("rollover")

    BUDGET = (Kind.GRANT, Kind.TRANSFER, Kind.ROLLOVER)
    """Kinds whose sum is the line's budget of hours; commit and release promise parts of it."""

    class Unit(models.TextChoices):
        REAL = "real", _("accelerator-hours")
        EQUIVALENT = "equivalent", _("equivalent accelerator-hours")

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="hours_entries")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    unit = models.CharField(_("unit"), max_length=10, choices=Unit.choices)
    hours = models.DecimalField(_("hours"), max_digits=20, decimal_places=4)
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, related_name="hours_entries")
    others_spent = ExactNumericField(null=True)
    transfer = models.UUIDField(null=True, default=None, db_index=True)
    closing = models.ForeignKey(LineClosing, models.PROTECT, null=True, related_name="hours_entries")
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
                condition=Q(kind__in=["grant", "transfer", "rollover"], proposal__isnull=True)
                | Q(kind__in=["commit", "release"], hours__gt=0, proposal__isnull=False),
                name="promised_hours_are_positive_and_of_a_proposal",
            ),
            models.CheckConstraint(
                condition=Q(kind="commit", others_spent__isnull=False)
                | (~Q(kind="commit") & Q(others_spent__isnull=True)),
                name="promised_hours_know_what_was_used",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["transfer", "rollover"], transfer__isnull=False)
                | (~Q(kind__in=["transfer", "rollover"]) & Q(transfer__isnull=True)),
                name="hours_that_move_between_lines_are_numbered",
            ),
            models.CheckConstraint(
                condition=~Q(kind="rollover") | Q(closing__isnull=False), name="hours_that_roll_over_are_of_a_closing"
            ),
        ]
        triggers = [
            only_added("hours_entries_are_only_added"),
            pgtrigger.Trigger(
                name="hours_that_move_balance",
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__transfer__isnull=False),
                timing=pgtrigger.Deferred,
                func="""
                    IF (SELECT sum(hours) <> 0 OR count(DISTINCT unit) <> 1
                        FROM budgets_hoursentry WHERE transfer = NEW.transfer)
                    THEN RAISE EXCEPTION 'transfer of hours % does not balance', NEW.transfer
                        USING ERRCODE = 'integrity_constraint_violation';
                    END IF;
                    RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.line}: {self.kind} {self.hours} h"


class ClosedHours(models.Model):
    """Metered hours of a closed line as they were known then, by reference and accelerator; `counted` in the unit of
    the line, and not at all where the accelerator had no known peak.

    With an origin they are late hours of a period that was closed before, which counted on this line.
    """

    closing = models.ForeignKey(LineClosing, models.PROTECT, related_name="hours")
    origin = models.ForeignKey(LineClosing, models.PROTECT, null=True, related_name="hours_passed_on")
    reference = models.CharField(max_length=60, blank=True)
    accelerator = models.CharField(max_length=120, blank=True)
    hours = ExactNumericField()
    counted = ExactNumericField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["closing", "origin", "reference", "accelerator"],
                nulls_distinct=False,
                name="closed_hours_once",
            )
        ]
        triggers = [only_added("closed_hours_are_only_added")]

    def __str__(self) -> str:
        return f"{self.accelerator} {self.hours} h"
