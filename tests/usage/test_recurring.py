"""Recurring costs: drafted month by month at the prices of the day, booked when finance has confirmed them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from core.errors import DomainError
from core.months import Month
from estimates import services as estimates
from overruns.tasks import draft_recurring_costs
from usage import queries
from usage.bookings.recurring import add_recurring, confirm_months, draft_months, edit_draft, end_recurring
from usage.bookings.services import reverse_booking
from usage.models import Booking, MonthDraft, RecurringBooking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

NOW = datetime(2026, 3, 20, 9, tzinfo=UTC)
APRIL = datetime(2026, 4, 2, 9, tzinfo=UTC)


def price(item: str, amount: str, *, kind: str = "role", day: date = date(2025, 1, 1), by) -> None:
    estimates.add_price(
        by=by, kind=kind, item=item, provider="", region="", mode="", amount=amount, currency="USD", valid_from=day,
        source="https://example.com/prices", verified=True, now=NOW,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _unrelated(stage):
    """Prices, and a recurring cost of another team."""
    price("research engineer", "14500", by=stage.keeper)
    price("industrial", "0.10", kind="electricity", by=stage.keeper)
    add_recurring(item(stage, project=stage.other_project, quantity=Decimal(9)), by=None, now=NOW)


def item(on, /, **changes) -> RecurringBooking:
    values = {
        "basis": "role",
        "name": "Research engineers",
        "project": on.project,
        "category": "people_platform",
        "currency": "USD",
        "item": "research engineer",
        "quantity": Decimal("2.5"),
        "starts_on": date(2026, 1, 1),
    }
    return RecurringBooking(**{**values, **changes})


def drafts(stage) -> list[tuple[str, str | None, bool]]:
    rows = MonthDraft.objects.filter(recurring__project=stage.project)
    return [(str(Month.of(row.month)), row.amount and str(row.amount), row.booking_id is not None) for row in rows]


def seen(stage) -> dict[int, Decimal]:
    rows = MonthDraft.objects.due(date(2026, 4, 2)).filter(recurring__project=stage.project, amount__isnull=False)
    return dict(rows.values_list("pk", "amount"))


def actual(project, category: str = "people_platform", **more) -> str:
    found = queries.line_actual(
        project.pk, category, start=date(2026, 1, 1), end=date(2027, 1, 1), basis="effective", **more
    )
    return str(found.get("USD", Decimal(0)).normalize())


def test_months_are_drafted_up_to_this_one_and_book_nothing(stage):
    add_recurring(item(stage), by=stage.manager, now=NOW)

    assert drafts(stage) == [
        ("2026-01", "36250.00", False),
        ("2026-02", "36250.00", False),
        ("2026-03", "36250.00", False),
    ]
    assert actual(stage.project) == "0"


def test_the_clock_drafts_each_month_once(stage):
    add_recurring(item(stage), by=stage.manager, now=NOW)

    assert draft_months(now=NOW) == 0
    assert draft_months(now=APRIL) == 2
    assert draft_months(now=APRIL) == 0
    assert [month for month, *_rest in drafts(stage)] == ["2026-01", "2026-02", "2026-03", "2026-04"]


def test_the_task_of_the_clock_drafts_up_to_today(stage):
    add_recurring(item(stage), by=None, now=NOW)
    this_month = Month.of(datetime.now(tz=UTC).date())

    draft_recurring_costs()

    assert len(drafts(stage)) == this_month - Month(2026, 1) + 1


def test_a_new_price_reckons_what_waits_and_not_what_is_booked(stage):
    add_recurring(item(stage), by=None, now=NOW)
    january = MonthDraft.objects.get(recurring__project=stage.project, month=date(2026, 1, 1))
    confirm_months({january.pk: Decimal(36250)}, by=stage.finance, now=NOW)

    price("research engineer", "16000", day=date(2026, 2, 1), by=stage.keeper)
    draft_months(now=NOW)

    assert drafts(stage) == [
        ("2026-01", "36250.00", True),
        ("2026-02", "40000.00", False),
        ("2026-03", "40000.00", False),
    ]


def test_a_missing_price_leaves_the_month_waiting_without_an_amount(stage):
    add_recurring(item(stage, item="astronaut"), by=None, now=NOW)

    assert drafts(stage)[0] == ("2026-01", None, False)
    with pytest.raises(DomainError, match="look again"):
        confirm_months({MonthDraft.objects.earliest("pk").pk: Decimal(0)}, by=stage.finance, now=NOW)


def test_finance_confirms_all_months_that_are_over_at_once(stage):
    add_recurring(item(stage, reference="P-12", stage="training"), by=stage.manager, now=NOW)

    booked = confirm_months(seen(stage), by=stage.finance, now=APRIL)

    assert actual(stage.project) == "1.0875E+5"
    assert len({booking.delivery_id for booking in booked}) == 1
    first = booked[0]
    assert (first.kind, first.item, str(first.quantity)) == ("people", "research engineer", "2.5")
    assert (first.starts_on, first.ends_on, first.reference, first.stage) == (
        date(2026, 1, 1),
        date(2026, 2, 1),
        "P-12",
        "training",
    )
    own = queries.actual_by_reference(
        stage.project.pk, "people_platform", start=date(2026, 1, 1), end=date(2027, 1, 1), basis="effective"
    )
    assert list(own) == ["P-12"]


def test_the_running_month_cannot_be_confirmed_yet(stage):
    add_recurring(item(stage, starts_on=date(2026, 3, 1)), by=None, now=NOW)
    march = MonthDraft.objects.get(recurring__project=stage.project)

    with pytest.raises(DomainError, match="look again"):
        confirm_months({march.pk: march.amount}, by=stage.finance, now=NOW)

    assert len(confirm_months({march.pk: march.amount}, by=stage.finance, now=APRIL)) == 1


@pytest.mark.parametrize("who", ["alice", "charlie", "manager", "operator", "auditor"])
def test_only_finance_confirms_and_changes_months(stage, who):
    add_recurring(item(stage), by=None, now=NOW)
    person, draft = getattr(stage, who), MonthDraft.objects.filter(recurring__project=stage.project)[0]

    with pytest.raises(DomainError, match="Only finance"):
        confirm_months(seen(stage), by=person, now=APRIL)
    with pytest.raises(DomainError, match="Only finance"):
        edit_draft(draft, by=person, quantity=Decimal(1), reason="x")
    assert not Booking.objects.exists()


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator"])
def test_only_finance_and_managers_of_the_team_write_down_and_end_what_recurs(stage, who):
    kept = add_recurring(item(stage), by=stage.finance, now=NOW)

    with pytest.raises(DomainError, match="Only finance and managers"):
        add_recurring(item(stage, name="More"), by=getattr(stage, who), now=NOW)
    with pytest.raises(DomainError, match="Only finance and managers"):
        end_recurring(kept, by=getattr(stage, who), last_month=Month(2026, 1))


def test_a_month_with_other_people_than_usual_says_why(stage):
    add_recurring(item(stage), by=None, now=NOW)
    january = MonthDraft.objects.get(recurring__project=stage.project, month=date(2026, 1, 1))

    edit_draft(january, by=stage.finance, quantity=Decimal("1.5"), reason="one joined in February")
    draft_months(now=NOW)

    assert drafts(stage)[:2] == [("2026-01", "21750.00", False), ("2026-02", "36250.00", False)]
    booked = confirm_months({january.pk: Decimal(21750)}, by=stage.finance, now=NOW)
    assert (str(booked[0].quantity), booked[0].note) == ("1.5", "Research engineers · one joined in February")
    with pytest.raises(DomainError, match="is booked"):
        edit_draft(january, by=stage.finance, quantity=Decimal(1), reason="x")


def test_what_changed_since_it_was_looked_at_is_not_confirmed(stage):
    add_recurring(item(stage), by=None, now=NOW)
    looked_at = seen(stage)
    price("research engineer", "15000", day=date(2026, 2, 1), by=stage.keeper)
    draft_months(now=APRIL)

    with pytest.raises(DomainError, match="look again"):
        confirm_months(looked_at, by=stage.finance, now=APRIL)

    assert not Booking.objects.exists()


def test_confirming_twice_books_once(stage):
    add_recurring(item(stage), by=None, now=NOW)
    looked_at = seen(stage)
    confirm_months(looked_at, by=stage.finance, now=APRIL)

    with pytest.raises(DomainError, match="look again"):
        confirm_months(looked_at, by=stage.finance, now=APRIL)

    assert actual(stage.project) == "1.0875E+5"


def test_a_reversed_month_waits_for_finance_again(stage):
    add_recurring(item(stage), by=None, now=NOW)
    booked = confirm_months(seen(stage), by=stage.finance, now=APRIL)

    reverse_booking(booked[1], by=stage.finance, reason="wrong number of people", now=APRIL)

    assert [is_booked for _month, _amount, is_booked in drafts(stage)] == [True, False, True]
    february = MonthDraft.objects.get(recurring__project=stage.project, month=date(2026, 2, 1))
    edit_draft(february, by=stage.finance, quantity=Decimal(2), reason="as in the payroll")
    confirm_months({february.pk: Decimal(29000)}, by=stage.finance, now=APRIL)
    assert actual(stage.project) == "1.015E+5"


def test_an_end_takes_away_drafts_and_never_what_is_booked(stage):
    kept = add_recurring(item(stage), by=None, now=NOW)
    confirm_months(seen(stage), by=stage.finance, now=APRIL)
    draft_months(now=APRIL)

    with pytest.raises(DomainError, match="2026-03 is booked"):
        end_recurring(kept, by=stage.manager, last_month=Month(2026, 2))
    end_recurring(kept, by=stage.manager, last_month=Month(2026, 3))
    draft_months(now=APRIL)

    assert [month for month, *_rest in drafts(stage)] == ["2026-01", "2026-02", "2026-03"]


def test_a_machine_loses_its_price_less_the_residual_over_its_life_to_the_cent(stage):
    machine = item(
        stage, basis="depreciation", name="Node 1", category="compute", item="", quantity=None,
        capital=Decimal(100_000), residual=Decimal(9_999), life_months=7, starts_on=date(2025, 8, 1),
    )  # fmt: skip

    add_recurring(machine, by=None, now=NOW)

    rows = MonthDraft.objects.filter(recurring=machine).order_by("month")
    assert [str(row.amount) for row in rows] == ["12857.29"] * 4 + ["12857.28"] * 3
    assert sum(row.amount for row in rows) == Decimal("90001")
    assert (len(rows), machine.last_month) == (7, date(2026, 2, 1))


def test_power_is_kilowatt_hours_at_the_tariff(stage):
    power = item(stage, basis="tariff", category="power_facility", item="industrial", quantity=Decimal("125000.5"))

    add_recurring(power, by=None, now=NOW)

    assert drafts(stage)[0] == ("2026-01", "12500.05", False)


def test_a_fixed_amount_recurs_as_it_is(stage):
    fixed = item(stage, basis="amount", item="", quantity=None, amount=Decimal("99.90"))

    add_recurring(fixed, by=None, now=NOW)

    assert drafts(stage)[0] == ("2026-01", "99.90", False)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": " "}, "name"),
        ({"quantity": None}, "quantity"),
        ({"quantity": Decimal(-1)}, "quantity"),
        ({"item": ""}, "item"),
        ({"starts_on": date(2020, 1, 1)}, "starts_on"),
        ({"ends_on": date(2026, 1, 1)}, "ends_on"),
        ({"basis": "amount", "amount": Decimal("0.001")}, "amount"),
        ({"basis": "depreciation", "capital": Decimal(5), "residual": Decimal(5), "life_months": 3}, "residual"),
        ({"basis": "depreciation", "capital": Decimal(5), "residual": Decimal(1), "life_months": 0}, "life_months"),
    ],
)
def test_what_cannot_recur_is_refused_by_name(stage, changes, path):
    with pytest.raises(DomainError) as refused:
        add_recurring(item(stage, **changes), by=stage.finance, now=NOW)

    assert [fault.path for fault in refused.value.faults] == [path]
