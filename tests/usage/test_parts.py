"""A bill split by the job logs that are part of it: the projects' shares add up to the bill, and nothing is added."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from core.errors import DomainError
from teams.models import ClosedMonth
from tests.estimates import factories as prices
from tests.usage import factories
from tests.usage.factories import focus
from usage import queries, reassignments, rules, services
from usage.models import KeySet, Placement, Reassignment, Source
from usage.totals import Question, usage_totals

from .bills import deliver, drop_temporary_tables

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

COLUMNS = [*factories.ROW, "SkuPriceDetails"]
NODE = {"SkuPriceDetails": '{"GpuCount": 8}', "BilledCost": "100.01", "EffectiveCost": "100.01"}
DISK = {"ResourceId": "disk", "ServiceCategory": "Storage", "BilledCost": "7", "EffectiveCost": "7"}
HEADER = "JobID|Account|Partition|State|Start|End|ElapsedRaw|AllocTRES\n"


def job(identifier: int, account: str, hours: int, day: int = 5) -> str:
    return f"{identifier}|{account}|gpu|COMPLETED|2026-03-{day:02}T00:00:00|Unknown|{hours * 3600}|gres/gpu:h100=1\n"


@pytest.fixture
def split(stage):
    """A bill, a job log that is part of it, and rules that place the log's accounts."""
    prices.price(mode="own", provider="", amount="3", valid_from="2026-01-01")
    factories.source("cloud")
    settings = {"part_of": "cloud", "money": "rate_card", "rate_card": "gpu=h100-sxm-80gb/own"}
    services.open_source(by=None, slug="jobs", settings=settings)
    for name, project in (("one", stage.project), ("two", stage.other_project)):
        conditions = [{"field": "account", "operator": "equals", "values": [name]}]
        rules.add_rule(by=stage.operator, name=name, conditions=conditions, project=project)
    return stage


def bill(*rows: dict, **settings) -> None:
    deliver(focus(*rows, columns=COLUMNS), source="cloud", **settings)


def log(*jobs: str) -> None:
    deliver(HEADER + "".join(jobs), source="jobs")


def by_project(**question) -> dict[str | None, Decimal]:
    _whole, groups = usage_totals(Question(by=["project"], **question))
    return {group.key["project"]: group.totals.get("USD", Decimal(0)) for group in groups}


def parts_of_the_whole() -> tuple[Decimal, Decimal, Decimal]:
    (conserved,) = queries.conservation()
    assert conserved.holds
    return conserved.projects, conserved.shared, conserved.unallocated


def test_projects_bear_the_bill_by_their_hours_and_the_log_adds_nothing(split):
    bill(NODE, DISK)

    log(job(1, "one", 6), job(2, "two", 3), job(3, "nobody", 1))

    found = by_project()
    assert found[split.project.slug] == Decimal("60.006")
    assert found[split.other_project.slug] == Decimal("30.003")
    assert found[None] == Decimal("10.001") + 7
    assert parts_of_the_whole() == (Decimal("90.009"), 0, Decimal("17.001"))


def test_the_order_of_bill_and_log_makes_no_difference(split):
    log(job(1, "one", 1), job(2, "two", 2))

    bill(NODE)

    found = by_project()
    assert sum(found.values()) == Decimal("100.01")
    assert found[split.project.slug] == (Decimal("100.01") * Decimal("0.333333333333"))


def test_a_later_log_moves_the_split_and_what_was_known_stays_known(split):
    bill(NODE)
    log(job(1, "one", 4))
    before = timezone.now()

    log(job(2, "two", 4))

    assert by_project()[split.other_project.slug] == Decimal("50.005")
    _whole, groups = usage_totals(Question(by=["project"], known_at=before, source="cloud"))
    assert {group.key["project"]: group.totals["USD"] for group in groups} == {split.project.slug: Decimal("100.01")}


def test_months_are_split_apart_and_a_month_without_hours_stays_unallocated(split):
    april = {
        **NODE, "BillingPeriodStart": "2026-04-01T00:00:00Z", "BillingPeriodEnd": "2026-05-01T00:00:00Z",
        "ChargePeriodStart": "2026-04-05T00:00:00Z", "ChargePeriodEnd": "2026-04-06T00:00:00Z",
    }  # fmt: skip
    bill(NODE, april)

    log(job(1, "one", 4))

    assert by_project() == {split.project.slug: Decimal("100.01"), None: Decimal("100.01")}


def test_a_closed_month_keeps_the_split_it_was_closed_with(split):
    bill(NODE)
    log(job(1, "one", 4))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=timezone.now(), by=split.finance)

    log(job(2, "two", 4))

    assert by_project() == {split.project.slug: Decimal("100.01"), split.other_project.slug: 0}


def test_a_rule_goes_over_the_split_and_another_widens_it_to_the_disks(split):
    bill(NODE, DISK)
    log(job(1, "two", 4))
    conditions = [{"field": "resource", "operator": "equals", "values": ["node-1"]}]
    rules.add_rule(by=split.operator, name="Node", conditions=conditions, project=split.project)
    cloud = Source.objects.get(slug="cloud")
    rules.add_rule(by=split.operator, name="Rest", conditions=[], source=cloud, split="parts")

    rules.apply_rules(by=split.operator)

    assert by_project() == {split.project.slug: Decimal("100.01"), split.other_project.slug: 7}


def test_hours_called_shared_leave_their_part_of_the_bill_shared(split):
    conditions = [{"field": "account", "operator": "equals", "values": ["tests"]}]
    rules.add_rule(by=split.operator, name="Tests", conditions=conditions, is_shared=True)
    bill(NODE)

    log(job(1, "one", 3), job(2, "tests", 1))

    assert parts_of_the_whole() == (Decimal("75.0075"), Decimal("25.0025"), 0)


def test_jobs_re_assigned_by_hand_take_their_part_of_the_bill_with_them(split):
    bill(NODE)
    log(job(1, "one", 3), job(2, "nobody", 1))
    drop_temporary_tables()
    draft = Reassignment(project=split.other_project, starts_on=date(2026, 3, 1), reason="Theirs")

    reassignments.reassign(draft, [KeySet.objects.get(meter__account="nobody").pk], by=split.operator)

    assert by_project()[split.other_project.slug] == Decimal("25.0025")


def test_nothing_more_moves_when_the_rules_are_applied_again(split):
    rules.add_rule(
        by=split.operator, name="Tests", is_shared=True,
        conditions=[{"field": "account", "operator": "equals", "values": ["tests"]}],
    )  # fmt: skip
    bill(NODE)
    log(job(1, "one", 3), job(2, "tests", 1), job(3, "nobody", 1))
    drop_temporary_tables()

    assert rules.apply_rules(by=split.operator) == 0
    assert rules.split_again() == 0
    places = Placement.objects.filter(key_set__source__slug="cloud", known_until=None, starts_on=date(2026, 3, 1))
    assert sum(place.share for place in places) == 1


def test_a_rule_by_job_logs_needs_a_bill_that_has_some(split):
    with pytest.raises(DomainError) as refused:
        rules.add_rule(
            by=split.operator, name="Rest", conditions=[], split="parts", source=Source.objects.get(slug="jobs")
        )

    assert [fault.path for fault in refused.value.faults] == ["source"]


def test_the_page_of_the_bill_shows_who_bears_how_much(split, client):
    bill(NODE)
    log(job(1, "one", 6), job(2, "two", 3), job(3, "nobody", 1))
    client.force_login(split.operator)

    page = client.get(reverse("source", args=["cloud"])).content.decode()

    assert split.project.name in page and "60.0 %" in page
    client.force_login(split.charlie)
    assert client.get(reverse("source", args=["cloud"])).status_code == 404
