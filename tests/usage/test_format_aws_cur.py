"""AWS Cost and Usage Reports: legacy, snake_case and 2.0; what a line item of every type costs and counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shared import shared
from usage.models import Record
from usage.totals import Question, usage_totals

from .bills import SAMPLES, amount, by_service, days, deliver, records, sums_by, table, total

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stage", "kept_files")]


def line_type(row: Record) -> str:
    return row.key_set.extra["LineItemType"]


def line(line_type: str, unblended: str, **more: str) -> dict[str, Any]:
    """A line item of an hour of p4d.24xlarge in March 2025."""
    return {
        "bill/PayerAccountId": "000000000001",
        "bill/BillingPeriodStartDate": "2025-03-01T00:00:00Z",
        "lineItem/UsageAccountId": "000000000002",
        "lineItem/LineItemType": line_type,
        "lineItem/UsageStartDate": "2025-03-05T10:00:00Z",
        "lineItem/UsageEndDate": "2025-03-05T11:00:00Z",
        "lineItem/ProductCode": "AmazonEC2",
        "lineItem/UsageType": "USE1-BoxUsage:p4d.24xlarge",
        "lineItem/UsageAmount": "1",
        "lineItem/CurrencyCode": "USD",
        "lineItem/UnblendedCost": unblended,
        "pricing/unit": "Hrs",
        "product/instanceType": "p4d.24xlarge",
        "savingsPlan/SavingsPlanEffectiveCost": "",
        "savingsPlan/TotalCommitmentToDate": "",
        "savingsPlan/UsedCommitment": "",
        "reservation/EffectiveCost": "",
        "reservation/ReservationARN": "",
        "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod": "",
        "reservation/UnusedRecurringFee": "",
        "resourceTags/user:team": "pretrain",
    } | more


def only(line_type: str, unblended: str, **more: str) -> Record:
    """Import one line and answer its record."""
    answer = deliver(table(line(line_type, unblended, **more)))
    assert answer["status"] == "live", answer["errors"]
    (row,) = records()
    return row


CHECKS = {
    "cur_legacy_part1.csv": {
        "rows": 900,
        "billed": "0.6588344206",
        "effective": "0.6588344206",
        "list": "2.3315710954",
        "types": {"Tax": (12, "0.08"), "Usage": (888, "0.5788344206")},
        "services": {
            "AmazonS3": "0.4170935797",
            "awskms": "0.2405555574",
            "AmazonEFS": "0.0009452835",
            "AWSCloudTrail": "0.00024",
            "AWSCloudShell": "0",
        },
        "days": "2023-11-01:28, 2023-11-02:21, 2023-11-03:19, 2023-11-04:159, 2023-11-05:118, 2023-11-06:51, "
        "2023-11-07:127, 2023-11-08:56, 2023-11-09:44, 2023-11-10:52, 2023-11-11:56, 2023-11-12:91, "
        "2023-11-13:64, 2023-11-14:14",
        "hours": "0",
    },
    "koku_test_cur.csv": {
        "rows": 19,
        "billed": "0.0827499841274349353",
        "effective": "0.0827499841274349353",
        "list": "0.0827499841274349353",
        "types": {"Usage": (19, "0.0827499841274349353")},
        "services": {"AmazonEC2": "0.0827499841274349353"},
        "days": "2018-06-01:19",
        "hours": "0",
    },
    "koku_2022-07-01-alt-columns.csv": {
        "rows": 2,
        "billed": "0",
        "effective": "0",
        "list": "0",
        "types": {"Usage": (2, "0")},
        "services": {"mra": "0"},
        "days": "2022-07-01:2",
        "hours": "0",
    },
    "nise_gpu_p4d_2025-02.csv": {
        "rows": 192,
        "billed": "1573.1919428592",
        "effective": "2611.4271428592",
        "list": "4719.3615428592",
        "types": {
            "SavingsPlanCoveredUsage": (48, "1573.0848"),
            "SavingsPlanNegation": (48, "-1573.0848"),
            "Usage": (96, "1573.1919428592"),
        },
        "services": {"AmazonEC2": "1573.1919428592"},
        "days": "2025-02-27:96, 2025-02-28:96",
        "hours": "768",
    },
}
CHECKS["DERIVED_cur2_from_nise_p4d.csv"] = CHECKS["nise_gpu_p4d_2025-02.csv"]


@pytest.mark.parametrize("name", CHECKS)
def test_a_published_report_has_its_right_totals(name: str) -> None:
    path, right = shared(f"usage/aws-cur/{name}"), CHECKS[name]

    answer = deliver(path)

    assert (answer["format"], answer["status"], answer["errors"]) == ("aws-cur", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"]) == (right["rows"], right["rows"], 0)
    assert answer["totals"]["USD"]["billed"] == right["billed"]
    assert answer["totals"]["USD"]["effective"] == right["effective"]
    assert answer["totals"]["USD"]["list"] == right["list"]
    assert answer["accelerator_hours"] == right["hours"]
    rows = records()
    assert sums_by(rows, line_type) == right["types"]
    services = by_service(rows)
    assert {name: services[name] for name in right["services"]} == right["services"]
    assert days(rows) == right["days"]


def test_effective_cost_of_a_savings_plan_is_spread_by_line_item_type() -> None:
    deliver(shared("usage/aws-cur/nise_gpu_p4d_2025-02.csv"))

    assert sums_by(records(), line_type, "effective") == {
        "SavingsPlanCoveredUsage": (48, "1038.2352"),
        "SavingsPlanNegation": (48, "0"),
        "Usage": (96, "1573.1919428592"),
    }


def test_rows_that_are_one_field_short_are_taken_with_one_warning() -> None:
    answer = deliver(shared("usage/aws-cur/koku_test_cur.csv"))

    assert answer["warnings"]["rows_short"] == 1
    assert records()[0].key_set.tags == {}


def test_a_report_delivered_again_under_new_line_item_ids_changes_nothing() -> None:
    first = table(*[line("Usage", f"1.{number}") | {"identity/LineItemId": f"a{number}"} for number in range(3)])
    deliver(first)

    answer = deliver(first.replace(",a", ",b"))

    assert (answer["status"], answer["rows_unchanged"], answer["rows_written"]) == ("unchanged", 3, 0)


@pytest.mark.parametrize(
    ("columns", "category", "billed", "effective", "hours"),
    [
        ({"line_type": "Usage", "unblended": "32.77"}, "Usage", "32.77", "32.77", "8"),
        (
            {
                "line_type": "SavingsPlanCoveredUsage",
                "unblended": "32.77",
                "savingsPlan/SavingsPlanEffectiveCost": "21.63",
            },
            "Usage",
            "32.77",
            "21.63",
            "8",
        ),
        ({"line_type": "SavingsPlanNegation", "unblended": "-32.77"}, "Usage", "-32.77", "0", None),
        (
            {
                "line_type": "SavingsPlanRecurringFee",
                "unblended": "100",
                "savingsPlan/TotalCommitmentToDate": "100",
                "savingsPlan/UsedCommitment": "90.5",
            },
            "Purchase",
            "100",
            "9.5",
            None,
        ),
        ({"line_type": "SavingsPlanUpfrontFee", "unblended": "5000"}, "Purchase", "5000", "0", None),
        (
            {"line_type": "DiscountedUsage", "unblended": "0", "reservation/EffectiveCost": "19.5"},
            "Usage",
            "0",
            "19.5",
            "8",
        ),
        (
            {
                "line_type": "RIFee",
                "unblended": "740",
                "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod": "1.25",
                "reservation/UnusedRecurringFee": "2.5",
            },
            "Purchase",
            "740",
            "3.75",
            None,
        ),
        (
            {"line_type": "Fee", "unblended": "8000", "reservation/ReservationARN": "arn:aws:ec2:x"},
            "Purchase",
            "8000",
            "0",
            None,
        ),
        ({"line_type": "Fee", "unblended": "15"}, "Purchase", "15", "15", None),
        ({"line_type": "Tax", "unblended": "0.07"}, "Tax", "0.07", "0.07", None),
        ({"line_type": "Credit", "unblended": "-3"}, "Credit", "-3", "-3", None),
        ({"line_type": "Refund", "unblended": "-4"}, "Usage", "-4", "-4", None),
        ({"line_type": "EdpDiscount", "unblended": "-1"}, "Usage", "-1", "-1", None),
        ({"line_type": "SomethingNew", "unblended": "2"}, "Adjustment", "2", "2", None),
    ],
)
def test_every_line_item_type_has_its_category_costs_and_hours(columns, category, billed, effective, hours) -> None:
    row = only(**columns)

    assert row.key_set.meter.charge_category == category
    assert (amount(row.billed), amount(row.effective)) == (billed, effective)
    assert amount(row.accelerator_hours) == hours


def test_a_refund_is_a_correction() -> None:
    assert only(line_type="Refund", unblended="-4").key_set.is_correction


def test_an_unknown_line_item_type_is_warned_of() -> None:
    answer = deliver(table(line("SomethingNew", "2")))

    assert answer["warning_details"]["line_item_type_unknown"] == ["SomethingNew"]


def test_an_instance_type_on_a_transfer_or_a_licence_gives_no_hours() -> None:
    row = only(line_type="Usage", unblended="1", **{"lineItem/UsageType": "USE1-EBSOptimized:p4d.24xlarge"})

    assert row.accelerator_hours is None


def test_covered_usage_without_its_effective_cost_is_rejected_by_name() -> None:
    answer = deliver(table(line("SavingsPlanCoveredUsage", "3"), line("Usage", "1")))

    assert answer["rows_rejected"] == 1
    assert answer["errors"][0]["column"] == "savingsPlan/SavingsPlanEffectiveCost"


def test_split_line_items_repeat_their_parents_cost_and_are_skipped() -> None:
    split = line("Usage", "0.4", **{"splitLineItem/ParentResourceId": "i-1"})
    parent = line("Usage", "1", **{"splitLineItem/ParentResourceId": ""})

    answer = deliver(table(parent, split))

    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_skipped"]) == (2, 1, 1)
    assert answer["totals"]["USD"]["billed"] == "1"


def test_an_end_printed_as_the_last_second_is_the_next_one() -> None:
    row = only(line_type="Tax", unblended="1", **{"lineItem/UsageEndDate": "2025-03-31T23:59:59Z"})

    assert row.usage_end.isoformat() == "2025-04-01T00:00:00+00:00"


def test_account_ids_keep_their_leading_zeros_and_tags_their_bare_names() -> None:
    row = only(line_type="Usage", unblended="1", **{"resourceTags/user:headroom_proposal": "P-7"})

    assert (row.key_set.meter.payer, row.key_set.meter.account) == ("000000000001", "000000000002")
    assert row.key_set.tags == {"team": "pretrain", "headroom_proposal": "P-7"}
    assert row.key_set.reference == "P-7"


def test_numbers_in_e_notation_are_exact() -> None:
    assert amount(only(line_type="Usage", unblended="1.25E-09").billed) == "0.00000000125"


def test_a_report_without_its_cost_column_is_refused_with_every_missing_name() -> None:
    row = line("Usage", "1")
    del row["lineItem/UnblendedCost"], row["bill/BillingPeriodStartDate"]

    answer = deliver(table(row))

    assert answer["status"] == "refused"
    assert {error["column"] for error in answer["errors"]} == {
        "lineItem/UnblendedCost",
        "bill/BillingPeriodStartDate",
    }


def test_a_cost_column_that_stands_twice_is_refused() -> None:
    text = table(line("Usage", "1") | {"line_item_unblended_cost": "2"})

    answer = deliver(text)

    assert answer["status"] == "refused"
    assert answer["errors"][0]["reason"] == "stands twice in the header"


def test_the_sample_of_version_2_reads_like_the_legacy_one() -> None:
    deliver(SAMPLES / "aws_cur_2.csv", source="new")
    deliver(SAMPLES / "aws_cur_legacy.csv", source="old")

    new, old = records("new"), records("old")
    for column in ("billed", "effective", "list_cost", "quantity", "accelerator_hours"):
        assert total(new, column) == total(old, column)
    assert [row.key_set.tags for row in new] == [row.key_set.tags for row in old]
    assert total(old, "accelerator_hours") == "16"


def test_what_a_plan_was_paid_for_and_not_used_has_a_state_of_its_own():
    plan = line(
        "SavingsPlanRecurringFee",
        "10",
        **{"savingsPlan/TotalCommitmentToDate": "10", "savingsPlan/UsedCommitment": "7"},
    )
    covered = line("SavingsPlanCoveredUsage", "9", **{"savingsPlan/SavingsPlanEffectiveCost": "7"})
    negation = line("SavingsPlanNegation", "-9")
    deliver(table(plan, covered, negation, line("Usage", "1")))

    whole, groups = usage_totals(Question(by=["state"], basis="effective"))

    assert {group.key["state"]: group.totals["USD"] for group in groups} == {None: 8, "unused": 3}
    assert whole.totals["USD"] == usage_totals(Question())[0].totals["USD"] == 11
