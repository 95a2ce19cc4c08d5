"""What no meter sees: invoices and journal lines, booked by hand straight to a project."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pgtrigger
from django.db import models
from django.db.models import F, Q, Sum
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.months import Month
from teams import labels
from teams.models import CURRENCY_CHOICES, Project, User

from ..fields import ExactNumericField
from .imports import Import

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

CATEGORY_CHOICES = labels.choices(labels.CATEGORIES)
TASK_TYPE_CHOICES = labels.choices(labels.TASK_TYPES)


class BookingQuerySet(models.QuerySet["Booking"]):
    def visible_to(self, user: User | AnonymousUser) -> BookingQuerySet:
        return self.filter(project__in=Project.objects.visible_to(user))

    def of_month(self, month: Month) -> BookingQuerySet:
        """Those with a day in the month."""
        return self.filter(starts_on__lt=month.end, ends_on__gt=month.start)

    def totals(self) -> list[tuple[str, Decimal]]:
        """The sum of each currency."""
        sums = self.order_by("currency").values_list("currency").annotate(total=Sum("amount"))
        return [(currency, total) for currency, total in sums]

    def standing(self) -> BookingQuerySet:
        """Neither a reversal nor reversed: what still counts."""
        return self.filter(reverses__isnull=True, reversal__isnull=True)


class Booking(models.Model):
    """One line of an invoice or journal, booked to a project. Never edited or deleted: a reversal takes it back.

    Its money counts through the usage record that was written with it; this row says where that comes from.
    """

    class Kind(models.TextChoices):
        INVOICE = "invoice", _("Invoice")
        JOURNAL = "journal", _("Journal line")
        PEOPLE = "people", pgettext_lazy("kind of booking", "People")
        HARDWARE = "hardware", _("Own hardware")
        POWER = "power", pgettext_lazy("kind of booking", "Power")
        REGULAR = "regular", _("Regular amount")

    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    project = models.ForeignKey(Project, models.PROTECT, related_name="bookings", verbose_name=_("project"))
    category = models.CharField(_("category"), max_length=20, choices=CATEGORY_CHOICES)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_TYPE_CHOICES, blank=True)
    stage = models.CharField(_("stage"), max_length=60, blank=True)
    reference = models.CharField(_("proposal"), max_length=60, blank=True)
    starts_on = models.DateField(_("first day"))
    ends_on = models.DateField(_("day after the last"))
    amount = ExactNumericField(_("amount"))
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    item = models.CharField(_("what for"), max_length=120, blank=True)
    quantity = ExactNumericField(_("quantity"), null=True)
    unit = models.CharField(_("unit"), max_length=30, blank=True)
    document = models.CharField(_("document"), max_length=120, blank=True)
    link = models.URLField(_("link"), max_length=500, blank=True)
    key = models.CharField(_("line of the document"), max_length=120, blank=True)
    note = models.TextField(_("note"), blank=True)
    identity = models.UUIDField(editable=False, help_text=_("What tells it from other lines, so that it books once."))
    content = models.UUIDField(editable=False, help_text=_("Of all that it says."))
    delivery = models.ForeignKey(Import, models.PROTECT, related_name="bookings")
    line = models.PositiveIntegerField(_("line of the file"), default=1)
    booked_at = models.DateTimeField(_("booked"))
    booked_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reverses = models.OneToOneField("self", models.PROTECT, null=True, related_name="reversal")
    reason = models.TextField(_("why it was reversed"), blank=True)

    objects = BookingQuerySet.as_manager()

    class Meta:
        verbose_name = _("booking")
        verbose_name_plural = _("bookings")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["project", "-id"], name="bookings_of_a_project"),
            models.Index(fields=["identity"], name="bookings_by_identity"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(ends_on__gt=F("starts_on")), name="booking_ends_after_it_starts"),
            models.CheckConstraint(condition=~Q(amount=0), name="booking_moves_money"),
            models.CheckConstraint(
                condition=Q(reverses__isnull=True, reason="") | (Q(reverses__isnull=False) & ~Q(reason="")),
                name="reversal_says_why",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="bookings_are_only_added", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"B-{self.pk}"

    @property
    def last_day(self) -> date:
        return self.ends_on - timedelta(days=1)

    @property
    def is_reversed(self) -> bool:
        """Whether another booking takes this one back; reads `reversal`, which lists fetch beforehand."""
        return hasattr(self, "reversal")
