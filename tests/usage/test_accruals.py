"""What is used and not billed yet: hours of logs before their bill, months before finance; never counted twice."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from budgets.accruals import AccruedDay, accrued_of_lines, as_if_booked
from budgets.consumption import Commitment
from budgets.queries import line_status
from budgets.status import LedgerFacts
from core.months import Month, Period
from overruns.outlook import outlooks
from tests.budgets import factories as budgets
from tests.estimates import factories as prices
from tests.usage import factories
from tests.usage.bills import drop_temporary_tables
from tests.usage.factories import deliver, focus
from usage import queries, rules, services
from usage.accruals import accruals_of_month
from usage.bookings.recurring import add_recurring, confirm_months
from usage.models import MonthDraft, RecurringBooking, Scope, Source

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

MARCH, APRIL = Month(2026, 3), Month(2026, 4)
HEADER = "JobID|Partition|State|Start|End|ElapsedRaw|AllocTRES|NCPUS\n"


def log(*days: int) -> bytes:
    """One hour of two cards on each day of March: 2 × 3 USD."""
    rows = [
        f"{day}|gpu|COMPLETED|2026-03-{day:02}T08:00:00|2026-03-{day:02}T09:00:00|3600|gres/gpu:h100=2|4\n"
        for day in days
    ]
    return (HEADER + "".join(rows)).encode()


@pytest.fixture
def rented(stage) -> Source:
    """Nodes that Cloud bills, and the log of the jobs on them; everything is the project's."""
    prices.price(mode="own", provider="", amount="3", valid_from="2026-01-01")
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)
    factories.source("cloud")
    return services.open_source(
        by=None,
        slug="jobs",
        name="Job log",
        settings={"part_of": "cloud", "money": "rate_card", "rate_card": "gpu=h100-sxm-80gb/own"},
    )


def bill(*days: int) -> None:
    rows = [
        {
            "ChargePeriodStart": f"2026-03-{day:02}T00:00:00Z",
            "ChargePeriodEnd": f"2026-03-{day + 1:02}T00:00:00Z",
            "ResourceId": f"node-{day}",
        }
        for day in days
    ]
    drop_temporary_tables()
    deliver(Source.objects.get(slug="cloud"), focus(*rows))


def metered(today: date = date(2026, 4, 2), **more) -> dict[str, str]:
    found = accruals_of_month(MARCH, today=today, **more)
    return {f"{each.project} {each.category} {each.kind}": str(each.amount.normalize()) for each in found}


def people(project, **changes) -> RecurringBooking:
    item = RecurringBooking(
        basis="amount", name="Team", project=project, category="people_platform", currency="USD",
        amount=Decimal("3100.01"), starts_on=MARCH.start, **changes,
    )  # fmt: skip
    return add_recurring(item, by=None, now=datetime(2026, 4, 2, tzinfo=UTC))


def test_hours_on_rented_nodes_are_accrued_until_a_bill_comes(stage, rented):
    deliver(rented, log(5, 6), "jobs.txt")

    assert metered() == {"Base 7B compute metered": "12"}
    actual = queries.line_actual(stage.project.pk, "compute", start=MARCH.start, end=MARCH.end, basis="effective")
    assert actual == {}


def test_only_the_days_that_the_bill_does_not_reach_are_accrued(rented):
    deliver(rented, log(5, 6, 20), "jobs.txt")

    bill(5, 6, 7)

    assert metered() == {"Base 7B compute metered": "6"}


def test_a_day_is_never_both_billed_and_accrued(stage, rented):
    deliver(rented, log(5, 6), "jobs.txt")

    bill(5, 6)

    assert metered() == {}
    actual = queries.line_actual(stage.project.pk, "compute", start=MARCH.start, end=MARCH.end, basis="effective")
    assert actual == {"USD": Decimal(20)}


def test_a_final_bill_ends_what_is_accrued_of_its_month(rented):
    deliver(rented, log(5, 20), "jobs.txt")
    bill(5)
    Scope.objects.filter(source__slug="cloud").update(state=Scope.State.FINAL)

    assert metered() == {}


def test_a_cluster_of_ones_own_is_actual_and_never_accrued(stage):
    prices.price(mode="own", provider="", amount="3", valid_from="2026-01-01")
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)
    own = services.open_source(by=None, slug="own", settings={"rate_card": "gpu=h100-sxm-80gb/own"})

    deliver(own, log(5), "jobs.txt")

    assert metered() == {}


def test_days_of_an_unconfirmed_month_that_have_passed_are_accrued(stage):
    people(stage.project)

    assert metered(date(2026, 3, 1)) == {}
    assert metered(date(2026, 3, 2))["Base 7B people_platform recurring"].startswith("100.0003")
    assert metered(date(2026, 4, 1)) == {"Base 7B people_platform recurring": "3100.01"}
    assert metered(date(2026, 4, 20)) == {"Base 7B people_platform recurring": "3100.01"}


def test_a_confirmed_month_is_actual_and_no_longer_accrued(stage):
    item = people(stage.project)
    march = MonthDraft.objects.get(recurring=item, month=MARCH.start)

    confirm_months({march.pk: march.amount}, by=stage.finance, now=datetime(2026, 4, 2, tzinfo=UTC))

    assert metered() == {}
    assert [each.amount.normalize() for each in accruals_of_month(APRIL, today=date(2026, 4, 16))] == [
        Decimal("1550.005")
    ]


def test_a_member_sees_what_own_projects_have_accrued(stage):
    people(stage.other_project)

    assert metered(projects=[stage.project.pk]) == {}
    assert metered() == {"Ranking people_platform recurring": "3100.01"}


def test_a_line_shows_its_accrued_beside_its_actual(stage):
    period = Period(date(2026, 1, 1), date(2027, 1, 1))
    line = budgets.line(stage.project, "people_platform", granted=10_000, period=period)
    other = budgets.line(stage.project, "data", granted=10_000, period=period)
    people(stage.project)
    people(stage.other_project)
    now = datetime(2026, 4, 16, tzinfo=UTC)

    found = accrued_of_lines([line, other], now=now)

    assert {key: amount.normalize() for key, amount in found.items()} == {line.pk: Decimal("4650.015")}
    assert line_status(line, now=now).actual == 0


def test_a_line_counts_the_days_of_its_own_period_alone(stage):
    line = budgets.line(
        stage.project, "people_platform", granted=1, period=Period(APRIL.start, APRIL.end), period_kind="month"
    )
    people(stage.project)

    found = accrued_of_lines([line], now=datetime(2026, 4, 16, tzinfo=UTC))

    assert found[line.pk].normalize() == Decimal("1550.005")


def test_a_forecast_counts_what_is_accrued_as_if_it_were_booked(stage):
    """3,100.01 of March, 15 days of April at 103.33, and 15 more at 100.0003, the median of the days so far."""
    line = budgets.line(stage.project, "people_platform", granted=99_000, period=Period(MARCH.start, date(2026, 5, 1)))
    item = people(stage.project)
    now = datetime(2026, 4, 16, tzinfo=UTC)
    before = outlooks([line], {line.pk: line_status(line, now=now)}, {}, now=now)[line.pk]

    march = MonthDraft.objects.get(recurring=item, month=MARCH.start)
    confirm_months({march.pk: march.amount}, by=stage.finance, now=now)
    after = outlooks([line], {line.pk: line_status(line, now=now)}, {}, now=now)[line.pk]

    assert before.path[0] == (date(2026, 4, 16), Decimal("4650.015"))
    assert round(before.p50, 2) == round(after.p50, 2) == Decimal("6150.02")


def test_what_is_accrued_uses_up_the_promise_of_its_proposal_in_the_forecast(stage):
    """A promise of 5,000 of which 3,100.01 is accrued leaves 1,899.99 to come, not 5,000."""
    line = budgets.line(stage.project, "people_platform", granted=9_000, period=Period(MARCH.start, date(2026, 5, 1)))
    promised = as_if_booked(
        line,
        line_status(line, now=datetime(2026, 4, 1, tzinfo=UTC)),
        LedgerFacts(budget=Decimal(9000), commitments=[Commitment("P-7", Decimal(5000), Decimal(0))]),
        [(AccruedDay(line.pk, "P-7", MARCH.start, "USD", MARCH.start, Decimal("3100.01")), Decimal("3100.01"))],
    )

    assert (promised.actual, promised.committed) == (Decimal("3100.01"), Decimal("1899.99"))
