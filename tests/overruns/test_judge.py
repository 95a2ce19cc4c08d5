"""The state machine of a flag, case by case."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overruns.judge import (
    ABOVE,
    ACKNOWLEDGED,
    BELOW,
    CLOSED,
    CROSSED,
    MUTED,
    UNCROSSED,
    Earlier,
    Figures,
    Watched,
    judge,
    judge_one,
)

TODAY = date(2027, 3, 1)
EIGHTY = Watched(1, "actual", share=Decimal("0.8"))
LIMIT = Watched(2, "actual", share=Decimal("1"))
MEDIAN = Watched(3, "forecast", share=Decimal("1"), quantile="p50")


def figures(actual, budget=1000, **more):
    return Figures(budget=Decimal(budget), actual=Decimal(actual), committed=more.pop("committed", Decimal(0)), **more)


def verdict(watched, measured, state=None, **earlier):
    before = Earlier(state, **earlier) if state else None
    return judge_one(watched, measured, before, TODAY)


def test_below_the_threshold_nothing_is_said():
    assert verdict(EIGHTY, figures(799)) is None


def test_exactly_the_threshold_is_reached_and_told():
    found = verdict(EIGHTY, figures(800))

    assert (found.state, found.transition, found.tell) == (ABOVE, CROSSED, True)
    assert (found.value, found.limit, found.share) == (800, 800, Decimal("0.8"))


def test_exactly_the_whole_line_is_reached():
    assert verdict(LIMIT, figures(1000)).transition == CROSSED
    assert verdict(LIMIT, figures("999.999999")) is None


def test_what_stands_is_not_told_again():
    found = verdict(EIGHTY, figures(900), ABOVE, told_share=Decimal("0.8"))

    assert (found.state, found.transition, found.tell) == (ABOVE, "", False)


@pytest.mark.parametrize("state", [ABOVE, ACKNOWLEDGED, MUTED])
def test_it_falls_only_when_two_per_cent_of_the_line_under_the_threshold(state):
    assert verdict(EIGHTY, figures(780), state, muted_until=date(2027, 4, 1)).state == state
    found = verdict(EIGHTY, figures("779.99"), state, muted_until=date(2027, 4, 1))
    assert (found.state, found.transition) == (BELOW, UNCROSSED)


def test_reached_again_the_flag_rises_and_is_told_only_for_a_higher_share():
    again = verdict(EIGHTY, figures(850), BELOW, told_share=Decimal("0.85"))
    higher = verdict(EIGHTY, figures(851), BELOW, told_share=Decimal("0.85"))

    assert (again.state, again.transition, again.tell) == (ABOVE, CROSSED, False)
    assert (higher.transition, higher.tell) == (CROSSED, True)


def test_acknowledged_stays_acknowledged_however_far_it_rises():
    assert verdict(EIGHTY, figures(2000), ACKNOWLEDGED, told_share=Decimal("0.8")).state == ACKNOWLEDGED


def test_muted_wakes_on_its_day():
    asleep = verdict(EIGHTY, figures(900), MUTED, told_share=Decimal("0.8"), muted_until=date(2027, 3, 2))
    awake = verdict(EIGHTY, figures(900), MUTED, told_share=Decimal("0.8"), muted_until=TODAY)

    assert (asleep.state, asleep.tell) == (MUTED, False)
    assert (awake.state, awake.tell) == (ABOVE, True)


def test_a_lower_bound_that_reaches_reaches_and_is_marked():
    found = verdict(EIGHTY, figures(800, is_known=False))

    assert (found.transition, found.is_incomplete) == (CROSSED, True)


def test_falling_waits_for_complete_data():
    assert verdict(EIGHTY, figures(100, is_known=False), ABOVE).state == ABOVE


def test_a_forecast_is_judged_on_complete_and_fresh_data_only():
    high = {"p50": Decimal("1000.01")}

    assert verdict(MEDIAN, figures(10, forecast=high)).transition == CROSSED
    assert verdict(MEDIAN, figures(10, forecast=high, is_known=False)) is None
    assert verdict(MEDIAN, figures(10, forecast=high, is_fresh=False)) is None
    assert verdict(MEDIAN, figures(10)) is None


def test_a_forecast_warns_when_it_passes_the_line_not_when_it_uses_it_up():
    assert verdict(MEDIAN, figures(10, forecast={"p50": Decimal(1000)})) is None
    assert verdict(MEDIAN, figures(10, forecast={"p50": Decimal("1000.01")})).transition == CROSSED


def test_a_forecast_warns_of_nothing_that_has_happened():
    high = {"p50": Decimal(1300)}

    assert verdict(MEDIAN, figures(1000, forecast=high)) is None
    assert verdict(MEDIAN, figures(999, forecast=high)).transition == CROSSED
    assert verdict(MEDIAN, figures(1100, forecast=high), ABOVE).state == ABOVE


def test_committed_money_counts_where_the_threshold_says_so():
    watched = Watched(4, "committed", share=Decimal("1"))

    assert verdict(watched, figures(400, committed=Decimal(600))).transition == CROSSED
    assert verdict(watched, figures(400, committed=Decimal("599.99"))) is None


def test_an_amount_is_a_threshold_of_its_own():
    watched = Watched(5, "actual", amount=Decimal(300))

    assert verdict(watched, figures(300)).transition == CROSSED


def test_spending_without_any_budget_is_an_overrun():
    assert verdict(LIMIT, figures(1, budget=0)).transition == CROSSED
    assert verdict(LIMIT, figures(0, budget=0)) is None


def test_closing_the_period_closes_its_flags():
    assert verdict(LIMIT, figures(1200, is_closed=True), ACKNOWLEDGED).state == CLOSED
    assert verdict(LIMIT, figures(1200, is_closed=True), CLOSED) is None
    assert verdict(LIMIT, figures(1200, is_closed=True)) is None


@given(st.lists(st.integers(0, 1500), min_size=1, max_size=30))
def test_a_share_is_told_once_and_then_only_higher(values):
    """Whatever the sequence of figures, the shares people hear of rise strictly."""
    state, told = None, []
    for value in values:
        for found in judge([EIGHTY], figures(value), {1: state} if state else {}, TODAY):
            if found.tell:
                told.append(found.share)
            state = Earlier(found.state, told[-1] if told else None)

    assert told == sorted(set(told))
