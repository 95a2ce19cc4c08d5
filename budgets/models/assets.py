"""Finished models and data sets whose cost is shared by the projects that use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.months import Month
from core.vocabulary import Category
from teams.models import CURRENCY_CHOICES, Project, User

from .fields import MONEY, only_added
from .proposals import Proposal

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class AssetQuerySet(models.QuerySet["Asset"]):
    def visible_to(self, user: User | AnonymousUser) -> AssetQuerySet:
        """Of own projects, used by own projects, or offered to every team."""
        if not user.is_authenticated:
            return self.none()
        own = Project.objects.visible_to(user)
        used = AssetUse.objects.filter(asset=models.OuterRef("pk"), project__in=own)
        return self.filter(Q(project__in=own) | Q(is_offered=True) | models.Exists(used))


class Asset(models.Model):
    """A finished model or data set. What it cost is charged, part by part, to the projects that use it."""

    class Kind(models.TextChoices):
        MODEL = "model", _("model")
        DATA_SET = "data_set", _("data set")

    class Life(models.TextChoices):
        MONTHS = "months", _("months")
        TASKS = "tasks", _("tasks")

    class Licence(models.TextChoices):
        UNKNOWN = "unknown", _("not known")
        OWN = "own", _("our own")
        GRANTED = "granted", _("granted for our use")
        RESTRICTED = "restricted", _("granted with restrictions")

    class Compliance(models.TextChoices):
        UNKNOWN = "unknown", _("not checked")
        CLEARED = "cleared", _("checked and cleared")
        OPEN_POINTS = "open_points", _("checked, points are open")

    project = models.ForeignKey(Project, models.PROTECT, related_name="assets", verbose_name=_("project that made it"))
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, blank=True, related_name="assets")
    name = models.CharField(_("name"), max_length=120)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    cost = models.DecimalField(_("cost"), **MONEY)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    starts_on = models.DateField(_("first month"))
    life_in = models.CharField(_("life counted in"), max_length=6, choices=Life.choices)
    life = models.PositiveIntegerField(_("life"))
    owner = models.ForeignKey(User, models.PROTECT, related_name="+", verbose_name=_("owner"))
    licence = models.CharField(_("licence"), max_length=12, choices=Licence.choices, default=Licence.UNKNOWN)
    compliance = models.CharField(
        _("compliance"), max_length=12, choices=Compliance.choices, default=Compliance.UNKNOWN
    )
    is_offered = models.BooleanField(_("every team sees it and may use it"), default=False)
    note = models.TextField(_("note"), blank=True)
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    objects = AssetQuerySet.as_manager()

    class Meta:
        verbose_name = _("asset")
        verbose_name_plural = _("assets")
        ordering = ["-starts_on", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(cost__gt=0, life__gt=0), name="an_asset_has_a_cost_and_a_life"),
            models.CheckConstraint(condition=Q(starts_on__day=1), name="an_asset_starts_with_a_month"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def category(self) -> Category:
        """The line that it is charged to: compute for a model, data for a data set."""
        return Category.COMPUTE if self.kind == self.Kind.MODEL else Category.DATA

    @property
    def is_cleared(self) -> bool:
        """Nothing about its licence and compliance is unknown."""
        return self.licence != self.Licence.UNKNOWN and self.compliance != self.Compliance.UNKNOWN


class AssetUse(models.Model):
    """A project uses an asset, from a month on: it carries its part of the cost."""

    asset = models.ForeignKey(Asset, models.PROTECT, related_name="uses")
    project = models.ForeignKey(Project, models.PROTECT, related_name="asset_uses", verbose_name=_("project"))
    proposal = models.ForeignKey(
        Proposal, models.PROTECT, null=True, blank=True, related_name="asset_uses", verbose_name=_("proposal")
    )
    since = models.DateField(_("from"))
    until = models.DateField(_("up to, without"), null=True, blank=True)
    tasks = models.PositiveIntegerField(
        _("tasks"), default=1, help_text=_("How many of the asset's tasks this use is; in months, its weight.")
    )
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("use")
        verbose_name_plural = _("uses")
        ordering = ["since", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(since__day=1, tasks__gt=0), name="a_use_begins_with_a_month"),
            models.CheckConstraint(
                condition=Q(until__isnull=True) | Q(until__day=1, until__gte=F("since")), name="a_use_ends_with_a_month"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.asset}: {self.project}"


class AssetCharge(models.Model):
    """One month of an asset, written off: once. Its entries say who carried it; a reversal takes it back."""

    asset = models.ForeignKey(Asset, models.PROTECT, related_name="charges")
    month = models.DateField()
    units = models.IntegerField(help_text=_("Months or tasks of its life."))
    amount = models.DecimalField(**MONEY)
    transfer = models.UUIDField(
        null=True, unique=True, help_text=_("Its entries; none where the project that made it used it alone.")
    )
    reverses = models.OneToOneField("self", models.PROTECT, null=True, related_name="reversal")
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(default=timezone.now)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["-month", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["asset", "month"],
                condition=Q(reverses__isnull=True),
                name="a_month_of_an_asset_is_charged_once",
            ),
            models.CheckConstraint(condition=Q(month__day=1), name="a_charge_is_of_a_month"),
            models.CheckConstraint(
                condition=Q(reverses__isnull=True, units__gt=0) | (Q(units__lt=0) & ~Q(reason="")),
                name="a_reversed_charge_says_why",
            ),
        ]
        triggers = [only_added("asset_charges_are_only_added")]

    def __str__(self) -> str:
        return f"{self.asset} {Month.of(self.month)}: {self.amount}"
