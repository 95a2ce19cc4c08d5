"""The statement of a team and month: by project and category, own cost and its share of shared cost, the total in the
reporting currency with the rate, the month before, and what was restated since the month was closed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from core.money import EXACT, exact_sum, exact_text, round_money
from core.months import Month
from core.vocabulary import Basis
from teams.models import ClosedMonth, Organisation, Project, Team
from teams.rates import RateTable, rate_table

from . import restatements
from .daily import BEARS_MONEY, LIVE_AT, LIVE_NOW, PLACED_AT, PLACED_NOW, days_of_records
from .focus_export import Line, guarded
from .parts import IS_SHARE


@dataclass
class StatementLine:
    """What one project spent on one category in one currency."""

    project: Project
    category: str
    currency: str
    own: Decimal = Decimal(0)
    shared: Decimal = Decimal(0)
    before: Decimal = Decimal(0)
    """The month before, own and shared."""
    rate: Decimal | None = None
    """To the reporting currency; None where none of that month is stored."""

    @property
    def total(self) -> Decimal:
        return EXACT.add(self.own, self.shared)

    @property
    def reported(self) -> Decimal | None:
        """The total in the reporting currency, not rounded."""
        return None if self.rate is None else EXACT.multiply(self.total, self.rate)


@dataclass
class Sum:
    """The statement's whole in one currency."""

    currency: str
    own: Decimal
    shared: Decimal
    before: Decimal
    restated: Decimal

    @property
    def total(self) -> Decimal:
        return EXACT.add(self.own, self.shared)


@dataclass
class Statement:
    """All of it. A closed month is told as it was known at closing; what came later stands apart, as restated."""

    team: Team
    month: Month
    basis: str
    currency: str
    """The reporting currency."""
    closed: ClosedMonth | None
    known_at: datetime | None = None
    lines: list[StatementLine] = field(default_factory=list)
    restated: list[restatements.Restated] = field(default_factory=list)
    """Of this month since its closing; of an open month, of the closed ones before it."""

    @property
    def sums(self) -> list[Sum]:
        """One a currency."""
        currencies = {line.currency for line in self.lines} | {row.currency for row in self.restated}
        return [self._sum(currency) for currency in sorted(currencies)]

    def _sum(self, currency: str) -> Sum:
        lines = [line for line in self.lines if line.currency == currency]
        return Sum(
            currency,
            own=exact_sum([line.own for line in lines]),
            shared=exact_sum([line.shared for line in lines]),
            before=exact_sum([line.before for line in lines]),
            restated=exact_sum([row.delta for row in self.restated if row.currency == currency]),
        )

    @property
    def reported(self) -> Decimal | None:
        """The whole in the reporting currency, rounded once; None where a rate is missing."""
        parts = [line.reported for line in self.lines]
        known = [part for part in parts if part is not None]
        return round_money(exact_sum(known), self.currency) if len(known) == len(parts) else None

    @property
    def is_converted(self) -> bool:
        """Some of it is in another currency than the reporting one."""
        return any(line.currency != self.currency for line in self.lines)

    @property
    def rates_missing(self) -> list[str]:
        return sorted({line.currency for line in self.lines if line.rate is None})


def statement(
    team: Team,
    month: Month,
    *,
    basis: str = Basis.EFFECTIVE,
    this_month: Month,
    known_at: datetime | None = None,
) -> Statement:
    """What a team's projects cost in a month; as a reader of that time saw it, where one is given."""
    organisation = Organisation.current()
    closed = closing_of(month, known_at)
    projects = list(Project.objects.filter(team=team).select_related("cost_centre"))
    by_id = {project.pk: project for project in projects}
    found: dict[tuple[int, str, str], StatementLine] = {}
    for each, is_before in ((month, False), (month + -1, True)):
        for project_id, category, currency, is_part, amount in _costs(list(by_id), each, basis, known_at):
            key = (project_id, category, currency)
            line = found.setdefault(key, StatementLine(by_id[project_id], category, currency))
            name = "before" if is_before else "shared" if is_part else "own"
            setattr(line, name, EXACT.add(getattr(line, name), amount))
    currencies = [organisation.currency, *(line.currency for line in found.values())]
    rates = rate_table(currencies, this_month=this_month, known_at=known_at)
    return Statement(
        team=team,
        month=month,
        basis=basis,
        currency=organisation.currency,
        closed=closed,
        known_at=known_at,
        lines=_rated(found.values(), rates, organisation.currency, month),
        restated=_restated(list(by_id), month, closed, basis, known_at),
    )


def _rated(lines: Iterable[StatementLine], rates: RateTable, currency: str, month: Month) -> list[StatementLine]:
    kept = [line for line in lines if line.own or line.shared or line.before]
    for line in kept:
        line.rate = rates.rate(line.currency, currency, month)
    return sorted(kept, key=lambda line: (line.project.name, line.currency, -line.total, line.category))


def closing_of(month: Month, known_at: datetime | None) -> ClosedMonth | None:
    """The closing of a month, where it was closed by then."""
    found = ClosedMonth.objects.filter(month=month.start)
    return (found if known_at is None else found.filter(closed_at__lte=known_at)).first()


def _restated(
    projects: Sequence[int], month: Month, closed: ClosedMonth | None, basis: str, known_at: datetime | None
) -> list[restatements.Restated]:
    """Later differences of this month, or, while it is open, of every closed month: they count here."""
    months = None if closed is None else [month]
    rows = restatements.since_closing(basis=basis, projects=projects, months=months, known_at=known_at)
    return rows if closed is not None else [row for row in rows if row.month < month.start]


def _costs(
    projects: Sequence[int], month: Month, basis: str, known_at: datetime | None
) -> Iterator[tuple[int, str, str, bool, Decimal]]:
    """Project, category, currency, whether it is a share of a split, amount; a closed month as known at closing."""
    closed = closing_of(month, known_at)
    then = closed.closed_at if closed else known_at
    billed = basis == Basis.BILLED
    near = (
        "billing_month = %(start)s"
        if billed
        else "usage_start < (%(end)s::date)::timestamp AT TIME ZONE %(zone)s"
        " AND usage_end > (%(start)s::date)::timestamp AT TIME ZONE %(zone)s"
    )
    where = "TRUE" if billed else "x.day >= %(start)s AND x.day < %(end)s"
    sql = days_of_records(
        ["p.project_id", "p.category", "x.currency", IS_SHARE],
        records=(
            f"(SELECT * FROM usage_record WHERE {near} AND key_set_id IN"
            " (SELECT key_set_id FROM usage_placement WHERE project_id = ANY(%(projects)s::bigint[])))"
        ),
        live=LIVE_AT if then else LIVE_NOW,
        placed=PLACED_AT if then else PLACED_NOW,
        where=(
            f"{where} AND p.project_id = ANY(%(projects)s::bigint[]) AND x.currency <> ''"
            f" AND k.source_id IN {BEARS_MONEY}"
        ),
    )
    parameters: dict[str, Any] = {
        "projects": list(projects),
        "start": month.start,
        "end": month.end,
        "zone": Organisation.current().time_zone,
        "known_at": then,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        for row in cursor.fetchall():
            if amount := row[5] if billed else row[6]:
                yield (*row[:4], amount)


CSV_COLUMNS = (
    "team",
    "month",
    "basis",
    "cost_centre",
    "project",
    "category",
    "currency",
    "own",
    "share_of_shared",
    "total",
    "rate",
    "reporting_currency",
    "total_reported",
    "month_before",
    "restated_of",
    "restated",
)


def csv_rows(found: Statement) -> Iterator[list[str]]:
    """The statement as rows of a CSV: its lines, then what was restated, month by month."""
    yield list(CSV_COLUMNS)
    head = [found.team.slug, str(found.month), str(found.basis)]
    for line in found.lines:
        yield [
            *head,
            line.project.cost_centre.code if line.project.cost_centre else "",
            line.project.slug,
            line.category,
            line.currency,
            exact_text(line.own),
            exact_text(line.shared),
            exact_text(line.total),
            "" if line.rate is None else exact_text(line.rate),
            found.currency,
            "" if line.reported is None else exact_text(line.reported),
            exact_text(line.before),
            "",
            "",
        ]
    for row in found.restated:
        centre = row.project.cost_centre.code if row.project and row.project.cost_centre else ""
        slug = row.project.slug if row.project else ""
        month = str(Month.of(row.month))
        yield [*head, centre, slug, "", row.currency, "", "", "", "", "", "", "", month, exact_text(row.delta)]


NUMBERS = ("own", "share_of_shared", "total", "rate", "total_reported", "month_before", "restated")
"""Columns that a spreadsheet may take for what they are, also below zero."""


def csv_lines(found: Statement) -> Iterator[str]:
    """The CSV line by line, without what a spreadsheet would take for a formula."""
    writer = csv.writer(Line())
    numbers = {CSV_COLUMNS.index(name) for name in NUMBERS}
    for row in csv_rows(found):
        yield writer.writerow([text if place in numbers else guarded(text) for place, text in enumerate(row)])


MOST_MONTHS = 36


def months_with_cost(teams: Iterable[Team]) -> list[tuple[Team, list[date]]]:
    """For each team the months in which its projects cost something, the newest first; one query for all."""
    teams = list(teams)
    found: dict[int, list[date]] = {team.pk: [] for team in teams}
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT DISTINCT p.team_id, date_trunc('month', u.day)::date AS month
               FROM usage_dailyusage u JOIN teams_project p ON p.id = u.project_id
               WHERE p.team_id = ANY(%s) AND u.currency <> '' ORDER BY month DESC""",
            [list(found)],
        )
        for team, month in cursor.fetchall():
            found[team].append(month)
    return [(team, found[team.pk][:MOST_MONTHS]) for team in teams]
