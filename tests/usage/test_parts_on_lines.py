"""A bill and the job log of its nodes on a budget line: the proposal of a job goes with its part, and nothing twice."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from budgets.hours import hours_of_lines
from budgets.models import HoursEntry
from budgets.queries import line_status
from core.months import Month, Period
from tests.budgets import factories as budgets
from tests.estimates import factories as prices
from usage import queries
from usage.clusters import services as clusters
from usage.models import CardLot, Cluster, Placement, Source
from usage.statements import statement

from .bills import deliver
from .test_parts import NODE, bill, by_project, split  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]
MARCH = Month(2026, 3)
APRIL_2 = datetime(2026, 4, 2, tzinfo=UTC)
HEADER = "JobID|Account|Partition|State|Start|End|ElapsedRaw|AllocTRES|WCKey\n"
HUNDRED = {**NODE, "BilledCost": "100", "EffectiveCost": "100"}


def job(identifier: int, account: str, hours: int, proposal: str = "", day: int = 5) -> str:
    key = f"headroom_proposal={proposal}" if proposal else ""
    times = f"2026-03-{day:02}T00:00:00|2026-03-{day:02}T{hours:02}:00:00|{hours * 3600}"
    return f"{identifier}|{account}|gpu|COMPLETED|{times}|gres/gpu:h100=1|{key}\n"


def log(*jobs: str) -> None:
    deliver(HEADER + "".join(jobs), source="jobs")


@pytest.fixture
def ten_hours(split):  # noqa: F811
    """A bill of 100; of ten hours six are of P-12, two of the project without a proposal, two of another project."""
    split.line = budgets.line(split.project, granted=1000, period=Period(date(2026, 1, 1), date(2027, 1, 1)))
    bill(HUNDRED)
    log(job(1, "one", 6, "P-12"), job(2, "one", 2), job(3, "two", 2))
    return split


def test_the_part_of_a_job_carries_its_proposal(ten_hours):
    status = line_status(ten_hours.line, now=APRIL_2)

    assert status.actual == 80
    assert status.own == {"P-12": 60}
    assert by_project() == {ten_hours.project.slug: 80, ten_hours.other_project.slug: 20}
    (conserved,) = queries.conservation()
    assert (conserved.projects, conserved.holds) == (100, True)


def test_hours_of_bill_and_log_count_once_on_the_line(ten_hours):
    """The bill counts eight cards for a day; the log eight hours of the project, and these count."""
    HoursEntry.objects.create(line=ten_hours.line, kind="grant", unit="real", hours=100)

    found = hours_of_lines([ten_hours.line], now=APRIL_2)[ten_hours.line.pk].status

    assert (found.actual, found.own) == (8, {"P-12": 6})


def test_a_job_without_its_proposal_any_more_takes_its_part_back(ten_hours):
    log(job(1, "one", 6), job(2, "one", 2), job(3, "two", 2))

    status = line_status(ten_hours.line, now=APRIL_2)
    assert (status.actual, status.own) == (80, {})
    shares = Placement.objects.filter(key_set__source__slug="cloud", known_until=None, starts_on=MARCH.start)
    assert sum(shares.values_list("share", flat=True)) == 1


def test_a_statement_calls_the_parts_of_a_bill_shares_also_where_one_project_bears_all(split):  # noqa: F811
    bill(HUNDRED)
    log(job(1, "one", 6))

    (line,) = statement(split.project.team, MARCH, this_month=Month(2026, 4)).lines

    assert (line.own, line.shared, line.total) == (0, 100, 100)


def test_cards_nobody_held_stay_shared_and_are_no_second_cost(split):  # noqa: F811
    """Of the 96 hours of four cards on 5 March 8 were held, and an hour of the 6th: 88 of 97 hours are nobody's."""
    lot = CardLot(accelerator=prices.accelerator(), cards=4, starts_on=date(2026, 3, 5), ends_on=date(2026, 3, 6))
    lot.cluster = clusters.open_cluster(
        Cluster(slug="rented", name="Rented", source=Source.objects.get(slug="jobs")), by=split.operator
    )
    clusters.add_cards(lot, by=split.operator)
    bill({**HUNDRED, "BilledCost": "96", "EffectiveCost": "96"})
    log(job(1, "one", 6, "P-12"), job(2, "two", 2), job(3, "two", 1, day=6))

    (conserved,) = queries.conservation()
    assert conserved.holds
    assert conserved.projects + conserved.shared == 96
    assert round(conserved.shared, 6) == round(Decimal(96) * 88 / 97, 6)
    assert lot.cluster.idle_source is None
