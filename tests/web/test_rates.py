"""Exchange rates on a page: everybody reads them, finance enters them, a closed month keeps its own."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from teams.models import Activity, ClosedMonth, ExchangeRate

pytestmark = pytest.mark.django_db

RATE = {"month": "2026-03", "base": "CNY", "quote": "USD", "rate": "0.1402", "source": "Central bank"}


def test_finance_enters_a_rate_with_its_source(client, stage):
    client.force_login(stage.finance)

    answer = client.post("/rates/", RATE, follow=True)

    row = ExchangeRate.objects.get()
    assert (row.month, row.base, row.quote, row.rate) == (date(2026, 3, 1), "CNY", "USD", Decimal("0.1402"))
    assert "0.1402" in answer.content.decode()
    assert Activity.objects.get(verb="rate.entered").by == stage.finance


def test_a_rate_of_a_closed_month_is_refused_beside_its_month(client, stage):
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=datetime(2026, 4, 2, tzinfo=UTC), by=stage.finance)
    client.force_login(stage.finance)

    answer = client.post("/rates/", RATE)

    assert answer.status_code == 422
    assert answer.context["form"].errors["month"] == ["is closed"]
    assert not ExchangeRate.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [({"rate": "0"}, "rate"), ({"rate": "-2"}, "rate"), ({"quote": "CNY"}, "quote"), ({"month": "March"}, "month")],
)
def test_a_rate_that_cannot_be_right_is_refused_beside_its_field(client, stage, wrong, field):
    client.force_login(stage.finance)

    answer = client.post("/rates/", RATE | wrong)

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not ExchangeRate.objects.exists()


def test_a_member_reads_rates_and_enters_none(client, stage):
    ExchangeRate.objects.create(month=date(2026, 3, 1), base="EUR", quote="USD", rate=Decimal("1.08"), source="Bank")
    client.force_login(stage.alice)

    page = client.get("/rates/")
    refused = client.post("/rates/", RATE)

    assert "1.08" in page.content.decode() and not page.context["enters"]
    assert refused.status_code == 403
    assert ExchangeRate.objects.count() == 1


def test_the_page_of_rates_asks_ten_queries(client, stage, django_assert_num_queries):
    for month in range(1, 13):
        ExchangeRate.objects.create(month=date(2026, month, 1), base="EUR", quote="USD", rate=Decimal("1.08"))
    client.force_login(stage.alice)

    with django_assert_num_queries(10):
        client.get("/rates/")
