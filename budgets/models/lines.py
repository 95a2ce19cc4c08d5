"""Budget lines, and the thresholds at which people are told."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateRangeField, RangeBoundary, RangeOperators
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.money import exact_text
from core.months import Period
from core.vocabulary import LINES, Basis, ChargeCategory
from teams import labels
from teams.models import CURRENCY_CHOICES, Project, User

from ..subcategories import SUBCATEGORIES
from .fields import LINE_CHOICES, MONEY, SUBCATEGORY_CHOICES, TASK_CHOICES

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


def every_charge_category() -> list[str]:
    return [str(category) for category in ChargeCategory]


class BudgetLineQuerySet(models.QuerySet["BudgetLine"]):
    def visible_to(self, user: User | AnonymousUser) -> BudgetLineQuerySet:
        return self.filter(project__in=Project.objects.visible_to(user))

    def open(self) -> BudgetLineQuerySet:
        """Lines whose period is not closed."""
        return self.filter(closed_at__isnull=True)


class BudgetLine(models.Model):
    """Money for one kind of cost of a project in a period. Its amount is the sum of its entries, never stored."""

    class PeriodKind(models.TextChoices):
        MONTH = "month", _("Month")
        QUARTER = "quarter", _("Quarter")
        YEAR = "year", _("Year")
        PROJECT = "project", _("Project life")

    class Rollover(models.TextChoices):
        NONE = "none", _("what is left lapses")
        CAPPED = "capped", _("what is left is carried over, up to a cap")
        ALL = "all", _("all that is left is carried over")

    project = models.ForeignKey(Project, models.PROTECT, related_name="lines", verbose_name=_("project"))
    category = models.CharField(_("category"), max_length=20, choices=LINE_CHOICES)
    subcategory = models.CharField(
        _("subcategory"),
        max_length=20,
        choices=SUBCATEGORY_CHOICES,
        blank=True,
        help_text=_("Empty: all of the category that no line of a subcategory takes."),
    )
    task_type = models.CharField(
        _("task type"), max_length=20, choices=TASK_CHOICES, blank=True, help_text=_("Empty: every task type.")
    )
    period_kind = models.CharField(_("period"), max_length=10, choices=PeriodKind.choices)
    start = models.DateField(_("from"))
    end = models.DateField(_("up to, without"))
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    basis = models.CharField(
        _("counts"), max_length=10, choices=labels.choices(labels.BASES), default=str(Basis.EFFECTIVE)
    )
    charge_categories = ArrayField(
        models.CharField(max_length=20, choices=labels.choices(labels.CHARGE_CATEGORIES)),
        verbose_name=_("charge categories that count"),
        default=every_charge_category,
    )
    consumes_open_commitments = models.BooleanField(
        _("untagged cost consumes open commitments, oldest first"), default=True
    )
    rollover = models.CharField(
        _("at the end of the period"), max_length=10, choices=Rollover.choices, default=Rollover.NONE
    )
    rollover_share = models.DecimalField(
        _("at most this share of the line"), max_digits=7, decimal_places=4, null=True, blank=True
    )
    rollover_amount = models.DecimalField(_("at most this amount"), **MONEY, null=True, blank=True)
    rollover_hours = models.DecimalField(
        _("at most these accelerator-hours"), max_digits=20, decimal_places=4, null=True, blank=True
    )
    carries_overspend = models.BooleanField(_("what was overspent burdens the next period"), default=False)
    freezes_at_limit = models.BooleanField(_("reaching the limit freezes the line"), default=False)
    frozen_at = models.DateTimeField(_("frozen"), null=True, blank=True)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)

    objects = BudgetLineQuerySet.as_manager()

    class Meta:
        verbose_name = _("budget line")
        verbose_name_plural = _("budget lines")
        ordering = ["start", "category", "task_type", "id"]
        indexes = [
            models.Index(
                fields=["project", "category"],
                condition=~Q(task_type="") | ~Q(subcategory=""),
                name="narrow_lines_of_a_project",
            )
        ]
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="line_ends_after_it_starts"),
            models.CheckConstraint(
                condition=Q(subcategory="")
                | Q(
                    *[Q(subcategory=each.key, category=str(each.parent)) for each in SUBCATEGORIES.values()],
                    _connector=Q.OR,
                ),
                name="subcategory_of_its_category",
            ),
            models.CheckConstraint(
                condition=Q(category__in=[str(category) for category in LINES]), name="line_has_a_category_of_lines"
            ),
            models.CheckConstraint(
                condition=(
                    Q(rollover="capped")
                    & (
                        Q(rollover_share__isnull=False)
                        | Q(rollover_amount__isnull=False)
                        | Q(rollover_hours__isnull=False)
                    )
                )
                | (
                    ~Q(rollover="capped")
                    & Q(rollover_share__isnull=True, rollover_amount__isnull=True, rollover_hours__isnull=True)
                ),
                name="only_a_capped_rollover_has_a_cap",
            ),
            ExclusionConstraint(
                name="lines_of_one_kind_do_not_overlap",
                expressions=[
                    ("project", RangeOperators.EQUAL),
                    ("category", RangeOperators.EQUAL),
                    ("subcategory", RangeOperators.EQUAL),
                    ("task_type", RangeOperators.EQUAL),
                    (
                        Func("start", "end", RangeBoundary(), function="daterange", output_field=DateRangeField()),
                        RangeOperators.OVERLAPS,
                    ),
                ],
            ),
        ]

    def __str__(self) -> str:
        kind = self.get_subcategory_display() or self.get_category_display()
        return f"{kind} · {self.get_task_type_display()}" if self.task_type else str(kind)

    @property
    def period(self) -> Period:
        return Period(self.start, self.end)

    @property
    def last_day(self) -> date:
        return self.end - timedelta(days=1)


class Threshold(models.Model):
    """A share of a line, or an amount, at which people are told."""

    class Basis(models.TextChoices):
        ACTUAL = "actual", _("actual")
        COMMITTED = "committed", _("actual and committed")
        FORECAST = "forecast", _("forecast")

    class Quantile(models.TextChoices):
        P10 = "p10", "P10"
        P50 = "p50", "P50"
        P90 = "p90", "P90"

    line = models.ForeignKey(BudgetLine, models.CASCADE, related_name="thresholds")
    basis = models.CharField(_("of what"), max_length=10, choices=Basis.choices)
    share = models.DecimalField(_("share of the line"), max_digits=7, decimal_places=4, null=True, blank=True)
    amount = models.DecimalField(_("amount"), **MONEY, null=True, blank=True)
    quantile = models.CharField(_("quantile"), max_length=3, choices=Quantile.choices, blank=True)
    active = models.BooleanField(_("watched"), default=True)

    class Meta:
        verbose_name = _("threshold")
        verbose_name_plural = _("thresholds")
        ordering = ["basis", "share", "amount", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(share__gt=0, amount__isnull=True) | Q(share__isnull=True, amount__gt=0),
                name="threshold_is_a_share_or_an_amount",
            ),
            models.CheckConstraint(
                condition=(Q(basis="forecast") & ~Q(quantile="")) | (~Q(basis="forecast") & Q(quantile="")),
                name="only_a_forecast_has_a_quantile",
            ),
            models.UniqueConstraint(
                fields=["line", "basis", "share", "amount", "quantile"], nulls_distinct=False, name="threshold_once"
            ),
        ]

    def __str__(self) -> str:
        what = f"{self.get_basis_display()} {self.get_quantile_display()}".strip()
        if self.share is None:
            return f"{exact_text(self.amount or Decimal(0))} · {what}"
        share = _("%(share)s %%") % {"share": exact_text(self.share * 100)}
        return f"{share} · {what}"

    @property
    def is_limit(self) -> bool:
        """Reaching this is an overrun: the whole line, in money that is really spent."""
        return self.basis == self.Basis.ACTUAL and self.share is not None and self.share >= 1


class TouchedLine(models.Model):
    """A line whose entries, thresholds or periods changed since it was last judged."""

    line = models.ForeignKey(BudgetLine, models.CASCADE, related_name="touches")
    at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.line} touched"
