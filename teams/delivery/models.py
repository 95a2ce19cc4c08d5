"""What people are told: a row for the page of each, and what has to leave the house."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from . import sealing

if TYPE_CHECKING:
    from teams.models import User

LANGUAGE_CHOICES = [("en", "English"), ("zh-hans", "简体中文")]


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


class OutboxMessageQuerySet(models.QuerySet["OutboxMessage"]):
    def kept_by(self, user: User) -> OutboxMessageQuerySet:
        """Those about the teams that the person manages; for finance and operators all."""
        roles = [(membership.role, membership.team_id) for membership in user.memberships.all()]
        if ("finance", None) in roles or ("operator", None) in roles:
            return self
        teams = [team for role, team in roles if role in ("manager", "finance") and team]
        return self.filter(Q(project__team__in=teams) | Q(webhook__team__in=teams))

    def given_up(self) -> OutboxMessageQuerySet:
        return self.filter(state=OutboxMessage.State.DEAD)


class OutboxMessage(models.Model):
    """Something that has been decided to be sent, to a person or to a webhook; written with what caused it, sent by a
    worker. It keeps what it is about. Its words are found when it is sent, in the language of who gets it then.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        SENDING = "sending", _("sending")
        SENT = "sent", _("sent")
        DEAD = "dead", _("given up")
        QUIET = "quiet", _("kept quiet")

    created_at = models.DateTimeField(auto_now_add=True)
    person = models.ForeignKey("teams.User", models.CASCADE, null=True, related_name="+", verbose_name=_("person"))
    webhook = models.ForeignKey("teams.Webhook", models.CASCADE, null=True, related_name="messages")
    kind = models.CharField(max_length=60)
    project = models.ForeignKey("teams.Project", models.CASCADE, null=True, related_name="+")
    facts = models.JSONField(default=dict)
    url = models.CharField(max_length=300, blank=True)
    is_urgent = models.BooleanField(default=True, help_text=_("Goes out although the project is kept quiet."))
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)

    objects = OutboxMessageQuerySet.as_manager()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(state__in=["waiting", "sending"]), name="messages_to_send"
            ),
            models.Index(fields=["-id"], condition=Q(state="dead"), name="messages_given_up"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(person__isnull=True) ^ Q(webhook__isnull=True), name="a_message_goes_to_one"
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} → {self.person or self.webhook}"


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def kept_by(self, user: User) -> WebhookQuerySet:
        """Those of the teams that the person manages; for finance all."""
        roles = [(membership.role, membership.team_id) for membership in user.memberships.all()]
        if ("finance", None) in roles:
            return self
        return self.filter(team__in=[team for role, team in roles if role in ("manager", "finance") and team])

    def active(self) -> WebhookQuerySet:
        return self.filter(disabled_at__isnull=True)


class Webhook(models.Model):
    """An address outside that hears of the warnings of a team, or of all teams where none is named."""

    class Form(models.TextChoices):
        JSON = "json", _("JSON, signed")
        SLACK = "slack", _("Slack")
        FEISHU = "feishu", _("Feishu (Lark)")

    team = models.ForeignKey("teams.Team", models.CASCADE, null=True, related_name="webhooks", verbose_name=_("team"))
    name = models.CharField(_("name"), max_length=80)
    form = models.CharField(_("form"), max_length=10, choices=Form.choices)
    language = models.CharField(_("language"), max_length=10, default="en", choices=LANGUAGE_CHOICES)
    host = models.CharField(max_length=255, help_text=_("Of its address; the rest may be a secret."))
    sealed_url = models.TextField()
    sealed_secret = models.TextField(blank=True, help_text=_("What it is signed with."))
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    disabled_at = models.DateTimeField(null=True)

    objects = WebhookQuerySet.as_manager()

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return sealing.opened(self.sealed_url)

    @property
    def secret(self) -> str:
        return sealing.opened(self.sealed_secret) if self.sealed_secret else ""


class QuietProject(models.Model):
    """A project whose warnings leave the house again on a day. People read them in the product all the same."""

    project = models.OneToOneField("teams.Project", models.CASCADE, related_name="quiet")
    until = models.DateField()
    by = models.ForeignKey("teams.User", models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.project} {self.until}"
