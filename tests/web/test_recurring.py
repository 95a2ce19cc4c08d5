"""The page of recurring costs: what waits, confirming it with one click, another quantity, an end."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core.months import Month
from estimates import services as estimates
from usage.bookings.recurring import add_recurring
from usage.models import Booking, MonthDraft, RecurringBooking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]

LAST = Month.of(date.today()) + -1
"""The month before the current one: over, whenever the test runs."""


@pytest.fixture
def kept_files(settings, tmp_path) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"


@pytest.fixture
def no_worker(monkeypatch) -> None:
    monkeypatch.setattr("overruns.tasks.judge_soon", lambda: None)


@pytest.fixture(autouse=True)
def _price(stage) -> None:
    estimates.add_price(
        by=stage.keeper, kind="role", item="research engineer", provider="", region="", mode="", amount="10000",
        currency="USD", valid_from=date(2020, 1, 1), source="https://example.com/prices", verified=True,
    )  # fmt: skip


def people(project, name: str = "Research engineers", start: Month = LAST) -> RecurringBooking:
    item = RecurringBooking(
        basis="role",
        name=name,
        project=project,
        category="people_platform",
        currency="USD",
        item="research engineer",
        quantity=Decimal("2.5"),
        starts_on=start.start,
    )
    return add_recurring(item, by=None)


def page_of(client, name: str, *args) -> str:
    answer = client.get(reverse(name, args=args))
    assert answer.status_code == 200
    return answer.content.decode()


def shown(client) -> list[str]:
    """What the button of the page would send."""
    waiting = client.get(reverse("recurring-list")).context["waiting"]
    return [f"{draft.pk}:{draft.amount}" for draft in waiting]


def test_a_manager_writes_down_people_and_finance_confirms_with_one_click(stage, client):
    client.force_login(stage.manager)
    given = {
        "name": "Engineers", "project": "base-7b", "category": "people_platform", "currency": "USD",
        "item": "research engineer", "quantity": "2.5", "starts_on": str(LAST),
    }  # fmt: skip
    made = client.post(reverse("recurring-new", args=["role"]), given)
    assert made.url == reverse("recurring", args=[RecurringBooking.objects.get().pk])
    assert "Confirm" not in page_of(client, "recurring-list")

    client.force_login(stage.finance)
    page = page_of(client, "recurring-list")
    client.post(reverse("recurring-confirm"), {"draft": shown(client)})

    assert "Confirm this month" in page and "25,000 USD" in page
    assert [str(row.amount) for row in Booking.objects.all()] == ["25000.00"]
    assert "Every month that is over is confirmed." in page_of(client, "recurring-list")


@pytest.mark.parametrize("basis", RecurringBooking.Basis.values)
def test_every_way_of_reckoning_has_its_form(stage, client, basis):
    client.force_login(stage.finance)

    page = page_of(client, "recurring-new", basis)

    assert ('name="quantity"' in page) == (basis in ("role", "tariff"))
    assert ('name="capital"' in page) == (basis == "depreciation")
    assert ('name="amount"' in page) == (basis == "amount")


def test_what_was_not_on_the_page_is_not_confirmed(stage, client):
    people(stage.project)
    client.force_login(stage.finance)

    for posted in ([], ["x"], [f"{MonthDraft.objects.earliest('pk').pk}:1"], ["999:1"]):
        client.post(reverse("recurring-confirm"), {"draft": posted})

    assert not Booking.objects.exists()


def test_a_manager_cannot_confirm(stage, client):
    people(stage.project)
    client.force_login(stage.manager)

    client.post(reverse("recurring-confirm"), {"draft": shown(client)})

    assert not Booking.objects.exists()


def test_finance_changes_a_month_with_a_reason(stage, client):
    item = people(stage.project)
    draft = item.drafts.get(month=LAST.start)
    client.force_login(stage.finance)

    refused = client.post(reverse("recurring-month", args=[draft.pk]), {"quantity": "1.5", "reason": ""})
    client.post(reverse("recurring-month", args=[draft.pk]), {"quantity": "1.5", "reason": "one was ill"})

    assert refused.status_code == 422
    assert "15,000 USD" in page_of(client, "recurring-list")
    assert "one was ill" in page_of(client, "recurring", item.pk)


def test_a_cost_is_ended_on_its_page(stage, client):
    item = people(stage.project)
    client.force_login(stage.manager)

    client.post(reverse("recurring-end", args=[item.pk]), {"last_month": str(LAST)})

    assert RecurringBooking.objects.get().ends_on == (LAST + 1).start
    assert item.drafts.count() == 1


def test_costs_of_others_do_not_exist(stage, client):
    other = people(stage.other_project, "Search people")
    client.force_login(stage.alice)

    assert "Search people" not in page_of(client, "recurring-list")
    assert client.get(reverse("recurring", args=[other.pk])).status_code == 404
    assert client.post(reverse("recurring-end", args=[other.pk])).status_code == 404
    assert client.get(reverse("recurring-month", args=[other.drafts.earliest("pk").pk])).status_code == 404


def test_the_page_costs_the_same_number_of_queries_however_long(stage, client):
    people(stage.project)
    client.force_login(stage.finance)
    page_of(client, "recurring-list")
    with CaptureQueriesContext(connection) as short:
        page_of(client, "recurring-list")
    for number in range(3):
        people(stage.project, f"More {number}", LAST + -3)

    with CaptureQueriesContext(connection) as long:
        page_of(client, "recurring-list")

    assert len(long) == len(short) <= 20


def test_a_kind_of_recurring_cost_that_there_is_not_is_no_page(client, stage):
    for who in (stage.finance, stage.alice):
        client.force_login(who)
        assert client.get(reverse("recurring-new", args=["weekly"])).status_code == 404
