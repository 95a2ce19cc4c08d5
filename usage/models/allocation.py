"""Whose usage it is: rules, and where they place what rows share."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from teams import labels
from teams.models import Project

from ..fields import ExactNumericField
from .records import KeySet
from .sources import Source

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)


class Split(models.TextChoices):
    """How a rule that splits weighs its projects."""

    NONE = "", _("No split")
    WEIGHT = "weight", _("By weight")
    USAGE = "usage", _("By accelerator-hours of the month")
    PARTS = "parts", _("By the job logs that are part of the source")


class AllocationRule(models.Model):
    """Which usage belongs to which project. The first rule that matches a key set on a day places it."""

    position = models.PositiveIntegerField(_("position"))
    name = models.CharField(_("name"), max_length=120)
    source = models.ForeignKey(Source, models.CASCADE, null=True, blank=True, verbose_name=_("only of the source"))
    conditions = models.JSONField(_("conditions"), default=list)
    starts_on = models.DateField(_("from"), null=True, blank=True)
    ends_on = models.DateField(_("until"), null=True, blank=True)
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, verbose_name=_("project"))
    is_shared = models.BooleanField(_("shared cost"), default=False)
    split = models.CharField(_("split"), max_length=10, choices=Split.choices, blank=True, default=Split.NONE)
    category = models.CharField(_("category"), max_length=20, choices=CATEGORY_CHOICES, blank=True)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(_("stage"), max_length=60, blank=True)
    experiment = models.CharField(_("experiment"), max_length=120, blank=True)
    reference = models.CharField(_("proposal"), max_length=60, blank=True)
    reason = models.TextField(_("reason"), blank=True)
    active = models.BooleanField(_("active"), default=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("allocation rule")
        verbose_name_plural = _("allocation rules")
        ordering = ["position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(starts_on__isnull=True) | Q(ends_on__gt=F("starts_on")),
                name="rule_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(project__isnull=True) | Q(is_shared=False), name="a_project_or_shared_not_both"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class AllocationShare(models.Model):
    """A rule that splits: one project's weight in what the rule matches."""

    rule = models.ForeignKey(AllocationRule, models.CASCADE, related_name="shares")
    project = models.ForeignKey(Project, models.PROTECT, related_name="+")
    weight = ExactNumericField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "project"], name="one_share_per_project")]

    def __str__(self) -> str:
        return f"{self.project} {self.weight}"


class Placement(models.Model):
    """Where a key set's usage of some days belongs, and which rule says so; as it was known for a time.

    The shares of one key set on one day add up to exactly 1, so that parts add up to the whole.
    """

    key_set = models.ForeignKey(KeySet, models.CASCADE, related_name="placements")
    starts_on = models.DateField()
    ends_on = models.DateField()
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="+")
    is_shared = models.BooleanField(default=False)
    share = ExactNumericField(default=1)
    is_first = models.BooleanField(default=True, help_text=_("Of several shares the one that counts the row."))
    category = models.CharField(max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(max_length=60, blank=True)
    experiment = models.CharField(max_length=120, blank=True)
    reference = models.CharField(max_length=60, blank=True)
    rule = models.ForeignKey(AllocationRule, models.SET_NULL, null=True, related_name="+")
    reassignment = models.ForeignKey("usage.Reassignment", models.SET_NULL, null=True, related_name="+")
    known_from = models.DateTimeField()
    known_until = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["key_set"], condition=Q(known_until__isnull=True), name="placements_now"),
            models.Index(fields=["key_set", "known_from"], name="placements_of_a_key_set"),
        ]

    def __str__(self) -> str:
        return f"{self.key_set_id} → {self.project_id}"
