"""The months to come as people look at them: what is wanted and available, and what it takes where cards are short."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from core.money import round_money
from core.months import Month
from estimates.engine.books import AcceleratorBook, PriceBook, PriceKey, PriceRow
from estimates.models import Accelerator, PriceMode
from estimates.queries import accelerator_book, price_book
from teams.models import Organisation
from teams.rates import RateTable, rate_table
from usage.clusters.lead_times import newest_lead_times
from usage.clusters.queries import capacity_by_month

from ..hours import in_unit
from ..models import HoursEntry, ProposalVersion
from ..models.proposals import ProposalQuerySet
from .balance import CardMonth, Supply, Totals, card_months, in_equivalents, without_factor
from .demand import APPROVED, ASKED, Demand, demand_by_month, drafted_by_month

ONE = Decimal(1)


@dataclass(frozen=True)
class LeadTime:
    """How long cards of a kind take from their order to the first hour, and who says so."""

    days: int
    source: str = ""
    """As the price keeper entered it; empty where the register tells it of the cards that came last."""
    seen_on: date | None = None
    """When those came."""


@dataclass(frozen=True)
class Shortage:
    """One kind of card of which more is wanted in a month than is available, and the ways out."""

    of: CardMonth
    price: PriceRow | None
    cost: Decimal | None
    """Of renting all that is short, at the price of today; None without a price or a rate."""
    unplanned_cost: Decimal | None
    """The part of it that no plan rents by the hour anyway."""
    currency: str
    lead: LeadTime | None
    today: date

    @property
    def order_by(self) -> date | None:
        """The last day on which cards can be ordered that are there when the month begins."""
        return self.of.month.start - timedelta(days=self.lead.days) if self.lead else None

    @property
    def is_late(self) -> bool:
        return self.order_by is not None and self.order_by < self.today

    @property
    def earliest(self) -> date | None:
        """When cards come that are ordered today."""
        return self.today + timedelta(days=self.lead.days) if self.lead else None


@dataclass(frozen=True)
class CapacityView:
    """Some months in a row: by kind of card, over all of them, and where they are short."""

    months: list[Month]
    cards: list[CardMonth]
    totals: list[Totals]
    shortages: list[Shortage]
    without_peak: list[str]

    @property
    def accelerators(self) -> list[str]:
        return sorted({each.accelerator for each in self.cards})

    def of_accelerator(self, accelerator: str) -> list[CardMonth]:
        """Every month of one kind of card, in order."""
        known = {each.month: each for each in self.cards if each.accelerator == accelerator}
        return [known.get(month) or CardMonth(accelerator, month) for month in self.months]


def capacity_view(start: Month, count: int, *, today: date, drafts: ProposalQuerySet | None = None) -> CapacityView:
    """`count` months from one on; with the drafts of some proposals, or without any."""
    end = start + count
    book = accelerator_book()
    demands = demand_by_month(start, end)
    if drafts is not None:
        demands += drafted_by_month(drafts, start, end, book, demands)
    cards = card_months(demands, supply_by_month(start, end))
    factors = equivalents(cards, book)
    months = [start + offset for offset in range(count)]
    known = {each.month: each for each in in_equivalents(cards, factors)}
    return CapacityView(
        months=months,
        cards=cards,
        totals=[known.get(month) or Totals(month) for month in months],
        shortages=shortages(cards, today=today),
        without_peak=without_factor(cards, factors),
    )


def supply_by_month(start: Month, end: Month) -> dict[tuple[str, Month], Supply]:
    """What all clusters of the register give, by accelerator and month."""
    found: dict[tuple[str, Month], Supply] = {}
    for each in capacity_by_month(start, end):
        rented = each.free if each.cluster.mode == PriceMode.COMMITTED else Decimal(0)
        supply = Supply(each.capacity, each.maintenance, each.reserved, each.free, rented)
        key = each.accelerator, each.month
        found[key] = found.get(key, Supply()) + supply
    return found


def equivalents(cards: Iterable[CardMonth], book: AcceleratorBook) -> dict[str, Decimal]:
    """Hours of the reference card for one of each kind, where its dense peak is known."""
    found = {each.accelerator: in_unit(ONE, each.accelerator, HoursEntry.Unit.EQUIVALENT, book) for each in cards}
    return {accelerator: factor for accelerator, factor in found.items() if factor is not None}


def shortages(cards: Iterable[CardMonth], *, today: date) -> list[Shortage]:
    """The months from this one on in which cards are short, with the price of renting and the time of ordering."""
    coming = [each for each in cards if each.short > 0 and each.month >= Month.of(today)]
    short = sorted(coming, key=lambda each: (each.month, each.accelerator))
    if not short:
        return []
    book, leads = price_book(), lead_times({each.accelerator for each in short})
    currency = Organisation.current().currency
    rows = {each.accelerator: price_today(each.accelerator, book, currency, today) for each in short}
    paid_in = {row.currency for row in rows.values() if row}
    rates = rate_table({currency, *paid_in}, this_month=Month.of(today))
    return [
        Shortage(
            of=each,
            price=rows[each.accelerator],
            cost=cost_of(each.short, rows[each.accelerator], rates, currency, today),
            unplanned_cost=cost_of(each.open, rows[each.accelerator], rates, currency, today),
            currency=currency,
            lead=leads.get(each.accelerator),
            today=today,
        )
        for each in short
    ]


def price_today(accelerator: str, book: PriceBook, currency: str, today: date) -> PriceRow | None:
    """An hour on demand: in this currency if anybody offers it so, else in another."""
    offered = {key[3] for key in book.index if key[:3] == ("accelerator", accelerator, PriceMode.ON_DEMAND)}
    for each in sorted(offered, key=lambda one: (one != currency, one)):
        row = book.on(PriceKey("accelerator", accelerator, "", "", PriceMode.ON_DEMAND, each), today)
        if row is not None:
            return row
    return None


def cost_of(hours: Decimal, row: PriceRow | None, rates: RateTable, currency: str, today: date) -> Decimal | None:
    rate = rates.rate(row.currency, currency, Month.of(today)) if row else None
    return None if row is None or rate is None else round_money(hours * row.amount * rate, currency)


def lead_times(accelerators: Iterable[str]) -> dict[str, LeadTime]:
    """As the catalogue states them, else as the newest cards in the register took."""
    found = {slug: LeadTime(days, seen_on=day) for slug, (days, day) in newest_lead_times().items()}
    stated = Accelerator.objects.filter(slug__in=accelerators, lead_time_days__isnull=False)
    for slug, days, source in stated.values_list("slug", "lead_time_days", "lead_time_source"):
        found[slug] = LeadTime(days or 0, source)
    return found


def heaviest_month(version: ProposalVersion) -> CardMonth | None:
    """Where this ask and what is approved beside it want most of what is available; None where the
    register has no such cards in its months."""
    proposal = version.proposal
    own = [
        Demand(proposal.project_id, proposal.pk, ASKED, row.accelerator, Month.of(row.month), row.card_hours)
        for row in version.ask_hours.all()
    ]
    if not own:
        return None
    start, end = min(each.month for each in own), max(each.month for each in own) + 1
    supply = supply_by_month(start, end)
    if not supply:
        return None
    others = [each for each in demand_by_month(start, end) if each.state == APPROVED and each.proposal != proposal.pk]
    wanted = {(each.accelerator, each.month) for each in own}
    months = [each for each in card_months([*own, *others], supply) if (each.accelerator, each.month) in wanted]
    return max((each for each in months if each.load is not None), key=lambda each: each.load or 0, default=None)
