"""The price of an own card's hour: worked out by hand, entered by one click, and paid by the hours of the log."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from core.errors import DomainError
from estimates.models import Price
from usage import rerating, services
from usage.clusters.own_price import Running, price_of_hour
from usage.clusters.prices import derived_price, enter_price
from usage.totals import Question, usage_totals

from .bills import drop_temporary_tables
from .test_clusters import hpc, job, log, no_worker  # noqa: F401

pytestmark = pytest.mark.django_db
COSTS = Running(
    power_kw=Decimal("0.8"), pue=Decimal("1.25"), electricity_price=Decimal("0.12"),
    people_per_month=Decimal(1460), other_per_month=Decimal(730),
)  # fmt: skip
ASKED = {
    "power_kw": "0.8", "pue": "1.25", "electricity_price": "0.12", "people_per_month": "1,460",
    "other_per_month": "730", "valid_from": "2026-03-01", "reason": "",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_task(monkeypatch):
    monkeypatch.setattr("overruns.tasks.derive_idle_hours.delay", lambda: None)
    monkeypatch.setattr("estimates.tasks.recompute_stale.delay", lambda: None)


@pytest.fixture
def paid(hpc):  # noqa: F811
    """Four cards for 140,160 with nothing left after four years: a dollar an hour each."""
    hpc.lot.capital, hpc.lot.life_months, hpc.lot.currency = Decimal(140160), 48, "USD"
    hpc.lot.save()
    return hpc


def test_the_parts_of_an_hour_are_loss_power_people_and_the_rest():
    found = price_of_hour(Decimal(1), 4, COSTS)

    assert (found.loss, found.power, found.people, found.other) == (1, Decimal("0.12"), Decimal("0.5"), Decimal("0.25"))
    assert found.amount == Decimal("1.87")


def test_the_page_shows_the_formula_and_enters_nothing_before_the_click(paid, client):
    client.force_login(paid.keeper)
    page = client.get(reverse("cluster-own-price", args=["hpc", paid.lot.pk]), ASKED).content.decode()

    assert "1.870000" in page and "÷ (4 × 48 × 730 h)" in page and "On that day it is 3 USD" in page
    assert not Price.objects.filter(source__startswith="derived").exists()

    answer = client.post(reverse("cluster-own-price", args=["hpc", paid.lot.pk]), ASKED)

    entered = Price.objects.get(source="derived from cluster hpc")
    assert answer.status_code == 302
    assert (entered.item, entered.mode, entered.currency) == ("h100-sxm-80gb", "own", "USD")
    assert (entered.amount, entered.valid_from) == (Decimal("1.87"), date(2026, 3, 1))
    assert entered.note.startswith("(140160 - 0) / (4 cards x 48 months x 730 h) + 0.8 kW x PUE 1.25")


def test_hours_of_the_log_are_priced_by_it(paid, db):
    log(job(1, "one", 2))
    enter_price(paid.lot, COSTS, valid_from=date(2026, 3, 1), by=paid.keeper)

    for queued in rerating.queue_outdated(now=timezone.now()):
        drop_temporary_tables()
        services.run_import(queued)

    whole, _groups = usage_totals(Question(source="jobs", by=["project"]))
    assert whole.totals["USD"] == Decimal("3.74")


def test_only_a_price_keeper_enters_it_and_a_stranger_sees_nothing(paid, client):
    address = reverse("cluster-own-price", args=["hpc", paid.lot.pk])
    client.force_login(paid.operator)
    assert client.get(address, ASKED).status_code == 200
    assert client.post(address, ASKED).status_code in (403, 422)
    client.force_login(paid.bob)
    assert client.get(address).status_code == 403
    client.force_login(paid.charlie)
    assert client.get(address).status_code == 404

    assert not Price.objects.filter(source__startswith="derived").exists()


def test_cards_without_a_price_paid_or_in_another_currency_are_refused(paid):
    paid.lot.currency = "CNY"
    with pytest.raises(DomainError, match="priced in USD"):
        derived_price(paid.lot, COSTS)

    paid.lot.capital = None
    with pytest.raises(DomainError, match="price paid"):
        derived_price(paid.lot, COSTS)
