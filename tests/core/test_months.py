from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from core.months import Month, Period, days_between, end_of_day, midnight


def test_february_of_a_leap_year_has_29_days():
    assert Month(2028, 2).days == 29
    assert Month(2027, 2).days == 28


def test_adding_months_crosses_the_year():
    assert Month(2026, 11) + 3 == Month(2027, 2)
    assert Month(2027, 1) + -1 == Month(2026, 12)
    assert Month(2027, 2) - Month(2026, 11) == 3


@pytest.mark.parametrize("text", ["2027", "2027-13", "2027-1", "27-01", "２０２７-01", "2027-00"])
def test_what_is_not_a_month_is_refused(text):
    with pytest.raises(ValueError):
        Month.parse(text)


def test_a_period_is_half_open():
    period = Period(date(2027, 1, 1), date(2027, 2, 1))

    assert date(2027, 1, 31) in period
    assert date(2027, 2, 1) not in period
    assert list(period.months()) == [Month(2027, 1)]


def test_a_period_cannot_end_before_it_starts():
    with pytest.raises(ValueError, match="end after"):
        Period(date(2027, 1, 1), date(2027, 1, 1))


def test_midnight_of_a_zone_is_an_instant():
    assert midnight(date(2027, 1, 1), ZoneInfo("Asia/Shanghai")) == datetime(2026, 12, 31, 16, tzinfo=UTC)


def test_the_end_of_a_day_is_the_next_midnight_of_its_zone():
    assert end_of_day(date(2026, 12, 31), ZoneInfo("Asia/Shanghai")) == datetime(2026, 12, 31, 16, tzinfo=UTC)


def test_the_last_day_that_can_be_written_has_an_end_too():
    assert end_of_day(date.max, ZoneInfo("UTC")) == datetime(3000, 1, 1, tzinfo=UTC)


def test_days_between_leaves_the_end_out():
    assert [day.day for day in days_between(date(2027, 2, 27), date(2027, 3, 1))] == [27, 28]
