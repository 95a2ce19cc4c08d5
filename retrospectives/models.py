"""Retrospectives: the look back after an overrun or at the end of a proposal."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from budgets.models import Proposal
from overruns.models import Crossing
from teams.models import CURRENCY_CHOICES, Project, User
from usage.fields import ExactNumericField

from .measured import MEASURED, Measured

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class RetrospectiveQuerySet(models.QuerySet["Retrospective"]):
    def visible_to(self, user: User | AnonymousUser) -> RetrospectiveQuerySet:
        return self.filter(project__in=Project.objects.visible_to(user))


class Retrospective(models.Model):
    """Why money went otherwise than approved, whether the work reached its goal, and what is done about it."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        CLOSED = "closed", _("closed")

    class Acceptance(models.TextChoices):
        MET = "met", _("met")
        NOT_MET = "not_met", _("not met")
        NOT_YET = "not_yet", _("not to be said yet")

    project = models.ForeignKey(Project, models.PROTECT, related_name="retrospectives")
    crossing = models.OneToOneField(Crossing, models.PROTECT, null=True, related_name="retrospective")
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, related_name="retrospectives")
    owner = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    opened_at = models.DateTimeField(default=timezone.now)
    due_on = models.DateField(_("due"))
    currency = models.CharField(max_length=3, choices=CURRENCY_CHOICES)
    difference = ExactNumericField(help_text=_("Spent beyond the line when it opened."))
    cause = models.TextField(_("cause"), blank=True)
    acceptance = models.CharField(_("acceptance criterion"), max_length=8, choices=Acceptance.choices, blank=True)
    acceptance_note = models.TextField(_("how it was found"), blank=True)
    closed_at = models.DateTimeField(null=True)
    closed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    objects = RetrospectiveQuerySet.as_manager()

    class Meta:
        verbose_name = _("retrospective")
        verbose_name_plural = _("retrospectives")
        ordering = ["state", "due_on", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="open") | (~Q(cause="") & ~Q(acceptance="") & Q(closed_at__isnull=False)),
                name="a_closed_retrospective_says_why",
            ),
            models.CheckConstraint(
                condition=Q(crossing__isnull=False) | Q(proposal__isnull=False), name="a_retrospective_has_an_occasion"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.project} {self.opened_at:%Y-%m-%d}"

    def is_late(self, today: date) -> bool:
        return self.state == self.State.OPEN and self.due_on < today


class Action(models.Model):
    """Something to do differently, by someone, until a day."""

    retrospective = models.ForeignKey(Retrospective, models.CASCADE, related_name="actions")
    text = models.CharField(_("what"), max_length=300)
    owner = models.ForeignKey(User, models.PROTECT, related_name="+", verbose_name=_("who"))
    due_on = models.DateField(_("until"), null=True, blank=True)
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.text


class Measurement(models.Model):
    """What was measured of the runs a retrospective looks back at; empty where nobody measured. Shares are of one."""

    retrospective = models.OneToOneField(Retrospective, models.CASCADE, related_name="measurement")
    accelerator_hours = ExactNumericField(_("accelerator-hours billed"), null=True)
    experiment_share = ExactNumericField(_("share of experiments"), null=True)
    mfu = ExactNumericField(_("MFU of running steps"), null=True)
    goodput = ExactNumericField(_("goodput"), null=True)
    rollback_share = ExactNumericField(_("work rolled back"), null=True)
    interruptions = ExactNumericField(_("interruptions"), null=True)
    price_per_accelerator_hour = ExactNumericField(_("paid per accelerator-hour"), null=True)
    runs = models.PositiveIntegerField(_("runs"), default=1)
    since = models.DateField(_("from"), null=True)
    until = models.DateField(_("to"), null=True)
    accelerator = models.CharField(_("accelerator"), max_length=60, blank=True)

    def __str__(self) -> str:
        return str(self.retrospective)

    @property
    def cost(self) -> Decimal | None:
        """What the computing came to: hours × what was paid for one."""
        if self.accelerator_hours is None or self.price_per_accelerator_hour is None:
            return None
        return self.accelerator_hours * self.price_per_accelerator_hour

    @property
    def measured(self) -> Measured:
        return Measured(**{name: getattr(self, name) for name in MEASURED})
