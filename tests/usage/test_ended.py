"""Hours that did not complete are marked with their money, for each way of ending, on project and cluster."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from usage import rules
from usage.ended import EndedHours, ended_of_project, lost_of
from usage.formats.slurm import FAILURE_CAUSES

from .bills import deliver
from .test_clusters import hpc, no_worker  # noqa: F401

pytestmark = pytest.mark.django_db
HEADER = "JobID|Account|Partition|State|Start|End|ElapsedRaw|AllocTRES\n"


def jobs_of(*states: str, account: str = "one", first: int = 1, day: str = "2026-03-05") -> str:
    return "".join(
        f"{number}|{account}|gpu|{state}|{day}T00:00:00|{day}T02:00:00|7200|gres/gpu:h100=1\n"
        for number, state in enumerate(states, first)
    )


def test_lost_is_what_has_a_cause_with_its_share_and_money():
    ended = [
        EndedHours("COMPLETED", "USD", Decimal(6), Decimal(18)),
        EndedHours("NODE_FAIL", "USD", Decimal(1), Decimal(3)),
        EndedHours("TIMEOUT", "", Decimal(1), Decimal(0), is_in_bill=True),
    ]

    found = lost_of(ended)

    assert (found.hours, found.share, found.costs) == (2, Decimal("0.25"), [("USD", 3)])
    assert lost_of(ended[:1]) is None


def test_every_way_of_ending_has_its_money_on_the_project(hpc):  # noqa: F811
    conditions = [{"field": "account", "operator": "equals", "values": ["one"]}]
    rules.add_rule(by=hpc.operator, name="One", conditions=conditions, project=hpc.project)
    states = ["COMPLETED", *sorted(FAILURE_CAUSES)]
    other = jobs_of("FAILED", account="two", first=90)
    deliver(HEADER + jobs_of(*states) + other, source="jobs")

    found = ended_of_project(hpc.project, date(2026, 3, 1), date(2026, 4, 1))

    assert {each.state: (each.hours, each.cost) for each in found} == dict.fromkeys(states, (2, 6))
    assert ended_of_project(hpc.project, date(2026, 4, 1), date(2026, 5, 1)) == []
    assert ended_of_project(hpc.other_project, date(2026, 3, 1), date(2026, 4, 1)) == []


def test_the_page_of_the_project_marks_what_was_lost(hpc, client):  # noqa: F811
    conditions = [{"field": "account", "operator": "equals", "values": ["one"]}]
    rules.add_rule(by=hpc.operator, name="One", conditions=conditions, project=hpc.project)
    yesterday = (timezone.now().date() - timedelta(days=1)).isoformat()
    deliver(HEADER + jobs_of("COMPLETED", "PREEMPTED", "CANCELLED by 1001", "COMPLETED", day=yesterday), source="jobs")
    client.force_login(hpc.bob)

    page = client.get(reverse("project", args=[hpc.project.slug])).content.decode()

    assert "pre-empted" in page and "cancelled" in page
    assert "4.00 accelerator-hours, 50.0 %, did not complete" in page and "12.00" in page
