"""The published FOCUS files give exactly the totals that were worked out for them apart from any importer."""

from __future__ import annotations

import pytest

from tests.shared import shared
from tests.usage import factories
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

USD = {"currency": "USD"}
SAAS = {"date_order": "mdy"}

# file, settings, rows read, accepted, billed, effective, list, contracted
CHECKS = [
    ("focus_sample_aws_oracle.csv", {}, 949, 949, "18.54371254313", "13", "18.41439156533", "13"),
    ("DERIVED_focus_aws_oracle_utf8bom_crlf.csv", {}, 100, 100, "1.0598035934", "0", "1.1062035934", "0"),
    ("open-current_scenario1_original.csv", USD, 1, 1, "1500", "1500", "2000", "1500"),
    ("open-current_scenario1_replacement.csv", USD, 2, 2, "1500", "1500", "2000", "1500"),
    ("open-current_scenario1_delta.csv", USD, 3, 3, "0", "0", "0", "0"),
    ("open-current_scenario4_replacement.csv", USD, 7, 7, "4.197398", "4.197398", "5.997998", "4.197398"),
    ("ai_multi_model_usage.csv", {}, 4, 4, "104.5", "104.5", "104.5", "104.5"),
    ("spec12_commitment_discount_purchase_scenario_1.csv", USD, 1, 1, "8760", "0", "0", "0"),
    ("spec12_commitment_discount_purchase_scenario_3.csv", USD, 4, 3, "4381", "0", "0", "0"),
    ("spec12_commitment_discount_usage_scenario_1.csv", USD, 1, 1, "0", "1", "0", "0"),
    ("spec12_commitment_discount_usage_scenario_2.csv", USD, 1, 1, "0", "1", "0", "0"),
    ("spec12_commitment_discount_usage_scenario_3.csv", USD, 2, 2, "0", "1", "0", "0"),
    ("spec12_commitment_discount_usage_scenario_4.csv", USD, 2, 2, "0.5", "1.5", "0", "0"),
    ("spec12_virtual_currency_pricing_model_a1.csv", SAAS, 1, 1, "200000", "0", "200000", "200000"),
    ("spec12_virtual_currency_pricing_model_a2.csv", SAAS, 3, 3, "0", "1230", "1230", "1230"),
    ("spec12_simple_saas_agreements_c.csv", {**SAAS, "money_text": "us"}, 3, 3, "35800", "35800", "35800", "35800"),
]


@pytest.mark.parametrize(
    ("name", "given", "read", "accepted", "billed", "effective", "listed", "contracted"),
    CHECKS,
    ids=[check[0] for check in CHECKS],
)
def test_a_published_file_gives_its_totals(name, given, read, accepted, billed, effective, listed, contracted):
    answer = factories.deliver_file(factories.source(), shared(f"usage/focus/{name}"), **given)

    assert answer["status"] == "live", answer["errors"]
    assert (answer["rows_read"], answer["rows_accepted"]) == (read, accepted)
    assert answer["rows_rejected"] == read - accepted
    assert answer["totals"] == {
        "USD": {"billed": billed, "effective": effective, "list": listed, "contracted": contracted}
    }


def test_the_sample_of_two_clouds_has_five_scopes_and_its_charge_categories():
    answer = factories.deliver_file(factories.source(), shared("usage/focus/focus_sample_aws_oracle.csv"))

    assert len(answer["scopes"]) == 5
    assert answer["by_charge_category"] == {
        "Adjustment": {"rows": 2, "billed": "0.272", "effective": "0"},
        "Credit": {"rows": 1, "billed": "-2.6137", "effective": "-3"},
        "Usage": {"rows": 946, "billed": "20.88541254313", "effective": "16"},
    }


def test_the_same_file_again_is_unchanged_and_writes_nothing():
    source, path = factories.source(), shared("usage/focus/focus_sample_aws_oracle.csv")
    factories.deliver_file(source, path)

    again = factories.deliver_file(source, path)

    assert (again["status"], again["rows_written"], again["rows_unchanged"]) == ("unchanged", 0, 949)
    assert again["totals"]["USD"]["billed"] == "18.54371254313"


def test_services_and_days_of_the_sample_sum_as_worked_out():
    factories.deliver_file(factories.source(), shared("usage/focus/focus_sample_aws_oracle.csv"))

    _whole, services = usage_totals(Question(source="cloud", by=["service"]))
    _whole, days = usage_totals(Question(source="cloud", by=["day"]))

    billed = {group.key["service"]: str(group.totals["USD"].normalize()) for group in services}
    assert billed["Amazon Elastic Compute Cloud"] == "16.0416930505"
    assert billed["COMPUTE"] == "0.536"
    rows = {str(group.key["day"]): group.rows for group in days}
    assert (rows["2024-09-01"], rows["2024-09-13"], rows["2024-09-25"], rows["2024-09-30"]) == (19, 42, 49, 39)
    assert sum(rows.values()) == 949


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("open-current_scenario1_original.csv", "BillingCurrency"),
        ("spec12_commitment_discount_purchase_scenario_1.csv", "BillingCurrency"),
    ],
)
def test_a_file_without_a_currency_is_refused_and_names_the_column(name, column):
    answer = factories.deliver_file(factories.source(), shared(f"usage/focus/{name}"))

    assert answer["status"] == "refused"
    assert [error["column"] for error in answer["errors"]] == [column]


@pytest.mark.parametrize(
    "name",
    [
        "spec12_virtual_currency_pricing_model_a1.csv",
        "spec12_virtual_currency_pricing_model_a2.csv",
        "spec12_simple_saas_agreements_c.csv",
        "focus05_all_pass.csv",
    ],
)
def test_a_file_without_an_acceptable_row_is_refused(name):
    answer = factories.deliver_file(factories.source(), shared(f"usage/focus/{name}"))

    assert (answer["status"], answer["rows_accepted"]) == ("refused", 0)
    assert answer["rows_rejected"] == answer["rows_read"] > 0


def test_a_billing_period_that_ends_before_it_starts_rejects_both_rows_of_0_5():
    answer = factories.deliver_file(factories.source(), shared("usage/focus/focus05_all_pass.csv"))

    rows = [error for error in answer["errors"] if error["line"]]
    assert [error["column"] for error in rows] == ["BillingPeriodEnd", "BillingPeriodEnd"]


def test_an_hour_that_does_not_exist_rejects_that_row_alone():
    path = shared("usage/focus/spec12_commitment_discount_purchase_scenario_3.csv")

    answer = factories.deliver_file(factories.source(), path, currency="USD")

    [error] = answer["errors"]
    assert error["value"] == "2023-02-01T30:00:00Z"
    assert "hour" in error["reason"]


def test_a_contract_commitment_dataset_is_refused_by_name():
    answer = factories.deliver_file(factories.source(), shared("usage/focus/contract_commitment_scenario_1.csv"))

    assert answer["status"] == "refused"
    assert "Contract Commitment" in answer["errors"][0]["reason"]


def test_a_replacement_takes_the_place_of_the_original():
    source = factories.source()
    factories.deliver_file(source, shared("usage/focus/open-current_scenario1_original.csv"), currency="USD")

    factories.deliver_file(source, shared("usage/focus/open-current_scenario1_replacement.csv"), currency="USD")

    whole, groups = usage_totals(Question(source="cloud", by=["resource"]))
    assert (whole.rows, whole.totals["USD"]) == (2, 1500)
    assert {group.key["resource"]: int(group.totals["USD"]) for group in groups} == {"R-111": 1200, "R-222": 300}


def test_an_appended_delta_adds_to_the_original():
    source = factories.source()
    factories.deliver_file(source, shared("usage/focus/open-current_scenario1_original.csv"), currency="USD")

    delta = shared("usage/focus/open-current_scenario1_delta.csv")
    factories.deliver_file(source, delta, currency="USD", meaning="append")
    again = factories.deliver_file(source, delta, currency="USD", meaning="append")

    assert again["status"] == "unchanged"
    whole, groups = usage_totals(Question(source="cloud", by=["resource"]))
    assert (whole.rows, whole.totals["USD"]) == (4, 1500)
    assert {group.key["resource"]: int(group.totals["USD"]) for group in groups} == {"R-111": 1200, "R-222": 300}
    assert sum(whole.quantities.values()) == 1000
