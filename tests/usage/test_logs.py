"""Deliveries of logs: by key, an ended record over an open one, in any order and as often as one likes."""

from __future__ import annotations

import itertools

import pytest

from .bills import deliver, records, total

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("stage", "kept_files")]

HEADER = "JobID|Cluster|State|Submit|Start|End|ElapsedRaw|AllocTRES|JobName\n"
RUNNING = "1|alpha|RUNNING|2025-03-01T08:00:00|2025-03-01T08:00:00|Unknown|1800|gres/gpu=2|a\n"
LATER = "1|alpha|RUNNING|2025-03-01T08:00:00|2025-03-01T08:00:00|Unknown|3600|gres/gpu=2|a\n"
ENDED = "1|alpha|FAILED|2025-03-01T08:00:00|2025-03-01T08:00:00|2025-03-01T08:45:00|2700|gres/gpu=2|a\n"
OTHER = "2|alpha|COMPLETED|2025-03-01T08:00:00|2025-03-01T08:00:00|2025-03-01T09:00:00|3600|gres/gpu=1|b\n"


@pytest.mark.parametrize("order", list(itertools.permutations([RUNNING, LATER + OTHER, ENDED + OTHER])))
def test_deliveries_in_any_order_end_in_the_ended_jobs(order):
    for text in order:
        deliver(HEADER + text)

    found = sorted((row.job, row.key_set.meter.state, row.provisional) for row in records())
    assert found == [("1", "FAILED", False), ("2", "COMPLETED", False)]
    assert total(records(), "accelerator_hours") == "2.5"


def test_a_key_that_stands_twice_in_a_file_is_one_fact():
    answer = deliver(HEADER + RUNNING + ENDED + OTHER)

    assert (answer["rows_read"], answer["rows_accepted"], answer["skipped"]) == (3, 2, {"repeated": 1})
    assert answer["accelerator_hours"] == "2.5"


def test_what_a_later_window_lacks_stays():
    deliver(HEADER + OTHER)

    deliver(HEADER + ENDED)

    assert total(records(), "accelerator_hours") == "2.5"


def test_a_name_with_broken_bytes_is_taken_and_said():
    answer = deliver((HEADER + OTHER).encode().replace(b"|b\n", b"|b\xff\n"))

    assert (answer["status"], answer["warnings"]) == ("live", {"bytes_replaced": 1})
    assert records()[0].extra["JobName"] == "b?"


def test_broken_bytes_where_an_account_or_time_stands_refuse_the_record():
    broken = OTHER.encode().replace(b"2|alpha", b"3|al\xffpha")

    answer = deliver((HEADER + OTHER).encode() + broken)

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert answer["errors"][0]["column"] == "Cluster"


def test_a_table_without_keys_cannot_be_a_log():
    answer = deliver("d,c\n2025-03-01,5\n", columns="start=d,cost=c", currency="USD", meaning="log")

    assert answer["status"] == "refused"
    assert "log" in answer["errors"][0]["reason"]


def test_an_exported_day_stays_when_a_later_export_has_other_days_only():
    columns = "Date,Namespace,Pod,CPUCost,RAMCost,TotalCost\n"
    deliver(columns + "2025-03-01,ns,p,1,1,2\n2025-03-02,ns,p,1,1,2\n", currency="USD")

    deliver(columns + "2025-03-02,ns,p,1,1,2\n2025-03-03,ns,p,1,1,2\n", currency="USD")

    assert total(records(), "billed") == "6"
