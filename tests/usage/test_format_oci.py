"""Oracle Cloud cost reports: rows known by their reference numbers, corrections that add, prepaid commitments."""

from __future__ import annotations

import pytest

from tests.shared import shared
from usage.models import Record

from .bills import SAMPLES, amount, by_service, days, deliver, records, table, total

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stage", "kept_files")]


def usage(reference: str, cost: str = "4", **more: str) -> dict[str, str]:
    """One hour of an accelerator's SKU."""
    return {
        "lineItem/referenceNo": reference,
        "lineItem/tenantId": "ocid1.tenancy.1",
        "lineItem/intervalUsageStart": "2025-03-05T10:00Z",
        "lineItem/intervalUsageEnd": "2025-03-05T11:00:00Z",
        "product/service": "COMPUTE",
        "product/Description": "Compute - GPU - H100",
        "product/region": "us-ashburn-1",
        "usage/billedQuantity": "8.000000000000000000",
        "cost/productSku": "B98415",
        "cost/myCost": cost,
        "cost/myCostOverage": "",
        "cost/currencyCode": "USD",
        "cost/billingUnitReadable": "1 NONE HOURS GPU",
        "lineItem/isCorrection": "false",
        "lineItem/backreferenceNo": "",
        "tags/Lab.team": "pretrain",
    } | more


def only(**more: str) -> Record:
    deliver(table(usage("r-1", **more)))
    (row,) = records()
    return row


def test_the_published_report_has_its_right_totals() -> None:
    answer = deliver(shared("usage/oci/oci_cost_part1.csv"))

    assert (answer["format"], answer["status"], answer["errors"]) == ("oci", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"]) == (253, 253, 0)
    assert answer["totals"]["USD"]["billed"] == "1.222170173446659532"
    assert answer["totals"]["USD"]["effective"] == "1.222170173446659532"
    rows = records()
    services = by_service(rows)
    assert {name: services[name] for name in ("DATABASE", "MYSQL", "COMPUTE", "BLOCK_STORAGE")} == {
        "DATABASE": "0.596736767742927316",
        "MYSQL": "0.578484543196478595",
        "COMPUTE": "0.038214831418266201",
        "BLOCK_STORAGE": "0.008637820893076454",
    }
    assert services["ORACLE_STREAMING_SERVICE"] == "0.000070778703970238"
    assert days(rows) == "2023-11-13:253"
    assert not any(row.key_set.is_correction for row in rows)


def test_a_header_with_a_backslash_is_a_tag_like_any_other() -> None:
    row = only(**{"tags/DevRel\\lab-4cb4.release": "7"})

    assert row.key_set.tags == {"Lab.team": "pretrain", "DevRel\\lab-4cb4.release": "7"}


def test_the_same_report_again_changes_nothing() -> None:
    deliver(SAMPLES / "oci.csv")

    answer = deliver(SAMPLES / "oci.csv")

    assert (answer["status"], len(records())) == ("unchanged", 3)


def test_rows_of_another_file_add_and_rows_known_by_their_number_do_not_come_twice() -> None:
    deliver(table(usage("r-1"), usage("r-2")))

    answer = deliver(table(usage("r-2"), usage("r-3")))

    assert (answer["rows_accepted"], answer["rows_written"]) == (2, 1)
    assert total(records(), "billed") == "12"


def test_a_correction_adds_to_what_it_points_back_to() -> None:
    deliver(table(usage("r-1")))
    deliver(table(usage("r-9", "-1.5", **{"lineItem/isCorrection": "true", "lineItem/backreferenceNo": "r-1"})))

    rows = records()
    assert total(rows, "billed") == "2.5"
    assert [row.key_set.is_correction for row in rows] == [False, True]


def test_with_an_annual_commitment_the_overage_is_billed() -> None:
    answer = deliver(
        table(usage("r-1"), usage("r-2", **{"cost/myCostOverage": "1.25"})), source="prepaid", annual_commitment="1"
    )

    assert (answer["totals"]["USD"]["billed"], answer["totals"]["USD"]["effective"]) == ("1.25", "8")


def test_costs_in_e_notation_are_exact() -> None:
    assert amount(only(cost="2.323760000E-9").billed) == "0.00000000232376"


def test_hours_of_gpus_are_accelerator_hours() -> None:
    row = only()

    assert (row.key_set.meter.accelerator, amount(row.accelerator_hours)) == ("h100", "8")


def test_a_row_without_a_reference_number_is_rejected() -> None:
    answer = deliver(table(usage("r-1"), usage("")))

    assert (answer["rows_rejected"], answer["errors"][0]["column"]) == (1, "lineItem/referenceNo")


def test_a_usage_report_is_refused_by_name() -> None:
    row = usage("r-1") | {"usage/consumedQuantity": "8"}
    del row["cost/myCost"], row["cost/myCostOverage"], row["cost/currencyCode"]

    answer = deliver(table(row))

    assert answer["status"] == "refused"
    assert "usage report" in answer["errors"][0]["reason"]
