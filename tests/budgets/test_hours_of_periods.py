"""Accelerator-hours of periods that close: what is official, what is late, what goes on, and of jobs that run."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.utils import timezone

from budgets.closed_hours import restated_hours
from budgets.hours import hours_of_lines
from budgets.models import BudgetLine, HoursEntry
from budgets.services import approval, closing, holds, lines, proposals
from budgets.services.hours import grant_hours
from core.errors import DomainError
from core.months import Month, Period
from estimates.models import Accelerator
from teams.models import ClosedMonth
from tests.budgets import factories
from tests.usage import factories as usage
from usage.models import DailyUsage, Meter, Source
from web.closing import endings_of

JANUARY, FEBRUARY, MARCH = (Month(2027, number) for number in (1, 2, 3))
IN_JANUARY = datetime(2027, 1, 20, 9, tzinfo=UTC)
IN_FEBRUARY = datetime(2027, 2, 3, 9, tzinfo=UTC)
IN_MARCH = datetime(2027, 3, 3, 9, tzinfo=UTC)
IN_APRIL = datetime(2027, 4, 3, 9, tzinfo=UTC)


def of(month: Month, stage, hours="100", unit="real", **fields) -> BudgetLine:
    line = factories.line(
        stage.project, period=Period(month.start, month.end), period_kind="month", granted=1000, **fields
    )
    if hours:
        grant_hours(line, by=stage.manager, hours=Decimal(hours), unit=unit, reason="Plan", now=IN_JANUARY)
    return line


def used(stage, hours, day=date(2027, 1, 20), *, reference="", accelerator="card-a") -> DailyUsage:
    """Hours that a bill says, without money."""
    row = factories.cost(stage.project, 0, day=day, reference=reference)
    source = Source.objects.get_or_create(slug="bill", defaults={"name": "Bill", "money": "own"})[0]
    row.meter = Meter.objects.get_or_create(
        source=source,
        accelerator=accelerator,
        defaults={"digest": f"00000000-0000-0000-0000-0000000000{len(accelerator):02d}", "charge_category": "Usage"},
    )[0]
    row.accelerator_hours = Decimal(hours)
    row.save()
    return row


def close(stage, month=JANUARY, now=IN_FEBRUARY):
    return closing.close_month(month, by=stage.finance, now=now)


def figures(line):
    found = hours_of_lines([BudgetLine.objects.get(pk=line.pk)], now=IN_APRIL).get(line.pk)
    return found and (found.status.budget, found.status.actual, found.status.committed, found.status.headroom)


def promised(stage, hours, month="2027-01"):
    """An approved proposal whose estimate reckons with so many accelerator-hours."""
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", month): 400}, hours=hours)
    approval.approve_proposal(step, by=stage.manager, now=IN_JANUARY)
    return proposal


# ---- what is official, and what is late


def test_hours_of_a_closed_line_stand_still_and_late_ones_count_on_the_next(stage):
    january, february = of(JANUARY, stage), of(FEBRUARY, stage, "50")
    used(stage, 30)

    close(stage)
    used(stage, 4, date(2027, 1, 25))
    used(stage, 1, date(2027, 2, 1))

    assert figures(january) == (100, 30, 0, 70)
    assert figures(february) == (50, 5, 0, 45)
    assert [late.hours for late in restated_hours(january)] == [4]
    (standing,) = hours_of_lines([february], now=IN_APRIL).values()
    assert list(standing.status.restated.values()) == [4]


def test_late_hours_that_a_closed_line_carried_do_not_count_again(stage):
    january, february, march = of(JANUARY, stage), of(FEBRUARY, stage), of(MARCH, stage)
    close(stage)
    used(stage, 4, date(2027, 1, 25))

    close(stage, FEBRUARY, IN_MARCH)
    used(stage, 2, date(2027, 1, 26))

    assert [figures(line)[1] for line in (january, february, march)] == [0, 4, 2]


def test_a_peak_that_is_corrected_later_does_not_move_a_closed_line(stage):
    card = Accelerator.objects.create(slug="card-a", name="A", vendor="x", bf16_tflops=989)
    january = of(JANUARY, stage, unit="equivalent")
    used(stage, 30)
    close(stage)

    card.bf16_tflops = 1978
    card.save()

    assert figures(january)[1] == 30


def test_what_stood_on_a_past_day_is_said_of_that_day(stage):
    january = of(JANUARY, stage)
    used(stage, 30, date(2027, 1, 21))
    used(stage, 5, date(2027, 1, 25))
    close(stage)

    found = hours_of_lines([BudgetLine.objects.get(pk=january.pk)], now=IN_APRIL, on=date(2027, 1, 22))

    assert found[january.pk].status.actual == 30


# ---- what goes on


@pytest.mark.parametrize(
    ("policy", "spent", "carried"),
    [
        ({"rollover": "none"}, 30, 0),
        ({"rollover": "all"}, 30, 70),
        ({"rollover": "all"}, "29.99995", "70.0000"),
        ({"rollover": "capped", "rollover_share": Decimal("0.25")}, 30, 25),
        ({"rollover": "capped", "rollover_hours": Decimal(10)}, 30, 10),
        ({"rollover": "capped", "rollover_amount": Decimal(10)}, 30, 0),
        ({"rollover": "none", "carries_overspend": True}, 110, -10),
        ({"rollover": "none"}, 110, 0),
    ],
)
def test_what_is_left_of_hours_goes_where_the_policy_says(stage, policy, spent, carried):
    january, february = of(JANUARY, stage, **policy), of(FEBRUARY, stage, "50")
    used(stage, spent)

    close(stage)

    assert figures(january)[0] == 100 - Decimal(carried)
    assert figures(february)[0] == 50 + Decimal(carried)


def test_hours_open_the_next_line_even_where_no_money_goes_on(stage):
    january = of(JANUARY, stage, rollover="capped", rollover_hours=Decimal(20))

    close(stage)

    following = BudgetLine.objects.get(start=FEBRUARY.start)
    assert (figures(following)[0], following.rollover_hours) == (20, 20)
    assert january.closings.get().carried_to == following


def test_hours_never_go_to_a_line_that_is_kept_in_the_other_unit(stage):
    january, february = of(JANUARY, stage, rollover="all"), of(FEBRUARY, stage, "50", "equivalent")

    assert [ending.hours for ending in endings_of([january], now=timezone.now())] == [0]
    close(stage)

    assert (figures(january)[0], figures(february)[0]) == (100, 50)


def test_promised_hours_go_on_with_the_hours_that_are_carried(stage):
    january, february = of(JANUARY, stage, rollover="all"), of(FEBRUARY, stage, "50")
    proposal = promised(stage, 60)
    used(stage, 25, reference=proposal.reference)

    close(stage)

    assert figures(january) == (25, 25, 0, 0)
    assert figures(february) == (125, 0, 35, 90)


def test_opening_again_brings_hours_and_promises_back(stage):
    january, february = of(JANUARY, stage, rollover="all"), of(FEBRUARY, stage, "50")
    proposal = promised(stage, 60)
    used(stage, 25, reference=proposal.reference)
    close(stage)

    closing.reopen_month(JANUARY, by=stage.finance, reason="A bill is missing", now=IN_FEBRUARY)

    assert figures(january) == (100, 25, 35, 40)
    assert figures(february) == (50, 0, 0, 50)


def test_opening_again_is_refused_where_the_carried_hours_are_used(stage):
    of(JANUARY, stage, rollover="all")
    february = of(FEBRUARY, stage, "")
    close(stage)
    used(stage, 60, date(2027, 2, 2))

    with pytest.raises(DomainError, match="60 of the 100 accelerator-hours carried"):
        closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_FEBRUARY)
    assert figures(february)[0] == 100 and ClosedMonth.objects.exists()


def test_of_months_that_were_closed_together_only_the_last_is_opened_again(stage):
    january, february = of(JANUARY, stage, rollover="all"), of(FEBRUARY, stage, "50", rollover="all")
    close(stage, FEBRUARY, IN_MARCH)

    closing.reopen_month(FEBRUARY, by=stage.finance, reason="why", now=IN_MARCH)

    closed = dict(BudgetLine.objects.values_list("pk", "closed_at"))
    assert closed[january.pk] and not closed[february.pk]
    assert (figures(january)[0], figures(february)[0]) == (0, 150)
    closing.reopen_month(JANUARY, by=stage.finance, reason="why", now=IN_MARCH)
    assert (figures(january)[0], figures(february)[0]) == (100, 50)


# ---- proposals that are closed, jobs that run


def test_what_a_closed_proposal_used_stands_still_and_holds_nothing_that_others_need(stage):
    january = of(JANUARY, stage)
    first, second = promised(stage, 30), promised(stage, 40)
    row = used(stage, 30, reference=first.reference)
    proposals.close_proposal(first, by=stage.alice, now=IN_JANUARY)

    row.accelerator_hours = Decimal(10)  # the bill was wrong
    row.save()
    used(stage, 15)

    # what others used consumes what the second holds, and nothing of what the first gave back
    assert figures(january) == (100, 25, 25, 50)
    assert second.reference in hours_of_lines([january], now=IN_APRIL)[january.pk].status.promises


def test_closing_a_proposal_releases_its_hours(stage):
    january = of(JANUARY, stage)
    proposal = promised(stage, 60)
    used(stage, "20.00005", reference=proposal.reference)

    proposals.close_proposal(proposal, by=stage.alice, now=IN_JANUARY)

    entry = HoursEntry.objects.get(line=january, kind="release")
    assert (entry.hours, entry.by, entry.reason) == (Decimal("40.0000"), stage.alice, "The proposal was closed.")


def test_a_hold_of_a_job_that_runs_keeps_only_the_hours_it_has_not_been_metered_for(stage):
    line = factories.line(stage.project, granted=1000)
    grant_hours(line, by=stage.manager, hours=Decimal(100), unit="real", reason="Plan", now=IN_JANUARY)
    job = holds.Job("job-7", Decimal(10), accelerator_hours=Decimal(60), accelerator="card-a")
    holds.ask_to_start(stage.project, job, by=stage.bob, hold=True, now=IN_JANUARY)
    holds.start_hold(stage.project, "job-7", by=stage.bob, now=IN_JANUARY)

    usage.metered_job("job-7", stage.project, hours=25, accelerator="card-a", is_running=True)
    used(stage, 25)

    (found,) = hours_of_lines([line], now=IN_JANUARY).values()
    assert (found.status.held, found.status.actual, found.status.free) == (35, 25, 40)


def test_the_set_up_of_a_line_takes_a_cap_of_hours(stage):
    line = of(JANUARY, stage)
    data = factories.line(stage.project, "data")

    lines.set_rollover(line, by=stage.manager, rollover="capped", hours=Decimal(5))

    line.refresh_from_db()
    assert (line.rollover, line.rollover_hours) == ("capped", 5)
    with pytest.raises(DomainError, match="Only compute lines"):
        lines.set_rollover(data, by=stage.manager, rollover="capped", hours=Decimal(5))
