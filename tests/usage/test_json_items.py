"""The JSON cursor: values whole across blocks, numbers as text, damage refused."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usage.formats import gcp, kubecost, service, slurm_json
from usage.reading import json_items
from usage.reading.faults import FileRefused
from usage.reading.json_items import JsonCursor, JsonRecords, loads


def cursor(text: bytes, block: int = 1 << 18) -> JsonCursor:
    return JsonCursor(io.BufferedReader(io.BytesIO(text), buffer_size=block))


def items(document: JsonCursor):
    for _place in document.places():
        yield document.value()


def test_numbers_keep_every_digit():
    assert loads(b'{"cost": 0.10000000000000000000001, "hours": 1e-7}') == {
        "cost": "0.10000000000000000000001",
        "hours": "1e-7",
    }


def test_characters_that_no_database_stores_are_replaced():
    assert loads(b'["a\\u0000b", "\\ud800x", "\\ud83d\\ude00"]') == ["a\u2400b", "\ufffdx", "\U0001f600"]
    assert loads(b'["a\xed\xa0\x80b", {"\xed\xbf\xbf": 1}]') == ["a\ufffdb", {"\ufffd": "1"}]


def test_an_object_is_walked_key_by_key():
    document = cursor(b' {"a": 1, "b": [1, {"c": "]"}], "d": null} ')

    assert [(key, document.value()) for key in document.fields()] == [
        ("a", b"1"),
        ("b", b'[1, {"c": "]"}]'),
        ("d", b"null"),
    ]
    document.end()


def test_records_know_the_line_they_begin_on():
    stream = io.BufferedReader(io.BytesIO(b'[\n {"a": 1},\n {"b":\n 2}\n]\n'))

    (batch,) = JsonRecords(stream, items).batches(10)

    assert batch.lines == [2, 3]


@pytest.mark.parametrize("text", [b"[1, 2", b'["abc', b'[{"a": ', b'["\\', b"["])
def test_a_document_that_ends_early_is_refused(text):
    with pytest.raises(FileRefused, match="early"):
        list(items(cursor(text)))


@pytest.mark.parametrize("text", [b"[1 2]", b"{]", b'[{"a" 1}]x'])
def test_a_document_that_is_no_json_is_refused(text):
    document = cursor(text)

    with pytest.raises(FileRefused):
        list(JsonRecords(io.BufferedReader(io.BytesIO(text)), items).batches(9))
        list(document.fields())


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=6,
    ),
    st.integers(1, 9),
)
def test_whatever_the_blocks_the_values_are_the_same(values, block):
    text = json.dumps(values, indent=1).encode()
    before, json_items.BLOCK = json_items.BLOCK, block
    try:
        found = [json.loads(raw) for raw in items(cursor(text))]
    finally:
        json_items.BLOCK = before

    assert found == values


WALKS = {
    "gcp": gcp.json_lines,
    "service": service.objects,
    "slurm": slurm_json.jobs,
    "kubecost": kubecost.allocations,
}


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
@given(text=st.lists(st.sampled_from([*"{}[],: 1x\n", '"a"', '"jobs":', '"data":', '{"a": 1}', "null"]), max_size=12))
def test_whatever_marks_stand_where_a_document_always_has_an_end(walk, text):
    content = "".join(text).encode()
    found = 0

    with contextlib.suppress(FileRefused):
        for _raw in walk(cursor(content)):
            found += 1
            assert found <= len(content)
