"""Changes to the register of clusters."""

from __future__ import annotations

from datetime import date, datetime

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from teams import activity, permissions
from teams.models import User

from .. import rerating, services
from ..models import AllocationRule, Source
from ..rules import STEP, lock_rules
from .idle import SETTINGS
from .models import CardLot, CardWindow, Cluster, ClusterPartition

IDLE = "idle"
"""The stage that idle cost carries, so that it can be found."""


@transaction.atomic
def open_cluster(cluster: Cluster, *, by: User) -> Cluster:
    """Enter a cluster. Where no bill carries it, its idle hours get a source, and a rule that keeps them shared."""
    _may_keep(by)
    if cluster.slug != slugify(cluster.slug) or not cluster.slug:
        raise DomainError(
            _("A cluster needs a short name."), faults=[Fault("slug", cluster.slug, _("is no short name"), "hpc-1")]
        )
    if Cluster.objects.filter(slug=cluster.slug).exists():
        raise DomainError(_("There is a cluster of this name."), faults=[Fault("slug", cluster.slug, _("is taken"))])
    beside = Cluster.objects.filter(source=cluster.source)
    if beside.filter(log_name__in=["", cluster.log_name]).exists() or (not cluster.log_name and beside.exists()):
        raise DomainError(
            _("Another cluster takes these rows of the log. Give each its name in the log."),
            faults=[Fault("log_name", cluster.log_name, _("does not tell them apart"))],
        )
    if cluster.source.part_of_id is None:
        cluster.idle_source = _idle_source(cluster)
    cluster.save()
    activity.record("cluster.opened", by=by, subject=cluster, name=cluster.name)
    return cluster


def _idle_source(cluster: Cluster) -> Source:
    source = services.open_source(
        by=None,
        slug=f"idle-{cluster.slug}",
        name=_("Idle: %(name)s") % {"name": cluster.name},
        format="generic-csv",
        settings=SETTINGS,
    )
    lock_rules()
    last = AllocationRule.objects.order_by("-position").values_list("position", flat=True).first() or 0
    AllocationRule.objects.create(
        position=last + STEP, name=source.name, source=source, conditions=[], is_shared=True, stage=IDLE
    )
    return source


@transaction.atomic
def add_cards(lot: CardLot, *, by: User) -> CardLot:
    """Enter cards from a day on."""
    _hold(lot.cluster, by)
    faults = []
    if not lot.cards:
        faults.append(Fault("cards", str(lot.cards), _("must be more than zero")))
    if lot.ends_on and lot.ends_on <= lot.starts_on:
        faults.append(Fault("ends_on", str(lot.ends_on), _("must be after the first day")))
    told = [lot.capital is not None, lot.life_months is not None, bool(lot.currency)]
    if any(told[:2]) and not all(told):
        faults.append(Fault("capital", None, _("give the price paid, the life and the currency together")))
    if lot.residual is not None and (lot.capital is None or not 0 <= lot.residual <= lot.capital):
        faults.append(Fault("residual", str(lot.residual), _("must be from zero to the price paid")))
    if lot.ordered_on and lot.ordered_on > lot.starts_on:
        faults.append(Fault("ordered_on", str(lot.ordered_on), _("must not be after the first day")))
    if faults:
        raise DomainError(_("The cards cannot be entered."), faults=faults)
    lot.save()
    activity.record("cluster.cards_added", by=by, subject=lot.cluster, name=lot.cluster.name, cards=str(lot))
    return lot


@transaction.atomic
def end_cards(lot: CardLot, *, by: User, ends_on: date) -> None:
    """Say when cards go, or went."""
    _hold(lot.cluster, by)
    if ends_on <= lot.starts_on:
        raise DomainError(
            _("Cards go after they came."), faults=[Fault("ends_on", str(ends_on), _("must be after the first day"))]
        )
    lot.ends_on = ends_on
    lot.save(update_fields=["ends_on"])
    activity.record("cluster.cards_ended", by=by, subject=lot.cluster, name=lot.cluster.name, cards=str(lot))


@transaction.atomic
def add_window(window: CardWindow, *, by: User) -> CardWindow:
    """Enter hours in which cards stand still on purpose, or are kept for somebody."""
    _hold(window.cluster, by)
    if window.ends_at <= window.starts_at:
        raise DomainError(
            _("It ends after it starts."),
            faults=[Fault("ends_at", str(window.ends_at), _("must be after its start"))],
        )
    if not window.reason.strip():
        raise DomainError(_("Say why."), faults=[Fault("reason", "", _("is needed"))])
    window.save()
    activity.record(
        f"cluster.{window.kind}_planned", by=by, subject=window.cluster, name=window.cluster.name, reason=window.reason
    )
    return window


@transaction.atomic
def cancel_window(window: CardWindow, *, by: User) -> None:
    """It does not, or did not, take place."""
    cluster = window.cluster
    _hold(cluster, by)
    activity.record(f"cluster.{window.kind}_cancelled", by=by, subject=cluster, name=cluster.name, reason=window.reason)
    window.delete()


@transaction.atomic
def set_partition(partition: ClusterPartition, *, by: User, now: datetime | None = None) -> ClusterPartition:
    """Say which cards a partition hands out. What is stored of the log is priced again, closed months apart."""
    cluster = partition.cluster
    _hold(cluster, by)
    if not partition.name.strip():
        raise DomainError(_("Name the partition."), faults=[Fault("name", "", _("is needed"))])
    elsewhere = ClusterPartition.objects.filter(cluster__source=cluster.source, name=partition.name)
    if elsewhere.exclude(cluster=cluster).exists():
        raise DomainError(
            _("Another cluster of this log has a partition of this name."),
            faults=[Fault("name", partition.name, _("is taken"))],
        )
    kept, _made = ClusterPartition.objects.update_or_create(
        cluster=cluster,
        name=partition.name,
        defaults={"accelerator": partition.accelerator, "mode": partition.mode},
    )
    activity.record("cluster.partition_set", by=by, subject=cluster, name=cluster.name, partition=kept.name)
    rerating.queue_source(cluster.source, now=now or timezone.now())
    return kept


@transaction.atomic
def drop_partition(partition: ClusterPartition, *, by: User, now: datetime | None = None) -> None:
    """Forget what a partition hands out; the log's own names of cards count again."""
    cluster = partition.cluster
    _hold(cluster, by)
    activity.record("cluster.partition_dropped", by=by, subject=cluster, name=cluster.name, partition=partition.name)
    partition.delete()
    rerating.queue_source(cluster.source, now=now or timezone.now())


def _hold(cluster: Cluster, by: User) -> None:
    Cluster.objects.select_for_update(of=["self"]).get(pk=cluster.pk)
    _may_keep(by)


def _may_keep(by: User) -> None:
    if not permissions.may_keep_clusters(by):
        raise NotAllowed(_("Only an operator keeps the register of clusters."))
