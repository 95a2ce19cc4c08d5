"""The forecasts of many lines at once: what the database knows, handed to the pure arithmetic of `forecast`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db.models import Max
from django.db.models.fields.json import KeyTextTransform

from budgets.accruals import AccruedDay, as_if_booked, worth_of_accrued
from budgets.actuals import others_by_day, sources_of_lines
from budgets.assets import charges_to_come
from budgets.consumption import unconsumed_by_day
from budgets.models import AskLine, BudgetLine, ProposalVersion
from budgets.queries import ledger_facts, rates_for
from budgets.status import LineStatus, is_own_work, worth_in
from core.money import EXACT
from core.months import Month
from core.vocabulary import Category
from teams.models import Organisation
from usage.models import Import

from .forecast import QUANTILES, WINDOW, Outlook, WorkToCome, forecast

ZERO = Decimal(0)
Accrued = Mapping[int, Sequence[tuple[AccruedDay, Decimal]]]
"""Per line the days it accrued, each with its worth in the line's currency."""


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
) -> dict[int, Outlook]:
    """The forecast of every line that has one: contingency has none, nothing is ever metered on it.

    What is accrued on days whose cost is known counts as if it were booked; later days are forecast anyway.
    """
    judged = [line for line in lines if line.category != Category.CONTINGENCY]
    if not judged:
        return {}
    organisation = Organisation.current()
    known = {line.pk: known_day(line, fresh.get(line.pk), organisation, now) for line in judged}
    accrued = accrued_until(judged, known, now=now)
    statuses = {**statuses, **expected_statuses(judged, statuses, accrued)}
    works = works_to_come(judged, statuses)
    rests = rests_by_day(judged, statuses, known, accrued, now=now)
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


def accrued_until(lines: Sequence[BudgetLine], known: Mapping[int, date], *, now: datetime) -> Accrued:
    """What the lines accrued on the days whose cost is known."""
    found = worth_of_accrued(lines, now=now)
    inside = {
        line_id: [(day, worth) for day, worth in days if day.day < known[line_id]] for line_id, days in found.items()
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
    accrued: Accrued,
    *,
    now: datetime,
) -> dict[int, dict[date, Decimal]]:
    """Per line and closed day the cost that consumed no commitment."""
    ids = [line.pk for line in lines]
    days = others_by_day(ids, since=min(known.values()) - WINDOW)
    rates = rates_for(lines, {day.currency for day in days}, now=now)
    currencies = {line.pk: line.currency for line in lines}
    others: dict[int, dict[date, Decimal]] = defaultdict(dict)
    for each in days:
        currency = currencies[each.line_id]
        worth: Decimal | None = each.amount
        if each.currency != currency:
            worth = worth_in(currency, each.currency, each.month, each.amount, rates)
        if worth is not None:
            of_line = others[each.line_id]
            of_line[each.day] = EXACT.add(of_line.get(each.day, ZERO), worth)
    for line_id, accrued_days in accrued.items():
        for day, amount in accrued_days:
            if not is_own_work(day.reference):
                others[line_id][day.day] = EXACT.add(others[line_id].get(day.day, ZERO), amount)
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
