"""What every format owes: it knows its own files and says why, and its rows are such as the pipeline takes."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.money import CURRENCIES
from core.vocabulary import LINES, ChargeCategory
from tests.shared import shared
from usage.delivery import Settings
from usage.formats import detection
from usage.formats.contract import Keys, Row
from usage.pipeline.keysets import fitting
from usage.reading.faults import FileRefused, RowFault
from usage.reading.numbers import CANONICAL

from .records import read

SAMPLES = Path(__file__).parent / "samples"
OWN = {
    "aws_cur_legacy.csv": "aws-cur",
    "aws_cur_2.csv": "aws-cur",
    "azure.csv": "azure",
    "azure_german.csv": "azure",
    "gcp.csv": "gcp",
    "gcp.jsonl": "gcp",
    "oci.csv": "oci",
    "alibaba.csv": "alibaba",
    "huawei.csv": "huawei",
    "tencent.csv": "tencent",
    "tencent_zh.csv": "tencent",
    "baidu.csv": "baidu",
    "sacct_p.txt": "slurm-sacct",
    "service.csv": "service",
    "service.jsonl": "service",
}
PUBLISHED = {
    "focus/DERIVED_focus_aws_oracle_utf8bom_crlf.csv": "focus",
    "slurm/DERIVED_sacctP_mila.psv": "slurm-sacct",
    "slurm-json/sarc_mila_1706227200.json": "slurm-json",
    "k8s/nise_ocp_gpu_usage_2025-02.csv": "openshift",
}
TABLES = [name for name in OWN if name.endswith(".csv")]
REQUIRED = {
    "aws_cur_legacy.csv": "lineItem/UnblendedCost",
    "aws_cur_2.csv": "line_item_unblended_cost",
    "azure.csv": "BillingCurrencyCode",
    "gcp.csv": "credits",
    "oci.csv": "cost/myCost",
    "huawei.csv": "币种",
    "alibaba.csv": "Currency",
    "tencent.csv": "Total Amount After Discount (Excluding Tax)",
    "baidu.csv": "币种",
    "service.csv": "hour",
}
"""One column of each that the format cannot do without."""
NUMBERS = ("billed", "effective", "list_cost", "contracted", "quantity", "accelerator_hours", "cpu_core_hours")


def content(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def rewritten(name: str, *, without: str = "", more: str = "", turned: bool = False) -> str:
    """A sample's table with a column less, a column more, or its columns in the opposite order."""
    rows = list(csv.reader(io.StringIO(content(name).decode())))
    kept = [index for index, column in enumerate(rows[0]) if column != without]
    if turned:
        kept.reverse()
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for number, row in enumerate(rows):
        writer.writerow([row[index] for index in kept] + ([more if number == 0 else "=1+1"] if more else []))
    return out.getvalue()


def slugs_that_know(text: bytes) -> list[str]:
    """Every format that recognises a text."""
    found = []
    for known in detection.FORMATS:
        try:
            sample = detection.take_sample(io.BufferedReader(io.BytesIO(text)), "sample", Settings())
            if known.recognise(sample):
                found.append(known.slug)
        except FileRefused:
            continue
    return found


def assert_is_right(row: Row, keys: Keys) -> None:
    hash(row.key)
    for name in NUMBERS:
        number = getattr(row, name)
        assert number is None or CANONICAL(number), f"{name} {number!r} is not canonical"
    start, end = datetime.fromisoformat(row.usage_start), datetime.fromisoformat(row.usage_end)
    assert start.utcoffset() == end.utcoffset() == datetime.now(UTC).utcoffset()
    assert row.billing_month.day == 1
    assert row.currency in CURRENCIES or (row.currency == "" and row.billed is None)
    assert keys.charge_category in set(ChargeCategory)
    assert keys.category in LINES
    assert row.extra is None or isinstance(json.loads(row.extra), dict)
    json.dumps(keys.as_dict(), default=str)
    assert all(isinstance(text, str) for text in (*keys.tags.values(), *keys.extra.values()))
    fitting(keys)


def test_every_format_has_a_name_of_its_own() -> None:
    slugs = [known.slug for known in detection.FORMATS]

    assert len(set(slugs)) == len(slugs)
    assert all(known.name and known.version >= 1 for known in detection.FORMATS)


@pytest.mark.parametrize("name", OWN)
def test_a_sample_is_known_by_its_format_alone_and_with_a_reason(name: str) -> None:
    assert slugs_that_know(content(name)) == [detection.format_named(OWN[name]).slug]

    detected = detection.detect(io.BufferedReader(io.BytesIO(content(name))), name, Settings())
    assert len(detected.reason) > 20


@pytest.mark.parametrize("name", OWN)
def test_the_rows_of_a_sample_are_such_as_the_pipeline_takes(name: str) -> None:
    found = read(content(name))

    assert found.rows
    assert found.faults == []
    for row, keys in found.rows:
        assert_is_right(row, keys)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_rows_of_a_published_file_are_such_as_the_pipeline_takes(name: str) -> None:
    found = read(shared(f"usage/{name}").read_bytes())

    assert found.format == PUBLISHED[name]
    assert found.rows
    for row, keys in found.rows:
        assert_is_right(row, keys)


@pytest.mark.parametrize("name", OWN)
def test_a_sample_reads_the_same_twice(name: str) -> None:
    assert read(content(name)).rows == read(content(name)).rows


@pytest.mark.parametrize("name", TABLES)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(name: str) -> None:
    disguised = b"\xef\xbb\xbf" + content(name).replace(b"\n", b"\r\n") + b"\r\n"

    assert read(disguised).rows == read(content(name)).rows


@pytest.mark.parametrize("name", [name for name in TABLES if name != "baidu.csv"])
def test_the_order_of_columns_is_free(name: str) -> None:
    plain = [(row._replace(key=None), keys) for row, keys in read(content(name)).rows]
    turned = [(row._replace(key=None), keys) for row, keys in read(rewritten(name, turned=True)).rows]

    assert turned == plain


@pytest.mark.parametrize("name", TABLES)
def test_a_column_nobody_knows_is_kept_and_rejects_nothing(name: str) -> None:
    found = read(rewritten(name, more="x_note"))

    assert found.faults == []
    for row, keys in found.rows:
        assert "=1+1" in (row.extra or "") or "=1+1" in (*keys.extra.values(), *keys.tags.values())


@pytest.mark.parametrize("name", REQUIRED)
def test_a_file_without_a_column_it_needs_is_refused_by_its_format(name: str) -> None:
    with pytest.raises(FileRefused) as refused:
        read(rewritten(name, without=REQUIRED[name]), OWN[name])

    assert len(refused.value.faults) == 1
    assert "missing" in refused.value.message


UGLY = (
    "",
    "-",
    "1" * 200,
    "1E999",
    "NaN",
    "２",
    "9999-12-31",
    "0001-01-01",
    "9999-12-31 23:59:59",
    "x" * 9000,
    "[{",
    "合计",
)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("ugly", UGLY, ids=lambda text: text[:20] or "empty")
def test_whatever_stands_in_a_cell_ends_in_a_row_or_in_a_refusal(name: str, ugly: str) -> None:
    rows = list(csv.reader(io.StringIO(content(name).decode())))
    for column in range(len(rows[0])):
        changed = [[*rows[1][:column], ugly, *rows[1][column + 1 :]], *rows[2:]]
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([rows[0], *changed])
        with contextlib.suppress(FileRefused, RowFault):
            for row, keys in read(out.getvalue()).rows:
                assert_is_right(row, keys)
