"""What pages and the judge read: sums by day, and word of what moved."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from teams import labels
from teams.models import Project

from ..fields import ExactNumericField
from .records import Meter

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)


class DailyUsage(models.Model):
    """The rollup pages read: live records by meter, place and local day. Rebuilt for what was touched."""

    meter = models.ForeignKey(Meter, models.CASCADE, related_name="+")
    day = models.DateField()
    billing_month = models.DateField()
    currency = models.CharField(max_length=3, blank=True)
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="+")
    is_shared = models.BooleanField(default=False)
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(max_length=60, blank=True)
    reference = models.CharField(max_length=60, blank=True)
    is_tagged = models.BooleanField(default=True)
    rows = models.BigIntegerField()
    billed = ExactNumericField()
    effective = ExactNumericField()
    list_cost = ExactNumericField()
    contracted = ExactNumericField()
    quantity = ExactNumericField()
    accelerator_hours = ExactNumericField()
    cpu_core_hours = ExactNumericField()

    class Meta:
        indexes = [
            models.Index(fields=["meter", "day"], name="daily_usage_of_a_meter"),
            models.Index(fields=["project", "category", "day"], name="daily_usage_of_a_project"),
            models.Index(fields=["day"], name="daily_usage_by_day"),
            models.Index(
                fields=["project", "category", "day"],
                condition=models.Q(currency="", accelerator_hours__gt=0),
                name="daily_usage_without_a_price",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.meter_id}"


class Touched(models.Model):
    """Money of this project, category and month moved: whoever judges budget lines takes the row away.

    Rows may repeat. One that is already there must not be shared by a later import, or it could be taken before
    that import can be seen.
    """

    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    month = models.DateField()
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.project_id} {self.category} {self.month}"
