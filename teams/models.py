"""The organisation, its people, teams and projects; what happened; what people are told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from core.money import CURRENCIES
from core.months import Month
from core.vocabulary import TaskType

from . import labels
from .delivery.models import Notification as Notification
from .delivery.models import OutboxMessage as OutboxMessage
from .delivery.models import QuietProject as QuietProject
from .delivery.models import Webhook as Webhook

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

_kept: ContextVar[Organisation | None] = ContextVar("organisation", default=None)

CURRENCY_CHOICES = [(code, code) for code in sorted(CURRENCIES)]


class Organisation(models.Model):
    """The one organisation of an installation: its reporting currency and time zone."""

    singleton = models.BooleanField(default=True, unique=True, editable=False)
    name = models.CharField(_("name"), max_length=120)
    currency = models.CharField(_("reporting currency"), max_length=3, choices=CURRENCY_CHOICES, default="USD")
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    fiscal_year_starts_in = models.PositiveSmallIntegerField(_("first month of the fiscal year"), default=1)
    unallocated_limit = models.DecimalField(
        _("share of cost that may stay unallocated"),
        max_digits=5,
        decimal_places=4,
        default=Decimal("0.05"),
        help_text=_("More than this has to be accepted when a month is closed: 0.05 is 5 %."),
    )

    untagged_limit = models.DecimalField(
        _("share of cost that may stay without tags"),
        max_digits=5,
        decimal_places=4,
        null=True,
        blank=True,
        help_text=_("More than this is told to operators and finance. Empty: nobody is told."),
    )

    class Meta:
        verbose_name = _("organisation")
        verbose_name_plural = _("organisation")
        constraints = [
            models.CheckConstraint(condition=Q(singleton=True), name="one_organisation"),
            models.CheckConstraint(
                condition=Q(fiscal_year_starts_in__range=(1, 12)), name="fiscal_year_starts_in_a_month"
            ),
            models.CheckConstraint(condition=Q(unallocated_limit__range=(0, 1)), name="unallocated_limit_is_a_share"),
            models.CheckConstraint(condition=Q(untagged_limit__range=(0, 1)), name="untagged_limit_is_a_share"),
        ]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def current(cls) -> Organisation:
        """The organisation; a fresh installation gets one with the defaults."""
        found = _kept.get() or cls.objects.first()
        return found or cls.objects.get_or_create(singleton=True, defaults={"name": "Headroom"})[0]

    @classmethod
    @contextmanager
    def kept(cls) -> Iterator[Organisation]:
        """Within it, a request or a job, `current` is read once."""
        token = _kept.set(cls.current())
        try:
            yield cls.current()
        finally:
            _kept.reset(token)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def today(self, now: datetime) -> date:
        """The organisation's calendar day at an instant."""
        return now.astimezone(self.zone).date()


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractBaseUser, PermissionsMixin):
    """A person, or a machine account, that signs in by e-mail."""

    email = models.EmailField(_("e-mail"), unique=True)
    name = models.CharField(_("name"), max_length=120)
    language = models.CharField(
        _("language"), max_length=10, default="en", choices=[("en", "English"), ("zh-hans", "简体中文")]
    )
    theme = models.CharField(
        _("theme"),
        max_length=5,
        default="auto",
        choices=[("auto", _("As the system")), ("light", _("Light")), ("dark", _("Dark"))],
    )
    is_active = models.BooleanField(_("active"), default=True)
    is_staff = models.BooleanField(_("may enter the admin panel"), default=False)
    date_joined = models.DateTimeField(_("joined"), auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("people")

    def __str__(self) -> str:
        return self.name or self.email

    def sees_every_team(self) -> bool:
        """Has a role in the whole organisation."""
        return self.is_superuser or any(membership.team_id is None for membership in self.memberships.all())

    def team_ids(self) -> set[int]:
        """The teams in which the person has a role."""
        return {membership.team_id for membership in self.memberships.all() if membership.team_id is not None}


class Team(models.Model):
    """A group of people who plan and spend together."""

    name = models.CharField(_("name"), max_length=120)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a person does (design, section 1)."""

    MEMBER = "member", _("Researcher")
    MANAGER = "manager", _("Manager")
    DIRECTOR = "director", _("Director")
    FINANCE = "finance", _("Finance")
    PRICE_KEEPER = "price_keeper", _("Price keeper")
    OPERATOR = "operator", _("Operator")
    AUDITOR = "auditor", _("Auditor")
    MACHINE = "machine", _("Machine account")


class Membership(models.Model):
    """A role of a person in a team, or in the whole organisation where no team is named."""

    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, models.CASCADE, related_name="memberships", null=True, blank=True)
    role = models.CharField(_("role"), max_length=20, choices=Role.choices)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "team", "role"], nulls_distinct=False, name="one_membership_per_role"
            ),
            models.CheckConstraint(
                condition=Q(team__isnull=False) | ~Q(role__in=["member", "manager"]),
                name="members_and_managers_have_a_team",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.get_role_display()}"


class CostCentre(models.Model):
    """Where finance books a project's cost."""

    code = models.CharField(_("code"), max_length=40, unique=True)
    name = models.CharField(_("name"), max_length=120)

    class Meta:
        verbose_name = _("cost centre")
        verbose_name_plural = _("cost centres")
        ordering = ["code"]

    def __str__(self) -> str:
        return f"{self.code} {self.name}"


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: User | AnonymousUser) -> ProjectQuerySet:
        """Own teams' projects; all of them for a role in the whole organisation."""
        if not user.is_authenticated:
            return self.none()
        if user.sees_every_team():
            return self
        return self.filter(team__in=user.team_ids())

    def active(self) -> ProjectQuerySet:
        return self.filter(state=Project.State.ACTIVE)


class Project(models.Model):
    """Work with a budget of its own: one team, one currency, one main task type."""

    class State(models.TextChoices):
        ACTIVE = "active", _("Active")
        CLOSED = "closed", _("Closed")

    team = models.ForeignKey(Team, models.PROTECT, related_name="projects", verbose_name=_("team"))
    name = models.CharField(_("name"), max_length=120)
    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    task_type = models.CharField(
        _("task type"), max_length=20, choices=labels.choices(labels.TASK_TYPES), default=TaskType.PRETRAIN
    )
    cost_centre = models.ForeignKey(CostCentre, models.PROTECT, null=True, blank=True, verbose_name=_("cost centre"))
    state = models.CharField(_("state"), max_length=10, choices=State.choices, default=State.ACTIVE)
    starts_on = models.DateField(_("starts on"), null=True, blank=True)
    ends_on = models.DateField(_("ends on"), null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        verbose_name = _("project")
        verbose_name_plural = _("projects")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_on__isnull=True) | Q(starts_on__isnull=True) | Q(ends_on__gt=models.F("starts_on")),
                name="project_ends_after_it_starts",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ActivityQuerySet(models.QuerySet["Activity"]):
    def visible_to(self, user: User | AnonymousUser) -> ActivityQuerySet:
        """What happened in own teams, and what one did oneself; everything for a role in the whole organisation."""
        if not user.is_authenticated:
            return self.none()
        if user.sees_every_team():
            return self
        return self.filter(Q(by=user) | Q(team__in=user.team_ids()))


class Activity(models.Model):
    """One thing that happened: who, what, when, to what. Only added."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    verb = models.CharField(max_length=60)
    team = models.ForeignKey(Team, models.PROTECT, null=True, related_name="activities")
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="activities")
    subject_type = models.CharField(max_length=40, blank=True)
    subject_id = models.CharField(max_length=40, blank=True)
    facts = models.JSONField(default=dict)

    objects = ActivityQuerySet.as_manager()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["project", "-at"], name="activity_of_project"),
            models.Index(fields=["subject_type", "subject_id"], name="activity_of_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.verb}"


class ApiToken(models.Model):
    """A key that a machine signs in with. Only its hash is kept."""

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=80, blank=True)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("scopes"), default=list)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("valid until"))
    last_used_at = models.DateTimeField(_("last used"), null=True)

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")

    def __str__(self) -> str:
        return self.name or f"token {self.pk}"

    @staticmethod
    def digest_of(secret: str) -> str:
        return hashlib.sha256(secret.encode()).hexdigest()


class KeptAnswer(models.Model):
    """What a write of the API answered under an idempotency key: the same request again gets it, and does nothing."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    key = models.CharField(max_length=120)
    request = models.CharField(max_length=64, help_text=_("Digest of method, address and body."))
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True)
    made_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.key} → {self.status}"


class ExchangeRate(models.Model):
    """What one unit of `base` was worth in `quote` in a month. The newest entered row counts."""

    month = models.DateField(_("month"), help_text=_("The first day of the month."))
    base = models.CharField(_("from"), max_length=3, choices=CURRENCY_CHOICES)
    quote = models.CharField(_("to"), max_length=3, choices=CURRENCY_CHOICES)
    rate = models.DecimalField(_("rate"), max_digits=20, decimal_places=10)
    source = models.CharField(_("source"), max_length=300, blank=True)
    entered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("exchange rate")
        verbose_name_plural = _("exchange rates")
        ordering = ["-month", "base", "quote", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(rate__gt=0), name="exchange_rate_is_positive"),
            models.CheckConstraint(condition=Q(month__day=1), name="exchange_rate_of_a_month"),
            models.CheckConstraint(condition=~Q(base=models.F("quote")), name="exchange_rate_between_two"),
        ]

    def __str__(self) -> str:
        return f"{Month.of(self.month)} {self.base}→{self.quote} {self.rate}"


class ClosedMonth(models.Model):
    """A month whose books are closed: its official actual is what was known at `closed_at`."""

    month = models.DateField(unique=True)
    closed_at = models.DateTimeField()
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    accepted = models.JSONField(default=list, help_text=_("Points of the checklist that were not in order then."))
    reason = models.TextField(blank=True)

    class Meta:
        verbose_name = _("closed month")
        verbose_name_plural = _("closed months")
        ordering = ["-month"]

    def __str__(self) -> str:
        return str(Month.of(self.month))
