"""What approving an ask does to the lines: where each amount goes, what is new money, and what is left after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from core.months import Month, Period
from teams.models import ClosedMonth, Organisation

from .models import BudgetLine, ProposalVersion
from .periods import project_period
from .placing import LinePlace, MissingLine, carries, missing_lines, weights_by_line
from .queries import line_statuses
from .spread import shortfall, spread, spread_new_money
from .status import LineStatus
from .subcategories import subcategory_of

ZERO = Decimal(0)


@dataclass(frozen=True)
class LineDecision:
    """What an approver says to one category of the ask. No new money stated: what the lines are short of."""

    category: str
    amount: Decimal
    new_money: Decimal | None = None
    reason: str = ""


@dataclass(frozen=True)
class Funding:
    """What a decision does to one line; a line that is still missing stands as the period it will have."""

    category: str
    line: BudgetLine | None
    missing: MissingLine | None
    before: LineStatus
    amount: Decimal
    held: Decimal
    new_money: Decimal
    overspent: Decimal = ZERO
    """What the proposal's own work has cost beyond what it held: already taken from the headroom."""

    @property
    def change(self) -> Decimal:
        """How much more (or less) than before the proposal holds on the line."""
        return self.amount - self.held

    @property
    def taken(self) -> Decimal:
        """What the decision takes from the headroom: the change, less what was spent before it was promised."""
        return not_yet_spent(self.change, self.overspent)

    @property
    def short(self) -> Decimal:
        """What is missing even with the new money."""
        return shortfall(self.taken, self.before.free + self.new_money, self.before.currency)

    @property
    def after(self) -> LineStatus:
        """The line as it would stand."""
        return replace(
            self.before,
            budget=self.before.budget + self.new_money,
            committed=self.before.committed + self.taken,
        )


@dataclass(frozen=True)
class Calendar:
    """The life of the project, the fiscal year, and the first month whose books are open (None: none is closed)."""

    life: Period
    fiscal_year_starts_in: int
    first_open: Month | None


def first_open_month() -> Month | None:
    latest = ClosedMonth.objects.order_by("-month").first()
    return Month.of(latest.month) + 1 if latest else None


def asked_by_category(version: ProposalVersion) -> dict[str, dict[Month, Decimal]]:
    """The ask of a submitted version by category and month."""
    asked: dict[str, dict[Month, Decimal]] = {}
    for line in version.ask_lines.all():
        asked.setdefault(line.category, {})[Month.of(line.month)] = line.amount
    return asked


def fundings(
    version: ProposalVersion, decisions: Sequence[LineDecision], *, now: datetime | None = None
) -> list[Funding]:
    """What the decisions do to the lines of the project, as those stand at this moment.

    What the proposal holds in a category that is not decided on is given back: the version no longer asks for it.
    """
    lines = list(version.proposal.project.lines.order_by("pk"))
    statuses = line_statuses(lines, now=now)
    asked = asked_by_category(version)
    project = version.proposal.project
    life = project_period({month for months in asked.values() for month in months}, project.starts_on, project.ends_on)
    calendar = Calendar(life, Organisation.current().fiscal_year_starts_in, first_open_month())
    decided = {decision.category for decision in decisions}
    held = {line.category for line in lines if _held(statuses[line.pk], version.proposal.reference)}
    given_back = [LineDecision(category, ZERO) for category in sorted(held - decided)]
    return [
        funding
        for decision in [*decisions, *given_back]
        for funding in _of_category(
            version,
            decision,
            asked.get(decision.category, {}),
            [line for line in lines if line.category == decision.category],
            statuses,
            calendar,
        )
    ]


def _of_category(
    version: ProposalVersion,
    decision: LineDecision,
    asked: Mapping[Month, Decimal],
    lines: Sequence[BudgetLine],
    statuses: Mapping[int, LineStatus],
    calendar: Calendar,
) -> list[Funding]:
    proposal = version.proposal
    places = [
        LinePlace(line.pk, line.task_type, line.period_kind, line.period, line.subcategory)
        for line in lines
        if line.closed_at is None
    ]
    asked = in_open_months(asked, places, calendar.first_open)
    weights, homeless = weights_by_line(
        places, proposal.task_type, asked, subcategory_of(decision.category, proposal.task_type)
    )
    missing = missing_lines(
        [place for place in places if place.is_wide],
        homeless,
        life=calendar.life,
        fiscal_year_starts_in=calendar.fiscal_year_starts_in,
    )
    for index, new_line in enumerate(missing):
        weights[-1 - index] = sum((asked[month] for month in new_line.months if month in homeless), ZERO)
    held = {line.pk: _held(statuses[line.pk], proposal.reference) for line in lines}
    settled = {line.pk: held[line.pk] for line in lines if line.closed_at and held[line.pk]}
    amounts = {key: settled.get(key, ZERO) for key, amount in held.items() if amount}
    to_spread = max(ZERO, decision.amount - sum(settled.values(), ZERO))
    amounts.update(spread(to_spread, weights, version.currency) if weights else {})
    nothing = LineStatus(version.currency, ZERO, ZERO, ZERO, ZERO, {}, (), ())
    overspent = {line.pk: _overspent(statuses[line.pk], proposal.reference, held[line.pk]) for line in lines}
    changes = {
        key: max(ZERO, not_yet_spent(amount - held.get(key, ZERO), overspent.get(key, ZERO)))
        for key, amount in amounts.items()
    }
    headrooms = {key: statuses[key].free if key > 0 else ZERO for key in amounts}
    if decision.new_money is None:
        money = {
            key: shortfall(changes[key], headrooms[key], version.currency) if changes[key] else ZERO for key in amounts
        }
    else:
        money = spread_new_money(decision.new_money, changes, headrooms, version.currency)
    by_key = {line.pk: line for line in lines}
    return [
        Funding(
            category=decision.category,
            line=by_key.get(key),
            missing=missing[-1 - key] if key < 0 else None,
            before=statuses.get(key, nothing),
            amount=amount,
            held=held.get(key, ZERO),
            new_money=money[key],
            overspent=overspent.get(key, ZERO),
        )
        for key, amount in amounts.items()
    ]


def in_open_months(
    asked: Mapping[Month, Decimal], places: Sequence[LinePlace], first_open: Month | None
) -> dict[Month, Decimal]:
    """The ask by month; what was meant for a closed month that no open line carries is needed in the first open one."""
    moved: dict[Month, Decimal] = {}
    for month, amount in asked.items():
        is_over = first_open is not None and month < first_open and not any(carries(place, month) for place in places)
        key = first_open if is_over and first_open is not None else month
        moved[key] = moved.get(key, ZERO) + amount
    return moved


def _held(status: LineStatus, reference: str) -> Decimal:
    """What the proposal was promised on the line and has not given back, used up or not."""
    promise = status.promises.get(reference)
    return promise.committed - promise.released if promise else ZERO


def _overspent(status: LineStatus, reference: str, held: Decimal) -> Decimal:
    return max(ZERO, status.own.get(reference, ZERO) - held)


def not_yet_spent(change: Decimal, overspent: Decimal) -> Decimal:
    """Of what is promised on top, the part that earlier overspending has not used up."""
    return max(ZERO, change - overspent) if change > 0 else change
