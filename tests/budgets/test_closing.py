"""Closing months: what is official then, what is late, what rolls over, and opening again."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import connection

from budgets.closed import restatements
from budgets.closing import checklist, next_month_to_close
from budgets.models import BudgetLine, ClosedCost, Entry, LineClosing, TouchedLine
from budgets.queries import line_status
from budgets.services import approval, closing, ledger, lines, proposals
from core.errors import DomainError, NotAllowed
from core.months import Month, Period
from teams.models import Activity, ClosedMonth, ExchangeRate
from tests.budgets import factories
from usage.models import Import, MonthDraft, RecurringBooking, Scope

JANUARY, FEBRUARY, MARCH = (Month(2027, number) for number in (1, 2, 3))
IN_FEBRUARY = datetime(2027, 2, 3, 9, tzinfo=UTC)
IN_MARCH = datetime(2027, 3, 3, 9, tzinfo=UTC)
IN_APRIL = datetime(2027, 4, 3, 9, tzinfo=UTC)


def of(month: Month, project, category="compute", **fields) -> BudgetLine:
    return factories.line(project, category, period=Period(month.start, month.end), period_kind="month", **fields)


def close(stage, month=JANUARY, now=IN_FEBRUARY, **given):
    return closing.close_month(month, by=stage.finance, now=now, **given)


def figures(line):
    status = line_status(BudgetLine.objects.get(pk=line.pk), now=IN_APRIL)
    return status.budget, status.actual, status.committed, status.headroom


def promised(stage, amount, month="2027-01"):
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", month): amount})
    approval.approve_proposal(step, by=stage.manager)
    return proposal


# ---- what is official


def test_the_actual_of_a_closed_line_is_what_was_known_then_and_the_rest_counts_on_the_next(stage):
    january = of(JANUARY, stage.project, granted=1000)
    february = of(FEBRUARY, stage.project, granted=500)
    factories.cost(stage.project, 300, day=date(2027, 1, 20))
    factories.cost(stage.other_project, 77, day=date(2027, 1, 20))

    close(stage)
    factories.cost(stage.project, 40, day=date(2027, 1, 25))
    factories.cost(stage.project, 5, day=date(2027, 2, 1))

    assert figures(january) == (1000, 300, 0, 700)
    assert figures(february) == (500, 45, 0, 455)
    (late,) = restatements(january)
    assert (late.amount, late.month) == (40, date(2027, 1, 1))
    assert list(line_status(february, now=IN_APRIL).restated.values()) == [40]


def test_late_cost_that_a_closed_line_carried_does_not_count_again_on_the_next(stage):
    january, february, march = (of(month, stage.project, granted=100) for month in (JANUARY, FEBRUARY, MARCH))
    close(stage)
    factories.cost(stage.project, 40, day=date(2027, 1, 25))

    close(stage, FEBRUARY, IN_MARCH)
    factories.cost(stage.project, 2, day=date(2027, 1, 26))

    assert [figures(line)[1] for line in (january, february, march)] == [0, 40, 2]


def test_a_restatement_downwards_lowers_the_actual_of_the_open_line(stage):
    january, february = of(JANUARY, stage.project, granted=100), of(FEBRUARY, stage.project, granted=100)
    factories.cost(stage.project, 60, day=date(2027, 1, 20))
    close(stage)

    factories.cost(stage.project, -15, day=date(2027, 1, 20))

    assert (figures(january)[1], figures(february)[1]) == (60, -15)


def test_late_cost_of_a_proposal_uses_up_what_it_holds_on_the_open_line(stage):
    of(JANUARY, stage.project, granted=100)
    february = of(FEBRUARY, stage.project, granted=100)
    proposal = promised(stage, 50, "2027-02")
    close(stage)

    factories.cost(stage.project, 20, day=date(2027, 1, 25), reference=proposal.reference)

    assert figures(february) == (100, 20, 30, 50)


def test_late_cost_without_an_open_line_stays_visible_on_the_closed_one(stage):
    january = of(JANUARY, stage.project, granted=100)
    of(FEBRUARY, stage.project, "data", granted=100)
    close(stage)

    factories.cost(stage.project, 9, day=date(2027, 1, 25))

    assert [cost.amount for cost in restatements(january)] == [9]
    assert figures(january)[1] == 0


def test_only_lines_whose_period_is_over_are_closed(stage):
    january = of(JANUARY, stage.project)
    year = factories.line(stage.project, "data", granted=100)

    close(stage)

    assert BudgetLine.objects.get(pk=january.pk).closed_at == IN_FEBRUARY
    assert BudgetLine.objects.get(pk=year.pk).closed_at is None
    assert TouchedLine.objects.filter(line=january).exists()


def test_a_closed_line_takes_no_money_and_no_promise(stage):
    january = of(JANUARY, stage.project, granted=100)
    close(stage)

    with pytest.raises(DomainError, match="is closed; use a line of an open period"):
        ledger.grant(january, by=stage.manager, amount=Decimal(1), reason="why")
    with pytest.raises(DomainError, match="books of 2027-01 are closed"):
        lines.open_line(
            by=stage.manager,
            project=stage.project,
            category="data",
            period_kind="month",
            period=Period(JANUARY.start, JANUARY.end),
        )


def test_closing_a_month_closes_the_open_months_before_it(stage):
    of(JANUARY, stage.project)
    close(stage, MARCH, IN_APRIL)

    assert list(ClosedMonth.objects.values_list("month", flat=True).order_by("month")) == [
        date(2027, 1, 1),
        date(2027, 2, 1),
        date(2027, 3, 1),
    ]
    assert next_month_to_close() == Month(2027, 4)


def test_rates_are_frozen_with_the_month(stage):
    january = of(JANUARY, stage.project, granted=1000)
    february = of(FEBRUARY, stage.project, granted=1000)
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal("1.10"))
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 1, 20))
    close(stage)
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal(9))
    ExchangeRate.objects.update(entered_at=IN_MARCH)
    ExchangeRate.objects.filter(rate=Decimal("1.10")).update(entered_at=datetime(2027, 1, 2, tzinfo=UTC))
    factories.cost(stage.project, 10, currency="EUR", day=date(2027, 1, 21))

    assert figures(january)[1] == Decimal("110")
    assert figures(february)[1] == Decimal("11")


def test_what_was_official_cannot_be_edited(stage):
    of(JANUARY, stage.project, granted=100)
    factories.cost(stage.project, 9, day=date(2027, 1, 25))
    close(stage)

    with pytest.raises(Exception, match="Cannot update or delete"), connection.cursor() as cursor:
        cursor.execute("UPDATE budgets_closedcost SET amount = 0")


# ---- who, when, what has to be in order


@pytest.mark.parametrize("who", ["alice", "manager", "director", "operator", "auditor", "charlie"])
def test_only_finance_closes_and_reopens(stage, who):
    of(JANUARY, stage.project)

    with pytest.raises(NotAllowed, match="by finance"):
        closing.close_month(JANUARY, by=getattr(stage, who), now=IN_FEBRUARY)
    close(stage)
    with pytest.raises(NotAllowed, match="by finance"):
        closing.reopen_month(JANUARY, by=getattr(stage, who), reason="why", now=IN_FEBRUARY)


def test_a_month_is_closed_once_and_only_when_it_is_over(stage):
    of(JANUARY, stage.project)
    with pytest.raises(DomainError, match="2027-02 is not over yet"):
        close(stage, FEBRUARY)
    close(stage)
    with pytest.raises(DomainError, match="2027-01 is closed already; the next to close is 2027-02"):
        close(stage)


def test_a_recurring_cost_that_nobody_confirmed_stops_the_closing(stage):
    of(JANUARY, stage.project)
    recurring = RecurringBooking.objects.create(
        basis="amount",
        name="Rent",
        project=stage.project,
        category="power_facility",
        starts_on=JANUARY.start,
        currency="USD",
        amount=100,
    )
    MonthDraft.objects.create(recurring=recurring, month=JANUARY.start, amount=100)

    with pytest.raises(DomainError, match="Recurring costs are confirmed"):
        close(stage, accepted=["bookings"], reason="why")


def test_a_waiting_import_and_a_missing_rate_stop_the_closing_and_cannot_be_accepted(stage):
    of(JANUARY, stage.project, granted=100)
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 1, 20))
    Import.objects.create(
        source=factories.source(), name="bill.csv", sha256="0" * 64, size=1, received_at=IN_FEBRUARY, status="waiting"
    )

    with pytest.raises(DomainError, match="No import waits, Exchange rates are stored"):
        close(stage, accepted=["imports", "rates"], reason="It has to be")
    assert not ClosedMonth.objects.exists()


def test_what_is_not_final_is_accepted_with_a_reason_or_stops_the_closing(stage):
    of(JANUARY, stage.project, granted=100)
    delivery = Import.objects.create(
        source=factories.source(), name="bill.csv", sha256="0" * 64, size=1, received_at=IN_FEBRUARY, status="live"
    )
    Scope.objects.create(
        source=factories.source(), key="a", month=date(2027, 1, 1), state=Scope.State.PROVISIONAL, live=delivery
    )

    with pytest.raises(DomainError, match="Bills are final"):
        close(stage)
    with pytest.raises(DomainError, match="Say why"):
        close(stage, accepted=["scopes"])
    with pytest.raises(DomainError, match="no such point"):
        close(stage, accepted=["weather"], reason="why")
    month = close(stage, accepted=["scopes"], reason="The invoice comes on the 10th")

    assert (month.accepted, month.reason, month.by) == (["scopes"], "The invoice comes on the 10th", stage.finance)
    assert Activity.objects.get(verb="month.closed").facts["accepted"] == ["scopes"]


def test_the_checklist_shows_the_share_that_no_rule_placed(stage):
    of(JANUARY, stage.project)
    factories.cost(stage.project, 90, day=date(2027, 1, 20))
    unplaced = factories.cost(stage.project, 10, day=date(2027, 1, 21))
    unplaced.project = None
    unplaced.save()

    item = next(each for each in checklist([JANUARY], now=IN_FEBRUARY).items if each.key == "unallocated")

    # 10 of 100; 5 % may stay unplaced
    assert (item.share, item.is_done, item.may_accept) == (Decimal("0.1"), False, True)


# ---- what rolls over


def test_without_a_policy_what_is_left_lapses_and_promises_with_it(stage):
    january, february = of(JANUARY, stage.project, granted=100), of(FEBRUARY, stage.project, granted=10)
    promised(stage, 60)
    factories.cost(stage.project, 20, day=date(2027, 1, 20))

    close(stage)

    assert figures(january) == (100, 20, 0, 80)
    assert figures(february) == (10, 0, 0, 10)


def test_all_that_is_left_goes_on_with_what_proposals_hold(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all")
    february = of(FEBRUARY, stage.project, granted=10)
    proposal = promised(stage, 60)
    factories.cost(stage.project, 20, day=date(2027, 1, 20))

    close(stage)

    # 100 − 20 = 80 go on; the proposal had used 20 of 60 and holds 40 again
    assert figures(january) == (20, 20, 0, 0)
    assert figures(february) == (90, 0, 40, 50)
    assert line_status(february, now=IN_APRIL).promises[proposal.reference].remaining == 40
    assert {entry.kind for entry in LineClosing.objects.get().entries.all()} == {"release", "rollover", "commit"}
    assert all(
        entry.by == stage.finance and entry.reason and entry.at for entry in Entry.objects.filter(closing__isnull=False)
    )


def test_a_cap_by_share_and_amount_leaves_the_rest_and_renews_promises_oldest_first(stage):
    january = of(
        JANUARY, stage.project, granted=100, rollover="capped", rollover_share=Decimal("0.5"), rollover_amount=45
    )
    february = of(FEBRUARY, stage.project)
    older, newer = promised(stage, 30), promised(stage, 40)

    close(stage)

    # half of the line is 50, the amount is 45: 45 go on; 30 and 15 are promised again
    assert figures(january) == (55, 0, 0, 55)
    assert figures(february) == (45, 0, 45, 0)
    promises = line_status(february, now=IN_APRIL).promises
    assert (promises[older.reference].remaining, promises[newer.reference].remaining) == (30, 15)


def test_what_was_overspent_burdens_the_next_period_where_the_policy_says_so(stage):
    january = of(JANUARY, stage.project, granted=100, carries_overspend=True)
    data = of(JANUARY, stage.project, "data", granted=100)
    february, next_data = of(FEBRUARY, stage.project, granted=50), of(FEBRUARY, stage.project, "data", granted=50)
    factories.cost(stage.project, "130.005", day=date(2027, 1, 20))
    factories.cost(stage.project, 130, day=date(2027, 1, 20), category="data")

    close(stage)

    # in whole cents, so that the closed line ends at nothing or a part of a cent
    assert figures(january)[3] == Decimal("0.005")
    assert figures(february)[0] == Decimal("19.99")
    assert (figures(data)[3], figures(next_data)[0]) == (-30, 50)


def test_the_next_line_is_made_where_it_is_missing_and_watched_like_the_old_one(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all", basis="billed", task_type="finetune")
    lines.add_threshold(january, by=stage.manager, basis="actual", share=Decimal("0.5"))

    close(stage)

    made = BudgetLine.objects.exclude(pk=january.pk).get()
    assert (made.period, made.period_kind) == (Period(FEBRUARY.start, FEBRUARY.end), "month")
    assert (made.basis, made.task_type, made.rollover) == ("billed", "finetune", "all")
    assert {(each.basis, each.share) for each in made.thresholds.all()} == {
        (each.basis, each.share) for each in january.thresholds.all()
    }
    assert figures(made)[0] == 100


def test_months_closed_together_roll_over_one_after_the_other(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all")
    february = of(FEBRUARY, stage.project, granted=10, rollover="all")
    factories.cost(stage.project, 30, day=date(2027, 1, 20))
    factories.cost(stage.project, 5, day=date(2027, 2, 20))

    close(stage, FEBRUARY, IN_MARCH)

    march = BudgetLine.objects.exclude(pk__in=[january.pk, february.pk]).get()
    assert [figures(line)[0] for line in (january, february, march)] == [30, 5, 75]


def test_the_life_of_a_project_has_no_next_period(stage):
    life = factories.line(
        stage.project, period=Period(JANUARY.start, JANUARY.end), period_kind="project", granted=10, rollover="all"
    )

    close(stage)

    assert figures(life) == (10, 0, 0, 10)
    assert BudgetLine.objects.count() == 1


# ---- opening again


def test_reopening_takes_back_what_was_carried_and_promised(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all")
    february = of(FEBRUARY, stage.project, granted=10)
    proposal = promised(stage, 60)
    factories.cost(stage.project, 20, day=date(2027, 1, 20))
    before = figures(january), figures(february)
    close(stage)

    closing.reopen_month(JANUARY, by=stage.finance, reason="A bill was forgotten", now=IN_MARCH)

    assert (figures(january), figures(february)) == before == ((100, 20, 40, 40), (10, 0, 0, 10))
    assert line_status(january, now=IN_APRIL).promises[proposal.reference].remaining == 40
    assert not ClosedMonth.objects.exists()
    ended = LineClosing.objects.get()
    assert (ended.reopened_by, ended.reopen_reason) == (stage.finance, "A bill was forgotten")
    factories.cost(stage.project, 7, day=date(2027, 1, 20))
    assert figures(january)[1] == 27
    close(stage, now=IN_MARCH)
    assert figures(february)[0] == 83


def test_what_was_spent_on_the_next_line_is_not_promised_again_on_the_reopened_one(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all")
    february = of(FEBRUARY, stage.project, granted=50)
    proposal = promised(stage, 60)
    close(stage)
    factories.cost(stage.project, 25, day=date(2027, 2, 2), reference=proposal.reference)

    closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)

    assert figures(january) == (100, 0, 35, 65)
    assert figures(february) == (50, 25, 0, 25)


def test_reopening_is_refused_where_the_carried_money_is_used(stage):
    of(JANUARY, stage.project, granted=100, rollover="all")
    of(FEBRUARY, stage.project)
    close(stage)
    factories.cost(stage.project, 30, day=date(2027, 2, 2))

    with pytest.raises(DomainError, match="30 of the 100 USD carried to"):
        closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)
    assert ClosedMonth.objects.count() == 1


def test_only_the_month_closed_last_is_opened_again_and_with_a_reason(stage):
    of(JANUARY, stage.project)
    close(stage, FEBRUARY, IN_MARCH)

    with pytest.raises(DomainError, match="closed last is opened again: 2027-02"):
        closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)
    with pytest.raises(DomainError, match="Say why"):
        closing.reopen_month(FEBRUARY, by=stage.finance, reason=" ", now=IN_MARCH)


def test_a_closed_proposal_gets_nothing_back_by_a_reopening(stage):
    january = of(JANUARY, stage.project, granted=100, rollover="all")
    of(FEBRUARY, stage.project)
    proposal = promised(stage, 60)
    close(stage)
    proposals.close_proposal(proposal, by=stage.alice)

    closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)

    assert figures(january) == (100, 0, 0, 100)


# ---- approvals after a closing


def test_what_was_asked_for_a_closed_month_is_approved_on_the_first_open_one(stage):
    january, february = of(JANUARY, stage.project, granted=100), of(FEBRUARY, stage.project, granted=10)
    _proposal, step = factories.submitted(
        stage.project, stage.alice, {("compute", "2027-01"): 30, ("compute", "2027-02"): 20}
    )
    close(stage)

    approval.approve_proposal(step, by=stage.manager)

    assert figures(january) == (100, 0, 0, 100)
    # short of 40: that much is granted
    assert figures(february) == (50, 0, 50, 0)


def test_the_figures_as_they_were_known_are_asked_by_time(stage):
    january = of(JANUARY, stage.project, granted=100)
    close(stage)
    closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)
    factories.cost(stage.project, 9, day=date(2027, 1, 25))

    assert line_status(january, on=date(2027, 2, 10), now=IN_APRIL).actual == 0
    assert line_status(january, on=date(2027, 3, 10), now=IN_APRIL).actual == 9
    assert not ClosedCost.objects.exists()
