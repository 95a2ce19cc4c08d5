"""Metrics of runs: every format, resumes as attempts, NaN as a value that is none, the same file as nothing new."""

from __future__ import annotations

import json
import struct
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import call_command

from core.errors import DomainError
from tests.shared import shared
from usage.formats.metrics.tensorboard import masked_crc
from usage.reading.faults import FileRefused
from usage.runs import services
from usage.runs.models import Run, RunMetric

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stage")]


@pytest.fixture
def run() -> Run:
    services.open_run(by=None, slug="unrelated")
    return services.open_run(by=None, slug="base-7b")


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def taken(run: Run, path: Path, **more) -> dict:
    return services.import_metrics(run, by=None, path=path, **more)


def stored(run: Run, name: str) -> list[tuple[int, int, float | None]]:
    rows = RunMetric.objects.filter(run=run, name=name).order_by("attempt", "step")
    return [(row.step, row.attempt, row.value) for row in rows]


HISTORY = (
    '{"_step": 0, "_timestamp": 1740816000.5, "train/loss": 12.0, "perf/mfu": 0.4, "note": "warm-up"}\n'
    '{"_step": 10, "_timestamp": 1740816060.5, "train/loss": "NaN", "perf/mfu": 0.41}\n'
    '{"_step": 20, "_timestamp": 1740816120.5, "train/loss": 9.5, "val/loss": 9.75}\n'
)


def test_a_history_of_json_lines_is_sparse_series_with_times(run, tmp_path):
    answer = taken(run, written(tmp_path, "history.jsonl", HISTORY))

    assert (answer["points"], answer["steps"], answer["last_step"], answer["ignored"]) == (6, 3, 20, 1)
    assert answer["first_at"] == "2025-03-01T08:00:00.500000+00:00"
    assert answer["last_at"] == "2025-03-01T08:02:00.500000+00:00"
    assert {name: (series["points"], series["last"]) for name, series in answer["series"].items()} == {
        "perf/mfu": (2, 0.41),
        "train/loss": (3, 9.5),
        "val/loss": (1, 9.75),
    }
    assert stored(run, "train/loss") == [(0, 1, 12.0), (10, 1, None), (20, 1, 9.5)]


def test_the_same_file_again_changes_nothing(run, tmp_path):
    path = written(tmp_path, "history.jsonl", HISTORY)
    first = taken(run, path)
    before = list(RunMetric.objects.order_by("id").values())

    assert taken(run, path) == first
    assert list(RunMetric.objects.order_by("id").values()) == before


def test_a_file_that_has_grown_adds_what_is_new(run, tmp_path):
    taken(run, written(tmp_path, "a.jsonl", HISTORY))

    taken(run, written(tmp_path, "b.jsonl", HISTORY + '{"_step": 30, "_timestamp": 1740816180.5, "train/loss": 8}\n'))

    assert [step for step, attempt, _value in stored(run, "train/loss") if attempt == 1] == [0, 10, 20, 30]


def test_a_later_file_that_goes_back_is_another_attempt(run, tmp_path):
    taken(run, written(tmp_path, "a.jsonl", HISTORY))

    taken(run, written(tmp_path, "b.jsonl", '{"_step": 10, "_timestamp": 1740819600, "train/loss": 9}\n'))

    assert stored(run, "train/loss") == [(0, 1, 12.0), (10, 1, None), (20, 1, 9.5), (10, 2, 9.0)]


def test_steps_that_go_back_within_a_file_are_computed_again(run, tmp_path):
    lines = [(0, 5.0), (10, 4.0), (20, 3.0), (10, 4.1), (20, 3.1), (30, 2.1)]
    text = "".join(f"{1740816000000 + n} {value} {step}\n" for n, (step, value) in enumerate(lines))

    answer = taken(run, written(tmp_path, "loss", text))

    assert answer["series"] == {"loss": {"points": 6, "last": 2.1, "last_step": 30, "rewound": 2}}
    assert (answer["attempts"], answer["steps"]) == (2, 4)
    assert stored(run, "loss")[3:] == [(10, 2, 4.1), (20, 2, 3.1), (30, 2, 2.1)]


def test_an_mfu_that_cannot_be_and_tokens_that_fall_are_passed_over(run, tmp_path):
    text = (
        '{"step": 1, "train/mfu": 1.2, "tokens_seen": 100}\n'
        '{"step": 2, "train/mfu": -0.1, "tokens_seen": 90}\n'
        '{"step": 3, "train/mfu": 0.5, "tokens_seen": 300}\n'
    )

    answer = taken(run, written(tmp_path, "log.jsonl", text))

    assert answer["warnings"] == {"mfu_impossible": 2, "tokens_fell": 1}
    assert {name: series["points"] for name, series in answer["series"].items()} == {"tokens_seen": 2, "train/mfu": 1}


def test_the_folder_of_an_mlflow_run_brings_its_parameters_and_its_job(run, tmp_path):
    folder = tmp_path / "run"
    written(folder, "metrics/train/loss", "1740816000000 2.5 0\n1740816060000 nan 10\n")
    written(folder, "params/n_gpus", "64")
    written(folder, "tags/slurm_job_id", "4103947")

    answer = taken(run, folder)

    run.refresh_from_db()
    assert answer["series"]["train/loss"] == {"points": 2, "last": None, "last_step": 10}
    assert (run.job, run.facts["n_gpus"]) == ("4103947", "64")


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def event(step: int, wall_time: float, **scalars: float) -> bytes:
    """A TFRecord of one event, written by hand after the published layout."""
    summary = b""
    for tag, value in scalars.items():
        body = b"\x0a" + varint(len(tag)) + tag.encode() + b"\x15" + struct.pack("<f", value)
        summary += b"\x0a" + varint(len(body)) + body
    message = b"\x09" + struct.pack("<d", wall_time) + b"\x10" + varint(step) + b"\x2a" + varint(len(summary)) + summary
    return framed(message)


def framed(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked_crc(length)) + message + struct.pack("<I", masked_crc(message))


VERSION = framed(b"\x09" + struct.pack("<d", 1740816000.0) + b"\x1a\x0dbrain.Event:2")


def test_the_checksum_is_the_published_one():
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_events_are_points_in_single_precision_said_in_short(run, tmp_path):
    content = VERSION + event(0, 1740816000.25, loss=2.71, tokens_seen=801112064.0) + event(300, 1740816001.0, loss=0.1)

    answer = taken(run, written(tmp_path, "events.out.tfevents.1", content))

    assert (answer["points"], answer["ignored"], answer["last_step"]) == (3, 1, 300)
    assert stored(run, "loss") == [(0, 1, 2.71), (300, 1, 0.1)]
    assert stored(run, "tokens_seen") == [(0, 1, 801112064.0)]


@pytest.mark.parametrize("missing", [1, 4, 20, 40])
def test_a_last_event_that_is_cut_is_passed_over_and_said(run, tmp_path, missing):
    content = VERSION + event(0, 1740816000.0, loss=2.5) + event(1, 1740816001.0, loss=2.25)

    answer = taken(run, written(tmp_path, "events", content[:-missing]))

    assert (answer["points"], answer["warnings"]["cut_record"]) == (1, 1)


def test_damage_within_an_event_file_refuses_it(run, tmp_path):
    content = bytearray(VERSION + event(0, 1740816000.0, loss=2.5) + event(1, 1740816001.0, loss=2.25))
    content[len(VERSION) + 30] ^= 0xFF

    with pytest.raises(FileRefused, match="damaged"):
        taken(run, written(tmp_path, "events", bytes(content)))
    assert not RunMetric.objects.exists()


def test_golden_values_have_steps_and_no_clock(run, tmp_path):
    text = json.dumps(
        {"lm loss": {"start_step": 1, "end_step": 3, "step_interval": 1, "values": {"1": 10.5, "2": "nan"}}}
    )

    answer = taken(run, written(tmp_path, "golden.json", text))

    assert (answer["points"], answer["first_at"]) == (2, None)
    assert stored(run, "lm loss") == [(1, 1, 10.5), (2, 1, None)]


@pytest.mark.parametrize(
    ("text", "series"),
    [
        ("s:0 tel:11.5\ns:250 trl:nan\nint main() {}\ns:250 tel:6.25\n", {"tel": (2, 6.25), "trl": (1, None)}),
        (
            "print('x')\nstep:0/1390 val_loss:10.8 train_time:0ms step_avg:nanms\nstep:125/1390 val_loss:4.5\n",
            {"val_loss": (2, 4.5), "train_time_ms": (1, 0.0), "step_avg_ms": (1, None)},
        ),
        (
            " [2025-03-01 08:00:00] iteration       10/     100 | consumed samples: 2560 | lm loss: 9.1E+00 |\n",
            {"consumed samples": (1, 2560.0), "lm loss": (1, 9.1)},
        ),
        (
            (
                'noise\n0: :::MLLOG {"time_ms": 1740816000000, "key": "eval_loss", "value": 3.5,'
                ' "metadata": {"samples_count": 64}}\n'
            ),
            {"eval_loss": (1, 3.5)},
        ),
    ],
)
def test_lines_of_training_logs_are_found_between_other_text(run, tmp_path, text, series):
    answer = taken(run, written(tmp_path, "main.log", text))

    assert {name: (told["points"], told["last"]) for name, told in answer["series"].items()} == series


PROMETHEUS = (
    "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
    'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1"} 93\n'
    'DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-1"} 9223372036854775794\n'
)


def test_what_dcgm_could_not_measure_is_no_measurement(run, tmp_path):
    at = datetime.fromisoformat("2025-03-01T08:00:00+00:00")

    answer = taken(run, written(tmp_path, "scrape.prom", PROMETHEUS), at=at)

    assert (answer["points"], answer["warnings"]) == (1, {"blank_value": 1})
    assert stored(run, "DCGM_FI_DEV_GPU_UTIL GPU-1") == [(1740816000, 1, 93.0)]


def test_a_scrape_without_a_time_is_refused_until_somebody_says_it(run, tmp_path):
    with pytest.raises(FileRefused, match="--at"):
        taken(run, written(tmp_path, "scrape.prom", PROMETHEUS))


def test_an_answer_of_prometheus_brings_its_times(run, tmp_path):
    answer = {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {
                    "metric": {"__name__": "DCGM_FI_DEV_GPU_UTIL", "UUID": "GPU-1"},
                    "values": [[1740816000, "93"], [1740816030, "NaN"], [1740816060.5, "95"]],
                }
            ],
        },
    }

    found = taken(run, written(tmp_path, "answer.json", json.dumps(answer)))

    assert (found["points"], found["warnings"]) == (2, {"blank_value": 1})


def test_a_file_that_no_format_knows_is_refused_with_those_that_are_known(run, tmp_path):
    with pytest.raises(FileRefused, match="tensorboard"):
        taken(run, written(tmp_path, "bill.csv", "BilledCost,ServiceName\n1,x\n"))


def test_only_people_who_deliver_usage_deliver_metrics(stage, run, tmp_path):
    path = written(tmp_path, "history.jsonl", HISTORY)

    with pytest.raises(DomainError, match="Only the team"):
        services.import_metrics(run, by=stage.charlie, path=path)
    assert services.import_metrics(run, by=stage.operator, path=path)["points"] == 6


def test_the_command_answers_in_json_and_makes_the_run(tmp_path, capsys):
    call_command("import_metrics", str(written(tmp_path, "h.jsonl", HISTORY)), "--run", "new-run", "--create", "--json")

    answer = json.loads(capsys.readouterr().out)
    assert (answer["run"], answer["points"], answer["series"]["train/loss"]["last"]) == ("new-run", 6, 9.5)


def test_the_command_refuses_a_run_that_is_not_there_and_makes_none_for_a_bad_file(tmp_path, capsys):
    bad = str(written(tmp_path, "x.txt", "nothing"))

    for arguments in (["--run", "nobody"], ["--run", "new-run", "--create"]):
        with pytest.raises(SystemExit) as ended:
            call_command("import_metrics", bad, *arguments, "--json")
        assert ended.value.code == 1
        assert json.loads(capsys.readouterr().out)["errors"]
    assert not Run.objects.exists()


def series_of(answer: dict) -> dict[str, tuple[int, float | None]]:
    return {name: (told["points"], told["last"]) for name, told in answer["series"].items()}


def test_the_published_mlflow_store_gives_the_right_points(run):
    answer = taken(run, shared("usage/train-log/mlflow_filestore"))

    assert series_of(answer) == {
        "loss": (25, 2.71),
        "mfu": (20, 0.40786510189928454),
        "tokens_per_second": (20, 1003846.1287827344),
        "tokens_seen": (25, 801112064.0),
    }
    assert (answer["steps"], answer["last_step"], answer["attempts"]) == (20, 190, 2)
    assert RunMetric.objects.filter(run=run, name="loss", value=None).count() == 1
    run.refresh_from_db()
    assert run.job == "4103947"


def test_the_published_history_gives_the_right_points(run):
    answer = taken(run, shared("usage/train-log/SYNTHETIC_wandb_history.jsonl"))

    assert (answer["steps"], answer["last_step"], answer["series"]["train/tokens"]["last"]) == (20, 190, 801112064.0)
    assert (answer["series"]["val/loss"]["points"], answer["ignored"]) == (4, 0)
    assert RunMetric.objects.filter(run=run, name="train/loss", value=None).count() == 1


def test_the_published_events_give_the_right_points(run):
    answer = taken(run, next(shared("usage/train-log/tensorboard").iterdir()))

    assert (answer["points"], answer["ignored"]) == (80, 1)


def test_the_published_golden_values_give_the_right_points(run):
    answer = taken(run, shared("usage/train-log/megatron_bert_golden_h100.json"))

    assert {name: points for name, (points, _last) in series_of(answer).items()} == {
        "lm loss": 50,
        "num-zeros": 50,
        "mem-allocated-bytes": 50,
        "mem-max-allocated-bytes": 50,
        "iteration-time": 49,
    }


def test_the_published_scrape_has_two_measurements_and_one_blank(run):
    at = datetime.fromisoformat("2025-03-01T08:00:00+00:00")

    answer = taken(run, shared("usage/dcgm/dcgm_exporter_readme.prom"), at=at)

    assert (answer["points"], answer["warnings"]) == (2, {"blank_value": 1})


# ---- folders and archives of MLflow


def store(folder: Path, *runs: str) -> Path:
    """A store of MLflow with some runs of an experiment, a model and a deleted run that are none of them."""
    for run in runs:
        written(folder, f"mlruns/0/{run}/metrics/loss", "1740816000000 3.5 10\n1740816060000 NaN 20\n")
        written(folder, f"mlruns/0/{run}/params/gpus", "8")
    written(folder, "mlruns/0/models/m-1/metrics/loss", "1740816000000 9 1\n")
    written(folder, "mlruns/.trash/r0/metrics/loss", "1740816000000 9 1\n")
    return folder / "mlruns"


def archived(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(folder.parent))
    return path


def test_a_store_of_mlflow_and_its_archive_give_the_one_run_inside(run, tmp_path):
    whole = store(tmp_path, "r1")

    answer = taken(run, whole)
    again = taken(run, archived(tmp_path / "mlruns.zip", whole))

    assert (answer["format"], answer["points"], again["points"], len(stored(run, "loss"))) == ("mlflow", 2, 2, 2)
    run.refresh_from_db()
    assert run.facts == {"gpus": "8"}


def test_a_store_with_several_runs_is_refused_with_their_names(run, tmp_path):
    with pytest.raises(FileRefused, match="0/r1, 0/r2"):
        taken(run, store(tmp_path, "r1", "r2"))


def test_an_archive_of_one_log_is_that_log(run, tmp_path):
    folder = written(tmp_path, "one/history.jsonl", HISTORY).parent

    assert taken(run, archived(tmp_path / "run.zip", folder))["format"] == "wandb"


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "a/../../evil", "..\\evil"])
def test_an_archive_with_a_name_that_leads_elsewhere_is_refused(run, tmp_path, name):
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, HISTORY)

    with pytest.raises(FileRefused, match="elsewhere"):
        taken(run, path)

    assert [file.name for file in tmp_path.iterdir()] == ["run.zip"]


def test_an_archive_larger_than_metrics_are_is_given_up(run, tmp_path, monkeypatch):
    monkeypatch.setattr("usage.runs.logs.MOST_BYTES", 1_000_000)
    path = tmp_path / "run.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metrics/loss", b"\0" * 50_000_000)

    with pytest.raises(FileRefused, match="larger"):
        taken(run, path)


# ---- what no log should hold

UGLY_LOGS = {
    "a number beyond all": '{"_step": 1, "loss": 1%s, "mfu": 0.4}\n' % ("0" * 400),
    "more digits than any": '{"_step": 1, "loss": 1}\n{"_step": 2, "loss": %s}\n' % ("9" * 5_000),
    "half a character": '{"_step": 1, "\\ud800": 1.5}\n',
    "NUL in a name": '{"_step": 1, "a\\u0000b": 1.5}\n',
    "infinities": '{"_step": 1, "loss": Infinity, "mfu": "-inf"}\n',
    "a step beyond all": "s:99999999999999999999 tel:1.5\ns:1 tel:1.5\n",
    "a day that does not exist": " [2025-02-30 08:00:00] iteration 10/ 100 | lm loss: 9.1E+00 |\n",
    "negative steps": '{"_step": -1, "loss": 1}\n{"_step": 1, "loss": 1}\n',
    "deep": '{"_step": 1, "loss": 2}\n{"_step": 2, "x": ' + "[" * 100_000 + "\n",
    "a mark and windows line ends": '\ufeff{"_step": 1, "loss": 2}\r\n\r\n{"_step": 2, "loss": 2}\r\n',
    "the same key twice": '{"_step": 1, "loss": 2, "loss": 3}\n',
    "a second cut line": '{"_step": 1, "loss": 2}\n{"_step": 2, "lo',
}


@pytest.mark.parametrize("text", UGLY_LOGS.values(), ids=UGLY_LOGS)
def test_ugly_lines_are_counted_or_kept_and_break_nothing(run, tmp_path, text):
    answer = taken(run, written(tmp_path, "log", text))

    assert answer["points"] == RunMetric.objects.filter(run=run).count() >= 1
    json.dumps(answer).encode()


def test_a_line_without_an_end_is_refused(run, tmp_path):
    path = written(tmp_path, "log", '{"_step": 1, "loss": 2}\n{"_step": 2, "note": "' + "x" * (17 << 20))

    with pytest.raises(FileRefused, match="Line 2 is longer"):
        taken(run, path)
