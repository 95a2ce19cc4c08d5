"""Recurring costs over the API: written down by who books, confirmed by finance alone."""

from __future__ import annotations

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from core.months import Month
from tests.usage.conftest import (
    kept_files,  # noqa: F401
    no_worker,  # noqa: F401
)
from tests.usage.test_recurring import price
from usage.models import Booking, RecurringBooking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files", "no_worker")]


def this_month() -> Month:
    return Month.of(timezone.now().date())


def people(**more) -> dict:
    return {
        "basis": "role",
        "name": "Research engineers",
        "project": "base-7b",
        "category": "people_platform",
        "currency": "USD",
        "item": "research engineer",
        "quantity": "2.5",
        "first_month": str(this_month() + -2),
        **more,
    }


def signed_in(person) -> APIClient:
    client = APIClient()
    client.force_authenticate(person)
    return client


def test_people_are_drafted_corrected_and_confirmed(stage):
    price("research engineer", "14500", by=stage.keeper)
    manager, finance = signed_in(stage.manager), signed_in(stage.finance)

    made = manager.post("/api/v1/recurring/", people(), format="json")
    waiting = finance.get("/api/v1/recurring/months/").json()["results"]
    first = waiting[0]["id"]
    mended = finance.patch(
        f"/api/v1/recurring/months/{first}/", {"quantity": "2", "reason": "One left."}, format="json"
    ).json()
    months = [{"id": first, "amount": "29000"}, {"id": waiting[1]["id"], "amount": waiting[1]["amount"]}]
    booked = finance.post("/api/v1/recurring/confirm/", {"months": months}, format="json")

    assert (made.status_code, made.json()["quantity"], made.json()["last_month"]) == (201, "2.5", None)
    assert [(row["amount"], row["month"]) for row in waiting] == [
        ("36250", str(this_month() + -2)),
        ("36250", str(this_month() + -1)),
    ]
    assert (mended["amount"], mended["edit_reason"], mended["edited_by"]) == ("29000", "One left.", stage.finance.email)
    assert (booked.status_code, [row["amount"] for row in booked.json()]) == (201, ["29000", "36250"])
    assert finance.get("/api/v1/recurring/months/").json()["results"] == []
    assert len(finance.get("/api/v1/recurring/months/?state=running").json()["results"]) == 1
    assert len(finance.get("/api/v1/recurring/months/?state=booked").json()["results"]) == 2


@pytest.mark.parametrize(
    ("basis", "values", "amount"),
    [
        ("tariff", {"item": "industrial", "quantity": "1000", "category": "power_facility"}, "100"),
        ("depreciation", {"capital": "3600", "residual": "0", "life_months": 36, "category": "compute"}, "100"),
        ("amount", {"amount": "100"}, "100"),
    ],
)
def test_power_hardware_and_fixed_amounts_are_drafted(stage, basis, values, amount):
    price("industrial", "0.10", kind="electricity", by=stage.keeper)
    sent = {name: value for name, value in people(basis=basis).items() if name not in ("item", "quantity")}

    made = signed_in(stage.finance).post("/api/v1/recurring/", {**sent, **values}, format="json")

    assert made.status_code == 201, made.json()
    waiting = signed_in(stage.finance).get(f"/api/v1/recurring/months/?recurring={made.json()['id']}").json()
    assert [row["amount"] for row in waiting["results"]] == [amount, amount]


def test_an_amount_that_was_not_shown_books_nothing(stage):
    price("research engineer", "14500", by=stage.keeper)
    finance = signed_in(stage.finance)
    finance.post("/api/v1/recurring/", people(), format="json")
    waiting = finance.get("/api/v1/recurring/months/").json()["results"]

    months = [{"id": row["id"], "amount": "1"} for row in waiting]
    refused = finance.post("/api/v1/recurring/confirm/", {"months": months}, format="json")

    assert (refused.status_code, refused.json()["code"], Booking.objects.count()) == (422, "changed", 0)


def test_it_ends_with_a_month(stage):
    price("research engineer", "14500", by=stage.keeper)
    manager = signed_in(stage.manager)
    made = manager.post("/api/v1/recurring/", people(), format="json").json()

    ended = manager.post(
        f"/api/v1/recurring/{made['id']}/end/", {"last_month": str(this_month() + -2)}, format="json"
    ).json()

    assert ended["last_month"] == str(this_month() + -2)
    assert len(manager.get("/api/v1/recurring/months/").json()["results"]) == 1


def test_others_write_nothing_down_and_only_finance_confirms(stage):
    price("research engineer", "14500", by=stage.keeper)
    made = signed_in(stage.manager).post("/api/v1/recurring/", people(), format="json").json()
    waiting = signed_in(stage.manager).get("/api/v1/recurring/months/").json()["results"]
    months = [{"id": row["id"], "amount": row["amount"]} for row in waiting]

    for who in ("alice", "director", "operator"):
        assert signed_in(getattr(stage, who)).post("/api/v1/recurring/", people(), format="json").status_code == 403
    foreign = signed_in(stage.other_manager)
    assert foreign.post("/api/v1/recurring/", people(), format="json").json() == {
        "project": ["is no project that you book on"]
    }
    assert (
        foreign.post(f"/api/v1/recurring/{made['id']}/end/", {"last_month": "2026-01"}, format="json").status_code
        == 404
    )
    assert foreign.get("/api/v1/recurring/").json()["results"] == []
    for who in ("alice", "manager", "operator", "charlie"):
        client = signed_in(getattr(stage, who))
        assert client.post("/api/v1/recurring/confirm/", {"months": months}, format="json").status_code == 403
        changed = client.patch(
            f"/api/v1/recurring/months/{waiting[0]['id']}/", {"quantity": "1", "reason": "x"}, format="json"
        )
        assert changed.status_code == (404 if who == "charlie" else 403)
    assert (RecurringBooking.objects.count(), Booking.objects.count()) == (1, 0)


def test_what_a_basis_needs_is_said(stage):
    answer = signed_in(stage.finance).post("/api/v1/recurring/", people(quantity=None, item=""), format="json")

    assert answer.status_code == 422
    assert {error["path"] for error in answer.json()["errors"]} == {"item", "quantity"}
