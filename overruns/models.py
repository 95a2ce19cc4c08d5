"""Flags: thresholds that were reached, their crossings, and the forecasts they were judged by."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from budgets.models import BudgetLine, Stop, Threshold
from teams.models import Project, Team, User
from usage.fields import ExactNumericField
from usage.models import Run

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class FlagQuerySet(models.QuerySet["Flag"]):
    def visible_to(self, user: User | AnonymousUser) -> FlagQuerySet:
        return self.filter(line__project__in=Project.objects.visible_to(user))

    def standing(self) -> FlagQuerySet:
        """Flags whose threshold is reached now, whether or not someone answered."""
        return self.filter(state__in=[Flag.State.ABOVE, Flag.State.ACKNOWLEDGED, Flag.State.MUTED])


class Flag(models.Model):
    """A threshold of a line that was reached at least once in its period."""

    class State(models.TextChoices):
        BELOW = "below", _("below again")
        ABOVE = "above", _("reached")
        ACKNOWLEDGED = "acknowledged", _("acknowledged")
        MUTED = "muted", _("muted")
        CLOSED = "closed", _("closed")

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="flags")
    threshold = models.OneToOneField(Threshold, models.PROTECT, related_name="flag")
    state = models.CharField(max_length=12, choices=State.choices)
    crossed_at = models.DateTimeField(help_text=_("When it was last reached from below."))
    value = ExactNumericField(help_text=_("What was measured when it was last judged."))
    limit = ExactNumericField(help_text=_("What the value was held against."))
    told_value_share = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    incomplete = models.BooleanField(default=False)
    cause = models.TextField(blank=True)
    acknowledged_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    acknowledged_at = models.DateTimeField(null=True)
    muted_until = models.DateField(null=True)

    objects = FlagQuerySet.as_manager()

    class Meta:
        ordering = ["-crossed_at", "-id"]
        indexes = [models.Index(fields=["line", "state"], name="flags_of_a_line")]
        constraints = [
            models.CheckConstraint(
                condition=~Q(state="acknowledged") | ~Q(cause=""), name="an_acknowledged_flag_has_a_cause"
            ),
            models.CheckConstraint(
                condition=~Q(state="muted") | Q(muted_until__isnull=False), name="a_muted_flag_has_a_date"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.line}: {self.threshold}"

    @property
    def is_overrun(self) -> bool:
        return self.threshold.is_limit

    @property
    def is_standing(self) -> bool:
        """Is its threshold reached now, whether or not someone answered?"""
        return self.state in (self.State.ABOVE, self.State.ACKNOWLEDGED, self.State.MUTED)

    @property
    def kind(self) -> str:
        """How grave it is, as a state of the design system."""
        if not self.is_standing:
            return ""
        if self.state != self.State.ABOVE:
            return "info"
        return "over" if self.is_overrun else "warn"


class Crossing(models.Model):
    """One change of a flag's side, as it was judged. Only added."""

    class Kind(models.TextChoices):
        CROSSED = "crossed", _("reached")
        UNCROSSED = "uncrossed", _("fell below again")
        CLOSED = "closed", _("closed with its period")

    flag = models.ForeignKey(Flag, models.PROTECT, related_name="crossings")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    at = models.DateTimeField(default=timezone.now)
    value = ExactNumericField()
    limit = ExactNumericField()
    incomplete = models.BooleanField(default=False)
    told = models.BooleanField()
    is_overrun = models.BooleanField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["id"], condition=Q(is_overrun=True, kind="crossed"), name="overruns")]
        triggers = [pgtrigger.Protect(name="crossings_are_only_added", operation=pgtrigger.Update | pgtrigger.Delete)]

    def __str__(self) -> str:
        return f"{self.flag} {self.kind}"


class Forecast(models.Model):
    """What a line was expected to have cost at the end of its period, as of an instant. Only added."""

    line = models.ForeignKey(BudgetLine, models.CASCADE, related_name="forecasts")
    at = models.DateTimeField(default=timezone.now)
    p10 = ExactNumericField()
    p50 = ExactNumericField()
    p90 = ExactNumericField()
    to_come = ExactNumericField(help_text=_("Of it: approved work still to come."))
    baseline = ExactNumericField(help_text=_("Of it: the usual spending of the remaining days."))
    passes_limit_on = models.DateField(null=True, help_text=_("The day on which the median reaches the line."))
    fresh_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["line", "-at", "-id"], name="forecasts_of_a_line")]

    def __str__(self) -> str:
        return f"{self.line}: {self.p50} ({self.p10} to {self.p90})"


class LineSilenceQuerySet(models.QuerySet["LineSilence"]):
    def visible_to(self, user: User | AnonymousUser) -> LineSilenceQuerySet:
        return self.filter(line__project__in=Project.objects.visible_to(user))

    def open(self) -> LineSilenceQuerySet:
        """Those that last."""
        return self.filter(ended_at__isnull=True)


class LineSilence(models.Model):
    """A time in which nothing was known of a line's newest cost, because a source that feeds it brought nothing."""

    line = models.ForeignKey(BudgetLine, models.CASCADE, related_name="silences")
    known_until = models.DateTimeField(help_text=_("The end of the newest usage that was known."))
    noticed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = LineSilenceQuerySet.as_manager()

    class Meta:
        ordering = ["-noticed_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["line"], condition=Q(ended_at__isnull=True), name="one_silence_of_a_line_at_a_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.line}: {self.known_until}"


class GuardQuerySet(models.QuerySet["Guard"]):
    def visible_to(self, user: User | AnonymousUser) -> GuardQuerySet:
        """Those of what one may see; of teams and of the whole organisation for those who belong there."""
        own = Q(project__in=Project.objects.visible_to(user)) | Q(run__project__in=Project.objects.visible_to(user))
        if not user.is_authenticated:
            return self.none()
        if user.sees_every_team():
            return self
        return self.filter(own | Q(team__in=user.team_ids()))

    def active(self) -> GuardQuerySet:
        return self.filter(ended_at__isnull=True)


class Guard(models.Model):
    """A threshold over more than a line: of a run, a project, a team, or of all where none is named.

    It is of money on the lines that run today, of a quantity since a day or anew in each period, or of a run's
    efficiency. It may also stop jobs from starting.
    """

    class Measure(models.TextChoices):
        ACTUAL = "actual", _("actual")
        COMMITTED = "committed", _("actual and committed")
        FORECAST = "forecast", _("forecast")
        ACCELERATOR_HOURS = "accelerator_hours", _("accelerator-hours")
        QUANTITY = "quantity", _("metered quantity")
        MFU = "mfu", _("MFU, for six hours")

    class Period(models.TextChoices):
        """Of the calendar; a year is the fiscal one."""

        MONTH = "month", _("each month")
        QUARTER = "quarter", _("each quarter")
        YEAR = "year", _("each fiscal year")

    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="guards")
    team = models.ForeignKey(Team, models.PROTECT, null=True, related_name="guards")
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="guards")
    measure = models.CharField(_("of what"), max_length=20, choices=Measure.choices)
    quantile = models.CharField(_("quantile"), max_length=3, choices=Threshold.Quantile.choices, blank=True)
    unit = models.CharField(_("unit"), max_length=120, blank=True, help_text=_("As the bill names it, such as TB."))
    share = models.DecimalField(_("share of the lines"), max_digits=7, decimal_places=4, null=True)
    amount = models.DecimalField(_("amount"), max_digits=24, decimal_places=6, null=True)
    since = models.DateField(_("counted from"), null=True, help_text=_("Of quantities."))
    period = models.CharField(_("counted anew"), max_length=10, choices=Period.choices, blank=True)
    begins_on = models.DateField(null=True, help_text=_("Of what was measured when it was last judged."))
    stops_jobs = models.BooleanField(_("jobs may not start any more"), default=False)
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=12, choices=Flag.State.choices, default=Flag.State.BELOW)
    crossed_at = models.DateTimeField(null=True)
    value = ExactNumericField(null=True)
    limit = ExactNumericField(null=True)
    told_share = models.DecimalField(max_digits=20, decimal_places=6, null=True)
    cause = models.TextField(blank=True)
    acknowledged_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    acknowledged_at = models.DateTimeField(null=True)
    muted_until = models.DateField(null=True)
    stop = models.ForeignKey(Stop, models.PROTECT, null=True, related_name="+")

    objects = GuardQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(project__isnull=True, team__isnull=True)
                | Q(project__isnull=True, run__isnull=True)
                | Q(team__isnull=True, run__isnull=True),
                name="a_guard_is_of_one",
            ),
            models.CheckConstraint(
                condition=Q(share__gt=0, amount__isnull=True) | Q(share__isnull=True, amount__gt=0),
                name="guard_is_a_share_or_an_amount",
            ),
            models.CheckConstraint(
                condition=~Q(state="acknowledged") | ~Q(cause=""), name="an_acknowledged_guard_has_a_cause"
            ),
            models.CheckConstraint(
                condition=~Q(state="muted") | Q(muted_until__isnull=False), name="a_muted_guard_has_a_date"
            ),
        ]

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        level = f"{self.share * 100:.0f} %" if self.share is not None else f"{self.amount:f}".rstrip("0").rstrip(".")
        quantile = f" {self.get_quantile_display()}" if self.quantile else ""
        return f"{self.of}: {level}{unit} · {self.get_measure_display()}{quantile}"

    @property
    def is_standing(self) -> bool:
        """Is it reached now, whether or not someone answered?"""
        return self.state in (Flag.State.ABOVE, Flag.State.ACKNOWLEDGED, Flag.State.MUTED)

    @property
    def watched_project(self) -> Project | None:
        return self.project or (self.run.project if self.run else None)

    @property
    def watched_team(self) -> Team | None:
        return self.watched_project.team if self.watched_project else self.team

    @property
    def of(self) -> str:
        """What it watches, by name."""
        watched = self.run or self.project or self.team
        return str(watched) if watched else str(_("all teams"))


class Audit(models.Model):
    """One working out of every figure by another way, and what did not agree."""

    at = models.DateTimeField(db_index=True)
    lines = models.PositiveIntegerField()
    seconds = models.PositiveIntegerField()
    count = models.PositiveIntegerField(help_text=_("How many figures differed."))
    differences = models.JSONField(default=list)

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}: {self.count}"


class EpisodeQuerySet(models.QuerySet["Episode"]):
    def visible_to(self, user: User | AnonymousUser) -> EpisodeQuerySet:
        """Those of projects one may see; what no project owns for a role in the whole organisation."""
        if user.is_authenticated and user.sees_every_team():
            return self
        return self.filter(project__in=Project.objects.visible_to(user))


class Episode(models.Model):
    """Days in a row on which a cost or a quantity was out of the ordinary; a month with too much cost without a project
    or without tags; or more interruptions of a project, or of the cluster that `sku` names, than its cards' mean time
    between failures predicts. Told once."""

    class Kind(models.TextChoices):
        MONEY = "money", _("cost")
        QUANTITY = "quantity", _("quantity")
        UNALLOCATED = "unallocated", _("without a project")
        UNTAGGED = "untagged", _("without tags")
        UNHEARD = "unheard", _("warnings reach nobody")
        INTERRUPTIONS = "interruptions", _("interruptions")

    kind = models.CharField(max_length=13, choices=Kind.choices)
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="episodes")
    category = models.CharField(max_length=20, blank=True)
    sku = models.CharField(max_length=300, blank=True)
    counted = models.CharField(max_length=120, help_text=_("A currency, or the unit of a quantity."))
    first_day = models.DateField()
    last_day = models.DateField()
    value = ExactNumericField(help_text=_("Of its worst day."))
    expected = ExactNumericField(help_text=_("What such a day usually comes to, or what is allowed."))
    movers = models.JSONField(default=list)
    noticed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    objects = EpisodeQuerySet.as_manager()

    class Meta:
        ordering = ["-noticed_at", "-id"]
        indexes = [models.Index(fields=["project", "category", "sku"], name="episodes_of_a_series")]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "project", "category", "sku", "counted", "first_day"],
                nulls_distinct=False,
                name="one_episode_begins_on_a_day",
            )
        ]

    def __str__(self) -> str:
        return f"{self.project or ''} {self.category} {self.sku} {self.first_day}"

    @property
    def amount(self) -> Decimal:
        """How much the worst day exceeded the usual."""
        return self.value - self.expected

    def reaches(self, day: date) -> bool:
        """Is the day one of its days, or the next to them?"""
        return self.first_day - timedelta(days=1) <= day <= self.last_day + timedelta(days=1)

    def take(self, day: date, value: Decimal, expected: Decimal, movers: list[dict[str, str]]) -> None:
        """One more day that is out of the ordinary; the worst is kept, with who moved."""
        self.first_day, self.last_day = min(self.first_day, day), max(self.last_day, day)
        self.ended_at = None
        if self.value is None or value - expected > self.amount:
            self.value, self.expected, self.movers = value, expected, movers
