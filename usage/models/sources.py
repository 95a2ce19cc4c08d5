"""Where usage comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from teams import permissions
from teams.models import User

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser


class Money(models.TextChoices):
    """Where the money of a source's rows comes from."""

    OWN = "own", _("Its own costs")
    RATE_CARD = "rate_card", _("The price table of the day")
    NONE = "none", _("None: quantities only")


class Meaning(models.TextChoices):
    """What a delivery does to what was delivered before."""

    STATEMENT = "statement", _("Statement: replaces the periods it covers")
    LOG = "log", _("Log: a row replaces the row with the same key")
    APPEND = "append", _("Append: rows add")


class SourceQuerySet(models.QuerySet["Source"]):
    def visible_to(self, user: User | AnonymousUser) -> SourceQuerySet:
        """Sources are the organisation's: for a role in the whole of it, and for who delivers usage."""
        may = user.is_authenticated and (permissions.may_see_all_usage(user) or permissions.may_import_usage(user))
        return self if may else self.none()


class Source(models.Model):
    """One feed of usage: a cloud bill export, the job log of a cluster, a cost allocator.

    Format, money and meaning may be left empty: the first delivery shows them.
    """

    slug = models.SlugField(_("short name"), max_length=60, unique=True)
    name = models.CharField(_("name"), max_length=120)
    format = models.CharField(_("format"), max_length=40, blank=True, help_text=_("Empty: found out by content."))
    money = models.CharField(_("money"), max_length=10, choices=Money.choices, blank=True)
    meaning = models.CharField(_("meaning of a delivery"), max_length=10, choices=Meaning.choices, blank=True)
    part_of = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="parts", verbose_name=_("splits the money of")
    )
    settings = models.JSONField(_("settings"), default=dict, blank=True)
    silent_after_hours = models.PositiveIntegerField(_("expected at least every (hours)"), null=True, blank=True)
    changes = models.PositiveBigIntegerField(default=0, editable=False, help_text=_("How often its rows changed."))
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")

    objects = SourceQuerySet.as_manager()

    class Meta:
        verbose_name = pgettext_lazy("of usage", "source")
        verbose_name_plural = _("sources")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(part_of__isnull=True) | ~Q(part_of=F("id")), name="a_source_is_no_part_of_itself"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def bears_money(self) -> bool:
        """Its cost counts in the whole; a part of another source only splits that one's."""
        return self.money != Money.NONE and self.part_of_id is None
