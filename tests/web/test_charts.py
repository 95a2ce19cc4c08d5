"""Where the marks of the charts stand, worked out by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.utils import translation

from web.charts import axis, breakdown
from web.charts.bar import Span, headroom_bar
from web.charts.burn import Burn, ForecastPoint, burn_chart

D = Decimal


def bar(budget, actual, committed, **others):
    return headroom_bar(budget=D(budget), actual=D(actual), committed=D(committed), **others)


def test_the_bar_draws_a_line_in_order_of_money_spent_and_promised():
    drawn = bar(1000, 500, 250, forecast=SimpleNamespace(p10=D(800), p50=D(900), p90=D(1100)), warning=D("0.8"))

    assert drawn.actual == Span(0, 160)  # half of the 320 up to the limit
    assert drawn.committed == Span(160, 80)
    assert drawn.actual_past is None and drawn.committed_past is None
    assert drawn.whisker == (256, 288, 352)
    assert drawn.warning == 256
    assert not drawn.continues
    assert drawn.label == "actual 50.0 % of the line, committed 25.0 %, forecast 90.0 % (80.0 % to 110.0 %)"


def test_what_is_spent_past_the_limit_has_a_piece_of_its_own():
    drawn = bar(24000, 25200, 0)

    assert drawn.actual == Span(0, 320)
    assert drawn.actual_past == Span(320, 16)  # 105 % of 320 is 336
    assert drawn.committed is None


def test_what_is_promised_past_the_limit_is_told_from_what_is_spent_past_it():
    drawn = bar(1000, 900, 200)

    assert drawn.actual == Span(0, 288)
    assert drawn.committed == Span(288, 32)
    assert drawn.committed_past == Span(320, 32)


def test_more_than_the_picture_holds_ends_at_its_edge_and_says_that_it_goes_on():
    drawn = bar(1000, 5000, 0)

    assert drawn.actual_past == Span(320, 80)
    assert drawn.continues


def test_a_line_without_budget_is_full_only_when_money_was_spent():
    spent, untouched = bar(0, 10, 0), bar(0, 0, 0)

    assert spent.actual_past == Span(320, 80)
    assert spent.label == "no budget; actual 10.00, committed 0"
    assert spent.warning is None
    assert untouched.actual is None and untouched.actual_past is None and not untouched.continues


def test_a_credit_larger_than_the_cost_draws_nothing_to_the_left():
    drawn = bar(1000, -50, 100)

    assert drawn.actual is None
    assert drawn.committed == Span(0, 16)  # 5 % of the line is left of the promise


def test_a_cent_of_a_billion_can_still_be_seen():
    assert bar(10**9, "0.01", 0).actual == Span(0, 1.5)


def test_a_forecast_that_is_sure_is_still_a_mark():
    sure = SimpleNamespace(p10=D(500), p50=D(500), p90=D(500))

    assert bar(1000, 0, 0, forecast=sure).whisker == (160, 160, 161.5)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1_351_600, [0, 400_000, 800_000, 1_200_000, 1_600_000]),
        (0, 0, [0, 0.25, 0.5, 0.75, 1.0]),
        (-500, 1500, [-500, 0, 500, 1000, 1500]),
        (0, 0.0003, [0, 0.0001, 0.0002, 0.0003]),
    ],
)
def test_an_axis_of_amounts_has_round_steps_and_holds_zero(low, high, expected):
    assert axis.amount_values(low, high) == pytest.approx(expected)


def test_amounts_of_one_axis_are_in_one_unit():
    scale = axis.Scale(0, 1_600_000, 220, 28)

    with translation.override("en"):
        english = [tick.label for tick in axis.amount_ticks([0, 400_000, 1_600_000], scale)]
    with translation.override("zh-hans"):
        chinese = [tick.label for tick in axis.amount_ticks([0, 400_000, 1_600_000], scale)]

    assert english == ["0", "0.4M", "1.6M"]
    assert chinese == ["0", "40 万", "160 万"]


def test_months_are_named_where_they_begin_and_the_year_where_it_changes():
    scale = axis.Scale(date(2026, 10, 1).toordinal(), date(2027, 2, 1).toordinal(), 56, 700)

    ticks = axis.date_ticks(date(2026, 10, 1), date(2027, 2, 1), scale)

    assert [tick.label for tick in ticks] == ["Oct 2026", "Nov", "Dec", "Jan 2027"]
    assert ticks[0].at == 56
    assert ticks[1].at == pytest.approx(56 + 644 * 31 / 123, abs=0.1)


def test_month_labels_that_would_touch_are_left_out():
    scale = axis.Scale(date(2020, 1, 1).toordinal(), date(2030, 1, 1).toordinal(), 56, 700)

    ticks = axis.date_ticks(date(2020, 1, 1), date(2030, 1, 1), scale)

    ends = [tick.at + axis.text_width(tick.label) for tick in ticks]
    assert all(end < after.at for end, after in zip(ends, ticks[1:], strict=False))


def burn(**changes) -> Burn:
    facts = {
        "start": date(2026, 10, 1),
        "end": date(2027, 1, 9),  # a hundred days
        "currency": "USD",
        "limit": D(1000),
        "warning_share": D("0.8"),
        "actual": [(date(2026, 10, 1), D(0)), (date(2026, 11, 20), D(500))],
        "plan": [(date(2026, 10, 1), D(0)), (date(2027, 1, 9), D(1000))],
        "forecast": [
            ForecastPoint(date(2026, 12, 20), D(700), D(800), D(900)),
            ForecastPoint(date(2027, 1, 9), D(900), D(1100), D(1300)),
        ],
    }
    return Burn(**{**facts, **changes})


def test_the_burn_chart_joins_forecast_to_actual_and_marks_the_crossing_on_the_limit():
    drawn = burn_chart(burn())

    # a quarter of 1300 is 325, so steps of 400 up to 1600 over 192 px: 0.12 px a dollar; 6.44 px a day
    assert [tick.label for tick in drawn.amounts] == ["0", "400", "800", "1,200", "1,600"]
    assert drawn.limit == 100
    assert drawn.warning == 124
    assert drawn.actual == "M56 220L378 160"
    assert drawn.forecast == "M378 160L571.2 124L700 88"
    assert drawn.spot == (700, 100)
    assert drawn.fan == "M378 160L571.2 112L700 64L700 112L571.2 136Z"


def test_words_in_the_burn_chart_stay_inside_and_off_each_other():
    for share in ("0.5", "0.8", "0.95", "0.99"):
        for language in ("en", "zh-hans"):
            with translation.override(language):
                words = burn_chart(burn(warning_share=D(share))).words

            for index, word in enumerate(words):
                assert word.extent[0] >= 56 and word.extent[1] <= 702
                assert not any(word.touches(other) for other in words[index + 1 :])


def test_a_crossing_at_the_left_is_told_beside_the_name_of_the_limit():
    early = [(date(2026, 10, 1), D(0)), (date(2026, 10, 6), D(1200))]

    words = burn_chart(burn(actual=early, forecast=[])).words

    assert "limit passed" in words[-1].text
    assert not any(words[-1].touches(other) for other in words[:-1])


def test_one_day_of_actual_is_a_dot_and_no_forecast_draws_no_fan():
    drawn = burn_chart(burn(actual=[(date(2026, 10, 1), D(10))], forecast=[], limit=None))

    assert drawn.single is not None and drawn.actual == ""
    assert drawn.fan == "" and drawn.forecast == ""
    assert drawn.limit is None and drawn.warning is None and drawn.spot is None


def test_nothing_at_all_is_an_empty_frame():
    drawn = burn_chart(Burn(date(2026, 10, 1), date(2026, 11, 1), "USD"))

    assert drawn.actual == drawn.plan == drawn.fan == ""
    assert drawn.amounts[0].at == 220


def test_a_wild_fan_does_not_flatten_the_lines():
    wild = [ForecastPoint(date(2027, 1, 9), D(500), D(900), D(10**9))]

    drawn = burn_chart(burn(forecast=wild))

    assert drawn.amounts[-1].label == "1,600"  # 1,500 is half above the limit


def test_credits_put_zero_above_the_bottom():
    drawn = burn_chart(burn(actual=[(date(2026, 10, 1), D(-500)), (date(2026, 10, 9), D(100))], forecast=[], plan=[]))

    # from −500 to 1000 in steps of 400
    assert [tick.label for tick in drawn.amounts] == ["−800", "−400", "0", "400", "800", "1,200"]
    assert drawn.amounts[0].at == 220


def test_shares_stand_in_order_of_size_and_fill_the_bar():
    drawn = breakdown.share_bar([("hidden", 9), ("people", D(41)), ("compute", 27), ("data", 20), ("rest", 3)])

    # 340 less four gaps of 2 is 332
    assert [block.width for block in drawn.blocks] == [136.1, 89.6, 66.4, 29.9, 10.0]
    assert [block.x for block in drawn.blocks] == [0, 138.1, 229.7, 298.1, 330.0]
    assert drawn.blocks[0].words == "people 41 %"
    assert drawn.blocks[-1].words == ""
    assert drawn.label == "Shares of the total: people 41 %, compute 27 %, data 20 %, hidden 9 %, rest 3 %"


def test_a_long_name_under_a_block_is_shortened_before_it_is_dropped():
    drawn = breakdown.share_bar([("People and platform", 32), ("Power and facility", 11), ("Compute", 57)])

    assert [block.words for block in drawn.blocks] == ["Compute 57 %", "People and… 32 %", "11 %"]


def test_shares_of_nothing_say_so():
    drawn = breakdown.share_bar([("compute", D(0))])

    assert drawn.blocks == []
    assert drawn.label == "No cost yet"


def test_the_tornado_ranks_inputs_and_draws_both_sides_on_one_scale():
    drawn = breakdown.tornado(
        [breakdown.Driver("MFU", D(90), D(120)), breakdown.Driver("people, months", D(60), D(150))], D(100), "USD"
    )

    # the widest side is 50 of 80 px
    assert [row.name for row in drawn.rows] == ["people, months", "MFU"]
    assert drawn.rows[0].cheaper == (192, 64)
    assert drawn.rows[0].dearer == (256, 80)
    assert drawn.rows[1].cheaper == (240, 16)
    assert drawn.rows[1].dearer == (256, 32)
    assert drawn.height == 60


def test_an_input_whose_high_end_saves_money_is_green_all_the_same():
    drawn = breakdown.tornado([breakdown.Driver("MFU", D(120), D(90))], D(100))

    assert drawn.rows[0].cheaper[1] == 40  # 10 of 20, the widest
    assert drawn.rows[0].dearer[1] == 80


def test_a_tornado_of_nothing_that_moves_is_flat():
    drawn = breakdown.tornado([breakdown.Driver("tokens", 5, 5)], 5)

    assert drawn.rows[0].cheaper == (256, 0)
    assert drawn.rows[0].dearer == (256, 0)


def test_outcomes_outside_their_range_are_marked():
    drawn = breakdown.range_strip(
        [
            breakdown.Outcome("Base-3B v2", 100, 300, 290, "inside"),
            breakdown.Outcome("Base-7B v1", 300, 600, 800, "repeated once"),
            breakdown.Outcome("Running", 300, 600, None),
        ]
    )

    # the scale ends at 800: 480 px wide from 150
    assert [row.outside for row in drawn.rows] == [False, True, False]
    assert drawn.rows[0].start == 210 and drawn.rows[0].end == 330 and drawn.rows[0].dot == 324
    assert drawn.rows[1].note_anchor == "end"  # no room to the right of 630
    assert drawn.rows[2].dot is None
    assert [tick.label for tick in drawn.ticks] == ["0", "800"]


def test_a_spark_of_equal_values_is_flat_and_of_one_value_nothing():
    assert breakdown.spark([5, 5, 5]) == "M0 22L48 22L96 22"
    assert breakdown.spark([0, 10]) == "M0 22L96 2"
    assert breakdown.spark([5]) == ""
