"""OpenCost's export, allocations of the API, and OpenShift metering with cut cards."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from core.money import exact_sum, exact_text
from usage.reading.faults import FileRefused

from .records import read

OPENCOST = (
    "Date,Namespace,ControllerKind,ControllerName,Pod,Container,CPUCoreRequestAverage,GPUs,"
    "CPUCost,RAMCost,NetworkCost,PVCost,GPUCost,TotalCost,label_team\n"
)
GPU = (
    "report_period_start,interval_start,interval_end,node,namespace,pod,gpu_uuid,gpu_model_name,gpu_pod_uptime,"
    "mig_instance_id,mig_profile\n"
)


def test_a_container_day_is_a_fact_with_the_total_to_the_last_digit():
    found = read(
        OPENCOST + "2025-03-01,ns,Deployment,web,web-1,main,0.5,2,0.3,0.6,0.9,2,0.8,4.6000000000000005,vision\n",
        currency="USD",
    )

    ((row, keys),) = found.rows
    assert (row.billed, row.effective, row.currency) == ("4.6000000000000005", "4.6000000000000005", "USD")
    assert (row.accelerator_hours, row.cpu_core_hours) == ("48", "12")
    assert (row.usage_start, row.usage_end) == ("2025-03-01T00:00:00+00:00", "2025-03-02T00:00:00+00:00")
    assert (keys.namespace, keys.pod, keys.tags) == ("ns", "web-1", {"team": "vision"})
    assert row.scope.text == "2025-03|2025-03-01"


def test_an_empty_total_is_the_sum_of_its_parts_and_said():
    found = read(OPENCOST + "2025-03-01,ns,,,web-1,main,,,0.1,0.2,,,,,\n", currency="USD")

    assert found.rows[0][0].billed == "0.3"
    assert found.notes.counts == {"total_from_parts": 1}


def test_no_total_and_no_part_refuses_the_row():
    found = read(OPENCOST + "2025-03-01,ns,,,web-1,main,,,,,,,,,\n", currency="USD")

    assert [column for _line, column, *_more in found.faults] == ["TotalCost"]


def test_an_export_without_a_currency_needs_one_of_the_source():
    with pytest.raises(FileRefused, match="currency"):
        read(OPENCOST)


def allocation(name: str, cost: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "properties": {"cluster": "c1", "namespace": "ns", "pod": "p-1", "labels": {"headroom_proposal": "P-3"}},
        "window": {"start": "2025-03-01T00:00:00Z", "end": "2025-03-02T00:00:00Z"},
        "start": "2025-03-01T00:00:00Z",
        "end": "2025-03-01T12:00:00Z",
        "cpuCoreHours": 6,
        "gpuHours": 12.5,
        "cpuCost": 1,
        "gpuCost": 2,
        "ramCost": 0.5,
        "totalCost": cost,
    } | more


def answer(*windows: Any, **more: Any) -> str:
    return json.dumps({"code": 200, "data": list(windows)} | more)


def test_allocations_of_every_window_are_facts():
    found = read(
        answer(
            {"a": allocation("a", 3.5), "__idle__": allocation("__idle__", -0.25)}, None, {}, {"b": allocation("b", 1)}
        ),
        currency="USD",
    )

    assert [(row.billed, keys.resource) for row, keys in found.rows] == [
        ("3.5", "a"),
        ("-0.25", "__idle__"),
        ("1", "b"),
    ]
    row, keys = found.rows[0]
    assert (row.accelerator_hours, row.cpu_core_hours, keys.cluster, keys.reference) == ("12.5", "6", "c1", "P-3")
    assert row.scope.text == "c1|2025-03|2025-03-01T00:00:00Z/2025-03-02T00:00:00Z"


def test_a_bare_map_of_allocations_is_read_too():
    assert [row.billed for row, _keys in read(json.dumps({"a": allocation("a", 3.5)}), currency="USD").rows] == ["3.5"]


def test_a_cost_that_was_no_number_refuses_the_allocation():
    found = read(answer({"a": allocation("a", None), "b": allocation("b", 1)}), currency="USD")

    assert [row.billed for row, _keys in found.rows] == ["1"]
    assert [column for _line, column, *_more in found.faults] == ["totalCost"]


def test_an_error_of_the_api_is_refused():
    with pytest.raises(FileRefused, match="500"):
        read(answer({"a": allocation("a", 1)}, code=500), currency="USD")


def test_requested_and_busy_hours_of_cards_are_kept_beside_the_held_ones():
    cards = {"gpuRequestAverage": 2, "gpuUsageAverage": 0.25, "isGPUShared": False}
    found = read(
        answer(
            {
                "a": allocation("a", 3.5, minutes=720, gpuAllocation=cards),
                "b": allocation("b", 1, gpuEfficiency=0.5),
                "c": allocation("c", 1, gpuAllocation={"gpuUsageAverage": "NaN"}, gpuEfficiency=0),
            }
        ),
        currency="USD",
    )

    said = [json.loads(row.extra) for row, _keys in found.rows]
    measured = [(each.get("requested_hours"), each.get("utilised_hours")) for each in said]
    assert measured == [("24", "3.125"), (None, "6.25"), (None, None)]


def test_a_time_slice_is_a_part_of_its_card_and_unknown_where_nobody_says_which():
    shared = allocation("a", 3.5, gpuAllocation={"isGPUShared": True})

    ((row, _keys),) = read(answer({"a": shared}), currency="USD", shares_per_card="4").rows
    unknown = read(answer({"a": shared}), currency="USD")

    assert row.accelerator_hours == "3.125"
    assert unknown.rows[0][0].accelerator_hours is None
    assert unknown.notes.counts["shares_of_a_card_unknown"] == 1


def gpu_row(pod: str, card: str, uptime: str, profile: str = "", hour: str = "00") -> str:
    times = f"2025-03-01 {hour}:00:00 +0000 UTC,2025-03-01 {hour}:59:59 +0000 UTC"
    return (
        f"2025-03-01 00:00:00 +0000 UTC,{times},n1,ns,{pod},{card},A100,{uptime},{profile and f'MIG-{pod}'},{profile}\n"
    )


def held(found) -> dict[str, str]:
    return {keys.pod: row.accelerator_hours for row, keys in found.rows}


def test_slices_of_one_card_share_its_hours_by_size_wherever_their_rows_stand():
    text = GPU + "".join(
        [
            gpu_row("a", "G1", "3600", "1g.5gb"),
            gpu_row("z", "G2", "1800"),
            gpu_row("b", "G1", "3600", "2g.10gb"),
            gpu_row("c", "G1", "3600", "4g.20gb"),
        ]
    )

    found = read(text)

    shares = held(found)
    assert shares["z"] == "0.5"
    assert shares["a"] == "0.142857142857142857142857142857"
    assert abs(exact_sum([Decimal(hours) for hours in shares.values()]) - Decimal("1.5")) < Decimal("1e-29")


def test_a_card_whose_only_slice_is_used_is_held_whole():
    assert held(read(GPU + gpu_row("a", "G1", "3600", "3g.40gb"))) == {"a": "1"}


def test_pods_that_share_a_card_in_time_never_hold_more_than_the_hour():
    assert held(read(GPU + gpu_row("a", "G1", "3600") + gpu_row("b", "G1", "3600"))) == {"a": "0.5", "b": "0.5"}


def test_pods_that_follow_each_other_on_a_card_hold_their_own_time():
    assert held(read(GPU + gpu_row("a", "G1", "1800") + gpu_row("b", "G1", "900"))) == {"a": "0.5", "b": "0.25"}


def test_an_interval_ends_with_the_hour_and_not_a_second_before():
    ((row, keys),) = read(GPU + gpu_row("a", "G1", "3600", hour="23")).rows

    assert (row.usage_start, row.usage_end) == ("2025-03-01T23:00:00+00:00", "2025-03-02T00:00:00+00:00")
    assert (keys.accelerator, keys.namespace) == ("A100", "ns")


def test_an_uptime_that_is_no_number_refuses_the_row():
    found = read(GPU + gpu_row("a", "G1", "x") + gpu_row("b", "G1", "3600"))

    assert held(found) == {"b": "1"}
    assert [column for _line, column, *_more in found.faults] == ["gpu_pod_uptime"]


def test_a_field_too_many_is_never_taken_for_a_share_of_the_card():
    found = read(GPU + gpu_row("a", "G1", "3600").strip() + ",0.5\n" + gpu_row("b", "G2", "3600"))

    assert held(found) == {"b": "1"}
    assert [reason for *_more, reason in found.faults] == ["it has 12 fields, the header has 11"]


def test_cores_of_pods_are_those_they_asked_for():
    text = (
        "interval_start,interval_end,node,namespace,pod,pod_usage_cpu_core_seconds,pod_request_cpu_core_seconds,pod_labels\n"
        "2025-03-01 00:00:00 +0000 UTC,2025-03-01 00:59:59 +0000 UTC,n1,ns,p,900,7200,label_team:vision|label_a:b\n"
    )

    ((row, keys),) = read(text).rows

    assert (row.cpu_core_hours, row.accelerator_hours) == ("2", None)
    assert keys.tags == {"team": "vision", "a": "b"}


def test_hours_of_whole_cards_are_exact():
    assert exact_text(Decimal(held(read(GPU + gpu_row("a", "G1", "2400")))["a"])).startswith("0.6666666666")
