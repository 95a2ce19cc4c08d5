"""Forecasts worked out by hand."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from core.months import Month
from overruns.forecast import WorkToCome, forecast

POINT = {"p10": Decimal(1), "p50": Decimal(1), "p90": Decimal(1)}
RANGE = {"p10": Decimal("0.9"), "p50": Decimal(1), "p90": Decimal("1.2")}
FEB, MAR, APR = (Month(2027, number) for number in (2, 3, 4))
MARCH_1 = date(2027, 3, 1)


def work(promised, consumed, schedule, factors=POINT):
    weights = {month: Decimal(weight) for month, weight in schedule.items()}
    return WorkToCome(Decimal(promised), Decimal(consumed), weights, factors)


def days(start, amounts):
    return {start + timedelta(days=offset): Decimal(amount) for offset, amount in enumerate(amounts)}


def outlook(actual=0, works=(), rest=None, end=date(2027, 5, 1), first_day=date(2027, 1, 1), known=MARCH_1):
    return forecast(Decimal(actual), works, rest or {}, first_day=first_day, known_until=known, end=end)


def test_a_period_that_is_over_costs_what_it_cost():
    found = outlook(actual=700, works=[work(1000, 700, {FEB: 1})], end=MARCH_1)

    assert (found.p10, found.p50, found.p90) == (700, 700, 700)


def test_approved_work_still_to_come_is_added():
    found = outlook(actual=300, works=[work(1000, 300, {FEB: 1, MAR: 1, APR: 1})])

    assert found.p50 == 1000
    assert found.to_come == 700


def test_work_scheduled_beyond_the_period_is_not_this_lines():
    # March 10 and April 30 are ahead; the line ends with March: a quarter of the remaining 400
    found = outlook(works=[work(500, 100, {FEB: 10, MAR: 10, APR: 30})], end=date(2027, 4, 1))

    assert found.p50 == 100


def test_charges_of_assets_are_known_amounts_on_their_months():
    charges = {FEB: Decimal(5), MAR: Decimal(20), APR: Decimal(-7)}

    found = forecast(
        Decimal(100), [], {}, first_day=date(2027, 1, 1), known_until=MARCH_1, end=date(2027, 5, 1), charges=charges
    )

    assert (found.p10, found.p50, found.p90, found.charges) == (118, 118, 118, 18)
    assert found.path == ((MARCH_1, 100), (date(2027, 4, 1), 125), (date(2027, 5, 1), 118))


def test_a_charge_that_waits_at_the_end_of_the_period_still_counts():
    found = forecast(
        Decimal(100), [], {}, first_day=date(2027, 1, 1), known_until=MARCH_1, end=MARCH_1, charges={FEB: Decimal(5)}
    )

    assert (found.p50, found.path) == (105, ((MARCH_1, 105),))


def test_late_work_still_comes():
    assert outlook(actual=50, works=[work(200, 50, {FEB: 1})]).p50 == 200


def test_the_range_of_the_work_is_that_of_its_estimate():
    found = outlook(actual=300, works=[work(1000, 300, {MAR: 1}, RANGE)])

    assert (found.p10, found.p50, found.p90) == (900, 1000, 1200)


def test_the_usual_spending_of_the_days_that_remain_is_added():
    # 56 closed days at 10 a day; 61 days remain (31 in March, 30 in April)
    found = outlook(actual=560, rest=days(date(2027, 1, 4), [10] * 56))

    assert found.baseline == 610
    assert (found.p10, found.p50, found.p90) == (1170, 1170, 1170)


def test_weekends_have_their_own_median():
    week = [10, 10, 10, 10, 10, 0, 0]  # from Monday, 4 January
    found = outlook(rest=days(date(2027, 1, 4), week * 8), end=date(2027, 3, 15))

    # two whole weeks remain, from Monday, 1 March
    assert found.baseline == 100


def test_a_burst_of_training_is_not_drawn_out_as_a_line():
    calm = [10] * 46
    found = outlook(rest=days(date(2027, 1, 4), [*calm, *[5000] * 10]))

    assert found.baseline == 610


def test_one_monthly_lump_is_no_daily_habit_but_two_months_of_them_are():
    # 28-day blocks end on 1 March: each of six held one lump of 280, so 10 a day
    lumps = {MARCH_1 - timedelta(days=28 * number + 3): Decimal(280) for number in range(6)}
    found = outlook(rest=lumps, first_day=date(2026, 1, 1))

    assert found.baseline == 610


def test_a_single_lump_among_empty_blocks_is_no_habit():
    found = outlook(rest={date(2027, 2, 20): Decimal(9000)}, first_day=date(2026, 1, 1))

    assert found.baseline == 0


def test_wavering_days_widen_the_range():
    # by weekday the median is 10; half of the days stray by 2: MAD 2 → deviation 2.9652
    found = outlook(rest=days(date(2027, 1, 4), [8, 8, 8, 8, 8, 8, 8, 12, 12, 12, 12, 12, 12, 12] * 4))

    assert found.baseline == 610
    # 1.2816 · 2.9652 · √(61 + 61²/56) = 1.2816 · 2.9652 · 11.2897 = 42.90
    assert round(found.p90 - found.p50, 1) == Decimal("42.9")
    assert round(found.p50 - found.p10, 1) == Decimal("42.9")


def test_the_day_on_which_the_median_passes_the_limit():
    # 310 in March, so 10 a day; 100 reached after 10 days
    found = outlook(works=[work(310, 0, {MAR: 1})], end=date(2027, 4, 1))

    assert found.passes(Decimal(100)) == date(2027, 3, 11)
    assert found.passes(Decimal(309)) == date(2027, 3, 31)
    assert found.passes(Decimal(310)) is None


def test_without_any_history_only_the_plan_speaks():
    found = outlook(works=[work(310, 0, {MAR: 1})], first_day=MARCH_1)

    assert (found.baseline, found.p50) == (0, 310)
