"""The figures of a line, against tables worked out by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from budgets.models import LineClosing
from budgets.queries import line_status, line_statuses, project_status
from budgets.services import approval, proposals
from core.months import Month, Period
from teams.models import ClosedMonth, ExchangeRate
from tests.budgets import factories

NOW = datetime(2027, 6, 1, tzinfo=UTC)


def figures(line, **options):
    status = line_status(line, now=NOW, **options)
    return status.budget, status.actual, status.committed, status.headroom


def test_a_new_line_has_nothing_on_it(stage):
    assert figures(factories.line(stage.project)) == (0, 0, 0, 0)


def test_budget_is_the_sum_of_what_was_granted_moved_and_carried_over(stage):
    line, other = factories.line(stage.project, granted=1000), factories.line(stage.project, "data", granted=10)
    factories.entry(line, "grant", -100)
    number = "6f1a4f0e-8a2d-4a4e-9d0e-3f1f5f0c2b11"
    ended = factories.line(stage.project, period=Period(date(2026, 1, 1), date(2027, 1, 1)), granted=50)
    closing = LineClosing.objects.create(line=ended, month=date(2026, 12, 1), at=NOW, by=stage.finance)
    carried = "6f1a4f0e-8a2d-4a4e-9d0e-3f1f5f0c2b12"
    factories.entry(ended, "rollover", -50, transfer=carried, closing=closing)
    factories.entry(line, "rollover", 50, transfer=carried, closing=closing)
    factories.entry(line, "transfer", -200, transfer=number)
    factories.entry(other, "transfer", 200, transfer=number)

    assert figures(line) == (750, 0, 0, 750)
    assert figures(other) == (210, 0, 0, 210)


def test_headroom_is_budget_less_actual_less_what_is_still_committed(stage):
    line = factories.line(stage.project, granted=1000)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 400})
    factories.entry(line, "commit", 400, proposal=proposal)
    factories.cost(stage.project, 150, reference=proposal.reference)
    factories.cost(stage.project, 30)
    factories.cost(stage.other_project, 77)

    # own work 150 and other cost 30 have consumed 180 of 400
    assert figures(line) == (1000, 180, 220, 600)


def test_a_line_that_switched_consumption_off_keeps_its_commitments_whole(stage):
    line = factories.line(stage.project, granted=1000, consumes_open_commitments=False)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 400})
    factories.entry(line, "commit", 400, proposal=proposal)
    factories.cost(stage.project, 30)

    assert figures(line) == (1000, 30, 400, 570)


def test_only_cost_of_the_line_counts(stage):
    line = factories.line(stage.project, granted=100, period=Period(date(2027, 1, 1), date(2027, 2, 1)))
    factories.cost(stage.project, 1, day=date(2027, 1, 1))
    factories.cost(stage.project, 2, day=date(2027, 1, 31))
    factories.cost(stage.project, 4, day=date(2027, 2, 1))
    factories.cost(stage.project, 8, day=date(2026, 12, 31))
    factories.cost(stage.project, 16, category="storage")
    factories.cost(stage.project, 32, category="hidden")

    assert line_status(line, now=NOW).actual == 1 + 2 + 32


def test_a_line_counts_only_its_charge_categories(stage):
    line = factories.line(stage.project, granted=100, charge_categories=["Usage", "Tax"])
    factories.cost(stage.project, 10)
    factories.cost(stage.project, 5, charge_category="Tax")
    factories.cost(stage.project, 50, charge_category="Purchase")

    assert line_status(line, now=NOW).actual == 15


def test_a_billed_line_counts_billing_months_and_the_one_it_starts_in(stage):
    period = Period(date(2027, 1, 15), date(2027, 3, 1))
    line = factories.line(stage.project, period=period, basis="billed")
    factories.cost(stage.project, 1, billed=10, day=date(2027, 1, 3))
    factories.cost(stage.project, 1, billed=20, day=date(2027, 2, 28))
    factories.cost(stage.project, 1, billed=40, day=date(2027, 2, 28), billing_month=date(2027, 3, 1))

    assert line_status(line, now=NOW).actual == 30


def test_a_line_of_one_task_type_takes_its_cost_from_the_line_of_all(stage):
    whole = factories.line(stage.project, granted=100)
    narrow = factories.line(stage.project, granted=100, task_type="finetune")
    factories.cost(stage.project, 7, task_type="finetune")
    factories.cost(stage.project, 11, task_type="pretrain")
    factories.cost(stage.project, 13)

    assert line_status(whole, now=NOW).actual == 24
    assert line_status(narrow, now=NOW).actual == 7


def test_cost_in_another_currency_is_converted_at_the_rate_of_its_month(stage):
    line = factories.line(stage.project)
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal("1.10"))
    ExchangeRate.objects.create(month=date(2027, 2, 1), base="EUR", quote="USD", rate=Decimal("1.20"))
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 1, 31))
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 2, 1))

    assert line_status(line, now=NOW).actual == Decimal("230")


def test_a_missing_rate_is_said_and_its_cost_left_out(stage):
    line = factories.line(stage.project)
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 1, 31))
    factories.cost(stage.project, 5)

    status = line_status(line, now=NOW)

    assert status.actual == 5
    assert status.rates_missing == ((Month(2027, 1), "EUR"),)


def test_the_rate_of_a_closed_month_stays_what_it_was_then(stage):
    line = factories.line(stage.project)
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal("1.10"))
    ClosedMonth.objects.create(month=date(2027, 1, 1), closed_at=datetime.now(UTC), by=stage.finance)
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="EUR", quote="USD", rate=Decimal("9"))
    factories.cost(stage.project, 100, currency="EUR", day=date(2027, 1, 31))

    assert line_status(line, now=NOW).actual == 110


def test_amortised_cost_counts_as_actual(stage):
    line, owner = factories.line(stage.project, granted=100), factories.line(stage.other_project, granted=100)
    number = "6f1a4f0e-8a2d-4a4e-9d0e-3f1f5f0c2b11"
    factories.entry(line, "amortise", 30, transfer=number)
    factories.entry(owner, "amortise", -30, transfer=number)

    assert figures(line) == (100, 30, 0, 70)
    assert figures(owner) == (100, -30, 0, 130)


def test_the_figures_at_the_end_of_a_day_leave_out_what_came_later(stage):
    line = factories.line(stage.project)
    factories.entry(line, "grant", 100, at=datetime(2027, 1, 10, 23, 59, tzinfo=UTC))
    factories.entry(line, "grant", 900, at=datetime(2027, 1, 11, tzinfo=UTC))
    factories.cost(stage.project, 3, day=date(2027, 1, 10))
    factories.cost(stage.project, 5, day=date(2027, 1, 11))

    assert figures(line, on=date(2027, 1, 10)) == (100, 3, 0, 97)


def test_execution_rate_is_actual_over_line_and_nothing_without_a_line(stage):
    line = factories.line(stage.project, granted=200)
    factories.cost(stage.project, 50)

    assert line_status(line, now=NOW).execution_rate == Decimal("0.25")
    assert line_status(factories.line(stage.project, "data"), now=NOW).execution_rate is None


def test_the_status_of_many_lines_costs_as_many_queries_as_that_of_one(stage, django_assert_num_queries):
    lines = [factories.line(stage.project, category, granted=10) for category in ("compute", "data", "storage")]
    lines.append(factories.line(stage.other_project, granted=10))
    for category in ("compute", "data", "storage"):
        factories.cost(stage.project, 1, category=category, currency="EUR")

    with django_assert_num_queries(8):
        one = line_statuses(lines[:1], now=NOW)
    with django_assert_num_queries(8):
        many = line_statuses(lines, now=NOW)

    assert len(one) == 1
    assert len(many) == 4


def test_a_project_shows_its_own_lines_only(stage):
    mine = factories.line(stage.project, granted=1)
    factories.line(stage.other_project, granted=2)

    assert list(project_status(stage.project)) == [mine]


def test_what_the_line_of_one_task_type_does_not_count_stays_on_the_line_of_all(stage):
    broad = factories.line(stage.project, granted=1000)
    february = Period(date(2027, 2, 1), date(2027, 3, 1))
    narrow = factories.line(
        stage.project,
        granted=1000,
        task_type="finetune",
        period=february,
        basis="billed",
        charge_categories=["Usage"],
    )
    tuned = {"task_type": "finetune", "day": date(2027, 2, 28)}
    factories.cost(stage.project, 1, **tuned)
    factories.cost(stage.project, 2, charge_category="Tax", **tuned)
    factories.cost(stage.project, 4, billing_month=date(2027, 3, 1), **tuned)
    factories.cost(stage.project, 8, task_type="finetune", day=date(2027, 1, 31), billing_month=date(2027, 2, 1))

    assert line_status(narrow, now=NOW).actual == 1 + 8
    assert line_status(broad, now=NOW).actual == 2 + 4


def test_a_past_day_shows_what_a_proposal_held_that_was_closed_later(stage):
    line = factories.line(stage.project, granted=1000)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 400})
    approval.approve_proposal(step, by=stage.manager, now=datetime(2027, 1, 5, tzinfo=UTC))
    proposals.close_proposal(proposal, by=stage.alice, now=datetime(2027, 3, 1, tzinfo=UTC))

    assert line_status(line, on=date(2027, 2, 1), now=NOW).committed == 400
    assert line_status(line, on=date(2027, 3, 1), now=NOW).committed == 0


def test_no_digit_is_lost_however_many_there_are(stage):
    line = factories.line(stage.project)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 400})
    factories.entry(line, "commit", "12345678901234567890.12", proposal=proposal)
    factories.cost(stage.project, "0.000000000000000001", reference=proposal.reference)

    assert line_status(line, now=NOW).committed == Decimal("12345678901234567890.119999999999999999")
