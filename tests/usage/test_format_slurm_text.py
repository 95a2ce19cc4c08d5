"""sacct text: one fact per run, steps add nothing, generic counts win, free text may hold what it likes."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import pytest

from usage.delivery import Settings
from usage.formats.slurm_records import SacctRecords
from usage.reading.faults import FileRefused
from usage.reading.notes import Notes

from .bills import SAMPLES
from .records import read

HEADER = "JobID|JobIDRaw|Cluster|State|Submit|Start|End|ElapsedRaw|AllocTRES|NCPUS|JobName"
ONE_HOUR = "|COMPLETED|2025-03-01T08:00:00|2025-03-01T08:00:00|2025-03-01T09:00:00|3600|gres/gpu=1|4|"


def sample():
    return read((SAMPLES / "sacct_p.txt").read_bytes())


def job(identifier: str = "1", *, name: str = "train", **more: str) -> str:
    """One line of a job that held a card for an hour."""
    fields = {
        "State": "COMPLETED",
        "Start": "2025-03-01T08:00:00",
        "End": "2025-03-01T09:00:00",
        "ElapsedRaw": "3600",
        "AllocTRES": "gres/gpu=1",
    } | more
    return "|".join(
        [identifier, identifier, "alpha", fields["State"], "2025-03-01T08:00:00", fields["Start"], fields["End"],
         fields["ElapsedRaw"], fields["AllocTRES"], "4", name]
    )  # fmt: skip


def hours(found) -> list[str | None]:
    return [row.accelerator_hours for row, _keys in found.rows]


def test_every_run_of_a_requeued_job_is_a_fact_and_its_steps_are_none():
    found = sample()

    runs = [(row.usage_start[:16], keys.state, row.accelerator_hours) for row, keys in found.rows if row.job == "700"]
    assert runs == [("2025-03-01T08:00", "PREEMPTED", "2"), ("2025-03-01T09:00", "COMPLETED", "4")]
    assert sorted(found.skipped) == ["not_started", "pending", "step", "step"]
    assert found.faults == []


def test_runs_of_one_job_and_parts_of_a_heterogeneous_job_have_keys_of_their_own():
    found = sample()

    keys = [row.row_key for row, _keys in found.rows]
    assert len(set(keys)) == len(keys) == 6
    assert [row.job for row, _keys in found.rows] == ["700", "700", "701_1", "710+0", "710+1", "720"]


def test_the_plain_count_of_cards_wins_over_the_typed_one_and_both_name_one_card():
    (row, keys), *_rest = sample().rows

    assert (row.accelerator_hours, keys.accelerator, keys.accelerator_count) == ("2", "h100", 4)
    assert row.cpu_core_hours == "4"


def test_typed_counts_add_up_where_there_is_no_plain_one():
    found = read(f"{HEADER}\n{job(AllocTRES='cpu=4,gres/gpu:a100=2,gres/gpu:h100=1')}\n")

    ((row, keys),) = found.rows
    assert (row.accelerator_hours, keys.accelerator) == ("3", "a100+h100")


def test_slices_are_counted_apart_from_whole_cards():
    row, keys = next((row, keys) for row, keys in sample().rows if row.job == "720")

    assert (row.accelerator_hours, row.quantity, keys.unit) == ("0", "4.5", "MIG-slice-hour")
    assert keys.accelerator == "a100_1g.5gb"


def test_an_open_job_is_provisional_and_loses_to_its_ended_record():
    found = read(f"{HEADER}\n{job(State='RUNNING', End='Unknown', ElapsedRaw='7200')}\n{job()}\n")

    (running, _), (ended, _) = found.rows
    assert (running.provisional, ended.provisional) == (True, False)
    assert running.row_key == ended.row_key and running.rank < ended.rank


def test_a_separator_in_the_name_of_a_job_stays_in_the_name():
    row = next(row for row, _keys in sample().rows if row.job == "701_1")

    assert '"JobName": "sweep|lr=1|two"' in row.extra


def test_a_separator_in_a_name_that_is_not_the_last_column_stays_in_it_too():
    text = "JobID|JobName|State|Start|ElapsedRaw|AllocTRES\n5|a|b|c|COMPLETED|2025-03-01T08:00:00|3600|gres/gpu=2\n"

    found = read(text)

    assert hours(found) == ["2"]
    assert '"JobName": "a|b|c"' in found.rows[0][0].extra


def test_a_name_may_go_on_over_lines():
    found = read(f"{HEADER}\n{job('1', name='first line')}\nsecond line\n{job('2')}\n")

    assert hours(found) == ["1", "1"]
    assert '"JobName": "first line\\nsecond line"' in found.rows[0][0].extra


def test_a_wide_separator_and_a_submit_line_with_line_ends_are_one_record():
    text = (
        "Account|#JobID|#SubmitLine|#State|#Start|#ElapsedRaw|#AllocTRES\n"
        "vision|#9|#sbatch --wrap '\n  srun a | b\n'|#COMPLETED|#2025-03-01T08:00:00|#1800|#gres/gpu=2\n"
        "vision|#10|#srun|#COMPLETED|#2025-03-01T08:00:00|#3600|#gres/gpu=2\n"
    )

    assert hours(read(text)) == ["1", "2"]


def test_a_record_without_its_front_is_refused_and_the_others_count():
    cut = job("2")[25:]

    found = read(f"{HEADER}\n{job('1')}\n{cut}\n{job('3')}\n")

    assert hours(found) == ["1", "1"]
    assert [line for line, *_fault in found.faults] == [3]


def test_a_record_that_is_cut_in_the_middle_takes_no_other_with_it():
    found = read(f"{HEADER}\n1|1|alpha|COMPL\n{job('2')}\n")

    assert hours(found) == ["1"]
    assert [line for line, *_fault in found.faults] == [2]


def test_a_last_record_without_its_end_refuses_the_file():
    with pytest.raises(FileRefused, match="truncated"):
        read(f"{HEADER}\n{job('1')}\n2|2|alpha|COMPL")


def test_bytes_that_are_no_text_stay_in_the_name_for_the_pipeline_to_replace():
    found = read(f"{HEADER}\n".encode() + job(name="tr\udcffain").encode("utf-8", "surrogateescape") + b"\n")

    assert hours(found) == ["1"]


def test_elapsed_decides_in_the_hour_that_comes_twice():
    found = read(f"{HEADER}\n{job(Start='2025-10-26T02:30:00', End='2025-10-26T02:30:00')}\n", timezone="Europe/Berlin")

    ((row, _keys),) = found.rows
    assert row.accelerator_hours == "1"
    assert row.usage_end == "2025-10-26T01:30:00+00:00"
    assert found.notes.counts == {"elapsed_differs": 1}


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("State", "FOO", "FOO"),
        ("AllocTRES", "gres/gpu=x", "gres/gpu=x"),
        ("ElapsedRaw", "-5", "-5"),
        ("Start", "2025-02-29T00:00:00", "2025-02-29T00:00:00"),
    ],
)
def test_a_bad_value_refuses_its_record_by_name(column, value, shown):
    found = read(f"{HEADER}\n{job('1', **{column: value})}\n{job('2')}\n")

    ((line, named, text, _reason),) = found.faults
    assert (line, named, text) == (2, column, shown)
    assert hours(found) == ["1"]


def test_an_end_days_before_the_start_is_refused():
    found = read(f"{HEADER}\n{job(End='2025-02-20T08:00:00')}\n")

    assert [column for _line, column, *_more in found.faults] == ["End"]


@pytest.mark.parametrize(
    ("state", "understood"),
    [("CANCELLED by 1001", "CANCELLED"), ("CANCELLED+", "CANCELLED"), ("OUT_OF_ME+", "OUT_OF_MEMORY")],
)
def test_states_are_understood_however_they_are_written(state, understood):
    found = read(f"{HEADER}\n{job(State=state)}\n")

    assert found.rows[0][1].state == understood


def test_times_may_be_seconds_or_have_an_offset():
    found = read(f"{HEADER}\n{job('1', Start='1740816000')}\n{job('2', Start='2025-03-01T16:00:00+0800')}\n")

    assert [row.usage_start for row, _keys in found.rows] == ["2025-03-01T08:00:00+00:00"] * 2


def test_elapsed_may_be_written_as_days_and_clock():
    text = HEADER.replace("ElapsedRaw", "Elapsed")

    found = read(f"{text}\n{job('1', ElapsedRaw='1-02:00:00')}\n{job('2', ElapsedRaw='20:00')}\n")

    assert hours(found) == ["26", "0." + "3" * 30]


def test_a_partition_known_to_have_cards_makes_silence_about_them_a_warning():
    header = HEADER.replace("Cluster", "Partition")

    found = read(f"{header}\n{job(AllocTRES='cpu=4,mem=8G')}\n", rate_card="alpha=h100-sxm-80gb/own")

    assert hours(found) == [None]
    assert found.notes.counts == {"accelerator_hours_unknown": 1}


def test_a_job_that_held_no_card_is_known_to_have_held_none():
    assert hours(read(f"{HEADER}\n{job(AllocTRES='cpu=4,mem=8G')}\n")) == ["0"]


def test_the_proposal_is_named_by_the_workload_key():
    assert [keys.reference for row, keys in sample().rows if row.job == "700"] == ["", "P-12"]


def test_a_failed_run_says_why_its_hours_were_lost():
    assert [keys.extra for row, keys in sample().rows if row.job == "700"] == [{"failure_cause": "preemption"}, {}]


def test_a_file_without_a_header_is_read_in_the_order_of_xdmod():
    line = (
        "41|41|alpha|gpu|qos|vision|vision|1|ann|2|2025-03-01T08:00:00|2025-03-01T08:00:00|2025-03-01T08:00:00"
        "|2025-03-01T10:00:00|02:00:00|0:0|COMPLETED|1|8|8|1Gn||cpu=8,gres/gpu=2|1-00:00:00|n1|a|name"
    )

    found = read(f"{line}\n")

    ((row, keys),) = found.rows
    assert (row.accelerator_hours, keys.user, keys.partition) == ("4", "ann", "gpu")
    assert '"JobName": "a|name"' in row.extra


def test_a_file_without_a_header_may_have_its_columns_named_by_place():
    found = read(
        "8|COMPLETED|2025-03-01T08:00:00|1800|gres/gpu=4\n",
        "slurm-sacct",
        columns="JobID=1,State=2,Start=3,ElapsedRaw=4,AllocTRES=5",
    )

    assert hours(found) == ["2"]


def test_columns_that_are_missing_are_all_named():
    with pytest.raises(FileRefused) as refused:
        read("JobID|State|End\n1|COMPLETED|2025-03-01T08:00:00\n")

    assert [fault.path for fault in refused.value.faults] == ["Start", "AllocTRES", "ElapsedRaw"]


def test_the_table_for_people_is_refused_with_what_to_ask_instead():
    with pytest.raises(FileRefused, match="-P"):
        read("       JobID      State\n------------ ----------\n           1  COMPLETED\n")


def test_hours_of_a_fraction_of_an_hour_keep_thirty_places():
    found = read(f"{HEADER}\n{job(ElapsedRaw='1', End='2025-03-01T08:00:01')}\n")

    assert Decimal(found.rows[0][0].accelerator_hours) == Decimal("0.000277777777777777777777777778")


def windowed(starts: list[str], submits: list[str]) -> str:
    header = "JobID|JobIDRaw|Cluster|Account|User|Partition|State|Submit|Start|End|ElapsedRaw|AllocTRES"
    rows = [
        f"{at}|{at}|c|a|u|gpu|COMPLETED|{submit}|{start}|2026-03-02T00:00:00|3600|gres/gpu=1"
        for at, (start, submit) in enumerate(zip(starts, submits, strict=True))
    ]
    return "\n".join([header, *rows, ""])


SUBMITS = [f"2026-02-27T0{hour}:13:07" for hour in range(6)]


def test_jobs_that_all_begin_on_one_full_hour_look_cut_at_the_window():
    found = read(windowed(["2026-03-01T00:00:00"] * 6, SUBMITS))

    assert found.notes.counts["cut_at_the_window"] == 1


@pytest.mark.parametrize(
    "starts",
    [
        ["2026-03-01T00:00:00"] * 5 + ["2026-02-28T17:21:09"],
        [f"2026-03-01T0{hour}:00:00" for hour in range(6)],
        ["2026-03-01T00:00:07"] * 6,
    ],
    ids=["one began earlier", "at many hours", "not on the hour"],
)
def test_other_jobs_do_not(starts):
    assert "cut_at_the_window" not in read(windowed(starts, SUBMITS)).notes.counts


def test_an_array_that_starts_at_once_does_not():
    found = read(windowed(["2026-03-01T00:00:00"] * 6, SUBMITS[:1] * 6))

    assert "cut_at_the_window" not in found.notes.counts


def shares(tres: str, **settings) -> tuple[str | None, str | None, str]:
    found = read(f"{HEADER}\n{job(AllocTRES=tres)}\n", **settings)
    ((row, keys),) = found.rows
    return row.accelerator_hours, row.quantity, keys.unit


def test_shares_of_a_card_are_fractions_of_its_hours():
    assert shares("cpu=4,gres/shard:a100=2,gres/shard=2", shares_per_card="8") == ("0.25", "2", "shard-hour")
    assert shares("cpu=4,gres/mps:a100=50") == ("0.5", None, "")
    assert shares("gres/gpu=2,gres/shard=2", shares_per_card="8") == ("2", "2", "shard-hour")


def test_shards_of_a_card_of_unknown_size_have_unknown_hours():
    found = read(f"{HEADER}\n{job(AllocTRES='gres/shard=2')}\n")

    ((row, keys),) = found.rows
    assert (row.accelerator_hours, row.quantity, keys.accelerator_count) == (None, "2", None)
    assert found.notes.counts["shares_of_a_card_unknown"] == 1


BUSY_HEADER = "JobID|State|Start|End|ElapsedRaw|AllocTRES|ReqTRES|NTasks|TRESUsageInAve|JobName"


def step(name: str, seconds: int, usage: str, tasks: str = "1") -> str:
    return f"{name}|COMPLETED|2025-03-01T08:00:00|2025-03-01T09:00:00|{seconds}|gres/gpu=4||{tasks}|{usage}|x"


def busy_job(name: str = "7", requested: str = "gres/gpu=8") -> str:
    return f"{name}|COMPLETED|2025-03-01T08:00:00|2025-03-01T09:00:00|3600|gres/gpu=4|{requested}|||train"


def measured(*lines: str) -> list[tuple[str | None, str | None]]:
    found = read("\n".join([BUSY_HEADER, *lines, ""]))
    said = [json.loads(row.extra) for row, _keys in found.rows]
    return [(each.get("requested_hours"), each.get("utilised_hours")) for each in said]


def test_steps_say_how_busy_the_cards_of_their_job_were():
    """Two cards' worth for half an hour, then two tasks of a card each for a quarter."""
    lines = (
        busy_job(),
        step("7.extern", 3600, "gres/gpuutil=0"),
        step("7.0", 1800, "cpu=00:52:45,gres/gpumem=4G,gres/gpuutil=200,mem=1G"),
        step("7.1", 900, "gres/gpuutil=100", tasks="2"),
        busy_job("8", requested="gres/gpu:2"),
        step("8.batch", 3600, "cpu=00:52:45"),
    )

    assert measured(*lines) == [("8", "1.5"), (None, None)]


def test_cards_are_never_more_than_busy_and_a_meter_that_answers_nonsense_is_none():
    lines = (
        busy_job(),
        step("7.0", 3600, "gres/gpuutil=990"),
        busy_job("8"),
        step("8.0", 3600, "gres/gpuutil=18446744073709551614"),
    )

    assert measured(*lines) == [("8", "4"), ("8", None)]


def test_steps_stay_with_their_job_wherever_a_batch_ends():
    header = io.BufferedReader(
        io.BytesIO("\n".join([BUSY_HEADER, busy_job(), step("7.0", 3600, "gres/gpuutil=300"), busy_job("8")]).encode())
    )
    cut = SacctRecords(header, Settings(), Notes())

    batches = [cut.split(batch) for batch in cut.batches(1)]

    assert [[fields[0] for fields in rows] for rows in batches] == [["7", "7.0"], ["8"]]
    assert batches[0][0][-1] == "10800"
