"""Inventories of storage: a snapshot of bytes, never money, in bounded size; checkpoints, cold data, copies."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from datetime import date
from pathlib import Path

import pytest
from django.urls import reverse

from tests.usage import factories
from tests.usage.factories import deliver, focus
from tests.usage.records import read
from usage import storage
from usage.formats.holdings import run_and_step
from usage.models import Record, Source
from usage.pipeline.swap import known_now
from usage.reading.faults import FileRefused
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

SAMPLE = (Path(__file__).parent / "samples" / "inventory.csv").read_bytes()


def delivered(content: bytes = SAMPLE, slug: str = "bucket", **settings) -> dict:
    source = Source.objects.filter(slug=slug).first() or factories.source(slug)
    return deliver(source, content, name="inventory.csv", **settings)


def bucket() -> Source:
    return Source.objects.get(slug="bucket")


def test_objects_are_counted_and_kept_as_sums_without_money():
    deliver(factories.source(), focus({}))

    answer = delivered()

    assert (answer["format"], answer["status"], answer["rows_read"], answer["rows_accepted"]) == (
        "inventory",
        "live",
        6,
        6,
    )
    assert answer["totals"] == {}
    whole, _groups = usage_totals(Question())
    assert (whole.totals, whole.quantities["bytes"]) == ({"USD": 10}, 37_000_000_000)


def test_bytes_by_class_and_what_nobody_read_for_ninety_days():
    delivered()

    held = {each.name: (each.total, each.cold) for each in storage.held_by_class(bucket())}

    assert held == {"STANDARD": (21_000_000_000, 8_000_000_000), "STANDARD_IA": (16_000_000_000, 7_000_000_000)}
    assert storage.taken_on(bucket()) == date(2026, 5, 31)
    assert [(place.place, place.kind, place.by_access) for place in storage.cold_places(bucket(), 9)] == [
        ("train/runs", "checkpoint", True),
        ("train/data", "dataset", True),
    ]


def test_checkpoints_are_told_by_run_and_step():
    delivered()

    [run] = storage.checkpoints(bucket())

    assert (run.run, run.steps, run.files, run.last_step) == ("train/runs/llm-7b", 2, 3, 2000)
    assert (run.total, run.before_the_last) == (12_000_000_000, 8_000_000_000)


def test_copies_have_one_size_and_one_checksum():
    delivered()

    [copies] = storage.copies(bucket())

    assert (copies.copies, copies.beyond_one) == (2, 9_000_000_000)
    assert copies.paths == ["train/data/web/part-0001.parquet", "train/home/alice/part-0001.parquet"]


def test_the_next_snapshot_takes_the_place_of_the_last():
    delivered()

    again = delivered(SAMPLE.splitlines(keepends=True)[0] + SAMPLE.splitlines(keepends=True)[4])

    assert again["status"] == "live"
    assert usage_totals(Question(source="bucket"))[0].quantities == {"bytes": 9_000_000_000}
    assert storage.checkpoints(bucket()) == [] == storage.copies(bucket())


def test_the_same_objects_in_another_order_are_unchanged():
    delivered()
    header, *lines = SAMPLE.splitlines(keepends=True)

    again = delivered(header + b"".join(reversed(lines)))

    assert (again["status"], again["rows_written"], again["rows_closed"]) == ("unchanged", 0, 0)
    assert again["rows_unchanged"] == Record.objects.count() == 7


def test_parts_of_a_zip_are_one_snapshot():
    header, *lines = SAMPLE.splitlines(keepends=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.csv", header + b"".join(lines[:4]))
        archive.writestr("b.csv", header + b"".join(lines[4:]))

    answer = delivered(out.getvalue())

    assert (answer["rows_read"], answer["rows_accepted"]) == (6, 6)
    assert [each.copies for each in storage.copies(bucket())] == [2]
    assert usage_totals(Question(source="bucket"))[0].quantities == {"bytes": 37_000_000_000}


def s3_inventory(rows: str, *parts: str, schema: str, named: int) -> bytes:
    """A zip as one fetches it: the manifest, and parts without a header."""
    files = [{"key": f"lists/data/part-{at}.csv.gz", "size": 1} for at in range(named)]
    manifest = {"sourceBucket": "train", "fileFormat": "CSV", "fileSchema": schema, "files": files}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("2026-05-31T00-00Z/manifest.json", json.dumps(manifest))
        for at, text in enumerate((rows, *parts)):
            archive.writestr(f"data/part-{at}.csv.gz", gzip.compress(text.encode()))
    return packed.getvalue()


SCHEMA = "Bucket, Key, Size, ObjectAccessControlList, LastModifiedDate, StorageClass"


def test_the_manifest_of_an_s3_inventory_says_which_column_is_which():
    rows = '"train","20260101","7","900","2026-05-30T10:00:00.000Z","STANDARD"\n'
    more = '"train","logs/a%20b","8","901","2026-05-30T10:00:00.000Z","GLACIER"\n'

    answer = delivered(s3_inventory(rows, more, schema=SCHEMA, named=2))

    assert (answer["format"], answer["status"], answer["rows_accepted"]) == ("inventory", "live", 2)
    assert {each.name: each.total for each in storage.held_by_class(bucket())} == {"STANDARD": 7, "GLACIER": 8}


def test_a_part_that_the_manifest_names_and_the_archive_lacks_refuses_the_delivery():
    rows = '"train","a/b","7","900","2026-05-30T10:00:00.000Z","STANDARD"\n'

    answer = delivered(s3_inventory(rows, schema=SCHEMA, named=2))

    assert answer["status"] == "refused"
    assert "lists/data/part-1.csv.gz" in answer["errors"][0]["reason"]


def test_a_part_that_the_manifest_does_not_name_is_left_out():
    rows = '"train","a/b","7","900","2026-05-30T10:00:00.000Z","STANDARD"\n'

    answer = delivered(s3_inventory(rows, rows.replace("a/b", "c/d"), schema=SCHEMA, named=1))

    assert (answer["status"], answer["rows_read"]) == ("live", 1)


def test_many_objects_become_few_rows():
    lines = [b"path,size,modified\n"]
    lines += [
        b"runs/r%d/data/f%d.parquet,1048576,2026-05-%02dT00:00:00Z\n" % (n % 40, n, n % 28 + 1) for n in range(20_000)
    ]

    answer = delivered(b"".join(lines))

    assert answer["rows_accepted"] == 20_000
    assert Record.objects.count() <= 40
    assert usage_totals(Question(source="bucket"))[0].quantities == {"bytes": 20_000 * 1_048_576}


@pytest.mark.parametrize(
    "text",
    [
        '"train","a%20b/model.bin","1048576","2026-05-01T00:00:00.000Z","STANDARD"\n',
        (
            '"train","a+b/model.bin","null","true","false","1048576","2026-05-01T00:00:00.000Z",'
            '"0123456789abcdef0123456789abcdef-3","STANDARD_IA"\n'
        ),
        (
            '"1250000000","train","a%20b/model.bin","1048576","2026-05-01T00:00:00Z",'
            '"0123456789abcdef0123456789abcdef","MAZ_STANDARD"\n'
        ),
        "1048576 1777593600.0000000000 1777593601.5 ./train/a b/model.bin\n",
        "1048576\t1777593600.0\ttrain/a b/model.bin\n",
        "1024\t./train/a b/model.bin\n",
        "bucket,name,size,updated,storageClass\ntrain,a b/model.bin,1048576,2026-05-01T00:00:00Z,NEARLINE\n",
    ],
    ids=["OSS", "S3", "COS", "find with access", "find", "du", "Google"],
)
def test_lists_of_every_store_are_known(text):
    answer = delivered(text.encode())

    assert (answer["format"], answer["status"], answer["rows_accepted"]) == ("inventory", "live", 1), answer
    row = storage.snapshot(bucket(), "objects").get()
    assert (row.quantity, row.key_set.resource) == (1_048_576, "train/a b")


def test_delete_markers_and_folders_are_no_objects():
    text = (
        '"b","x.bin","v1","true","true","0","2026-05-01T00:00:00Z","STANDARD"\n'
        '"b","dir/","v1","true","false","0","2026-05-01T00:00:00Z","STANDARD"\n'
        '"b","y.bin","v1","true","false","5","2026-05-01T00:00:00Z","STANDARD"\n'
    )

    answer = delivered(text.encode(), columns="bucket=1,path=2,deleted=5,bytes=6,modified=7,class=8")

    assert (answer["rows_accepted"], answer["skipped"]) == (1, {"delete_marker": 1, "folder": 1})


def test_du_counts_a_folder_once():
    answer = delivered(b"4\t./a/x\n8\t./a/y\n12\t./a\n2\t./b/z\n14\t.\n".replace(b"14\t.\n", b""))

    assert (answer["rows_accepted"], answer["skipped"]) == (3, {"folder": 1})
    assert usage_totals(Question(source="bucket"))[0].quantities == {"bytes": 14 * 1024}


@pytest.mark.parametrize("size", ["-1", "1.5", "", "１２", "1e6", "9" * 30])
def test_a_size_that_is_none_rejects_its_row(size):
    answer = delivered(f"path,size,modified\na/x,5,2026-05-01\na/y,{size},2026-05-01\n".encode())

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert (answer["errors"][0]["line"], answer["errors"][0]["column"]) == (3, "size")


@pytest.mark.parametrize(
    ("path", "run", "step"),
    [
        ("runs/a/checkpoint-500/pytorch_model.bin", "runs/a", 500),
        ("exp/global_step1000/mp_rank_00_model_states.pt", "exp", 1000),
        ("m/iter_0001000/mp_rank_00/model_optim_rng.pt", "m", 1000),
        ("l/checkpoints/epoch=3-step=1200.ckpt", "l", 1200),
        ("l/ckpt/step-77.safetensors", "l", 77),
    ],
)
def test_checkpoints_of_the_usual_frameworks(path, run, step):
    assert run_and_step(path) == (run, step)


@pytest.mark.parametrize("path", ["data/step_by_step.txt", "runs/a/model.bin", "logs/step_5.log", "a/steps/readme.md"])
def test_other_files_are_no_checkpoints(path):
    assert run_and_step(path) is None


def test_without_a_time_of_access_the_last_change_counts_and_says_so():
    delivered(b"path,size,modified\na/b/x,5,2026-05-01\na/b/y,7,2025-05-01\n")

    [cold] = storage.cold_places(bucket(), 9)
    assert (cold.total, cold.by_access, storage.knows_access(bucket())) == (7, False, False)


def test_a_first_line_that_cannot_be_cut_is_refused():
    with pytest.raises(FileRefused):
        read("path,size\rmodified\n", "inventory")


def test_a_bill_that_names_paths_is_no_inventory():
    found = read(focus({}))

    assert found.format == "focus"


def test_the_page_shows_the_snapshot_to_a_role_in_the_whole_alone(stage, client, django_assert_max_num_queries):
    delivered()
    address = reverse("storage")
    client.force_login(stage.finance)
    with django_assert_max_num_queries(30):
        page = client.get(address).content.decode()
    client.force_login(stage.alice)
    foreign = client.get(address)

    assert "37.00 GB" in page and "15.00 GB" in page and "train/runs/llm-7b" in page
    assert "train/home/alice/part-0001.parquet" in page
    assert foreign.status_code == 403


def test_the_page_without_an_inventory_says_what_to_deliver(stage, client):
    client.force_login(stage.operator)

    assert "No inventory yet" in client.get(reverse("storage")).content.decode()


def test_the_snapshot_is_told_as_it_was_known_then(stage, client):
    delivered()
    then, moment = storage.held_by_class(bucket()), known_now()

    delivered(SAMPLE.replace(b"STANDARD_IA", b"GLACIER"), drop_limit="1")

    assert storage.held_by_class(bucket()) != then
    assert storage.held_by_class(bucket(), moment) == then
    assert storage.taken_on(bucket(), moment) == date(2026, 5, 31)
    client.force_login(stage.finance)
    assert "GLACIER" in client.get(reverse("storage")).content.decode()
    assert "GLACIER" not in client.get(reverse("storage"), {"known_on": "2020-01-01"}).content.decode()
