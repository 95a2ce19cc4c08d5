"""Estimate baselines: what finished runs taught, for the next estimate."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pgtrigger
from django.db import models
from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext_lazy as _

from teams import labels
from teams.models import Project, Team, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

FIGURE: dict[str, Any] = {"max_digits": 24, "decimal_places": 10}


class BaselineQuantity(models.TextChoices):
    """What can be taught: the path by which the engine knows it."""

    MFU = "compute.mfu", _("MFU of running steps")
    PAID_MFU = "compute.paid_mfu", _("MFU of paid hours")
    GOODPUT = "reliability.goodput", _("Goodput")
    ROLLBACK_SHARE = "reliability.rollback_share", _("Work rolled back")
    MTBF = "reliability.accelerator_mtbf_hours", _("Hours between failures of an accelerator")
    EXPERIMENT_RATIO = "experiments.ratio", _("Experiments, of the main run")
    REDUNDANCY = "redundancy_factor", _("Redundancy factor")
    RETRY_FACTOR = "retry_factor", _("Redundancy: retries")
    ROLLBACK_FACTOR = "rollback_factor", _("Redundancy: rollback")
    EXPERIMENT_FACTOR = "experiment_factor", _("Redundancy: experiments")
    REST_FACTOR = "rest_factor", _("Redundancy: the rest")
    PRICE_VARIANCE = "price_variance", _("Price paid ÷ price planned")


OF_ACCELERATORS = frozenset(
    {BaselineQuantity.MFU, BaselineQuantity.PAID_MFU, BaselineQuantity.GOODPUT, BaselineQuantity.MTBF}
)
"""What depends on the accelerators it was measured on."""
SHARES = frozenset(
    {
        BaselineQuantity.MFU,
        BaselineQuantity.PAID_MFU,
        BaselineQuantity.GOODPUT,
        BaselineQuantity.ROLLBACK_SHARE,
    }
)
"""What lies between nothing and all."""

SUBJECT = ("team", "project", "task_type", "accelerator_family", "quantity")
"""What makes two rows say the same of the same: the later one holds."""


class BaselineQuerySet(models.QuerySet["Baseline"]):
    def visible_to(self, user: User | AnonymousUser) -> BaselineQuerySet:
        """The organisation's for all who sign in; a team's for its people and for roles in the whole organisation."""
        if not user.is_authenticated:
            return self.none()
        if user.is_superuser or user.memberships.filter(team__isnull=True).exists():
            return self
        return self.filter(Q(team__isnull=True) | Q(team__in=user.memberships.values("team")))

    def in_force(self, on: date) -> BaselineQuerySet:
        """Per subject the row that holds on a day: the latest that starts by then, unless it withdraws the figure."""
        newest = Window(RowNumber(), partition_by=list(SUBJECT), order_by=["-valid_from", "-id"])
        holding = self.filter(valid_from__lte=on).annotate(place=newest).filter(place=1)
        return self.model.objects.filter(pk__in=holding.values("pk"), withdrawn=False)


class Baseline(models.Model):
    """A figure that finished runs of a team, or of the organisation, taught. Only added: a correction is a new row.

    One value stands in all of low, mode and high. `project` is where it was learned, so that a plan that names it as
    its predecessor finds it.
    """

    team = models.ForeignKey(Team, models.PROTECT, null=True, related_name="baselines", verbose_name=_("team"))
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="baselines", verbose_name=_("project"))
    task_type = models.CharField(_("task type"), max_length=20, choices=labels.choices(labels.TASK_TYPES), blank=True)
    accelerator_family = models.CharField(_("accelerators"), max_length=60, blank=True)
    quantity = models.CharField(_("quantity"), max_length=50, choices=BaselineQuantity.choices)
    low = models.DecimalField(_("low"), **FIGURE)
    mode = models.DecimalField(_("mode"), **FIGURE)
    high = models.DecimalField(_("high"), **FIGURE)
    runs = models.PositiveIntegerField(_("runs"))
    since = models.DateField(_("from"))
    until = models.DateField(_("to"))
    source = models.CharField(_("source"), max_length=300)
    link = models.CharField(max_length=200, blank=True)
    """Where in the product it came from, such as the page of a retrospective."""
    valid_from = models.DateField(_("valid from"))
    withdrawn = models.BooleanField(_("withdrawn"), default=False)
    note = models.CharField(_("note"), max_length=300, blank=True)
    entered_at = models.DateTimeField(_("entered"), auto_now_add=True)
    by = models.ForeignKey(User, models.PROTECT, related_name="+", verbose_name=_("entered by"))

    objects = BaselineQuerySet.as_manager()

    class Meta:
        verbose_name = _("baseline")
        verbose_name_plural = _("baselines")
        ordering = ["quantity", "task_type", "accelerator_family", "team", "-valid_from", "-id"]
        indexes = [models.Index(fields=["team", "quantity", "-valid_from", "-id"], name="baselines_of_a_team")]
        constraints = [
            models.CheckConstraint(
                condition=Q(low__lte=F("mode")) & Q(mode__lte=F("high")), name="baseline_range_in_order"
            ),
            models.CheckConstraint(condition=Q(low__gte=0), name="baseline_is_not_negative"),
            models.CheckConstraint(condition=Q(runs__gte=1), name="baseline_has_a_run"),
            models.CheckConstraint(condition=Q(until__gte=F("since")), name="baseline_period_in_order"),
            models.CheckConstraint(
                condition=~Q(quantity__in=sorted(SHARES)) | Q(high__lte=1), name="baseline_share_is_at_most_one"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="baselines_are_only_added", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.get_quantity_display()} {self.mode.normalize():f}"
