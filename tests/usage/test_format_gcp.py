"""Google Cloud's billing export: CSV and JSON lines, credits however they are printed, months, cards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.shared import shared
from usage.formats.gcp import card_of, read_credits
from usage.models import Record
from usage.reading.faults import RowFault

from .bills import SAMPLES, amount, by_service, days, deliver, records, sums_by, table, total

PYTHON_CREDITS = "[{'name': \"Don't\", 'amount': -5e-06, 'full_name': None, 'id': 'x', 'type': 'PROMOTION'}]"


def usage(cost: str = "2.5", **more: str) -> dict[str, str]:
    """One hour of a GPU's own SKU."""
    return {
        "billing_account_id": "01AB-02CD",
        "service.description": "Compute Engine",
        "sku.description": "Nvidia H100 80GB GPU running in Americas",
        "usage_start_time": "2025-03-31 23:00:00 UTC",
        "usage_end_time": "2025-04-01 00:00:00 UTC",
        "project.id": "train-1",
        "cost": cost,
        "currency": "USD",
        "usage.amount": "28800.0",
        "usage.unit": "seconds",
        "credits": "[]",
        "invoice.month": "202504",
        "cost_type": "regular",
    } | more


def line(**more: Any) -> dict[str, Any]:
    """The same as a JSON line of the table."""
    return {
        "billing_account_id": "01AB-02CD",
        "service": {"id": "6F81", "description": "Compute Engine"},
        "sku": {"id": "A1", "description": "Nvidia H100 80GB GPU running in Americas"},
        "usage_start_time": "2025-03-31 23:00:00 UTC",
        "usage_end_time": "2025-04-01 00:00:00 UTC",
        "project": {"id": "train-1", "name": "Train", "labels": []},
        "labels": [{"key": "team", "value": "pretrain"}],
        "cost": 2.5,
        "currency": "USD",
        "usage": {"amount": 28800.0, "unit": "seconds"},
        "credits": [],
        "invoice": {"month": "202504"},
        "cost_type": "regular",
    } | more


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def bills(stage, kept_files) -> None:
    """The stage, and a folder for originals."""


def only(*args: str, **more: str) -> Record:
    answer = deliver(table(usage(*args, **more)))
    assert answer["status"] == "live", answer["errors"]
    (row,) = records()
    return row


def test_the_published_export_has_its_right_totals(bills) -> None:
    answer = deliver(shared("usage/gcp/koku_202011.csv"))

    assert (answer["format"], answer["status"], answer["errors"]) == ("gcp", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"]) == (25, 25, 0)
    assert answer["totals"]["USD"] | {"contracted": ""} == {
        "billed": "0",
        "effective": "0",
        "list": "0.000032",
        "contracted": "",
    }
    rows = records()
    assert by_service(rows) == {"BigQuery": "0", "Security Command Center": "0", "Stackdriver Logging": "0"}
    assert days(rows) == "2020-11-08:9, 2020-11-09:8, 2020-11-10:5, 2020-11-11:3"
    credits = [json.loads(row.extra["credits"]) for row in rows if "credits" in (row.extra or {})]
    assert len(credits) == 8
    assert {kind for credit in credits for kind in credit} == {"PROMOTION"}
    assert answer["scopes"] == ["Google Cloud|000000-B0BBA4-940A77|2020-11"]


def test_a_table_and_its_json_lines_read_alike(bills) -> None:
    deliver(SAMPLES / "gcp.csv", source="table")
    answer = deliver(SAMPLES / "gcp.jsonl", source="lines")

    assert (answer["format"], answer["rows_accepted"]) == ("gcp", 3)
    of_table, of_lines = records("table"), records("lines")
    for column in ("billed", "effective", "list_cost", "quantity", "accelerator_hours"):
        assert total(of_lines, column) == total(of_table, column)
    assert sums_by(of_lines, lambda row: row.key_set.meter.sku) == sums_by(of_table, lambda row: row.key_set.meter.sku)
    assert [row.key_set.tags for row in of_lines] == [row.key_set.tags for row in of_table]
    assert (total(of_table, "billed"), total(of_table, "list_cost")) == ("18", "20")


def test_json_lines_keep_the_digits_of_their_numbers(bills) -> None:
    text = lines(line()).replace('"cost": 2.5', '"cost": 0.1234567890123456789012345')

    deliver(text, name="export.json")

    assert amount(records()[0].billed) == "0.1234567890123456789012345"


def test_what_json_lines_hold_beyond_the_columns_is_kept(bills) -> None:
    deliver(lines(line(price={"effective_price": 1.5}, export_time="2025-04-02 00:00:00 UTC")))

    others = json.loads(records()[0].extra["(others)"])
    assert others == {"price.effective_price": "1.5", "export_time": "2025-04-02 00:00:00 UTC"}


def test_an_array_is_read_like_lines(bills) -> None:
    answer = deliver(json.dumps([line(), line(cost=1.5)], indent=1))

    assert (answer["format"], answer["status"], answer["rows_read"]) == ("gcp", "live", 2)
    assert total(records(), "billed") == "4"


def test_a_line_that_is_no_object_is_rejected_alone(bills) -> None:
    answer = deliver(lines(line()) + '[1]\n"x"\n' + lines(line(cost=1.5)))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (2, 2)
    assert total(records(), "billed") == "4"


def test_json_lines_that_end_early_refuse_the_file(bills) -> None:
    answer = deliver(lines(line(), line())[:-20])

    assert answer["status"] == "refused"
    assert records() == []


def test_a_line_that_is_no_json_is_rejected_alone(bills) -> None:
    answer = deliver(lines(line()) + '{"cost": nothing}\n' + lines(line()))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        PYTHON_CREDITS,
        '[{"name": "Trial", "amount": -5e-06, "type": "PROMOTION"}]',
        '[{"name": "Trial", "amount": "-0.000005", "type": "PROMOTION"}]',
        "[{'amount': Decimal('-0.000005'), 'type': 'PROMOTION'}]",
    ],
)
def test_credits_are_read_as_json_and_as_python_prints_them(text: str) -> None:
    assert read_credits(text, "credits") == {"PROMOTION": "-0.000005"}


def test_credits_of_one_type_are_added() -> None:
    text = '[{"amount": -1, "type": "A"}, {"amount": -0.5, "type": "A"}, {"amount": -2, "type": "B"}]'

    assert read_credits(text, "credits") == {"A": "-1.5", "B": "-2"}


@pytest.mark.parametrize("text", ["", "[]", "None", "NULL"])
def test_no_credits_are_nothing(text: str) -> None:
    assert read_credits(text, "credits") == {}


@pytest.mark.parametrize(
    "text",
    [
        "[{'amount': __import__('os').getcwd()}]",
        "[{'amount': 1}",
        "five dollars",
        "[{'type': 'PROMOTION'}]",
        "[{'amount': 'much'}]",
        "{'amount': -1}",
    ],
)
def test_credits_that_cannot_be_read_are_a_fault_and_never_run(text: str) -> None:
    with pytest.raises(RowFault):
        read_credits(text, "credits")


def test_a_row_with_unreadable_credits_is_rejected_since_they_are_money(bills) -> None:
    answer = deliver(table(usage(), usage(credits="?")))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert answer["errors"][0]["column"] == "credits"


def test_the_billing_month_is_the_invoices_and_the_day_is_of_use(bills) -> None:
    row = only()

    assert (row.billing_month.isoformat(), row.usage_start.isoformat()) == ("2025-04-01", "2025-03-31T23:00:00+00:00")


def test_seconds_of_a_gpu_are_its_hours_and_its_machine_carries_none(bills) -> None:
    deliver(table(usage(), usage(**{"sku.description": "A3 Instance Core running in Americas"})))

    assert [(row.key_set.meter.accelerator, amount(row.accelerator_hours)) for row in records()] == [
        ("h100-sxm-80gb", "8"),
        ("", None),
    ]


@pytest.mark.parametrize(
    ("sku", "card"),
    [
        ("Nvidia Tesla A100 GPU running in Americas", "a100-sxm-40gb"),
        ("Nvidia Tesla T4 GPU attached to Spot Preemptible VMs running in Belgium", "t4-16gb"),
        ("Nvidia Model Z GPU running in Americas", "model-z"),
        ("Commitment v1: Nvidia Tesla A100 GPU running in Americas", ""),
        ("N1 Predefined Instance Core running in Americas", ""),
    ],
)
def test_a_card_is_known_by_the_words_of_its_own_sku(sku: str, card: str) -> None:
    assert card_of(sku) == card


@pytest.mark.parametrize(
    ("more", "charge", "is_correction"),
    [
        ({"cost_type": "tax"}, "Tax", False),
        ({"cost_type": "adjustment"}, "Adjustment", True),
        ({"cost_type": "rounding_error"}, "Adjustment", False),
        ({"sku.description": "Commitment v1: A100 in Americas for 1 Year"}, "Purchase", False),
    ],
)
def test_cost_types_and_commitments_have_their_charge_categories(bills, more, charge: str, is_correction: bool) -> None:
    row = only(**more)

    assert (row.key_set.meter.charge_category, row.key_set.is_correction) == (charge, is_correction)


def test_cost_at_list_is_the_list_cost_where_the_table_has_it(bills) -> None:
    row = only("2", cost_at_list="2.75")

    assert (amount(row.list_cost), amount(row.billed)) == ("2.75", "2")


def test_columns_that_a_query_flattened_with_underscores_are_read_too(bills) -> None:
    flat = {name.replace(".", "_"): value for name, value in usage().items()}

    answer = deliver(table(flat))

    assert (answer["format"], answer["rows_accepted"]) == ("gcp", 1)
