"""Proposals, the versions they were submitted in, and what each asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from estimates.hours import CardHours
from estimates.models import Estimate
from teams.models import CURRENCY_CHOICES, Organisation, Project, User
from usage.fields import ExactNumericField

from .fields import LINE_CHOICES, MONEY, TASK_CHOICES, only_added

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from .approval import Delegation


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def visible_to(self, user: User | AnonymousUser) -> ProposalQuerySet:
        """Of the projects a person sees, and of the teams where they decide in somebody's place these days."""
        seen = Q(project__in=Project.objects.visible_to(user))
        if isinstance(user, User):
            seen |= Q(Exists(_stood_in_for(user)))
        return self.filter(seen)


def _stood_in_for(user: User) -> models.QuerySet[Delegation]:
    """Delegations in force that reach the team of a proposal, by whoever has the role there still."""
    today = Organisation.current().today(timezone.now())
    team = OuterRef("project__team")
    return user.delegations_held.filter(
        Q(team=None) | Q(team=team),
        Q(giver__memberships__team=None) | Q(giver__memberships__team=team),
        giver__memberships__role=F("role"),
        starts_on__lte=today,
        ends_on__gt=today,
    )


class Proposal(models.Model):
    """A team's request for money for a training plan."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        SUBMITTED = "submitted", _("submitted")
        CHANGES_REQUESTED = "changes_requested", _("changes requested")
        APPROVED = "approved", _("approved")
        PARTLY_APPROVED = "partly_approved", _("partly approved")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")
        CLOSED = "closed", _("closed")

    MOVES: dict[str, tuple[str, ...]] = {
        State.DRAFT: (State.SUBMITTED, State.WITHDRAWN),
        State.SUBMITTED: (
            State.CHANGES_REQUESTED,
            State.APPROVED,
            State.PARTLY_APPROVED,
            State.REJECTED,
            State.WITHDRAWN,
        ),
        State.CHANGES_REQUESTED: (State.SUBMITTED, State.WITHDRAWN),
        State.APPROVED: (State.APPROVED, State.PARTLY_APPROVED, State.CLOSED),
        State.PARTLY_APPROVED: (State.APPROVED, State.PARTLY_APPROVED, State.CLOSED),
        State.REJECTED: (),
        State.WITHDRAWN: (),
        State.CLOSED: (),
    }
    """From each state, where it may go. An amendment moves an approved proposal to approved again."""
    FINISHED = (State.REJECTED, State.WITHDRAWN, State.CLOSED)

    project = models.ForeignKey(Project, models.PROTECT, related_name="proposals", verbose_name=_("project"))
    requester = models.ForeignKey(User, models.PROTECT, related_name="proposals", verbose_name=_("requester"))
    title = models.CharField(_("title"), max_length=160)
    task_type = models.CharField(_("task type"), max_length=20, choices=TASK_CHOICES)
    state = models.CharField(_("state"), max_length=20, choices=State.choices, default=State.DRAFT)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    closed_at = models.DateTimeField(_("closed"), null=True, blank=True)
    cloned_from = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="clones")

    objects = ProposalQuerySet.as_manager()

    class Meta:
        verbose_name = _("proposal")
        verbose_name_plural = _("proposals")
        ordering = ["-id"]
        indexes = [models.Index(fields=["project", "state"], name="proposals_of_a_project")]

    def __str__(self) -> str:
        return f"{self.reference} {self.title}"

    @property
    def number(self) -> int:
        return self.pk

    @property
    def reference(self) -> str:
        """What usage is tagged with (`headroom_proposal`), so that it consumes this proposal's own money."""
        return f"P-{self.pk}"


class ProposalVersion(models.Model):
    """One wording of a proposal: an estimate, and once submitted the ask that follows from it."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        SUBMITTED = "submitted", _("submitted")
        CHANGES_REQUESTED = "changes_requested", _("changes requested")
        APPROVED = "approved", _("approved")
        PARTLY_APPROVED = "partly_approved", _("partly approved")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")

    class AskLevel(models.TextChoices):
        MEAN = "mean", _("mean")
        P50 = "p50", "P50"
        P80 = "p80", "P80"
        P90 = "p90", "P90"

    proposal = models.ForeignKey(Proposal, models.PROTECT, related_name="versions")
    number = models.PositiveSmallIntegerField(_("version"))
    state = models.CharField(_("state"), max_length=20, choices=State.choices, default=State.DRAFT)
    estimate = models.ForeignKey(Estimate, models.PROTECT, related_name="versions")
    ask_level = models.CharField(_("ask level"), max_length=4, choices=AskLevel.choices, default=AskLevel.MEAN)
    currency = models.CharField(_("currency"), max_length=3, choices=CURRENCY_CHOICES)
    ask_total = models.DecimalField(_("ask"), **MONEY, null=True)
    reporting_currency = models.CharField(max_length=3, blank=True)
    reporting_rate = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    judged_total = models.DecimalField(
        _("ask with what was approved before, in the reporting currency"), **MONEY, null=True
    )
    note = models.TextField(_("note to the approver"), blank=True)
    submitted_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    submitted_at = models.DateTimeField(_("submitted"), null=True)
    decided_at = models.DateTimeField(_("decided"), null=True)

    class Meta:
        ordering = ["proposal", "number"]
        constraints = [
            models.UniqueConstraint(fields=["proposal", "number"], name="version_once"),
            models.UniqueConstraint(
                fields=["proposal"],
                condition=Q(state__in=["draft", "submitted"]),
                name="one_version_at_work",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "withdrawn"])
                | Q(submitted_at__isnull=False, submitted_by__isnull=False, ask_total__isnull=False),
                name="a_submitted_version_has_its_ask",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.proposal} v{self.number}"


class AskLine(models.Model):
    """What a submitted version asks for in one category and month."""

    version = models.ForeignKey(ProposalVersion, models.PROTECT, related_name="ask_lines")
    category = models.CharField(max_length=20, choices=LINE_CHOICES)
    month = models.DateField()
    amount = models.DecimalField(**MONEY)

    class Meta:
        ordering = ["version", "category", "month"]
        constraints = [
            models.UniqueConstraint(fields=["version", "category", "month"], name="ask_line_once"),
            models.CheckConstraint(condition=Q(month__day=1), name="ask_line_of_a_month"),
            models.CheckConstraint(condition=Q(amount__gte=0), name="ask_is_not_negative"),
        ]
        triggers = [only_added("ask_lines_are_only_added")]

    def __str__(self) -> str:
        return f"{self.category} {self.month:%Y-%m} {self.amount}"


class AskHours(models.Model):
    """What a submitted version asks for in accelerator-hours of one kind of card and one month: its frozen means.

    `rented` and `reserved` are the parts of it that the plan rents by the hour, and that it has reserved itself.
    """

    version = models.ForeignKey(ProposalVersion, models.PROTECT, related_name="ask_hours")
    accelerator = models.CharField(max_length=120, blank=True)
    month = models.DateField()
    hours = ExactNumericField()
    rented = ExactNumericField()
    reserved = ExactNumericField()

    class Meta:
        ordering = ["version", "accelerator", "month"]
        constraints = [
            models.UniqueConstraint(fields=["version", "accelerator", "month"], name="ask_hours_once"),
            models.CheckConstraint(condition=Q(month__day=1), name="ask_hours_of_a_month"),
            models.CheckConstraint(condition=Q(hours__gte=0), name="ask_hours_are_not_negative"),
        ]
        triggers = [only_added("ask_hours_are_only_added")]

    def __str__(self) -> str:
        return f"{self.accelerator} {self.month:%Y-%m} {self.hours} h"

    @property
    def card_hours(self) -> CardHours:
        return CardHours(self.hours, self.rented, self.reserved)
