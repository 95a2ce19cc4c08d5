from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from budgets.periods import calendar_period, project_period
from budgets.placing import LinePlace, missing_lines, weights_by_line
from core.months import Month, Period

JAN, FEB, MAR, APR = (Month(2027, number) for number in (1, 2, 3, 4))
Q1 = LinePlace(1, "", "quarter", Period(date(2027, 1, 1), date(2027, 4, 1)))
Q2 = LinePlace(2, "", "quarter", Period(date(2027, 4, 1), date(2027, 7, 1)))


@pytest.mark.parametrize(
    ("kind", "month", "fiscal", "start", "end"),
    [
        ("month", Month(2028, 2), 1, date(2028, 2, 1), date(2028, 3, 1)),
        ("quarter", Month(2027, 5), 1, date(2027, 4, 1), date(2027, 7, 1)),
        ("quarter", Month(2027, 3), 2, date(2027, 2, 1), date(2027, 5, 1)),
        ("quarter", Month(2027, 1), 2, date(2026, 11, 1), date(2027, 2, 1)),
        ("year", Month(2027, 3), 4, date(2026, 4, 1), date(2027, 4, 1)),
        ("year", Month(2027, 12), 1, date(2027, 1, 1), date(2028, 1, 1)),
    ],
)
def test_the_period_of_the_calendar_around_a_month(kind, month, fiscal, start, end):
    assert calendar_period(kind, month, fiscal_year_starts_in=fiscal) == Period(start, end)


def test_months_fall_on_the_lines_of_their_quarters():
    weights, homeless = weights_by_line([Q1, Q2], "pretrain", {JAN: Decimal(10), MAR: Decimal(20), APR: Decimal(5)})

    assert weights == {1: 30, 2: 5}
    assert homeless == ()


def test_a_line_of_the_task_type_goes_before_the_line_of_all():
    own = LinePlace(3, "finetune", "quarter", Q1.period)

    assert weights_by_line([Q1, own], "finetune", {JAN: Decimal(1)}) == ({3: 1}, ())
    assert weights_by_line([Q1, own], "pretrain", {JAN: Decimal(1)}) == ({1: 1}, ())


LIFE = Period(date(2027, 1, 15), date(2027, 6, 1))


def test_without_lines_one_is_opened_for_the_life_of_the_project():
    (missing,) = missing_lines([], [FEB, APR], life=LIFE)

    assert (missing.period_kind, missing.period, missing.months) == ("project", LIFE, (FEB, APR))


def test_the_life_of_a_project_holds_its_dates_and_every_month_asked_for():
    assert project_period([FEB, APR], date(2027, 1, 15), date(2027, 6, 1)) == LIFE
    assert project_period([FEB, APR], None, None) == Period(date(2027, 2, 1), date(2027, 5, 1))
    assert project_period([FEB, APR], date(2027, 3, 1), date(2027, 4, 1)) == Period(date(2027, 2, 1), date(2027, 5, 1))


def test_a_missing_quarter_is_opened_like_the_last():
    (missing,) = missing_lines([Q1], [APR], life=LIFE)

    assert missing.period_kind == "quarter"
    assert missing.period == Q2.period


def test_a_missing_line_never_overlaps_what_is_there():
    half = LinePlace(1, "", "quarter", Period(date(2027, 1, 1), date(2027, 4, 15)))

    (missing,) = missing_lines([half], [Month(2027, 5)], life=LIFE)

    assert missing.period == Period(date(2027, 4, 15), date(2027, 7, 1))
