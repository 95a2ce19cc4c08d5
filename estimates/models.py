"""Accelerators, prices, and estimates with the prices they used."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pgtrigger
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from estimates.baselines.models import Baseline as Baseline
from estimates.engine import books, lasting
from teams.models import CURRENCY_CHOICES, Project, User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

MONEY: dict[str, Any] = {"max_digits": 30, "decimal_places": 4}
"""Wide enough for any amount an estimate may give, with the digits of every currency."""


class Verification(models.TextChoices):
    """How far a figure was checked at its source."""

    VERIFIED = "verified", _("verified at its source")
    EXAMPLE = "example", _("example, check before use")


class Accelerator(models.Model):
    """One kind of accelerator as its maker describes it. Peaks are dense; what is not known stays empty."""

    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    name = models.CharField(_("name"), max_length=120)
    aliases = models.JSONField(
        _("other names"), default=list, blank=True, help_text=_("Names by which plans and price lists also call it.")
    )
    vendor = models.CharField(_("maker"), max_length=60)
    launched_in = models.PositiveSmallIntegerField(_("launched in"), null=True, blank=True)
    memory_gb = models.DecimalField(_("memory, GB"), max_digits=10, decimal_places=2, null=True, blank=True)
    bandwidth_gbs = models.DecimalField(
        _("memory bandwidth, GB/s"), max_digits=12, decimal_places=2, null=True, blank=True
    )
    fp32_tflops = models.DecimalField("FP32, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    tf32_tflops = models.DecimalField("TF32, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    bf16_tflops = models.DecimalField("BF16, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    fp16_tflops = models.DecimalField("FP16, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    fp8_tflops = models.DecimalField("FP8, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    int8_tops = models.DecimalField("INT8, TOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    fp4_tflops = models.DecimalField("FP4, TFLOPS", max_digits=12, decimal_places=3, null=True, blank=True)
    board_w = models.DecimalField(_("board power, W"), max_digits=10, decimal_places=2, null=True, blank=True)
    interconnect_gbs = models.DecimalField(
        _("interconnect, GB/s"), max_digits=12, decimal_places=2, null=True, blank=True
    )
    source = models.CharField(_("source"), max_length=400, blank=True)
    verification = models.CharField(
        _("verification"), max_length=10, choices=Verification.choices, default=Verification.EXAMPLE
    )
    note = models.CharField(_("note"), max_length=400, blank=True)
    lead_time_days = models.PositiveSmallIntegerField(
        _("lead time, days"),
        null=True,
        blank=True,
        help_text=_("From the order to the first accelerator-hour. Empty: as the newest cards in the register took."),
    )
    lead_time_source = models.CharField(
        _("source of the lead time"), max_length=200, blank=True, help_text=_("Such as an offer, with its date.")
    )

    class Meta:
        verbose_name = _("accelerator")
        verbose_name_plural = _("accelerators")
        ordering = ["vendor", "name"]

    def __str__(self) -> str:
        return self.name


PEAK_FIELDS = {
    "fp32": "fp32_tflops",
    "tf32": "tf32_tflops",
    "bf16": "bf16_tflops",
    "fp16": "fp16_tflops",
    "fp8": "fp8_tflops",
    "int8": "int8_tops",
    "fp4": "fp4_tflops",
}
"""Where the dense peak of a precision is kept."""


class PriceKind(models.TextChoices):
    """What can have a price."""

    ACCELERATOR = "accelerator", _("Accelerator, rented")
    INSTANCE = "instance", _("Instance")
    STORAGE = "storage", _("Storage class")
    NETWORK = "network", _("Network")
    ELECTRICITY = "electricity", _("Electricity")
    ROLE = "role", pgettext_lazy("price of labour", "Role")
    PURCHASE = "purchase", _("Accelerator, bought")


class PriceMode(models.TextChoices):
    """How it is acquired; empty where that makes no difference."""

    ON_DEMAND = "on_demand", _("on demand")
    COMMITTED = "committed", pgettext_lazy("mode of acquisition", "committed")
    SPOT = "spot", _("spot")
    OWN = "own", _("own")


class PriceUnit(models.TextChoices):
    """What one amount buys."""

    ACCELERATOR_HOUR = "accelerator-hour", _("accelerator-hour")
    INSTANCE_HOUR = "instance-hour", _("instance-hour")
    GB_MONTH = "GB-month", _("GB-month")
    GB = "GB", "GB"
    GBIT_S_MONTH = "Gbit/s-month", _("Gbit/s-month")
    KWH = "kWh", "kWh"
    FTE_MONTH = "fte-month", _("person-month")
    ACCELERATOR = "accelerator", pgettext_lazy("unit of a price", "accelerator")


UNITS = {PriceKind(kind): PriceUnit(unit) for kind, unit in books.KINDS.items()}
"""The unit in which each kind is priced."""
UNITS_OF_ITEMS = {(PriceKind.NETWORK, "peak_bandwidth"): PriceUnit.GBIT_S_MONTH}
"""Items that have another unit than the rest of their kind."""


def unit_of(kind: str, item: str) -> PriceUnit:
    """What one amount of this item's price buys."""
    known = PriceKind(kind)
    return UNITS_OF_ITEMS.get((known, item), UNITS[known])


class PriceQuerySet(models.QuerySet["Price"]):
    def of_offer(self, price: Price) -> PriceQuerySet:
        """The whole history of the same thing from the same provider, newest first."""
        return self.filter(**price.offer).order_by("-valid_from", "-id")

    def current(self, on: date) -> PriceQuerySet:
        """Per offer the row in force on a day: the latest that starts by then, of equals the one entered last."""
        newest = (
            self.model.objects.filter(valid_from__lte=on, **{name: models.OuterRef(name) for name in OFFER})
            .order_by("-valid_from", "-id")
            .values("pk")[:1]
        )
        return self.filter(pk=models.Subquery(newest))


OFFER = ("kind", "item", "provider", "region", "mode", "currency")
"""What makes two price rows prices of the same thing."""


class Price(models.Model):
    """What one thing costs from a day on. Only added: a correction, or a withdrawal, is a new row with a reason."""

    kind = models.CharField(_("kind"), max_length=12, choices=PriceKind.choices)
    item = models.CharField(
        _("item"), max_length=120, help_text=_("Short name of the accelerator, instance, storage class or role.")
    )
    provider = models.CharField(_("provider"), max_length=60, blank=True)
    region = models.CharField(_("region"), max_length=60, blank=True)
    mode = models.CharField(_("mode"), max_length=10, choices=PriceMode.choices, blank=True)
    unit = models.CharField(_("unit"), max_length=20, choices=PriceUnit.choices)
    amount = models.DecimalField(
        _("amount"), max_digits=20, decimal_places=8, validators=[MinValueValidator(Decimal(0))]
    )
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    valid_from = models.DateField(_("valid from"))
    source = models.CharField(
        _("source"), max_length=400, blank=True, help_text=_("A link, or the name of a document.")
    )
    verification = models.CharField(
        _("verification"), max_length=10, choices=Verification.choices, default=Verification.EXAMPLE
    )
    withdrawn = models.BooleanField(
        _("withdrawn"), default=False, help_text=_("From this day on the offer does not exist.")
    )
    reason = models.CharField(
        _("reason"), max_length=300, blank=True, help_text=_("Why this row corrects or withdraws an earlier one.")
    )
    note = models.CharField(_("note"), max_length=300, blank=True)
    entered_at = models.DateTimeField(_("entered"), auto_now_add=True)
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", verbose_name=_("entered by"))

    objects = PriceQuerySet.as_manager()

    class Meta:
        verbose_name = _("price")
        verbose_name_plural = _("prices")
        ordering = ["kind", "item", "provider", "region", "mode", "currency", "-valid_from", "-id"]
        indexes = [
            models.Index(
                fields=["kind", "item", "mode", "currency", "provider", "region", "-valid_from", "-id"],
                name="price_of_offer",
            )
        ]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gte=0), name="price_is_not_negative"),
            models.CheckConstraint(
                condition=Q(
                    *(Q(kind=kind.value, unit=unit.value) for kind, unit in UNITS.items()),
                    *(Q(kind=kind.value, item=item, unit=unit.value) for (kind, item), unit in UNITS_OF_ITEMS.items()),
                    _connector=Q.OR,
                ),
                name="price_unit_of_its_kind",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="prices_are_only_added", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        parts = [self.item, self.provider, self.region, self.get_mode_display()]
        return " · ".join(str(part) for part in parts if part)

    @property
    def offer(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in OFFER}


class EstimateQuerySet(models.QuerySet["Estimate"]):
    def visible_to(self, user: User | AnonymousUser) -> EstimateQuerySet:
        """Estimates of projects the person may see, and own ones that belong to no project."""
        if not user.is_authenticated:
            return self.none()
        return self.filter(Q(project__in=Project.objects.visible_to(user)) | Q(project__isnull=True, created_by=user))

    def drafts(self) -> EstimateQuerySet:
        return self.filter(state=Estimate.State.DRAFT)

    def stale(self) -> EstimateQuerySet:
        """Drafts whose prices changed since they were computed."""
        return self.drafts().filter(stale_since__isnull=False)


class Estimate(models.Model):
    """A training plan and the engine's answer to it at the prices of a day.

    A draft follows price changes; a frozen one keeps its plan, prices and result for good. Totals are empty where
    the answer has none (a price is missing, the plan is infeasible).
    """

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        FROZEN = "frozen", _("frozen")

    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="estimates")
    name = models.CharField(_("name"), max_length=200)
    plan = models.JSONField()
    priced = models.JSONField()
    """What prices move of the answer; read it as `answer`."""
    lasting = models.JSONField(default=dict)
    """What no price moves of it; empty where `priced` holds everything."""
    lasting_ground = models.CharField(max_length=80, blank=True)
    """A fingerprint of what the lasting part rests on; where another holds now, the whole is computed again."""
    currency = models.CharField(max_length=3, choices=CURRENCY_CHOICES)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    prices_on = models.DateField()
    engine_version = models.CharField(max_length=20)
    samples = models.PositiveIntegerField()
    total_mean = models.DecimalField(**MONEY, null=True)
    total_p10 = models.DecimalField(**MONEY, null=True)
    total_p50 = models.DecimalField(**MONEY, null=True)
    total_p90 = models.DecimalField(**MONEY, null=True)
    ask_total = models.DecimalField(**MONEY, null=True)
    stale_since = models.DateTimeField(null=True)
    refusal = models.TextField(blank=True)
    """Why the last recomputation was not possible; empty when it was."""
    stale_price = models.ForeignKey(Price, models.PROTECT, null=True, related_name="+")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    computed_at = models.DateTimeField()

    objects = EstimateQuerySet.as_manager()

    class Meta:
        verbose_name = _("estimate")
        verbose_name_plural = _("estimates")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["id"], condition=Q(stale_since__isnull=False), name="stale_estimates"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(stale_since__isnull=True) | Q(state="draft"), name="only_drafts_become_stale"
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="frozen_estimates_stay",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__state="frozen"),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def answer(self) -> dict[str, Any]:
        """The engine's whole answer."""
        return lasting.joined(self.priced, self.lasting)


class EstimatePrice(models.Model):
    """One price an estimate asked for, found or missing. An empty provider or region asked for any."""

    estimate = models.ForeignKey(Estimate, models.CASCADE, related_name="price_keys")
    kind = models.CharField(max_length=12, choices=PriceKind.choices)
    item = models.CharField(max_length=120)
    provider = models.CharField(max_length=60, blank=True)
    region = models.CharField(max_length=60, blank=True)
    mode = models.CharField(max_length=10, choices=PriceMode.choices, blank=True)
    currency = models.CharField(max_length=3, choices=CURRENCY_CHOICES)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "item", "mode", "currency", "provider", "region", "estimate"], name="price_key_once"
            )
        ]

    def __str__(self) -> str:
        return " · ".join(part for part in (self.item, self.provider, self.region, self.mode) if part)


class EstimateRevision(models.Model):
    """One time an estimate's total was computed again: what it was, what it is, and why. Only added."""

    class Why(models.TextChoices):
        CREATED = "created", _("first computed")
        PLAN = "plan", _("the plan was changed")
        PRICE = "price", _("a price changed")
        CATALOGUE = "catalogue", _("the catalogue of accelerators changed")
        BASELINE = "baseline", _("what past runs taught changed")

    estimate = models.ForeignKey(Estimate, models.CASCADE, related_name="revisions")
    at = models.DateTimeField()
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    why = models.CharField(max_length=10, choices=Why.choices)
    price = models.ForeignKey(Price, models.PROTECT, null=True, related_name="+")
    old_total = models.DecimalField(**MONEY, null=True)
    new_total = models.DecimalField(**MONEY, null=True)
    moved = models.JSONField(default=list)
    """Prices that differ between the two answers: what, old amount, new amount."""

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["estimate", "-id"], name="revisions_of_estimate")]

    def __str__(self) -> str:
        return f"{self.old_total} → {self.new_total} ({self.get_why_display()})"
