"""Making assets, saying who uses them, and charging their months by balanced entries."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.months import Month
from teams import activity, permissions
from teams.models import Organisation, Project, Team, User

from ..assets import carried_by_others, line_to_charge, months_due, parts_to_come, standings
from ..locks import lock_lines
from ..models import Asset, AssetCharge, AssetUse, BudgetLine, Entry, Proposal
from .ledger import check_amount, check_reason
from .lines import touch


@dataclass(frozen=True)
class NewAsset:
    """What people say of an asset."""

    name: str
    kind: str
    cost: Decimal
    starts_on: Month
    life_in: str
    life: int
    owner: User
    licence: str = Asset.Licence.UNKNOWN
    compliance: str = Asset.Compliance.UNKNOWN
    is_offered: bool = False
    note: str = ""
    proposal: Proposal | None = None


@transaction.atomic
def add_asset(project: Project, said: NewAsset, *, by: User, now: datetime | None = None) -> Asset:
    """Write down a finished model or data set of the project; nothing is charged before a project uses it."""
    check_may_keep(by, project.team)
    check_amount(said.cost, project.currency)
    check_said(project, said)
    asset = Asset.objects.create(
        project=project,
        proposal=said.proposal,
        name=said.name.strip(),
        kind=said.kind,
        cost=said.cost,
        currency=project.currency,
        starts_on=said.starts_on.start,
        life_in=said.life_in,
        life=said.life,
        owner=said.owner,
        licence=said.licence,
        compliance=said.compliance,
        is_offered=said.is_offered,
        note=said.note.strip(),
        created_by=by,
        created_at=now or timezone.now(),
    )
    activity.record(
        "asset.added",
        by=by,
        project=project,
        subject=asset,
        name=asset.name,
        amount=asset.cost,
        currency=asset.currency,
    )
    return asset


def check_said(project: Project, said: NewAsset) -> None:
    faults = []
    if not said.name.strip():
        faults.append(Fault("name", said.name, _("is missing"), _("a name that others know it by")))
    for name, choices in (
        ("kind", Asset.Kind),
        ("life_in", Asset.Life),
        ("licence", Asset.Licence),
        ("compliance", Asset.Compliance),
    ):
        if getattr(said, name) not in choices.values:
            faults.append(Fault(name, getattr(said, name), _("is not known"), ", ".join(choices.values)))
    if not 0 < said.life <= 1000:
        faults.append(Fault("life", said.life, _("must be at least one"), "1 – 1000"))
    if said.proposal is not None and said.proposal.project_id != project.pk:
        faults.append(Fault("proposal", said.proposal.reference, _("is of another project"), str(project)))
    if faults:
        raise DomainError(_("The asset cannot be kept as it is."), faults=faults)


@transaction.atomic
def set_clearance(asset: Asset, *, by: User, licence: str, compliance: str, reason: str) -> Asset:
    """Say what is known of the licence and the compliance of an asset."""
    locked = lock_asset(asset)
    check_may_keep(by, locked.project.team)
    check_reason(reason)
    if licence not in Asset.Licence.values or compliance not in Asset.Compliance.values:
        raise DomainError(
            _("Choose what is known of licence and compliance."),
            faults=[Fault("licence", licence, _("is not known"), ", ".join(Asset.Licence.values))],
        )
    before = f"{locked.get_licence_display()}, {locked.get_compliance_display()}"
    locked.licence, locked.compliance = licence, compliance
    locked.save(update_fields=["licence", "compliance"])
    activity.record(
        "asset.cleared",
        by=by,
        project=locked.project,
        subject=locked,
        name=locked.name,
        old=before,
        new=f"{locked.get_licence_display()}, {locked.get_compliance_display()}",
        reason=reason.strip(),
    )
    return locked


@transaction.atomic
def use_asset(
    asset: Asset,
    project: Project,
    *,
    by: User,
    since: Month,
    until: Month | None = None,
    tasks: int = 1,
    proposal: Proposal | None = None,
) -> AssetUse:
    """The project uses the asset from a month on, and is charged its part."""
    locked = lock_asset(asset)
    check_may_keep(by, project.team)
    if not Asset.objects.visible_to(by).filter(pk=locked.pk).exists():
        raise DomainError(_("There is no such asset."), code="not_found")
    if project.currency != locked.currency:
        raise DomainError(
            _("%(asset)s is kept in %(asset_currency)s, %(project)s in %(currency)s; a charge stays in one currency.")
            % {"asset": locked, "asset_currency": locked.currency, "project": project, "currency": project.currency},
            faults=[Fault("project", project.slug, _("has another currency"), locked.currency)],
        )
    check_use(locked, since, until, tasks)
    if proposal is not None and proposal.project_id != project.pk:
        raise DomainError(
            _("The proposal is of another project."),
            faults=[Fault("proposal", proposal.reference, _("is of another project"), str(project))],
        )
    use = AssetUse.objects.create(
        asset=locked,
        project=project,
        proposal=proposal,
        since=since.start,
        until=until.start if until else None,
        tasks=tasks,
        by=by,
    )
    activity.record("asset.used", by=by, project=project, subject=locked, name=locked.name, month=str(since))
    return use


def check_use(asset: Asset, since: Month, until: Month | None, tasks: int) -> None:
    """A use begins in the asset's life, and in no month that is charged already."""
    if since < Month.of(asset.starts_on):
        first = Month.of(asset.starts_on)
        raise DomainError(
            _("%(asset)s is there from %(month)s on.") % {"asset": asset, "month": first},
            faults=[Fault("since", str(since), _("is before the asset was finished"), str(first))],
        )
    charged = max(asset.charges.values_list("month", flat=True), default=None)
    if charged is not None and since <= Month.of(charged):
        raise DomainError(
            _("%(month)s is charged already; the use begins in a later month.") % {"month": Month.of(charged)},
            faults=[Fault("since", str(since), _("is charged already"), str(Month.of(charged) + 1))],
        )
    if until is not None and until <= since:
        raise DomainError(
            _("A use lasts at least a month."),
            faults=[Fault("until", str(until), _("is not after its first month"), str(since + 1))],
        )
    if not 0 < tasks <= 1000:
        raise DomainError(
            _("A use is of at least one task."), faults=[Fault("tasks", tasks, _("must be at least one"), "1 – 1000")]
        )


@transaction.atomic
def end_use(use: AssetUse, *, by: User, until: Month) -> AssetUse:
    """From this month on the project uses the asset no more. What is charged stays."""
    asset = lock_asset(use.asset)
    current = AssetUse.objects.select_related("project__team").get(pk=use.pk)
    check_may_keep(by, current.project.team)
    charged = max(asset.charges.values_list("month", flat=True), default=None)
    first = max([Month.of(current.since), *([Month.of(charged) + 1] if charged else [])])
    if until < first:
        raise DomainError(
            _("The use can end with %(month)s or later; what is charged stays.") % {"month": first},
            faults=[Fault("until", str(until), _("is too early"), str(first))],
        )
    current.until = until.start
    current.save(update_fields=["until"])
    activity.record("asset.use_ended", by=by, project=current.project, subject=asset, name=asset.name, month=str(until))
    return current


def charge_due(*, now: datetime) -> int:
    """Charge every month that is over of every asset. What has no line to stand on waits, and its page says so."""
    this_month = Month.of(Organisation.current().today(now))
    charged = 0
    for key in Asset.objects.filter(uses__isnull=False).distinct().order_by("pk").values_list("pk", flat=True):
        charged += charge_asset(key, this_month, now=now)
    return charged


@transaction.atomic
def charge_asset(asset_id: int, this_month: Month, *, now: datetime) -> int:
    """Charge the asset's months that are over, oldest first, up to one that has to wait."""
    asset = Asset.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=asset_id)
    count = 0
    for month in months_due(asset, standings([asset])[asset.pk], this_month):
        charge = planned_charge(asset, month)
        if charge is None:
            continue
        if charge.missing:
            break
        write_charge(asset, charge, now=now)
        count += 1
    return count


@dataclass(frozen=True)
class PlannedCharge:
    """What the next charge of a month would be; `missing`: projects without an open line to carry it."""

    month: Month
    units: int
    amount: Decimal
    by_line: Mapping[int, Decimal]
    missing: tuple[Project, ...]


def planned_charge(asset: Asset, month: Month) -> PlannedCharge | None:
    """The month's part of the cost and the lines that carry it; None where nothing of a life in tasks was used.

    A month of a life in months that nobody used passes too: its part stays with the project that made the asset.
    """
    part = next(parts_to_come(asset, list(asset.uses.all()), standings([asset])[asset.pk], [month]), None)
    if part is None:
        return None
    others = carried_by_others(asset, part)
    projects = Project.objects.in_bulk([*others, *([asset.project_id] if others else [])])
    lines = {key: line_to_charge(project, asset, month) for key, project in projects.items()}
    by_line = {line.pk: others[key] for key, line in lines.items() if line is not None and key in others}
    source = lines.get(asset.project_id)
    if others and source is not None:
        by_line[source.pk] = -sum(others.values(), Decimal(0))
    missing = tuple(projects[key] for key, line in lines.items() if line is None)
    return PlannedCharge(month, part.units, part.amount, by_line, missing)


def write_charge(asset: Asset, charge: PlannedCharge, *, now: datetime) -> AssetCharge:
    """The row that says the month is charged, and its entries. The asset is locked."""
    number = uuid.uuid4() if charge.by_line else None
    reason = _("%(asset)s, %(month)s") % {"asset": asset, "month": charge.month}
    write_entries(charge.by_line, number, by=None, reason=reason, now=now)
    row = AssetCharge.objects.create(
        asset=asset, month=charge.month.start, units=charge.units, amount=charge.amount, transfer=number, at=now
    )
    activity.record(
        "asset.charged",
        by=None,
        project=asset.project,
        subject=asset,
        name=asset.name,
        month=str(charge.month),
        amount=charge.amount,
        currency=asset.currency,
    )
    return row


def write_entries(
    by_line: Mapping[int, Decimal], number: uuid.UUID | None, *, by: User | None, reason: str, now: datetime
) -> None:
    """Balanced entries of cost: what one line is relieved of, others carry."""
    lines = lock_lines(by_line)
    Entry.objects.bulk_create(
        Entry(line=lines[key], kind=Entry.Kind.AMORTISE, amount=amount, transfer=number, by=by, reason=reason, at=now)
        for key, amount in by_line.items()
    )
    touch(lines.values())


@transaction.atomic
def reverse_charge(charge: AssetCharge, *, by: User, reason: str, now: datetime | None = None) -> AssetCharge:
    """Take back one month by contrary entries. It is never charged again; later months carry what is left."""
    asset = lock_asset(charge.asset)
    check_may_keep(by, asset.project.team)
    current = AssetCharge.objects.get(pk=charge.pk)
    if current.reverses_id or AssetCharge.objects.filter(reverses=current).exists():
        raise DomainError(_("This month was taken back already."), code="wrong_state")
    check_reason(reason)
    moment = now or timezone.now()
    number = uuid.uuid4() if current.transfer else None
    today = Organisation.current().today(moment)
    entries = list(Entry.objects.filter(transfer=current.transfer)) if current.transfer else []
    back: dict[int, Decimal] = {}
    for entry in entries:
        key = line_to_relieve(entry, asset, today).pk
        back[key] = back.get(key, Decimal(0)) - entry.amount
    write_entries({key: amount for key, amount in back.items() if amount}, number, by=by, reason=reason, now=moment)
    row = AssetCharge.objects.create(
        asset=asset,
        month=current.month,
        units=-current.units,
        amount=-current.amount,
        transfer=number,
        reverses=current,
        by=by,
        at=moment,
        reason=reason.strip(),
    )
    activity.record(
        "asset.charge_reversed",
        by=by,
        project=asset.project,
        subject=asset,
        name=asset.name,
        month=str(Month.of(current.month)),
        reason=reason.strip(),
    )
    return row


def line_to_relieve(entry: Entry, asset: Asset, today: date) -> BudgetLine:
    """The line of the entry; where it is closed by now, the open line of its project that carries the asset today."""
    line = BudgetLine.objects.select_related("project").get(pk=entry.line_id)
    if line.closed_at is None:
        return line
    found = line_to_charge(line.project, asset, Month.of(today))
    if found is None:
        raise DomainError(
            _("%(project)s has no open line for this; open one first.") % {"project": line.project}, code="line_missing"
        )
    return found


def lock_asset(asset: Asset) -> Asset:
    """The asset as it is now; nobody else charges it until the end of the transaction."""
    rows: Any = Asset.objects.select_for_update(of=("self",), no_key=True).select_related("project__team")
    return rows.get(pk=asset.pk)


def check_may_keep(by: User, team: Team) -> None:
    if not permissions.may_transfer(by, team):
        raise NotAllowed(_("Assets of %(team)s are kept by its managers and finance.") % {"team": team})
