"""Deliveries in any order, repeated and overlapping, end in the totals of one clean delivery of the final state."""

from __future__ import annotations

from decimal import Decimal
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.money import exact_sum
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import queries
from usage.models import DailyUsage
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

COSTS = st.sampled_from(["0", "1", "-2.5", "0.1", "0.0000000000000000000000000000000007", "3E-9", "12.30"])
MONTHS = ("2026-03", "2026-04")
ROWS = st.tuples(st.sampled_from(["a", "b", "c"]), COSTS)
DELIVERIES = st.lists(
    st.dictionaries(st.sampled_from(MONTHS), st.lists(ROWS, min_size=1, max_size=4), min_size=1), min_size=1, max_size=4
)


def row(month: str, resource: str, cost: str) -> dict[str, str]:
    following = f"2026-{int(month[5:]) + 1:02d}"
    return {
        "BillingPeriodStart": f"{month}-01T00:00:00Z",
        "BillingPeriodEnd": f"{following}-01T00:00:00Z",
        "ChargePeriodStart": f"{month}-02T22:00:00Z",
        "ChargePeriodEnd": f"{month}-04T03:00:00Z",
        "ResourceId": resource,
        "BilledCost": cost,
        "EffectiveCost": cost,
    }


def content(months: dict[str, list[tuple[str, str]]]) -> bytes:
    return focus(*(row(month, *each) for month, rows in months.items() for each in rows))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries=DELIVERIES, order=st.randoms(use_true_random=False), data=st.data())
def test_statements_with_an_issue_time_in_any_order_end_in_the_newest_of_each_month(deliveries, order, data):
    source = factories.source(f"s-{uuid4().hex}", drop_limit="1")
    numbered = list(enumerate(deliveries, start=1))
    repeated = data.draw(st.lists(st.sampled_from(numbered), max_size=3))
    queue = numbered + repeated
    order.shuffle(queue)

    for number, months in queue:
        answer = deliver(source, content(months), issued_at=f"2026-05-{number:02d}")
        assert answer["status"] in ("live", "unchanged", "stored")

    final = {month: rows for months in deliveries for month, rows in months.items()}
    wanted = {month: exact_sum([Decimal(cost) for _name, cost in rows]) for month, rows in final.items()}
    _whole, groups = usage_totals(Question(source=source.slug, by=["billing_month"]))
    found = {group.key["billing_month"]: group for group in groups}
    assert {month: group.rows for month, group in found.items()} == {m: len(rows) for m, rows in final.items()}
    assert {month: group.totals["USD"] for month, group in found.items()} == wanted


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries=DELIVERIES)
def test_days_projects_and_services_sum_to_the_rows_to_the_last_digit(deliveries):
    source = factories.source(f"s-{uuid4().hex}", drop_limit="1")
    for months in deliveries:
        deliver(source, content(months))

    whole, _groups = usage_totals(Question(source=source.slug, basis="effective"))
    for dimension in ("day", "project", "service", "account", "resource"):
        _whole, groups = usage_totals(Question(source=source.slug, by=[dimension], basis="effective"))
        assert exact_sum([group.totals["USD"] for group in groups]) == whole.totals["USD"]
        assert sum(group.rows for group in groups) == whole.rows
    rolled = DailyUsage.objects.filter(meter__source=source).values_list("effective", "rows")
    assert exact_sum([cost for cost, _rows in rolled]) == whole.totals["USD"]
    assert sum(rows for _cost, rows in rolled) == whole.rows
    assert all(each.holds for each in queries.conservation())
