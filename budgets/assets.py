"""Questions about assets: what is left of their cost, which line a project is charged on, and what to offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet, Sum

from core.money import round_money
from core.months import Month
from core.vocabulary import TaskType
from teams.models import Project

from .amortising import Part, Use, parts_of_months
from .funding import first_open_month
from .models import Asset, AssetUse, BudgetLine, Proposal
from .placing import LinePlace, line_for
from .queries import line_statuses
from .subcategories import subcategory_of

ZERO = Decimal(0)
LONGEST_WAIT = 600
"""Months that are looked at for what is not charged yet."""


@dataclass(frozen=True)
class Standing:
    """What of an asset is written off and what is left, in money and in units of its life."""

    written_off: Decimal
    rest: Decimal
    units_left: int
    charged: frozenset[Month]
    """Months that were charged once, reversed or not."""


def standings(assets: Iterable[Asset]) -> dict[int, Standing]:
    """What is left of each asset, in two queries for all of them."""
    from_ids = {asset.pk: asset for asset in assets}
    sums: dict[int, tuple[Decimal, int]] = {}
    months: dict[int, set[Month]] = {}
    charges = Asset.objects.filter(pk__in=from_ids, charges__isnull=False).order_by()
    for key, month, amount, units in charges.values_list("pk", "charges__month").annotate(
        Sum("charges__amount"), Sum("charges__units")
    ):
        money, count = sums.get(key, (ZERO, 0))
        sums[key] = (money + amount, count + units)
        months.setdefault(key, set()).add(Month.of(month))
    return {
        key: Standing(
            written_off=sums.get(key, (ZERO, 0))[0],
            rest=asset.cost - sums.get(key, (ZERO, 0))[0],
            units_left=max(0, asset.life - sums.get(key, (ZERO, 0))[1]),
            charged=frozenset(months.get(key, ())),
        )
        for key, asset in from_ids.items()
    }


def months_due(asset: Asset, standing: Standing, this_month: Month) -> list[Month]:
    """The months that are over and were never charged, oldest first, while there is something left to write off."""
    first = Month.of(asset.starts_on)
    last = min(this_month - first, LONGEST_WAIT)
    months = [first + number for number in range(max(0, last))]
    due = [month for month in months if month not in standing.charged]
    return due[: standing.units_left] if asset.life_in == Asset.Life.MONTHS else due if standing.units_left else []


def line_to_charge(project: Project, asset: Asset, month: Month) -> BudgetLine | None:
    """The open line of the project that carries the asset in the month; of a closed month, the first open one."""
    lines = BudgetLine.objects.open().filter(project=project, category=asset.category)
    return line_that_carries(list(lines), project, asset, month, first_open=first_open_month())


def line_that_carries(
    lines: Iterable[BudgetLine], project: Project, asset: Asset, month: Month, *, first_open: Month | None
) -> BudgetLine | None:
    """The same, of the open lines of the project in the asset's category."""
    when = month if first_open is None else max(month, first_open)
    by_key = {line.pk: line for line in lines if line.currency == asset.currency}
    places = [
        LinePlace(line.pk, line.task_type, line.period_kind, line.period, line.subcategory) for line in by_key.values()
    ]
    part = "data_assets" if asset.kind == Asset.Kind.DATA_SET else subcategory_of(asset.category, project.task_type)
    found = line_for(places, project.task_type, when, part)
    return by_key[found.key] if found else None


def parts_to_come(
    asset: Asset, uses: Iterable[AssetUse], standing: Standing, months: Iterable[Month]
) -> Iterator[Part]:
    """What months that are not charged yet will write off, as the uses stand."""
    known = [
        Use(use.project_id, Month.of(use.since), Month.of(use.until) if use.until else None, use.tasks) for use in uses
    ]
    by_tasks = asset.life_in == Asset.Life.TASKS
    return parts_of_months(standing.rest, standing.units_left, known, months, asset.currency, by_tasks=by_tasks)


def carried_by_others(asset: Asset, part: Part) -> dict[int, Decimal]:
    """By project what others carry; of what the project that made the asset uses itself it is not relieved."""
    return {key: amount for key, amount in part.carried.items() if key != asset.project_id and amount}


def charges_to_come(lines: Sequence[BudgetLine]) -> dict[int, dict[Month, Decimal]]:
    """Per open line and month what assets will charge to it, or relieve it of, until its end, as their uses stand."""
    wanted = {line.pk: line for line in lines if line.closed_at is None}
    projects = {line.project_id for line in wanted.values()}
    used = AssetUse.objects.filter(Q(project__in=projects) | Q(asset__project__in=projects)).values("asset")
    assets = list(Asset.objects.filter(pk__in=used).prefetch_related("uses__project").select_related("project"))
    if not assets:
        return {}
    left, first_open = standings(assets), first_open_month()
    theirs = open_lines_of(assets)
    end = Month.of(max(line.end for line in wanted.values()))
    found: dict[int, dict[Month, Decimal]] = {}
    for asset in assets:
        first = Month.of(asset.starts_on)
        months = [first + number for number in range(end - first + 1)]
        months = [month for month in months if month not in left[asset.pk].charged]
        by_key = {use.project_id: use.project for use in asset.uses.all()} | {asset.project_id: asset.project}
        for part in parts_to_come(asset, asset.uses.all(), left[asset.pk], months):
            others = carried_by_others(asset, part)
            for key, amount in [*others.items(), (asset.project_id, -sum(others.values(), ZERO))]:
                own = theirs.get((key, str(asset.category)), [])
                line = line_that_carries(own, by_key[key], asset, part.month, first_open=first_open)
                if line is not None and line.pk in wanted and amount:
                    of_line = found.setdefault(line.pk, {})
                    of_line[part.month] = of_line.get(part.month, ZERO) + amount
    return found


def open_lines_of(assets: Iterable[Asset]) -> dict[tuple[int, str], list[BudgetLine]]:
    """The open lines of every project that makes or uses one of these, by project and category."""
    projects = {use.project_id for asset in assets for use in asset.uses.all()} | {each.project_id for each in assets}
    found: dict[tuple[int, str], list[BudgetLine]] = {}
    for line in BudgetLine.objects.open().filter(project__in=projects, category__in={a.category for a in assets}):
        found.setdefault((line.project_id, line.category), []).append(line)
    return found


def uses_without_clearance(proposal: Proposal) -> QuerySet[AssetUse]:
    """Assets that the proposal, or its project as a whole, uses and whose licence or compliance nobody knows."""
    own = AssetUse.objects.filter(project=proposal.project).filter(proposal__isnull=True)
    named = AssetUse.objects.filter(proposal=proposal)
    unknown = Asset.objects.filter(licence=Asset.Licence.UNKNOWN) | Asset.objects.filter(
        compliance=Asset.Compliance.UNKNOWN
    )
    return (own | named).filter(asset__in=unknown.values("pk"), until__isnull=True).select_related("asset")


@dataclass(frozen=True)
class Offer:
    """What an asset made from the result of a proposal would be."""

    kind: str
    cost: Decimal
    tasks: int


def offer_of(proposal: Proposal) -> Offer:
    """A model of what its computing cost, or a data set of what its data cost; as many tasks as its plan reckoned."""
    kind = Asset.Kind.DATA_SET if proposal.task_type == TaskType.DATA_WORK else Asset.Kind.MODEL
    category = Asset(kind=kind).category
    lines = list(BudgetLine.objects.filter(entries__proposal=proposal, category=category).distinct())
    promises = [status.promises.get(proposal.reference) for status in line_statuses(lines).values()]
    cost = sum((promise.consumed for promise in promises if promise), ZERO)
    version = proposal.versions.select_related("estimate").order_by("-number").first()
    data = (version.estimate.plan.get("data") if version else None) or {}
    planned = data.get("reusable_for_projects") if isinstance(data, dict) else None
    tasks = int(planned) if isinstance(planned, int | float) and planned >= 1 else 1
    return Offer(kind, round_money(cost, proposal.project.currency), tasks)
