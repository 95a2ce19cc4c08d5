"""The register of clusters: what the organisation owns or holds, card by card and day by day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from core.months import Month
from estimates.models import Accelerator, PriceMode
from teams import permissions
from teams.models import CURRENCY_CHOICES, Team, User

from ..fields import ExactNumericField
from ..models.sources import Source

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

HOURS_A_MONTH = Decimal(730)
"""Of a life in months: 8,760 hours a year by twelve."""


class ClusterQuerySet(models.QuerySet["Cluster"]):
    def visible_to(self, user: User | AnonymousUser) -> ClusterQuerySet:
        """For a role in the whole organisation, and for the team that owns it."""
        if not user.is_authenticated:
            return self.none()
        if permissions.may_see_all_usage(user) or permissions.may_keep_clusters(user):
            return self
        return self.filter(team__memberships__user=user).distinct()

    def with_cards(self) -> ClusterQuerySet:
        """With lots and windows at hand, two queries for all."""
        return self.prefetch_related("lots__accelerator", "windows__accelerator")


class Cluster(models.Model):
    """Machines that one job log tells of. Its hours are money by the price table, or split the bill that carries it."""

    slug = models.SlugField(_("short name"), max_length=40, unique=True)
    name = models.CharField(_("name"), max_length=120)
    team = models.ForeignKey(
        Team, models.PROTECT, null=True, blank=True, related_name="clusters", verbose_name=_("owner")
    )
    source = models.ForeignKey(Source, models.PROTECT, related_name="clusters", verbose_name=_("job log"))
    log_name = models.CharField(
        _("name in the log"), max_length=200, blank=True, help_text=_("Empty: everything the log holds is this one.")
    )
    mode = models.CharField(_("mode"), max_length=10, choices=PriceMode.choices, default=PriceMode.OWN)
    provider = models.CharField(_("provider"), max_length=60, blank=True)
    region = models.CharField(_("region"), max_length=60, blank=True)
    idle_source = models.OneToOneField(Source, models.PROTECT, null=True, related_name="idle_of", editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ClusterQuerySet.as_manager()

    class Meta:
        verbose_name = _("cluster")
        verbose_name_plural = _("clusters")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "log_name"],
                name="one_cluster_for_each_name_in_a_log",
                violation_error_message=_(
                    "Another cluster takes these rows of the log. Give each its name in the log."
                ),
            )
        ]

    def __str__(self) -> str:
        return self.name


class CardLot(models.Model):
    """Cards of one kind that came on one day, and stay until another."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="lots")
    accelerator = models.ForeignKey(Accelerator, models.PROTECT, related_name="+", verbose_name=_("accelerator"))
    cards = models.PositiveIntegerField(_("cards"))
    cards_per_node = models.PositiveIntegerField(_("cards in a node"), null=True, blank=True)
    ordered_on = models.DateField(_("ordered"), null=True, blank=True)
    starts_on = models.DateField(_("in use from"))
    ends_on = models.DateField(_("until, not included"), null=True, blank=True)
    capital = ExactNumericField(_("price paid for all"), null=True)
    residual = ExactNumericField(_("residual value of all at the end"), null=True)
    life_months = models.PositiveIntegerField(_("life in months"), null=True, blank=True)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES, blank=True)

    class Meta:
        verbose_name = pgettext_lazy("lot of accelerators", "cards")
        verbose_name_plural = pgettext_lazy("lots of accelerators", "cards")
        ordering = ["starts_on", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(cards__gt=0),
                name="a_lot_holds_cards",
                violation_error_message=_("Enter at least one card."),
            ),
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(ends_on__gt=F("starts_on")),
                name="a_lot_ends_after_it_starts",
                violation_error_message=_("The last day must be after the first day."),
            ),
            models.CheckConstraint(
                condition=Q(capital__isnull=True, life_months__isnull=True)
                | Q(capital__gte=0, life_months__gt=0) & ~Q(currency=""),
                name="capital_has_a_life_and_a_currency",
                violation_error_message=_("Give the price paid, the life and the currency together, or none of them."),
            ),
            models.CheckConstraint(
                condition=Q(residual__isnull=True) | Q(residual__gte=0, residual__lte=F("capital")),
                name="a_residual_is_a_part_of_the_capital",
                violation_error_message=_("The residual value must be from zero to the price paid."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cards} × {self.accelerator}"

    @property
    def loss_per_hour(self) -> Decimal | None:
        """Loss of value of one card in an hour of its life, used or not."""
        if self.capital is None or not self.life_months:
            return None
        return (self.capital - (self.residual or 0)) / (self.cards * self.life_months * HOURS_A_MONTH)

    @property
    def life_ends_on(self) -> date | None:
        return (Month.of(self.starts_on) + self.life_months).start if self.life_months else None

    @property
    def lead_days(self) -> int | None:
        """How long they took to come."""
        return (self.starts_on - self.ordered_on).days if self.ordered_on else None


class CardWindow(models.Model):
    """Hours in which cards are not there for everybody: in maintenance they are no capacity, reserved they are kept."""

    class Kind(models.TextChoices):
        MAINTENANCE = "maintenance", _("maintenance")
        RESERVATION = "reservation", pgettext_lazy("of accelerators", "reservation")

    kind = models.CharField(_("kind"), max_length=12, choices=Kind.choices, default=Kind.MAINTENANCE)
    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="windows")
    accelerator = models.ForeignKey(
        Accelerator, models.PROTECT, null=True, blank=True, related_name="+", verbose_name=_("accelerator")
    )
    cards = models.PositiveIntegerField(_("cards"), null=True, blank=True, help_text=_("Empty: all of them."))
    starts_at = models.DateTimeField(_("from"))
    ends_at = models.DateTimeField(_("until"))
    reason = models.CharField(_("reason"), max_length=200)

    class Meta:
        verbose_name = _("maintenance or reservation")
        verbose_name_plural = _("maintenance and reservations")
        ordering = ["-starts_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")),
                name="a_window_ends_after_it_starts",
                violation_error_message=_("It ends after it starts."),
            )
        ]

    def __str__(self) -> str:
        return self.reason


class ClusterPartition(models.Model):
    """A partition of the job log: which cards it hands out, and how they were acquired."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, related_name="partitions")
    name = models.CharField(_("partition"), max_length=200)
    accelerator = models.ForeignKey(Accelerator, models.PROTECT, related_name="+", verbose_name=_("accelerator"))
    mode = models.CharField(_("mode"), max_length=10, choices=PriceMode.choices)

    class Meta:
        verbose_name = _("partition")
        verbose_name_plural = _("partitions")
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"],
                name="one_partition_per_name",
                violation_error_message=_("The partition is named already."),
            )
        ]

    def __str__(self) -> str:
        return self.name
