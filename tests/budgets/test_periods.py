"""Periods by the calendar and the clock: half-open days in the zone of the organisation, whatever season or year."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from budgets.closing import months_to_close
from budgets.models import BudgetLine
from budgets.periods import calendar_period
from budgets.queries import line_status
from budgets.services import closing, ledger
from core.errors import DomainError
from core.months import Month, Period
from teams.models import Organisation
from tests import factories as people
from tests.budgets import factories
from tests.usage import factories as usage
from usage.models import AllocationRule


@pytest.mark.parametrize(
    ("kind", "month", "fiscal", "start", "end"),
    [
        ("year", Month(2027, 3), 4, date(2026, 4, 1), date(2027, 4, 1)),
        ("year", Month(2027, 4), 4, date(2027, 4, 1), date(2028, 4, 1)),
        ("quarter", Month(2027, 3), 4, date(2027, 1, 1), date(2027, 4, 1)),
        ("quarter", Month(2027, 4), 4, date(2027, 4, 1), date(2027, 7, 1)),
        ("quarter", Month(2028, 1), 12, date(2027, 12, 1), date(2028, 3, 1)),
        ("month", Month(2028, 2), 4, date(2028, 2, 1), date(2028, 3, 1)),
    ],
)
def test_fiscal_periods_begin_in_the_first_month_of_the_fiscal_year(kind, month, fiscal, start, end):
    assert calendar_period(kind, month, fiscal_year_starts_in=fiscal) == Period(start, end)


@pytest.mark.parametrize(
    ("kind", "starts", "fiscal", "following"),
    [
        ("month", date(2027, 1, 1), 1, Period(date(2027, 2, 1), date(2027, 3, 1))),
        ("month", date(2028, 1, 1), 1, Period(date(2028, 2, 1), date(2028, 3, 1))),
        ("month", date(2027, 12, 1), 1, Period(date(2028, 1, 1), date(2028, 2, 1))),
        ("quarter", date(2027, 10, 1), 1, Period(date(2028, 1, 1), date(2028, 4, 1))),
        ("quarter", date(2027, 1, 1), 4, Period(date(2027, 4, 1), date(2027, 7, 1))),
        ("year", date(2027, 4, 1), 4, Period(date(2028, 4, 1), date(2029, 4, 1))),
    ],
)
def test_a_line_rolls_over_to_the_period_that_follows_by_the_calendar(stage, kind, starts, fiscal, following):
    Organisation.objects.update(fiscal_year_starts_in=fiscal)
    period = calendar_period(kind, Month.of(starts), fiscal_year_starts_in=fiscal)
    factories.line(stage.project, period=period, period_kind=kind, granted=10, rollover="all")

    closing.close_month(Month.of(period.end) + -1, by=stage.finance, now=datetime(2029, 6, 1, tzinfo=UTC))

    made = BudgetLine.objects.order_by("start").last()
    assert (made.period, made.period_kind) == (following, kind)
    assert line_status(made).budget == 10


@pytest.mark.parametrize(
    ("zone", "last_moment", "first_moment"),
    [
        # the month is over at midnight there: eight hours later, nine hours earlier than in UTC
        ("Etc/GMT+8", datetime(2027, 4, 1, 7, 59, tzinfo=UTC), datetime(2027, 4, 1, 8, 0, tzinfo=UTC)),
        ("Asia/Tokyo", datetime(2027, 3, 31, 14, 59, tzinfo=UTC), datetime(2027, 3, 31, 15, 0, tzinfo=UTC)),
        # daylight saving began on 28 March: midnight is at 22:00 UTC
        ("Europe/Berlin", datetime(2027, 3, 31, 21, 59, tzinfo=UTC), datetime(2027, 3, 31, 22, 0, tzinfo=UTC)),
    ],
)
def test_a_month_is_over_at_midnight_in_the_zone_of_the_organisation(stage, zone, last_moment, first_moment):
    people.organisation(time_zone=zone)
    march = Month(2027, 3)
    factories.line(stage.project, period=Period(march.start, march.end), period_kind="month")

    with pytest.raises(DomainError, match="2027-03 is not over yet"):
        closing.close_month(march, by=stage.finance, now=last_moment)
    assert closing.close_month(march, by=stage.finance, now=first_moment).month == march.start


@pytest.mark.parametrize(
    ("today", "closable"),
    [(date(2028, 2, 29), Month(2028, 1)), (date(2028, 3, 1), Month(2028, 2)), (date(2028, 1, 1), Month(2027, 12))],
)
def test_the_last_closable_month_on_leap_day_and_at_the_end_of_the_year(db, today, closable):
    assert months_to_close(closable, today=today) == [closable]
    with pytest.raises(DomainError, match="not over"):
        months_to_close(closable + 1, today=today)


@pytest.mark.parametrize(
    ("zone", "on_the_line"),
    [
        # an hour from 23:30 to 00:30 UTC around the end of March, ten dollars: it falls on one local day or two
        ("UTC", Decimal("5")),
        ("Etc/GMT+8", Decimal("10")),
        ("Asia/Tokyo", Decimal("0")),
    ],
)
def test_cost_falls_on_the_local_day_whatever_the_zone(stage, zone, on_the_line):
    people.organisation(time_zone=zone)
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    march = factories.line(stage.project, period=Period(date(2026, 3, 1), date(2026, 4, 1)), period_kind="month")
    april = factories.line(stage.project, period=Period(date(2026, 4, 1), date(2026, 5, 1)), period_kind="month")
    hour = {"ChargePeriodStart": "2026-03-31T23:30:00Z", "ChargePeriodEnd": "2026-04-01T00:30:00Z"}

    usage.deliver(usage.source(), usage.focus(hour))

    assert (line_status(march).actual, line_status(april).actual) == (on_the_line, 10 - on_the_line)


def test_a_day_of_25_hours_is_one_day_of_the_line(stage):
    people.organisation(time_zone="Europe/Berlin")
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    october = factories.line(stage.project, period=Period(date(2025, 10, 1), date(2025, 11, 1)), period_kind="month")
    november = factories.line(stage.project, period=Period(date(2025, 11, 1), date(2025, 12, 1)), period_kind="month")
    # 26 October had 25 hours there; the month ends at 23:00 UTC on the 31st
    days = [
        {"ChargePeriodStart": "2025-10-25T22:00:00Z", "ChargePeriodEnd": "2025-10-26T23:00:00Z"},
        {"ChargePeriodStart": "2025-10-31T22:00:00Z", "ChargePeriodEnd": "2025-10-31T23:00:00Z"},
        {"ChargePeriodStart": "2025-10-31T23:00:00Z", "ChargePeriodEnd": "2025-11-01T00:00:00Z"},
    ]

    usage.deliver(usage.source(), usage.focus(*days))

    assert (line_status(october).actual, line_status(november).actual) == (20, 10)
    assert line_status(october, on=date(2025, 10, 26)).actual == 10


def test_the_end_of_a_day_of_the_ledger_is_midnight_in_the_zone(stage):
    people.organisation(time_zone="Asia/Tokyo")
    line = factories.line(stage.project, period=Period(date(2027, 1, 1), date(2028, 1, 1)))
    ledger.grant(line, by=stage.finance, amount=Decimal(5), reason="why", now=datetime(2027, 1, 31, 14, 59, tzinfo=UTC))
    ledger.grant(line, by=stage.finance, amount=Decimal(7), reason="why", now=datetime(2027, 1, 31, 15, tzinfo=UTC))

    assert line_status(line, on=date(2027, 1, 31)).budget == 5
    assert line_status(line, on=date(2027, 2, 1)).budget == 12
