"""The contract of every format, held by job logs, allocations, metering and mapped tables."""

from __future__ import annotations

import contextlib
import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from usage.delivery import read_settings
from usage.formats import detection
from usage.reading.faults import FileRefused, RowFault

from .records import read
from .test_format_contract import UGLY, assert_is_right, content, slugs_that_know

OWN = {
    "sacct_p.txt": "slurm-sacct",
    "slurm.json": "slurm-json",
    "opencost.csv": "opencost",
    "kubecost.json": "kubecost",
    "openshift_pods.csv": "openshift",
    "openshift_gpu.csv": "openshift",
    "ledger.csv": "generic-csv",
}
MAPPING = "start=Day,end=Until,cost=Amount,quantity=Hours,account=Account,charge_category=Kind,tags=Tags,tag:team=Team"
SETTINGS = {
    "opencost.csv": {"currency": "USD"},
    "kubecost.json": {"currency": "USD"},
    "ledger.csv": {"currency": "EUR", "columns": MAPPING},
}
SEPARATED = {
    "sacct_p.txt": "|",
    "opencost.csv": ",",
    "openshift_pods.csv": ",",
    "openshift_gpu.csv": ",",
    "ledger.csv": ";",
}
DOCUMENTS = [name for name in OWN if name.endswith(".json")]
UGLY_VALUES = (*UGLY, None, True, [], {}, [["x"]], {"set": True, "number": "x"}, {"set": True, "number": -1}, 1e300, -5)


def settings_of(name: str) -> dict[str, str]:
    return SETTINGS.get(name, {})


@pytest.mark.parametrize("name", OWN)
def test_a_sample_is_known_by_its_format_alone_and_with_a_reason(name: str) -> None:
    known = slugs_that_know(content(name))
    stream = io.BufferedReader(io.BytesIO(content(name)))
    detected = detection.detect(stream, name, read_settings(settings_of(name)))

    assert known == ([] if name == "ledger.csv" else [OWN[name]])
    assert detected.format.slug == OWN[name]
    assert len(detected.reason) > 20


@pytest.mark.parametrize("name", OWN)
def test_the_rows_of_a_sample_are_such_as_the_pipeline_takes(name: str) -> None:
    found = read(content(name), **settings_of(name))

    assert found.rows and found.faults == []
    for row, keys in found.rows:
        assert_is_right(row, keys)
    assert read(content(name), **settings_of(name)).rows == found.rows


@pytest.mark.parametrize("name", OWN)
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(name: str) -> None:
    disguised = b"\xef\xbb\xbf" + content(name).replace(b"\n", b"\r\n") + b"\r\n"

    assert read(disguised, **settings_of(name)).rows == read(content(name), **settings_of(name)).rows


@pytest.mark.parametrize("name", SEPARATED)
@pytest.mark.parametrize("ugly", UGLY, ids=lambda text: text[:20] or "empty")
def test_whatever_stands_in_a_cell_ends_in_a_row_or_in_a_refusal(name: str, ugly: str) -> None:
    mark = SEPARATED[name]
    header, first, *rest = content(name).decode().splitlines()
    cells = first.split(mark)
    for column in range(len(cells)):
        changed = mark.join([*cells[:column], ugly, *cells[column + 1 :]])
        assert_survives("\n".join([header, changed, *rest, ""]), name)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_whatever_stands_in_a_document_ends_in_a_row_or_in_a_refusal(name: str) -> None:
    document = json.loads(content(name))
    for path in list(paths(document)):
        for ugly in UGLY_VALUES:
            changed = copy.deepcopy(document)
            place = changed
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = ugly
            assert_survives(json.dumps(changed), name)


def paths(value: Any, before: tuple = ()) -> Iterator[tuple]:
    """Every place of a document but the whole."""
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    else:
        return
    for step, item in inner:
        yield (*before, step)
        yield from paths(item, (*before, step))


def assert_survives(text: str, name: str) -> None:
    with contextlib.suppress(FileRefused, RowFault):
        for row, keys in read(text, OWN[name], **settings_of(name)).rows:
            assert_is_right(row, keys)


@pytest.mark.parametrize("name", ["sacct_p.txt", *DOCUMENTS])
def test_a_file_cut_anywhere_is_refused_or_lacks_only_its_end(name: str) -> None:
    whole = content(name)
    rows = [row for row, _keys in read(whole, **settings_of(name)).rows]
    for end in range(0, len(whole), 7):
        with contextlib.suppress(FileRefused):
            found = [row for row, _keys in read(whole[:end], OWN[name], **settings_of(name)).rows]
            assert found[:-1] == rows[: len(found[:-1])]
