"""What people decided by hand: usage moved against the rules, and who answers for what no rule places."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from teams import labels
from teams.models import Project, User

from .records import KeySet

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)


class Reassignment(models.Model):
    """Usage of some key sets put elsewhere by a person, with a reason. It wins over every rule until it is reversed.

    What it leaves empty stays as the rules say.
    """

    key_sets = models.ManyToManyField(KeySet, related_name="reassignments")
    starts_on = models.DateField(_("usage from"))
    ends_on = models.DateField(_("until, not included"), null=True, blank=True)
    project = models.ForeignKey(Project, models.PROTECT, null=True, blank=True, verbose_name=_("project"))
    is_shared = models.BooleanField(_("shared cost"), default=False)
    category = models.CharField(_("category"), max_length=20, choices=CATEGORY_CHOICES, blank=True)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(_("stage"), max_length=60, blank=True)
    experiment = models.CharField(_("experiment"), max_length=120, blank=True)
    reason = models.TextField(_("reason"))
    restates = models.BooleanField(_("closed months too, as a restatement"), default=False)
    made_at = models.DateTimeField(auto_now_add=True)
    made_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    reversed_at = models.DateTimeField(null=True)
    reversed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reverse_reason = models.TextField(blank=True)

    class Meta:
        verbose_name = _("re-assignment")
        verbose_name_plural = _("re-assignments")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(ends_on__gt=F("starts_on")),
                name="reassignment_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(project__isnull=True) | Q(is_shared=False), name="reassigned_to_a_project_or_shared"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.starts_on} → {self.project or ('shared' if self.is_shared else '')}"


class AllocationOwner(models.Model):
    """The one person who answers for cost that no rule places; without one, every operator does."""

    singleton = models.BooleanField(default=True, unique=True, editable=False)
    person = models.ForeignKey(User, models.PROTECT, null=True, blank=True, verbose_name=_("person"))

    class Meta:
        verbose_name = _("owner of unallocated cost")
        verbose_name_plural = _("owner of unallocated cost")
        constraints = [models.CheckConstraint(condition=Q(singleton=True), name="one_allocation_owner")]

    def __str__(self) -> str:
        return str(self.person or _("every operator"))
