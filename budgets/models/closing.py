"""What was official when the period of a line was closed."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from teams.models import User
from usage.fields import ExactNumericField

from .fields import only_added
from .lines import BudgetLine


class LineClosing(models.Model):
    """The end of a line's period: its actual is what was known `at` this moment. A reopening ends it; closing the line
    again adds another."""

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="closings")
    month = models.DateField(help_text=_("The first day of the month whose closing closed the line."))
    at = models.DateTimeField()
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    carried_to = models.ForeignKey(BudgetLine, models.PROTECT, null=True, related_name="+")
    reopened_at = models.DateTimeField(null=True)
    reopened_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reopen_reason = models.TextField(blank=True)

    class Meta:
        ordering = ["line", "at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["line"], condition=Q(reopened_at__isnull=True), name="a_line_is_closed_once"
            ),
            models.CheckConstraint(
                condition=Q(reopened_at__isnull=True, reopened_by__isnull=True, reopen_reason="")
                | Q(reopened_at__isnull=False, reopened_by__isnull=False) & ~Q(reopen_reason=""),
                name="a_reopening_says_who_and_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.line} closed {self.at:%Y-%m-%d}"


class ClosedCost(models.Model):
    """Metered cost of a closed line as it was known then, by month, currency and reference. It can be made again from
    the records at any time (`budgets.closed.costs_from_records`).

    With an origin it is late cost of a period that was closed before, which counted on this line.
    """

    closing = models.ForeignKey(LineClosing, models.PROTECT, related_name="costs")
    origin = models.ForeignKey(LineClosing, models.PROTECT, null=True, related_name="passed_on")
    reference = models.CharField(max_length=60, blank=True)
    currency = models.CharField(max_length=3)
    month = models.DateField()
    amount = ExactNumericField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["closing", "origin", "reference", "currency", "month"],
                nulls_distinct=False,
                name="closed_cost_once",
            )
        ]
        triggers = [only_added("closed_costs_are_only_added")]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.amount} {self.currency}"
