"""Azure cost exports: every family of headers, two views of one month, dates, units and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shared import shared
from usage.models import Record

from .bills import SAMPLES, amount, by_service, confirm, days, deliver, records, sums_by, table, total

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stage", "kept_files")]

CHECKS: dict[str, dict[str, Any]] = {
    "opencost_PayAsYouGo.csv": {
        "currency": "USD",
        "rows": 1,
        "cost": "0.075",
        "charges": {"": (1, "0.075")},
        "services": {"Load Balancer": "0.075"},
        "days": "2021-02-02:1",
    },
    "opencost_Enterprise.csv": {
        "currency": "CAD",
        "rows": 1,
        "cost": "0",
        "charges": {"Usage": (1, "0")},
        "services": {"Virtual Machines": "0"},
        "days": "2021-02-02:1",
    },
    "opencost_Template.csv": {
        "settings": {"currency": "USD"},
        "currency": "USD",
        "rows": 87,
        "cost": "16.393506212224391",
        "list": "16.393506212224391",
        "charges": {"": (87, "16.393506212224391")},
        "services": {
            "Virtual Machines": "10.95",
            "Storage": "3.48381796",
            "Load Balancer": "1.325283872224391",
            "Virtual Network": "0.6344",
            "Bandwidth": "0.00000438",
        },
        "days": "2021-02-01:45, 2021-02-02:42",
    },
    "opencost_VirtualMachine.csv": {
        "settings": {"currency": "USD"},
        "currency": "USD",
        "rows": 1,
        "cost": "4",
        "list": "5",
        "charges": {"": (1, "4")},
        "services": {"Virtual Machines": "4"},
        "days": "2021-02-01:1",
    },
    "koku_azure_version_2.csv": {
        "settings": {"currency_map": "MC=EUR"},
        "currency": "EUR",
        "rows": 5,
        "cost": "19.998413754",
        "charges": {"Purchase": (1, "0"), "Usage": (4, "19.998413754")},
        "services": {
            "Virtual Machines Licenses": "16.393727",
            "Virtual Machines": "3.455664",
            "Storage": "0.149022754",
            "Unassigned": "0",
        },
        "days": "2020-09-01:1, 2020-09-10:1, 2020-09-11:2, 2020-09-22:1",
    },
    "koku_costreport_a243c6f2-199f-4074-9a2c-40e671cf1584.csv": {
        "currency": "USD",
        "rows": 3,
        "cost": "0.00011016",
        "charges": {"": (3, "0.00011016")},
        "services": {"Storage": "0.00011016", "Bandwidth": "0"},
        "days": "2019-07-28:2, 2019-07-29:1",
    },
}


def usage(cost: str = "10", **more: str) -> dict[str, str]:
    """One day of a virtual machine with eight H100."""
    return {
        "SubscriptionId": "11111111-0000-0000-0000-000000000001",
        "BillingProfileId": "profile-1",
        "Date": "2025-03-05",
        "BillingPeriodStartDate": "2025-03-01",
        "BillingPeriodEndDate": "2025-03-31",
        "MeterCategory": "Virtual Machines",
        "MeterName": "ND96isr H100 v5",
        "Quantity": "2",
        "UnitOfMeasure": "1 Hour",
        "CostInBillingCurrency": cost,
        "BillingCurrencyCode": "EUR",
        "ChargeType": "Usage",
        "ReservationId": "",
        "ResourceId": "/subscriptions/x/virtualMachines/train-1",
        "AdditionalInfo": '{"ServiceType":"Standard_ND96isr_H100_v5","VCPUs":96}',
        "Tags": '"team": "pretrain"',
    } | more


def only(*args: str, settings: dict[str, str] | None = None, **more: str) -> Record:
    answer = deliver(table(usage(*args, **more)), **(settings or {}))
    assert answer["status"] == "live", answer["errors"]
    (row,) = records()
    return row


@pytest.mark.parametrize("name", CHECKS)
def test_a_published_export_has_its_right_totals(name: str) -> None:
    path, right = shared(f"usage/azure/{name}"), CHECKS[name]

    answer = deliver(path, **right.get("settings", {}))

    assert (answer["format"], answer["status"], answer["errors"]) == ("azure", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"]) == (right["rows"], right["rows"], 0)
    totals = answer["totals"][right["currency"]]
    assert (totals["billed"], totals["effective"]) == (right["cost"], right["cost"])
    rows = records()
    if "list" in right:
        assert totals["list"] == right["list"]
    assert sums_by(rows, lambda row: row.key_set.extra.get("charge", "")) == right["charges"]
    services = by_service(rows)
    assert {name: services[name] for name in right["services"]} == right["services"]
    assert days(rows) == right["days"]


def test_rows_that_all_lack_the_last_field_are_taken_and_equal_rows_stay_apart() -> None:
    answer = deliver(shared("usage/azure/opencost_Template.csv"), currency="USD")

    assert answer["warnings"]["rows_short"] == 1
    assert len(records()) - len({(row.usage_start, row.key_set_id, row.billed) for row in records()}) == 2


@pytest.mark.parametrize("name", ["opencost_Template.csv", "opencost_VirtualMachine.csv"])
def test_a_file_without_a_currency_is_refused_where_the_source_has_none(name: str) -> None:
    answer = deliver(shared(f"usage/azure/{name}"))

    assert answer["status"] == "refused"
    assert answer["errors"][0]["column"] == "BillingCurrencyCode"


def test_a_code_that_is_no_currency_is_refused_unless_it_is_mapped() -> None:
    answer = deliver(shared("usage/azure/koku_azure_version_2.csv"))

    assert (answer["status"], answer["rows_rejected"]) == ("refused", 5)
    assert records() == []


def test_a_row_without_a_cost_is_rejected_behind_two_byte_order_marks() -> None:
    answer = deliver(shared("usage/azure/opencost_BOM.csv"))

    assert (answer["status"], answer["rows_read"], answer["rows_rejected"]) == ("refused", 1, 1)


def test_translated_headers_are_read_by_their_english_names() -> None:
    answer = deliver(SAMPLES / "azure_german.csv")

    assert (answer["format"], answer["rows_accepted"]) == ("azure", 2)
    assert answer["totals"]["EUR"]["billed"] == "12.4"
    assert by_service(records()) == {"Virtual Machines": "12.25", "Storage": "0.15"}


def test_names_with_underscores_are_the_same_names() -> None:
    names = "date,meter_category,cost_in_billing_currency,billing_currency_code,subscription_id,quantity"
    row = "2026-03-05,Storage,2.5,USD,s-1,1"

    answer = deliver(f"{names}\n{row}\n", view="actual")

    assert (answer["format"], answer["status"]) == ("azure", "live")
    assert total(records(), "billed") == "2.5"


def test_one_file_stands_for_both_costs_and_says_so() -> None:
    answer = deliver(table(usage("7")))

    assert answer["totals"]["EUR"] == {"billed": "7", "effective": "7", "list": "0", "contracted": "0"}
    assert answer["warnings"]["one_view_for_both_costs"] == 1


def test_actual_and_amortised_files_fill_one_cost_each_and_count_hours_once() -> None:
    bought = usage("100", ChargeType="Purchase", ReservationId="r-1", Quantity="1", UnitOfMeasure="1")
    unused = usage("3", ChargeType="UnusedReservation", ReservationId="r-1")

    deliver(table(bought, usage("0", ReservationId="r-1")), view="actual")
    deliver(table(usage("9", ReservationId="r-1"), unused), view="amortised")

    rows = records()
    assert (total(rows, "billed"), total(rows, "effective")) == ("100", "12")
    assert total(rows, "accelerator_hours") == "16"


def test_a_month_of_one_file_is_replaced_when_the_source_gets_two(stage) -> None:
    deliver(table(usage("7")))

    answer = deliver(table(usage("7")), view="actual")
    deliver(table(usage("6")), view="amortised")
    assert answer["status"] == "waiting"
    confirm(answer["import"], by=stage.operator, reason="the effective cost comes in a file of its own now")

    rows = records()
    assert (total(rows, "billed"), total(rows, "effective"), total(rows, "accelerator_hours")) == ("7", "6", "16")


def test_an_amortised_file_is_refused_as_an_actual_one() -> None:
    answer = deliver(table(usage("3", ChargeType="UnusedReservation", ReservationId="r-1")), view="actual")

    assert answer["status"] == "refused"
    assert "amortised" in answer["errors"][0]["reason"]


def test_an_actual_file_is_refused_as_an_amortised_one() -> None:
    answer = deliver(table(usage("100", ChargeType="Purchase", ReservationId="r-1")), view="amortised")

    assert answer["status"] == "refused"
    assert "actual" in answer["errors"][0]["reason"]


def test_slashes_are_month_first() -> None:
    assert only(Date="03/05/2025").usage_start.isoformat() == "2025-03-05T00:00:00+00:00"


def test_a_first_number_above_twelve_refuses_the_file_instead_of_turning_one_row_round() -> None:
    answer = deliver(table(usage(Date="03/05/2025"), usage(Date="13/05/2025")))

    assert answer["status"] == "refused"
    assert answer["errors"][0]["value"] == "13/05/2025"


def test_day_first_is_read_where_the_source_says_so() -> None:
    assert only(Date="13/05/2025", settings={"date_order": "dmy"}).usage_start.day == 13


@pytest.mark.parametrize(("unit", "hours"), [("1 Hour", "16"), ("10 Hours", None), ("1 GB", None)])
def test_hours_of_cards_are_known_only_where_the_unit_is_one_hour(unit: str, hours: str | None) -> None:
    assert amount(only(UnitOfMeasure=unit).accelerator_hours) == hours


def test_hours_in_multiples_are_warned_of() -> None:
    answer = deliver(table(usage(UnitOfMeasure="10 Hours")))

    assert answer["warning_details"]["hours_in_multiples"] == ["10 Hours"]


def test_a_licence_of_the_machine_holds_no_cards() -> None:
    assert only(MeterCategory="Virtual Machines Licenses").key_set.meter.accelerator == ""


def test_tags_without_braces_are_read() -> None:
    assert only().key_set.tags == {"team": "pretrain"}


def test_the_billing_month_is_the_files_own() -> None:
    row = only(Date="2025-02-28", BillingPeriodStartDate="03/01/2025", BillingPeriodEndDate="03/31/2025")

    assert row.billing_month.isoformat() == "2025-03-01"


def test_a_refund_gives_back_a_purchase_and_rounding_adjusts() -> None:
    deliver(table(usage("-5", ChargeType="Refund"), usage("0.01", ChargeType="RoundingAdjustment")))

    charges = [(row.key_set.meter.charge_category, row.key_set.is_correction) for row in records()]
    assert charges == [("Purchase", True), ("Adjustment", False)]


def test_a_name_longer_than_any_name_rejects_its_row_and_keeps_the_rest() -> None:
    answer = deliver(table(usage(), usage(MeterName="x" * 400)))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert answer["errors"][0]["reason"] == "is longer than 300 characters"
