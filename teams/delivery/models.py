"""What people are told: a row for the page of each, and what has to leave the house."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Notification(models.Model):
    """Something one person is told inside the product."""

    user = models.ForeignKey("teams.User", models.CASCADE, related_name="notifications")
    at = models.DateTimeField(auto_now_add=True)
    kind = models.CharField(max_length=60)
    project = models.ForeignKey("teams.Project", models.CASCADE, null=True, related_name="+")
    facts = models.JSONField(default=dict)
    url = models.CharField(max_length=300, blank=True)
    read_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["user", "read_at"], name="unread_notifications")]

    def __str__(self) -> str:
        return f"{self.kind} → {self.user}"


class OutboxMessage(models.Model):
    """Something that has been decided to be sent to a person; written with what caused it, sent by a worker.

    It keeps what it is about. Its words are found when it is sent, in the language of who gets it then.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENDING = "sending", _("sending")
        SENT = "sent", _("sent")
        DEAD = "dead", _("given up")

    created_at = models.DateTimeField(auto_now_add=True)
    person = models.ForeignKey("teams.User", models.CASCADE, related_name="+", verbose_name=_("person"))
    kind = models.CharField(max_length=60)
    project = models.ForeignKey("teams.Project", models.CASCADE, null=True, related_name="+")
    facts = models.JSONField(default=dict)
    url = models.CharField(max_length=300, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(state__in=["waiting", "sending"]), name="messages_to_send"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} → {self.person}"
