"""Every delivery, what one replaces as a whole, and the rows that were not taken."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from teams.models import User

from .sources import Meaning, Source

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class ImportQuerySet(models.QuerySet["Import"]):
    def visible_to(self, user: User | AnonymousUser) -> ImportQuerySet:
        return self.filter(source__in=Source.objects.visible_to(user))

    def open(self) -> ImportQuerySet:
        """Not yet ended, one way or the other."""
        return self.filter(status__in=[Import.Status.QUEUED, Import.Status.RUNNING])

    def applied(self) -> ImportQuerySet:
        """Those whose rows were made visible, in order."""
        return self.filter(live_at__isnull=False).order_by("live_at", "id")


class Import(models.Model):
    """One delivery of a source: the file as it came, what was read of it, and what became of it."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        LIVE = "live", _("live")
        UNCHANGED = "unchanged", _("unchanged")
        WAITING = "waiting", _("waits for a person")
        STORED = "stored", _("stored, not activated")
        REFUSED = "refused", _("refused")
        CANCELLED = "cancelled", _("cancelled")
        FAILED = "failed", _("failed")

    source = models.ForeignKey(
        Source, models.PROTECT, related_name="imports", verbose_name=pgettext_lazy("of usage", "source")
    )
    name = models.CharField(_("file name"), max_length=255)
    sha256 = models.CharField(max_length=64, db_index=True, help_text=_("Of the file as it came."))
    content_sha256 = models.CharField(max_length=64, blank=True, help_text=_("Of the text after unpacking."))
    size = models.PositiveBigIntegerField(_("bytes"))
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    format = models.CharField(_("format"), max_length=40, blank=True)
    format_reason = models.TextField(blank=True)
    meaning = models.CharField(max_length=10, choices=Meaning.choices, blank=True)
    reading = models.CharField(max_length=32, blank=True, help_text=_("Digest of header, settings and reader."))
    idempotency_key = models.CharField(max_length=120, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.QUEUED)
    received_at = models.DateTimeField(_("received"))
    received_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    issued_at = models.DateTimeField(_("issued"), null=True)
    confirmed_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    confirmed_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    live_at = models.DateTimeField(null=True, help_text=_("When its rows became visible."))
    lease_until = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    cancel_requested = models.BooleanField(default=False)
    phase = models.CharField(max_length=20, blank=True)
    bytes_read = models.PositiveBigIntegerField(default=0)
    rows_read = models.PositiveBigIntegerField(default=0)
    rows_rejected = models.PositiveBigIntegerField(default=0)
    outcome = models.JSONField(default=dict)
    corrects = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="corrections", help_text=_("Whose rejected rows it mends.")
    )

    objects = ImportQuerySet.as_manager()

    class Meta:
        verbose_name = _("import")
        verbose_name_plural = _("imports")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["source", "-id"], name="imports_of_a_source"),
            models.Index(fields=["lease_until"], condition=Q(status__in=["queued", "running"]), name="open_imports"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "idempotency_key"], condition=~Q(idempotency_key=""), name="one_import_per_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.source.slug} #{self.pk} {self.name}"

    @property
    def ordered_by(self) -> datetime:
        """Which of two deliveries of a statement is the newer one: its issue time, else its receipt."""
        return self.issued_at or self.received_at


class Scope(models.Model):
    """What one statement replaces as a whole: an account's bill of one month, a cluster's log."""

    class State(models.TextChoices):
        OPEN = "open", _("open")
        PROVISIONAL = "provisional", _("provisional")
        FINAL = "final", _("final")
        REOPENED = "reopened", _("reopened")

    MOVES = {
        State.OPEN: (State.PROVISIONAL,),
        State.PROVISIONAL: (State.FINAL,),
        State.FINAL: (State.REOPENED,),
        State.REOPENED: (State.FINAL,),
    }
    """Opened by the first delivery that goes live; final by hand, by a delivery that says so, or some days after the
    month; reopened by a delivery that changes it, once a person said yes to it.
    """

    source = models.ForeignKey(Source, models.CASCADE, related_name="scopes")
    key = models.CharField(max_length=500)
    payer = models.CharField(max_length=200, blank=True)
    issuer = models.CharField(max_length=200, blank=True)
    month = models.DateField(null=True, help_text=_("First day of the billing month; empty for a log."))
    state = models.CharField(max_length=12, choices=State.choices, default=State.OPEN)
    live = models.ForeignKey(Import, models.PROTECT, null=True, related_name="live_scopes")
    state_at = models.DateTimeField(null=True)
    state_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    state_reason = models.CharField(max_length=300, blank=True)
    issued_at = models.DateTimeField(null=True, help_text=_("Of the live delivery; an older one is not activated."))

    class Meta:
        verbose_name = _("scope")
        verbose_name_plural = _("scopes")
        constraints = [models.UniqueConstraint(fields=["source", "key"], name="one_scope_per_key")]

    def __str__(self) -> str:
        return self.key


class RejectedRow(models.Model):
    """A row that was not taken: where it stands in the file, what is wrong with it."""

    delivery = models.ForeignKey(Import, models.CASCADE, related_name="rejected_rows")
    line = models.PositiveIntegerField(_("line"))
    column = models.CharField(_("column"), max_length=200, blank=True)
    value = models.TextField(_("value"), blank=True)
    reason = models.TextField(_("reason"))
    text = models.TextField(blank=True)

    class Meta:
        verbose_name = _("rejected row")
        verbose_name_plural = _("rejected rows")
        ordering = ["line", "id"]
        indexes = [models.Index(fields=["delivery", "line"], name="rejected_rows_of_an_import")]

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"
