"""What comes every month without a meter: people, own hardware, power; drafted by the clock, confirmed by finance."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from core.months import Month
from teams import labels
from teams.models import CURRENCY_CHOICES, Project, User

from ..fields import ExactNumericField
from .bookings import Booking

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)


class RecurringBookingQuerySet(models.QuerySet["RecurringBooking"]):
    def visible_to(self, user: User | AnonymousUser) -> RecurringBookingQuerySet:
        return self.filter(project__in=Project.objects.visible_to(user))

    def running_in(self, month: Month) -> RecurringBookingQuerySet:
        """Begun by the month. One that has ended may still lack drafts of earlier months."""
        return self.filter(starts_on__lte=month.start)


class RecurringBooking(models.Model):
    """A cost of a project that comes every month: a role's rate × people, a tariff × kWh, a share of a machine's
    price, or an amount."""

    class Basis(models.TextChoices):
        ROLE = "role", _("People: rate of a role × persons")
        DEPRECIATION = "depreciation", _("Own hardware: price less residual value, over its life")
        TARIFF = "tariff", _("Power: kWh × tariff")
        AMOUNT = "amount", _("A fixed amount")

    basis = models.CharField(_("how it is reckoned"), max_length=12, choices=Basis.choices)
    name = models.CharField(_("name"), max_length=120)
    project = models.ForeignKey(Project, models.PROTECT, related_name="recurring_bookings", verbose_name=_("project"))
    category = models.CharField(_("category"), max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(_("stage"), max_length=60, blank=True)
    reference = models.CharField(_("proposal"), max_length=60, blank=True)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    item = models.CharField(_("role or tariff of the price table"), max_length=120, blank=True)
    quantity = ExactNumericField(_("persons, or kWh a month"), null=True)
    amount = ExactNumericField(_("amount a month"), null=True)
    capital = ExactNumericField(_("price paid"), null=True)
    residual = ExactNumericField(_("residual value"), null=True)
    life_months = models.PositiveSmallIntegerField(_("life in months"), null=True)
    starts_on = models.DateField(_("first month"))
    ends_on = models.DateField(_("first month without it"), null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    objects = RecurringBookingQuerySet.as_manager()

    class Meta:
        verbose_name = _("recurring cost")
        verbose_name_plural = _("recurring costs")
        ordering = ["project__name", "name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(starts_on__day=1) & (Q(ends_on__isnull=True) | Q(ends_on__day=1)),
                name="recurring_in_whole_months",
            ),
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(ends_on__gte=F("starts_on")),
                name="recurring_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(basis__in=["role", "tariff"], quantity__gt=0) & ~Q(item="")
                | Q(basis="amount", amount__isnull=False)
                | Q(basis="depreciation", capital__gt=F("residual"), residual__gte=0, life_months__gt=0),
                name="recurring_says_what_it_needs",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def end(self) -> date | None:
        """The first day without it: as somebody said, or when the machine's life is over."""
        if self.basis != self.Basis.DEPRECIATION:
            return self.ends_on
        over = (Month.of(self.starts_on) + (self.life_months or 0)).start
        return min(over, self.ends_on or over)

    @property
    def last_month(self) -> date | None:
        return (Month.of(self.end) + -1).start if self.end else None


class MonthDraftQuerySet(models.QuerySet["MonthDraft"]):
    def visible_to(self, user: User | AnonymousUser) -> MonthDraftQuerySet:
        return self.filter(recurring__project__in=Project.objects.visible_to(user))

    def waiting(self) -> MonthDraftQuerySet:
        """Not booked yet."""
        return self.filter(booking__isnull=True)

    def due(self, today: date) -> MonthDraftQuerySet:
        """Waiting, of months that are over: finance can say yes to them."""
        return self.waiting().filter(month__lt=Month.of(today).start)


class MonthDraft(models.Model):
    """One month of a recurring cost, as it would be booked. It counts when finance has confirmed it; until then it is
    reckoned anew as prices change, and shown as accrued."""

    recurring = models.ForeignKey(RecurringBooking, models.PROTECT, related_name="drafts")
    month = models.DateField(_("month"))
    quantity = ExactNumericField(_("persons, or kWh"), null=True)
    rate = ExactNumericField(_("rate"), null=True)
    amount = ExactNumericField(_("amount"), null=True, help_text=_("Empty: the price table has no price for it."))
    edited_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    edit_reason = models.TextField(_("why it differs"), blank=True)
    booking = models.OneToOneField(Booking, models.PROTECT, null=True, related_name="draft")

    objects = MonthDraftQuerySet.as_manager()

    class Meta:
        verbose_name = _("month of a recurring cost")
        verbose_name_plural = _("months of recurring costs")
        ordering = ["month", "recurring__project__name", "recurring__name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["recurring", "month"], name="one_draft_a_month"),
            models.CheckConstraint(condition=Q(month__day=1), name="draft_of_a_month"),
            models.CheckConstraint(
                condition=Q(booking__isnull=True) | Q(amount__isnull=False), name="what_is_booked_has_an_amount"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.recurring} {Month.of(self.month)}"
