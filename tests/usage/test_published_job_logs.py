"""Published job logs, allocations and metering, read in place: every total of the checks, exactly."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.shared import shared

from .bills import days, deliver, records, sums_by

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stage", "kept_files")]

JOB_LOGS = {
    "slurm/xdmod_phillips_2500.log": {
        "read": 2500, "rejected": 0, "skipped": {}, "provisional": 0,
        "hours": "506.903333", "cores": "10928.04",
        "states": {
            "CANCELLED": (3, "506.903333"), "COMPLETED": (1033, "0"), "FAILED": (1463, "0"), "TIMEOUT": (1, "0"),
        },
        "accounts": {"chaff": "506.903333", "aytinis": "0", "taifl": "0"},
        "users": {"noror": "506.903333", "alpsw": "0", "chaff": "0", "honbu": "0"},
        "days": "2016-12-22:1, 2016-12-27:1, 2016-12-30:1053, 2016-12-31:1445",
    },
    "slurm/xdmod_accounting-logs.log": {
        "read": 4, "rejected": 0, "skipped": {}, "provisional": 0,
        "hours": "0", "cores": "21626.493333",
        "states": {"CANCELLED": (1, "0"), "COMPLETED": (2, "0"), "TIMEOUT": (1, "0")},
        "accounts": {"anon": "0", "anonacct": "0", "ccr": "0", "dspumpkins": "0"},
        "users": {"anonuser": "0", "hanx": "0", "unknown": "0", "xms": "0"},
        "days": "2015-06-28:2, 2015-06-30:1, 2016-08-01:1",
    },
    "slurm/xdmod_accounting-logs-with-job-arrays.log": {
        "read": 6, "rejected": 0, "skipped": {}, "provisional": 0,
        "hours": "0", "cores": "110592",
        "states": {"TIMEOUT": (6, "0")}, "accounts": {"anon": "0"}, "users": {"unknown": "0"},
        "days": "2015-06-28:6",
    },
    "slurm/xdmod_non-ended-job-state.log": {
        "read": 2, "rejected": 0, "skipped": {"pending": 1}, "provisional": 1,
        "hours": "0", "cores": "270.473333",
        "states": {"RUNNING": (1, "0")}, "accounts": {"chaff": "0"}, "users": {"noror": "0"},
        "days": "2020-06-30:1",
    },
    "slurm/DERIVED_sacctP_mila.psv": {
        "read": 85, "rejected": 0, "skipped": {"step": 57, "pending": 3}, "provisional": 3,
        "hours": "817.133056", "cores": "3540.633333",
        "states": {
            "COMPLETED": (18, "39.573611"), "NODE_FAIL": (1, "4"), "PREEMPTED": (1, "8"),
            "REQUEUED": (2, "18.582222"), "RUNNING": (3, "746.977222"),
        },
        "accounts": {
            "def-bonhomme_cpu": "739.693056", "synth-acct": "46.186667", "rrg-bonhomme-ad_gpu": "22.850833",
            "def-bonhomme_gpu": "4.8425", "rrg-bonhomme-ad_cpu": "3.56",
        },
        "users": {
            "farcher": "737.122778", "synth": "46.186667", "ltailor": "11.938889", "kvet": "9.093333",
            "bminer": "5.508056", "bsailor": "5.113611", "qfisher": "1.064167", "mfarmer": "0.840556",
        },
        "accelerators": {"a100": "26.811389", "h100": "46.186667", "rtx8000": "744.135"},
        "days": "2024-02-24:9, 2024-03-25:6, 2024-05-01:6, 2024-05-24:4",
    },
    "slurm/gcm_sample-sacct-output.txt": {
        "read": 68, "rejected": 0, "skipped": {"step": 68}, "provisional": 0,
        "hours": "0", "cores": "0", "states": {}, "accounts": {}, "users": {}, "days": "",
    },
    "slurm/gcm_sample-sacct-one-multiline.txt": {
        "read": 4, "rejected": 0, "skipped": {"step": 2}, "provisional": 0,
        "hours": "28795.733333", "cores": "320700.871111",
        "states": {"FAILED": (1, "22583.751111"), "REQUEUED": (1, "6211.982222")},
        "accounts": {"project": "22583.751111", "project1": "6211.982222"},
        "users": {"test_user": "28795.733333"},
        "days": "2023-01-15:2",
    },
    "slurm/gcm_sample-sacct-running-output.txt": {
        "read": 10, "rejected": 0, "skipped": {"step": 10}, "provisional": 0,
        "hours": "0", "cores": "0", "states": {}, "accounts": {}, "users": {}, "days": "",
    },
    "slurm/slurm2sql_test-data1.csv": {
        "read": 5, "rejected": 0, "skipped": {"step": 3}, "provisional": 0,
        "hours": "0", "cores": "7.118611",
        "states": {"CANCELLED": (2, "0")}, "accounts": {"cs": "0"}, "users": {"user1": "0"},
        "days": "2019-07-31:1, 2019-08-01:1",
    },
    "slurm-json/sarc_mila_1706227200.json": {
        "read": 21, "rejected": 0, "skipped": {"step": 14}, "provisional": 0,
        "hours": "10.741944", "cores": "29.260556",
        "states": {"CANCELLED": (1, "2.444444"), "COMPLETED": (5, "7.413056"), "FAILED": (1, "0.884444")},
        "accounts": {
            "rrg-bonhomme-ad_gpu": "7.462222", "rrg-bonhomme-ad_cpu": "2.395278", "def-bonhomme_gpu": "0.884444",
        },
        "users": {
            "btailor": "5.017778", "ltailor": "2.681389", "farcher": "1.662778", "fbaker": "0.884444",
            "kvet": "0.495556", "hjoiner": "0",
        },
        "accelerators": {"a100": "10.741944"},
        "days": "2024-01-25:7",
    },
    "slurm-json/sarc_mila_1714003200.json": {
        "read": 24, "rejected": 0, "skipped": {"step": 16}, "provisional": 3,
        "hours": "3654.702778", "cores": "11686.0875",
        "states": {"COMPLETED": (4, "1.0775"), "FAILED": (1, "0"), "RUNNING": (3, "3653.625278")},
        "accounts": {
            "rrg-bonhomme-ad_cpu": "1470.443333", "def-bonhomme_cpu": "1457.247778",
            "rrg-bonhomme-ad_gpu": "726.853056", "def-bonhomme_gpu": "0.158611",
        },
        "users": {
            "ltailor": "1470.443333", "farcher": "1457.247778", "kvet": "726.853056", "mfarmer": "0.158611",
            "bgardener": "0",
        },
        "accelerators": {"a100": "2198.215278", "rtx8000": "1456.4875"},
        "days": "2024-02-24:1, 2024-03-25:2, 2024-04-24:5",
    },
    "slurm-json/clockwork_sacct_1.json": {
        "read": 2, "rejected": 0, "skipped": {}, "provisional": 0,
        "hours": "29.700556", "cores": "118.802222",
        "states": {"NODE_FAIL": (1, "5.726389"), "REQUEUED": (1, "23.974167")},
        "accounts": {"def-cerise-rrg": "29.700556"},
        "users": {"nobody2": "23.974167", "nobody": "5.726389"},
        "days": "2023-03-29:1, 2023-03-30:1",
    },
}  # fmt: skip


def rounded(text: str) -> str:
    """As the checks print hours: to six places, without trailing zeros."""
    return f"{round(Decimal(text), 6):f}".rstrip("0").rstrip(".") if "." in text else text


def hours_by(rows, what) -> dict[str, str]:
    return {name: rounded(hours) for name, (_count, hours) in sums_by(rows, what, "accelerator_hours").items()}


@pytest.mark.parametrize("name", JOB_LOGS)
def test_a_published_job_log_gives_the_right_hours(name):
    expected = JOB_LOGS[name]

    answer = deliver(shared(f"usage/{name}"))

    rows = records()
    accepted = expected["read"] - sum(expected["skipped"].values())
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_rejected"]) == (expected["read"], accepted, 0)
    assert answer["skipped"] == expected["skipped"]
    assert (rounded(answer["accelerator_hours"]), rounded(answer["cpu_core_hours"])) == (
        expected["hours"],
        expected["cores"],
    )
    assert {
        state: (group["rows"], rounded(group["accelerator_hours"])) for state, group in answer["by_state"].items()
    } == expected["states"]
    assert sum(row.provisional for row in rows) == expected["provisional"]
    assert answer["totals"] == {}
    assert hours_by(rows, lambda row: row.key_set.meter.account) == expected["accounts"]
    users = hours_by(rows, lambda row: row.key_set.user)
    assert {user: users[user] for user in expected["users"]} == expected["users"]
    if "accelerators" in expected:
        kinds = hours_by([row for row in rows if row.accelerator_hours], lambda row: row.key_set.meter.accelerator)
        assert kinds == expected["accelerators"]
    assert days(rows) == expected["days"]


def test_columns_that_a_job_log_must_have_are_named():
    answer = deliver(shared("usage/slurm/gcm_sample-sacct-output-midnight-edge-case-small.txt"))

    assert (answer["status"], answer["rows_accepted"]) == ("refused", 0)
    assert [error["column"] for error in answer["errors"]] == ["Start", "AllocTRES", "ElapsedRaw"]


def test_the_published_sreport_is_refused_with_its_total():
    answer = deliver(shared("usage/slurm/sreport_account_utilization_by_user.txt"))

    assert answer["status"] == "refused"
    assert "148 CPU Minutes (2.46666" in answer["errors"][0]["reason"]


def test_the_published_opencost_export_keeps_every_digit():
    answer = deliver(shared("usage/k8s/opencost_csv_export_basic.csv"), currency="USD")

    assert answer["totals"]["USD"]["billed"] == "4.6000000000000005"
    assert answer["accelerator_hours"] == "48"


def test_the_published_metering_of_accelerators_counts_every_card_once():
    answer = deliver(shared("usage/k8s/nise_ocp_gpu_usage_2025-02.csv"))

    rows = records()
    assert (answer["rows_accepted"], answer["accelerator_hours"]) == (528, "368")
    assert hours_by(
        rows, lambda row: f"{row.key_set.namespace} {row.key_set.pod} {row.key_set.meter.sku.split(' ')[0]}"
    ) == {
        "ai-research research-workload-1 A100": "48",
        "ai-research research-workload-1 GH100": "48",
        "ai-research research-workload-1 H100": "144",
        "gpu-namespace ai-inference-pod A100": "32",
        "gpu-namespace ml-training-pod-1 Tesla": "96",
    }
    assert days(rows) == "2025-02-27:264, 2025-02-28:264"


def test_the_published_metering_of_pods_gives_the_cores_they_asked_for():
    answer = deliver(shared("usage/k8s/nise_ocp_pod_usage_2025-02.csv"))

    assert (answer["rows_accepted"], answer["cpu_core_hours"]) == (144, "1280")


def test_the_published_dump_of_dcgm_is_no_usage():
    answer = deliver(shared("usage/dcgm/dcgm_exporter_readme.prom"))

    assert (answer["status"], answer["totals"]) == ("refused", {})
