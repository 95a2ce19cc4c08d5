"""The amount matrix, the steps it asks for, and what was decided at each."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from teams.models import Role, Team, User

from .fields import LINE_CHOICES, MONEY, TASK_CHOICES, only_added
from .proposals import ProposalVersion

NOBODY = "nobody"
"""Decides what lies in a band that needs nobody's approval."""
APPROVER_ROLES = [Role.MANAGER, Role.DIRECTOR, Role.FINANCE]
STEP_ROLES = [*((role.value, role.label) for role in APPROVER_ROLES), (NOBODY, _("Nobody: approved by itself"))]


class ApprovalRule(models.Model):
    """One row of the amount matrix: above an amount, a role decides, in this order."""

    step = models.PositiveSmallIntegerField(_("step"), help_text=_("Lower steps decide first."))
    role = models.CharField(_("decided by"), max_length=20, choices=STEP_ROLES)
    above = models.DecimalField(
        _("above"),
        **MONEY,
        null=True,
        blank=True,
        help_text=_("In the reporting currency. Empty: every amount."),
    )
    up_to = models.DecimalField(
        _("up to"),
        **MONEY,
        null=True,
        blank=True,
        help_text=_("In the reporting currency. Empty: without end. With nobody as decider: approved by itself."),
    )
    task_type = models.CharField(
        _("task type"), max_length=20, choices=TASK_CHOICES, blank=True, help_text=_("Empty: every task type.")
    )
    category = models.CharField(
        _("category"),
        max_length=20,
        choices=LINE_CHOICES,
        blank=True,
        help_text=_("Empty: the whole ask; else only what is asked in this category counts."),
    )
    deadline_days = models.PositiveSmallIntegerField(
        _("days to decide"), null=True, blank=True, help_text=_("Then the next role is told. Never a rejection.")
    )
    active = models.BooleanField(_("in force"), default=True)

    class Meta:
        verbose_name = _("approval rule")
        verbose_name_plural = _("approval rules")
        ordering = ["step", "above", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=[role for role, _label in STEP_ROLES]), name="approval_rule_role"
            ),
            models.CheckConstraint(condition=Q(above__isnull=True) | Q(above__gte=0), name="approval_rule_amount"),
            models.CheckConstraint(
                condition=~Q(role="nobody") | Q(up_to__gt=0), name="only_a_band_is_approved_by_itself"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.step}: {self.get_role_display()}"


class ApprovalStep(models.Model):
    """One decision that a submitted version needs."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        CHANGES_REQUESTED = "changes_requested", _("changes requested")
        DROPPED = "dropped", _("not needed any more")

    version = models.ForeignKey(ProposalVersion, models.PROTECT, related_name="steps")
    number = models.PositiveSmallIntegerField()
    role = models.CharField(max_length=20, choices=STEP_ROLES)
    above = models.DecimalField(**MONEY, null=True)
    state = models.CharField(max_length=20, choices=State.choices, default=State.WAITING)
    due_at = models.DateTimeField(null=True)
    escalated_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["version", "number"]
        constraints = [models.UniqueConstraint(fields=["version", "number"], name="step_once")]
        indexes = [models.Index(fields=["role"], condition=Q(state="waiting"), name="steps_that_wait")]

    def __str__(self) -> str:
        return f"{self.version} step {self.number}"


class Delegation(models.Model):
    """For some days another person decides in one's place."""

    giver = models.ForeignKey(User, models.PROTECT, related_name="delegations_given", verbose_name=_("approver"))
    receiver = models.ForeignKey(
        User, models.PROTECT, related_name="delegations_held", verbose_name=_("decides instead")
    )
    role = models.CharField(_("role"), max_length=20, choices=[(role.value, role.label) for role in APPROVER_ROLES])
    team = models.ForeignKey(Team, models.PROTECT, null=True, blank=True, verbose_name=_("team"))
    starts_on = models.DateField(_("from"))
    ends_on = models.DateField(_("up to, without"))
    reason = models.CharField(_("reason"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("delegation")
        verbose_name_plural = _("delegations")
        ordering = ["-starts_on", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(ends_on__gt=F("starts_on")), name="delegation_ends_after_it_starts"),
            models.CheckConstraint(condition=~Q(giver=F("receiver")), name="delegation_to_someone_else"),
        ]

    def __str__(self) -> str:
        return f"{self.giver} → {self.receiver} {self.starts_on}"


class Decision(models.Model):
    """What an approver said to one step, and why."""

    class Outcome(models.TextChoices):
        APPROVE = "approve", _("approved")
        APPROVE_PART = "approve_part", _("approved in part")
        REJECT = "reject", _("rejected")
        REQUEST_CHANGES = "request_changes", _("changes requested")

    step = models.OneToOneField(ApprovalStep, models.PROTECT, related_name="decision")
    outcome = models.CharField(max_length=20, choices=Outcome.choices)
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    delegation = models.ForeignKey(Delegation, models.PROTECT, null=True, related_name="decisions")
    at = models.DateTimeField(default=timezone.now)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="approve") | ~Q(reason=""), name="a_decision_against_the_ask_has_a_reason"
            )
        ]
        triggers = [only_added("decisions_are_only_added")]

    def __str__(self) -> str:
        return f"{self.step}: {self.outcome}"


class InputComment(models.Model):
    """What an approver says about one input of a plan that comes back for changes."""

    decision = models.ForeignKey(Decision, models.PROTECT, related_name="comments")
    path = models.CharField(max_length=120)
    text = models.TextField()

    class Meta:
        ordering = ["decision", "path", "id"]
        triggers = [only_added("input_comments_are_only_added")]

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


class DecisionLine(models.Model):
    """How much of the ask in one category was approved, and how much of that is new money."""

    decision = models.ForeignKey(Decision, models.PROTECT, related_name="lines")
    category = models.CharField(max_length=20, choices=LINE_CHOICES)
    asked = models.DecimalField(**MONEY)
    amount = models.DecimalField(**MONEY)
    new_money = models.DecimalField(**MONEY)
    stated_money = models.DecimalField(
        **MONEY, null=True, help_text=_("New money as the approver stated it; empty: what the lines are short of.")
    )
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["decision", "id"]
        constraints = [
            models.UniqueConstraint(fields=["decision", "category"], name="decision_line_once"),
            models.CheckConstraint(
                condition=Q(amount__gte=0, new_money__gte=0, asked__gte=F("amount")), name="decision_line_within_ask"
            ),
        ]
        triggers = [only_added("decision_lines_are_only_added")]

    def __str__(self) -> str:
        return f"{self.category}: {self.amount} of {self.asked}"
