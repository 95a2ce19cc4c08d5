"""The forecasts of many lines at once: what the database knows, handed to the pure arithmetic of `forecast`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Max
from django.db.models.fields.json import KeyTextTransform

from budgets.accruals import AccruedDay, as_if_booked, worth_of_accrued
from budgets.actuals import DaysOfMonth, metered_with_days, sources_of_lines
from budgets.assets import charges_to_come
from budgets.consumption import unconsumed_by_day
from budgets.models import AskLine, BudgetLine, ProposalVersion
from budgets.queries import ledger_facts, line_statuses, rates_for
from budgets.status import LineStatus, is_own_work
from core.money import EXACT
from core.months import Month
from core.vocabulary import Category
from teams.models import Organisation
from usage.models import Import

from .forecast import QUANTILES, WINDOW, Outlook, WorkToCome, forecast

ZERO = Decimal(0)
Accrued = Mapping[int, Sequence[tuple[AccruedDay, Decimal]]]
"""Per line the days it accrued, each with its worth in the line's currency."""


@dataclass(frozen=True)
class Sight:
    """What is known of many lines: their figures, until when their cost is known, and the forecasts they have."""

    statuses: Mapping[int, LineStatus]
    fresh: Mapping[int, datetime]
    outlooks: Mapping[int, Outlook]


def sight_of(lines: Sequence[BudgetLine], *, now: datetime) -> Sight:
    """Figures and forecasts of the lines; their meters are read once for both."""
    fresh = fresh_until([line.pk for line in lines])
    months, days = metered_with_days([line.pk for line in lines], since=first_day_of_use(lines, fresh, now=now))
    statuses = line_statuses(lines, now=now, read=months)
    return Sight(statuses, fresh, outlooks(lines, statuses, fresh, now=now, days=days))


def fresh_until(line_ids: Sequence[int]) -> dict[int, datetime]:
    """Until when the cost of each line is known: of the sources that feed it, the one that is furthest behind."""
    newest = newest_usage()
    found: dict[int, datetime] = {}
    for line, source in sources_of_lines(line_ids):
        if source in newest:
            found[line] = min(found.get(line, newest[source]), newest[source])
    return found


def newest_usage() -> dict[int, datetime]:
    """Per source the end of the newest usage it has delivered."""
    rows = (
        Import.objects.applied()
        .order_by()
        .values_list("source")
        .annotate(newest=Max(KeyTextTransform("last_usage", "outcome")))
    )
    return {source: datetime.fromisoformat(text) for source, text in rows if text}


def outlooks(
    lines: Sequence[BudgetLine],
    statuses: Mapping[int, LineStatus],
    fresh: Mapping[int, datetime],
    *,
    now: datetime,
    days: Sequence[DaysOfMonth] | None = None,
    accrued: Accrued | None = None,
) -> dict[int, Outlook]:
    """The forecast of every line that has one: contingency has none, nothing is ever metered on it.

    What is accrued on days whose cost is known counts as if it were booked; later days are forecast anyway. `days` is
    what the meters say of them and `accrued` what they accrued, where that has been read already.
    """
    judged = [line for line in lines if line.category != Category.CONTINGENCY]
    if not judged:
        return {}
    organisation = Organisation.current()
    known = {line.pk: known_day(line, fresh.get(line.pk), organisation, now) for line in judged}
    if days is None:
        _months, days = metered_with_days(known, since=first_day_of_use(judged, fresh, now=now))
    if accrued is None:
        accrued = worth_of_accrued(judged, now=now)
    accrued = accrued_until(known, accrued)
    statuses = {**statuses, **expected_statuses(judged, statuses, accrued)}
    works = works_to_come(judged, statuses)
    rests = rests_by_day(judged, statuses, known, days, accrued, now=now)
    charges = charges_to_come(judged)
    return {
        line.pk: forecast(
            statuses[line.pk].actual,
            works.get(line.pk, []),
            rests.get(line.pk, {}),
            first_day=line.start,
            known_until=known[line.pk],
            end=line.end,
            charges=charges.get(line.pk),
        )
        for line in judged
    }


def first_day_of_use(lines: Sequence[BudgetLine], fresh: Mapping[int, datetime], *, now: datetime) -> date:
    """The first day whose cost teaches the usual spending of any of the lines."""
    organisation = Organisation.current()
    return min((known_day(line, fresh.get(line.pk), organisation, now) for line in lines), default=now.date()) - WINDOW


def accrued_until(known: Mapping[int, date], accrued: Accrued) -> Accrued:
    """What the lines accrued on the days whose cost is known."""
    inside = {
        line_id: [(day, worth) for day, worth in days if day.day < known[line_id]]
        for line_id, days in accrued.items()
        if line_id in known
    }
    return {line_id: days for line_id, days in inside.items() if days}


def expected_statuses(
    lines: Sequence[BudgetLine], statuses: Mapping[int, LineStatus], accrued: Accrued
) -> dict[int, LineStatus]:
    """The statuses of the lines with accruals, as if those were booked."""
    if not accrued:
        return {}
    ledgers = ledger_facts(accrued)
    return {
        line.pk: as_if_booked(line, statuses[line.pk], ledgers[line.pk], accrued[line.pk])
        for line in lines
        if line.pk in accrued
    }


def known_day(line: BudgetLine, fresh: datetime | None, organisation: Organisation, now: datetime) -> date:
    """The first day whose cost is not all known yet."""
    today = organisation.today(now)
    known = organisation.today(fresh) if fresh else today
    return min(max(known, line.start), max(today, line.start), line.end)


def rests_by_day(
    lines: Sequence[BudgetLine],
    statuses: Mapping[int, LineStatus],
    known: Mapping[int, date],
    days: Sequence[DaysOfMonth],
    accrued: Accrued,
    *,
    now: datetime,
) -> dict[int, dict[date, Decimal]]:
    """Per line and closed day the cost that consumed no commitment."""
    rates = rates_for(lines, {each.currency for each in days}, now=now)
    currencies = {line.pk: line.currency for line in lines}
    others: dict[int, dict[date, Decimal]] = defaultdict(dict)
    for each in days:
        of_line = others[each.line_id]
        rate = rates.rate(each.currency, currencies[each.line_id], Month.of(each.month))
        if rate is None:
            continue
        for day, amount in zip(each.days, each.amounts, strict=True):
            worth = amount if rate == 1 else EXACT.multiply(amount, rate)
            of_line[day] = EXACT.add(of_line[day], worth) if day in of_line else worth
    for line_id, accrued_days in accrued.items():
        for accrued_day, amount in accrued_days:
            if not is_own_work(accrued_day.reference):
                day = accrued_day.day
                others[line_id][day] = EXACT.add(others[line_id].get(day, ZERO), amount)
    rests = {}
    for line_id, by_day in others.items():
        status = statuses[line_id]
        rest = unconsumed_by_day(by_day, status.consumed, status.others_spent)
        rests[line_id] = {day: cost for day, cost in rest.items() if day < known[line_id]}
    return rests


def works_to_come(
    lines: Sequence[BudgetLine], statuses: Mapping[int, LineStatus], *, with_finished: bool = False
) -> dict[int, list[WorkToCome]]:
    """Per line what each proposal holds, on the schedule and with the range of its approved version.

    Proposals that have used up all they were promised are left out, unless the whole plan is wanted.
    """
    held = [
        (line, reference, promise)
        for line in lines
        for reference, promise in statuses[line.pk].promises.items()
        if promise.remaining > 0 or with_finished
    ]
    if not held:
        return {}
    versions = approved_versions({reference for _line, reference, _promise in held})
    schedules: dict[tuple[int, str], dict[Month, Decimal]] = defaultdict(dict)
    for ask in AskLine.objects.filter(version__in=versions.values()):
        schedules[ask.version_id, ask.category][Month.of(ask.month)] = ask.amount
    works: dict[int, list[WorkToCome]] = defaultdict(list)
    for line, reference, promise in held:
        version = versions.get(reference)
        if version is not None:
            works[line.pk].append(
                WorkToCome(
                    promised=promise.committed - promise.released,
                    consumed=promise.consumed,
                    schedule={
                        month: amount
                        for month, amount in schedules[version.pk, line.category].items()
                        if carries(line, month)
                    },
                    factors=quantile_factors(version, line.category),
                )
            )
    return works


def carries(line: BudgetLine, month: Month) -> bool:
    """Whether what was promised for a month can be on this line; other months are promised on lines of their own."""
    return month.start < line.end and line.start < month.end


def approved_versions(references: set[str]) -> dict[str, ProposalVersion]:
    """The version each proposal was last approved in, with its frozen estimate."""
    rows = (
        ProposalVersion.objects.filter(
            proposal__in=[int(reference.removeprefix("P-")) for reference in references],
            state__in=[ProposalVersion.State.APPROVED, ProposalVersion.State.PARTLY_APPROVED],
        )
        .select_related("estimate")
        .order_by("number")
    )
    return {f"P-{version.proposal_id}": version for version in rows}


def quantile_factors(version: ProposalVersion, category: str) -> dict[str, Decimal]:
    """What one unit promised will really cost at each quantile of the estimate: the range of the line's own cost."""
    answer: Mapping[str, Any] = version.estimate.answer
    figures = (answer["cost"]["by_line"] or {}).get(category) or {}
    mean = figures.get("mean")
    levels = answer["ask"].get("levels") or {}
    asked, middle = levels.get(version.ask_level), levels.get("mean")
    if not mean or not asked or not middle or not asked["total"]:
        return dict.fromkeys(QUANTILES, Decimal(1))
    level = Decimal(repr(middle["total"])) / Decimal(repr(asked["total"]))
    return {name: Decimal(repr(figures[name])) / Decimal(repr(mean)) * level for name in QUANTILES}
