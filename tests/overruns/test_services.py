"""Judging lines: flags, crossings, and word of them, once."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from budgets.models import TouchedLine
from budgets.services import approval, ledger
from core.errors import DomainError
from core.months import Period
from overruns import queries, services
from overruns.models import Crossing, Flag, Forecast
from retrospectives.models import Retrospective
from retrospectives.services import open_for_overruns
from teams.models import Activity, Notification, OutboxMessage
from tests.budgets import factories
from tests.letters import letters
from usage.models import DailyUsage, Source, Touched

NOW = datetime(2027, 3, 1, 9, tzinfo=UTC)


def judge(*lines, now=NOW):
    return services.judge_lines([line.pk for line in lines], now=now)


def flag_at(line, share, basis="actual"):
    return Flag.objects.get(line=line, threshold__basis=basis, threshold__share=Decimal(share))


def test_nothing_is_said_of_a_line_below_its_thresholds(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, "79.99")

    judged = judge(line)

    assert (judged.lines, judged.crossed, judged.notifications) == (1, [], 0)
    assert not Flag.objects.exists()


def test_reaching_the_warning_line_makes_one_flag_and_tells_each_person_once(stage):
    line = factories.line(stage.project, granted=100)
    factories.line(stage.other_project, granted=100)
    factories.cost(stage.project, 80)

    judged = judge(line)

    flag = flag_at(line, "0.8")
    assert (flag.state, flag.value, flag.limit) == ("above", 80, 80)
    assert [crossing.flag for crossing in judged.crossed] == [flag]
    told = Notification.objects.filter(kind="line_warning")
    assert {row.user for row in told} == {stage.manager, stage.alice, stage.bob}
    assert judged.notifications == told.count() == OutboxMessage.objects.count() == 3
    (letter,) = letters(stage.manager)
    assert "Compute has reached 80.0 % of its budget" in letter.subject
    assert f"/warnings/{flag.pk}/" in letter.text
    assert Activity.objects.filter(verb="flag.crossed").count() == 1


def test_judging_again_says_nothing_new(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 120)

    first, second = judge(line), judge(line, now=NOW + timedelta(hours=1))

    # 80 % and 100 %; a forecast of what has happened says nothing
    assert len(first.crossed) == 2
    assert (second.crossed, second.notifications) == ([], 0)
    assert Crossing.objects.count() == 2


def test_at_the_limit_finance_hears_of_it_too_and_the_requester_instead_of_the_whole_team(stage):
    line = factories.line(stage.project, granted=100)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 50})
    factories.entry(line, "commit", 50, proposal=proposal)
    factories.cost(stage.project, 100)

    judge(line)

    overrun = Notification.objects.filter(kind="line_overrun")
    assert {row.user for row in overrun} == {stage.manager, stage.alice, stage.finance}
    assert {row.user for row in Notification.objects.filter(kind="line_warning")} == {stage.manager, stage.alice}


def test_a_flag_falls_when_money_is_granted_and_rises_again_told_only_for_a_higher_share(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 85)
    judge(line)

    ledger.grant(line, by=stage.manager, amount=Decimal(100), reason="More")
    assert [crossing.kind for crossing in judge(line).uncrossed] == ["uncrossed"]
    assert flag_at(line, "0.8").state == "below"

    factories.cost(stage.project, 84)
    again = judge(line)
    assert len(again.crossed) == 1
    assert again.notifications == 0  # 169 of 200 is 84.5 %; people were told 85 %

    factories.cost(stage.project, 3)
    assert judge(line).notifications == 0  # it stands already
    assert Flag.objects.filter(line=line, threshold__share=Decimal("0.8")).count() == 1


def test_a_lower_bound_that_crosses_is_marked_incomplete(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    factories.cost(stage.project, 10, currency="EUR")

    judge(line)

    assert flag_at(line, "0.8").incomplete
    assert "not known yet" in letters(stage.manager)[0].text


def test_the_forecast_of_approved_work_warns_before_the_money_is_gone(stage):
    line = factories.line(stage.project, granted=100)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-06"): 120})
    proposal.versions.update(state="approved")
    factories.entry(line, "commit", 120, proposal=proposal)

    judge(line)

    flag = flag_at(line, "1", basis="forecast")
    assert (flag.state, flag.value) == ("above", 120)
    forecast = Forecast.objects.get(line=line)
    # the estimate of the factory: P10 is 10 % less, P90 20 % more than the mean
    assert (forecast.p10, forecast.p50, forecast.p90) == (108, 120, 144)
    assert forecast.passes_limit_on == date(2027, 6, 26)
    (letter,) = letters(stage.manager)
    assert "26" in letter.subject


def test_each_forecast_that_says_something_new_is_kept(stage):
    line = factories.line(stage.project, granted=100)

    judge(line)
    judge(line, now=NOW + timedelta(hours=1))
    factories.cost(stage.project, 5)
    judge(line, now=NOW + timedelta(hours=2))

    assert [forecast.at.hour for forecast in Forecast.objects.filter(line=line)] == [11, 9]


def test_contingency_has_no_forecast_and_no_flag(stage):
    line = factories.line(stage.project, "contingency", granted=100)

    assert judge(line).crossed == []
    assert not Forecast.objects.exists()


def test_closing_a_line_closes_its_flags(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    judge(line)

    line.closed_at = NOW
    line.save()
    judge(line)

    assert set(Flag.objects.values_list("state", flat=True)) == {"closed"}


def test_a_line_that_freezes_at_its_limit_is_frozen(stage):
    line = factories.line(stage.project, granted=100, freezes_at_limit=True)
    factories.cost(stage.project, 100)

    judge(line)

    line.refresh_from_db()
    assert line.frozen_at == NOW


def test_what_imports_and_entries_touched_is_judged_once(stage):
    line, other = factories.line(stage.project, granted=100), factories.line(stage.project, "data", granted=100)
    factories.line(stage.other_project, granted=100)
    TouchedLine.objects.all().delete()
    factories.cost(stage.project, 80)
    Touched.objects.create(project=stage.project, category="hidden", month=date(2027, 1, 1))
    ledger.grant(other, by=stage.manager, amount=Decimal(1), reason="why")

    judged = services.judge_touched(now=NOW)

    assert judged.lines == 2
    assert flag_at(line, "0.8").state == "above"
    assert not TouchedLine.objects.exists()
    assert not Touched.objects.exists()
    assert services.judge_touched(now=NOW).lines == 0


def test_a_written_cause_keeps_a_flag_quiet(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    judge(line)
    flag = flag_at(line, "0.8")

    with pytest.raises(DomainError, match="Say why"):
        services.acknowledge_flag(flag, by=stage.alice, cause=" ")
    services.acknowledge_flag(flag, by=stage.alice, cause="Two node failures", now=NOW)
    factories.cost(stage.project, 5)
    judge(line)

    flag.refresh_from_db()
    assert (flag.state, flag.cause, flag.acknowledged_by) == ("acknowledged", "Two node failures", stage.alice)
    assert list(queries.open_flags(stage.manager)) == []


@pytest.mark.parametrize("who", ["charlie", "other_manager", "operator", "auditor"])
def test_others_answer_nothing(stage, who):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    judge(line)

    with pytest.raises(DomainError, match="answered by its members"):
        services.acknowledge_flag(flag_at(line, "0.8"), by=getattr(stage, who), cause="why")


def test_a_muted_flag_wakes_on_its_day(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    judge(line)
    flag = flag_at(line, "0.8")

    for day in (date(2027, 3, 1), date(2027, 9, 1)):
        with pytest.raises(DomainError, match="next three months"):
            services.mute_flag(flag, by=stage.manager, until=day, now=NOW)
    services.mute_flag(flag, by=stage.manager, until=date(2027, 3, 10), now=NOW)
    judge(line, now=NOW + timedelta(days=8))
    flag.refresh_from_db()
    assert flag.state == "muted"

    factories.cost(stage.project, 1)
    judged = judge(line, now=NOW + timedelta(days=9))
    flag.refresh_from_db()
    assert (flag.state, flag.muted_until) == ("above", None)
    assert judged.notifications == 3  # 81 % is more than the 80 % that people were told


def test_what_fell_back_cannot_be_answered(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 80)
    judge(line)
    factories.entry(line, "grant", 900)
    judge(line)

    with pytest.raises(DomainError, match="does not stand any more"):
        services.acknowledge_flag(flag_at(line, "0.8"), by=stage.alice, cause="why")


def test_open_flags_are_those_of_projects_one_may_see_overruns_first(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 101)
    judge(line)

    shown = list(queries.open_flags(stage.bob))

    assert [flag.is_overrun for flag in shown] == [True, False]
    assert list(queries.open_flags(stage.charlie)) == []


def test_an_overrun_opens_one_retrospective_owned_by_the_manager(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 130)
    judge(line)

    (opened,) = open_for_overruns(now=NOW)
    assert open_for_overruns(now=NOW) == []

    assert (opened.owner, opened.due_on, opened.difference) == (stage.manager, date(2027, 3, 15), 30)
    assert Notification.objects.get(kind="retrospective_opened").user == stage.manager

    # the limit is left and reached again while it is being written: it belongs to the same one
    factories.entry(line, "grant", 100)
    judge(line)
    factories.cost(stage.project, 200)
    judge(line)
    assert open_for_overruns(now=NOW) == []
    assert Retrospective.objects.count() == 1


def test_judging_many_lines_takes_as_many_queries_as_judging_one(stage, django_assert_max_num_queries):
    lines = [factories.line(stage.project, category, granted=100) for category in ("compute", "data", "storage")]
    lines += [factories.line(stage.other_project, category, granted=100) for category in ("compute", "data")]
    for category in ("compute", "data"):
        factories.cost(stage.project, 10, category=category)
    judge(*lines)

    with django_assert_max_num_queries(25):
        judge(*lines[:1])
    with django_assert_max_num_queries(25):
        judge(*lines)


def test_who_heard_that_a_line_had_no_money_hears_again_when_its_limit_is_reached(stage):
    line = factories.line(stage.project)
    factories.cost(stage.project, 10)
    judge(line)
    factories.entry(line, "grant", 1000)
    judge(line)
    assert {flag_at(line, share).state for share in ("0.8", "1")} == {"below"}

    factories.cost(stage.project, 1000, day=date(2027, 2, 1))
    judged = judge(line)

    told = [crossing.flag.threshold.share for crossing in judged.crossed if crossing.told]
    assert [share for share in told if share is not None].count(Decimal("1")) >= 1
    assert {flag_at(line, share).told_value_share for share in ("0.8", "1")} == {Decimal("1.01")}


def test_cost_that_lost_its_price_lets_no_flag_fall(stage):
    line = factories.line(stage.project, granted=100)
    cost = factories.cost(stage.project, 100)
    judge(line)
    Source.objects.update(money="rate_card")
    DailyUsage.objects.filter(pk=cost.pk).update(currency="", billed=0, effective=0, accelerator_hours=10)

    assert judge(line).uncrossed == []
    assert flag_at(line, "1").incomplete

    # work without accelerators is never priced, so nothing is missing of it
    DailyUsage.objects.filter(pk=cost.pk).update(accelerator_hours=0)
    assert len(judge(line).uncrossed) >= 2


def test_the_forecast_of_a_month_counts_what_its_own_line_was_promised(stage):
    for month, end in ((date(2027, 2, 1), date(2027, 3, 1)), (date(2027, 3, 1), date(2027, 4, 1))):
        factories.line(stage.project, period=Period(month, end), period_kind="month")
    asks = {("compute", "2027-02"): 100, ("compute", "2027-03"): 300}
    _proposal, step = factories.submitted(stage.project, stage.alice, asks)
    begin = datetime(2027, 2, 1, 9, tzinfo=UTC)
    approval.approve_proposal(step, by=stage.manager, now=begin)

    judge(*stage.project.lines.all(), now=begin)

    # a month's line was promised its month; the rest of the schedule is on the line of the other
    assert [row.p50 for row in Forecast.objects.order_by("line__start")] == [100, 300]
