"""No data for so many hours, as an event: noticed once, told once, ended when data comes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max
from django.urls import reverse
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, notifications, permissions
from teams.models import Role, User

from .models import Import, Silence, Source

MOST_HOURS = 24 * 366
BROUGHT = (Import.Status.LIVE, Import.Status.UNCHANGED)
"""What counts as data: something live, or word that nothing changed. What was refused, or waits, brought nothing."""


@transaction.atomic
def expect_source(source: Source, *, by: User, hours: int | None) -> Source:
    """Say how often a source is expected to bring data; None expects nothing."""
    locked = Source.objects.select_for_update(no_key=True).get(pk=source.pk)
    if not permissions.may_allocate(by):
        raise NotAllowed(_("Only an operator or finance says how often data is expected."))
    if hours is not None and not 1 <= hours <= MOST_HOURS:
        fault = Fault("hours", hours, _("is out of range"), f"1 – {MOST_HOURS}")
        raise DomainError(_("The hours are not accepted."), faults=[fault])
    locked.silent_after_hours = hours
    locked.save(update_fields=["silent_after_hours"])
    activity.record("source.expected", by=by, subject=locked, slug=locked.slug, hours=hours)
    return locked


def last_data(sources: Iterable[Source]) -> dict[int, datetime]:
    """When each source last brought data; a source that never did counts from its opening."""
    found = list(sources)
    brought = Import.objects.filter(source__in=found, status__in=BROUGHT).order_by().values_list("source")
    newest = dict(brought.annotate(last=Max("received_at")))
    return {source.pk: newest.get(source.pk) or source.created_at for source in found}


def is_silent(source: Source, last: datetime, now: datetime) -> bool:
    """Has an expected source been without data for longer than it may be?"""
    return source.silent_after_hours is not None and now - last > timedelta(hours=source.silent_after_hours)


@transaction.atomic
def watch_sources(*, now: datetime) -> list[Silence]:
    """Notice sources that fell silent, and tell the operators; end the silence of those that brought data.

    The sources are locked, so that two watches at once tell nobody twice.
    """
    silent_before = Silence.objects.open().values("source")
    watched = Source.objects.filter(silent_after_hours__isnull=False) | Source.objects.filter(pk__in=silent_before)
    sources = list(watched.order_by("pk").select_for_update(no_key=True))
    lasting = {silence.source_id: silence for silence in Silence.objects.open().filter(source__in=sources)}
    last = last_data(sources)
    begun = []
    for source in sources:
        silent = is_silent(source, last[source.pk], now)
        if silent and source.pk not in lasting:
            begun.append(Silence(source=source, since=last[source.pk], noticed_at=now))
        elif not silent and source.pk in lasting:
            end(lasting[source.pk], source, now)
    Silence.objects.bulk_create(begun)
    tell(begun)
    return begun


def end(silence: Silence, source: Source, now: datetime) -> None:
    silence.ended_at = now
    silence.save(update_fields=["ended_at"])
    activity.record("source.heard", by=None, subject=source, slug=source.slug)


def tell(begun: list[Silence]) -> None:
    """One notification and one e-mail an operator and silence."""
    if not begun:
        return
    people = list(permissions.people_with_role(Role.OPERATOR))
    notifications.notify_all(
        notifications.Word(
            people=people,
            kind="source_silent",
            url=reverse("source", args=[silence.source.slug]),
            email=True,
            is_warning=True,
            facts={
                "source": silence.source.name,
                "hours": silence.source.silent_after_hours,
                "since": silence.since.strftime("%Y-%m-%d %H:%M UTC"),
            },
        )
        for silence in begun
    )
    for silence in begun:
        activity.record("source.silent", by=None, subject=silence.source, slug=silence.source.slug)
