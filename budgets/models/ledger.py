"""The ledger: every movement of money on a line."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from teams.models import User
from usage.fields import ExactNumericField

from .approval import Decision
from .closing import LineClosing
from .fields import MONEY, only_added
from .lines import BudgetLine
from .proposals import Proposal


class Entry(models.Model):
    """One movement in the ledger of a line. Only ever added; a mistake is answered by another entry."""

    class Kind(models.TextChoices):
        GRANT = "grant", _("grant")
        COMMIT = "commit", _("commit")
        RELEASE = "release", _("release")
        TRANSFER = "transfer", _("transfer")
        ROLLOVER = "rollover", _("rollover")
        AMORTISE = "amortise", _("amortise")
        OPENING = "opening", _("opening")

    BUDGET = (Kind.OPENING, Kind.GRANT, Kind.TRANSFER, Kind.ROLLOVER)
    """Kinds whose sum is the line; commit and release promise parts of it, amortise is cost."""

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="entries")
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    amount = models.DecimalField(_("amount"), **MONEY)
    proposal = models.ForeignKey(Proposal, models.PROTECT, null=True, related_name="entries")
    decision = models.ForeignKey(Decision, models.PROTECT, null=True, related_name="entries")
    transfer = models.UUIDField(null=True, default=None, db_index=True)
    closing = models.ForeignKey(LineClosing, models.PROTECT, null=True, related_name="entries")
    others_spent = ExactNumericField(
        null=True,
        help_text=_(
            "Of a commitment: the untagged cost the line already carried, which therefore does not consume it."
        ),
    )
    by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    at = models.DateTimeField(_("at"), default=timezone.now)
    reason = models.TextField(_("reason"), blank=True)

    class Meta:
        verbose_name = _("entry")
        verbose_name_plural = _("entries")
        ordering = ["at", "id"]
        constraints = [
            models.CheckConstraint(condition=~Q(amount=0), name="entry_moves_something"),
            models.CheckConstraint(
                condition=~Q(kind__in=["commit", "release"]) | Q(amount__gt=0, proposal__isnull=False),
                name="commitments_are_positive_and_of_a_proposal",
            ),
            models.CheckConstraint(
                condition=Q(kind="commit", others_spent__isnull=False)
                | (~Q(kind="commit") & Q(others_spent__isnull=True)),
                name="a_commitment_knows_what_was_spent",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["transfer", "amortise", "rollover"], transfer__isnull=False)
                | (~Q(kind__in=["transfer", "amortise", "rollover"]) & Q(transfer__isnull=True)),
                name="what_moves_between_lines_is_numbered",
            ),
            models.UniqueConstraint(fields=["line"], condition=Q(kind="opening"), name="a_line_opens_once"),
            models.CheckConstraint(condition=~Q(kind="opening") | Q(amount__gt=0), name="a_line_opens_with_money"),
            models.CheckConstraint(
                condition=~Q(kind="rollover") | Q(closing__isnull=False), name="a_rollover_is_of_a_closing"
            ),
        ]
        triggers = [
            only_added("entries_are_only_added"),
            pgtrigger.Trigger(
                name="transfers_balance",
                when=pgtrigger.After,
                operation=pgtrigger.Insert,
                condition=pgtrigger.Q(new__transfer__isnull=False),
                timing=pgtrigger.Deferred,
                func="""
                    IF (SELECT sum(entry.amount) <> 0 OR count(DISTINCT line.currency) <> 1
                        FROM budgets_entry entry JOIN budgets_budgetline line ON line.id = entry.line_id
                        WHERE entry.transfer = NEW.transfer)
                    THEN RAISE EXCEPTION 'transfer % does not balance', NEW.transfer
                        USING ERRCODE = 'integrity_constraint_violation';
                    END IF;
                    RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.line}: {self.kind} {self.amount}"


class ClosedPromise(models.Model):
    """What the own work of a proposal had cost on a line when the proposal was closed: what it used up stands still."""

    line = models.ForeignKey(BudgetLine, models.PROTECT, related_name="closed_promises")
    proposal = models.ForeignKey(Proposal, models.PROTECT, related_name="closed_promises")
    own_spent = ExactNumericField()
    own_hours = ExactNumericField(null=True, help_text=_("In the unit of the line's hours, where it has any."))

    class Meta:
        constraints = [models.UniqueConstraint(fields=["line", "proposal"], name="one_closed_promise_per_line")]
        triggers = [only_added("closed_promises_are_only_added")]

    def __str__(self) -> str:
        return f"{self.proposal.reference} on {self.line}: {self.own_spent}"
