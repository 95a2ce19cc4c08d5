"""sacct --json in the shapes of its data parsers."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from usage.reading.faults import FileRefused

from .records import read


def unset() -> dict[str, Any]:
    return {"set": False, "infinite": False, "number": 0}


def set_to(number: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


def job(**more: Any) -> dict[str, Any]:
    """A job that held eight cards for half an hour."""
    return {
        "account": "vision",
        "cluster": "alpha",
        "job_id": 77,
        "array": {"job_id": 0, "task_id": unset()},
        "het": {"job_id": 0, "job_offset": unset()},
        "association": {"user": "ann"},
        "allocation_nodes": 1,
        "name": "train",
        "partition": "gpu",
        "qos": "normal",
        "user": "ann",
        "wckey": {"wckey": "", "flags": []},
        "comment": {"job": "", "administrator": "", "system": ""},
        "reservation": {"id": 0, "name": ""},
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "steps": [{"tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 8}]}}],
        "time": {"elapsed": 1800, "submission": 1740816000, "start": 1740816000, "end": 1740817800},
        "tres": {
            "allocated": [
                {"type": "cpu", "name": "", "count": 64},
                {"type": "gres", "name": "gpu", "count": 8},
                {"type": "gres", "name": "gpu:h100", "count": 8},
            ],
            "requested": [],
        },
    } | more


def document(*jobs: dict[str, Any], **more: Any) -> str:
    return json.dumps({"meta": {"plugin": {"type": "openapi/dbv0.0.40"}}, "jobs": list(jobs), "errors": []} | more)


def test_a_job_is_one_fact_and_its_steps_add_nothing():
    found = read(document(job()))

    ((row, keys),) = found.rows
    assert (row.accelerator_hours, row.cpu_core_hours) == ("4", "32")
    assert (keys.accelerator, keys.state, keys.user, keys.cluster) == ("h100", "COMPLETED", "ann", "alpha")
    assert (row.usage_start, row.usage_end) == ("2025-03-01T08:00:00+00:00", "2025-03-01T08:30:00+00:00")


def test_old_parsers_write_plain_numbers_and_one_state():
    old = job(array={"job_id": 5, "task_id": 3}, state={"current": "NODE_FAIL"}, reservation={"id": 0, "name": 0})
    old["time"] = {"elapsed": 1800, "submission": 1740816000, "start": 1740816000, "end": 0}

    found = read(document(old))

    ((row, keys),) = found.rows
    assert (row.job, keys.state, row.accelerator_hours, row.provisional) == ("5_3", "NODE_FAIL", "4", False)


def test_a_job_known_from_the_text_has_the_same_key_in_the_json():
    text = (
        "JobID|JobIDRaw|Cluster|State|Submit|Start|ElapsedRaw|AllocTRES\n"
        "77|77|alpha|COMPLETED|2025-03-01T08:00:00|2025-03-01T08:00:00|1800|gres/gpu=8\n"
    )

    assert read(document(job())).rows[0][0].row_key == read(text).rows[0][0].row_key


def test_a_part_of_a_heterogeneous_job_is_known_by_its_offset():
    found = read(document(job(het={"job_id": 70, "job_offset": set_to(1)})))

    assert found.rows[0][0].job == "70+1"


def test_running_and_pending_jobs():
    running = job(job_id=1, state={"current": ["RUNNING"]}, time={"elapsed": 60, "start": 1740816000, "end": 0})
    pending = job(job_id=2, state={"current": ["PENDING"]}, time={"elapsed": 0, "start": 0, "end": 0})

    found = read(document(running, pending))

    assert [row.provisional for row, _keys in found.rows] == [True]
    assert found.skipped == ["pending"]


def test_errors_that_sacct_reports_refuse_the_file():
    with pytest.raises(FileRefused, match="not complete"):
        read(document(job(), errors=[{"error": "slurmdbd is away"}]))


def test_a_document_that_ends_early_is_refused():
    with pytest.raises(FileRefused, match="early"):
        read(document(job(), job())[:-40])


def test_bad_jobs_are_refused_one_by_one():
    found = read(document(job(), job(state={"current": ["FOO"]}), {"name": "no job"}))

    assert len(found.rows) == 1
    assert [column for _line, column, *_more in found.faults] == ["State", "job_id"]


def test_a_comment_names_the_proposal():
    found = read(document(job(comment={"job": "headroom_proposal: P-7", "administrator": "", "system": ""})))

    assert found.rows[0][1].reference == "P-7"


def test_steps_and_requests_say_how_busy_and_how_many_cards_there_were_to_be():
    steps = [
        {"step": {"name": "extern"}, "time": {"elapsed": 1800},
         "tres": {"requested": {"total": [{"type": "gres", "name": "gpuutil", "count": 0}]}}},
        {"step": {"name": "batch"}, "time": {"elapsed": 900},
         "tres": {"requested": {"total": [{"type": "mem", "name": "", "count": 999999999999},
                                          {"type": "gres", "name": "gpuutil", "count": 400}]}}},
        {"step": {"name": "0"}, "time": {"elapsed": 900}, "tres": {"requested": {"total": None}}},
    ]  # fmt: skip
    tres = {**job()["tres"], "requested": [{"type": "gres", "name": "gpu", "count": 16}]}

    ((row, _keys),) = read(document(job(steps=steps, tres=tres))).rows

    said = json.loads(row.extra)
    assert (said["requested_hours"], said["utilised_hours"]) == ("8", "1")


def test_shares_of_a_card_are_fractions():
    tres = {"allocated": [{"type": "gres", "name": "mps", "count": 25}], "requested": []}

    ((row, keys),) = read(document(job(tres=tres))).rows

    assert (row.accelerator_hours, keys.accelerator_count) == ("0.125", Decimal("0.25"))
