"""Ugly but legal, and illegal, deliveries of every tabular format, through the whole import: all of it or nothing."""

from __future__ import annotations

import gzip
import io
import zipfile
from typing import Any

import pytest
import zstandard

from usage.models import Record, RejectedRow, Source

from . import factories
from .ugly_forms import FORMS, Form, having

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

BROKEN = b"\xff\xfe"


def each(forms: list[Form]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("form", forms, ids=[form.sample for form in forms])


@pytest.fixture
def source() -> Source:
    return factories.source(drop_limit="1")


def deliver(to: Source, form: Form, content: str | bytes, name: str = "file.csv") -> dict[str, Any]:
    raw = content.encode() if isinstance(content, str) else content
    return factories.deliver(to, raw, name, **form.settings)


def live() -> int:
    return Record.objects.filter(known_until=None).count()


def marked(form: Form, part: str, mark: bytes) -> bytes:
    """The sample with bytes that are no text in the first row."""
    return form.with_cells(**{part: "M?RK"}).encode().replace(b"M?RK", b"M" + mark + b"RK")


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.csv", content)
    return packed.getvalue()


@each(FORMS)
def test_u5_equal_rows_are_as_many_facts_unless_a_key_tells_that_they_are_one(form: Form, source: Source) -> None:
    header, first, *others = form.table()
    twice = form.text([header, first, first, *others])
    rows = len(others) + (1 if form.has_keys else 2)

    answer = deliver(source, form, twice)
    again = deliver(source, form, twice)
    assert (answer["status"], live(), again["status"]) == ("live", rows, "unchanged")
    assert answer["rows_read"] == answer["rows_accepted"] + answer["rows_skipped"]

    deliver(source, form, form.text([header, first, *others]))
    assert live() == len(others) + 1


@each(FORMS)
def test_rows_in_another_order_and_bytes_are_the_same_facts(form: Form, source: Source) -> None:
    header, *rows = form.table()
    deliver(source, form, form.text([header, *rows]))

    again = deliver(source, form, form.text([header, *reversed(rows)]).replace("\n", "\r\n"))

    assert (again["rows_written"], again["rows_closed"]) == (0, 0)


@each(FORMS)
def test_u12_whatever_it_is_packed_in_and_called_is_the_same(form: Form, source: Source) -> None:
    plain = form.text().encode()
    first = deliver(source, form, plain)

    for packed in (gzip.compress(plain), zstandard.compress(plain), zipped(a=plain)):
        again = deliver(source, form, packed, "no-table.parquet")
        assert (again["status"], again["rows_read"], again["rows_written"]) == ("unchanged", first["rows_read"], 0)


@each(FORMS)
def test_parts_of_one_delivery_each_with_a_header_are_one(form: Form, source: Source) -> None:
    header, *rows = form.table()
    parts = {f"part{number}": form.text([header, row]).encode() for number, row in enumerate(rows)}

    answer = deliver(source, form, zipped(**parts))

    assert (answer["status"], answer["rows_accepted"], live()) == ("live", len(rows), len(rows))


@each(FORMS)
def test_i8_a_last_row_that_is_cut_off_refuses_the_file_and_leaves_what_was(form: Form, source: Source) -> None:
    rows = form.table()
    deliver(source, form, form.text())
    before = live()
    cut = form.text(rows) + form.separator.join(rows[-1][: len(rows[0]) // 2])

    answer = deliver(source, form, cut)

    assert answer["status"] == "refused"
    assert "cut off" in answer["errors"][0]["reason"]
    assert live() == before


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
@each(FORMS)
def test_i8_a_stream_that_ends_early_refuses_the_file(form: Form, source: Source, pack: Any) -> None:
    answer = deliver(source, form, pack(form.text().encode())[:-5])

    assert (answer["status"], live()) == ("refused", 0)


@each(FORMS)
def test_u9_a_row_that_is_short_among_others_is_rejected_alone(form: Form, source: Source) -> None:
    header, *rows = form.table()

    answer = deliver(source, form, form.text([header, *rows, rows[0][:3]]))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (len(rows), 1)


@each(having("free"))
def test_u9_rows_that_all_lack_the_last_field_are_taken_with_one_warning(form: Form, source: Source) -> None:
    header, *rows = form.table()

    answer = deliver(source, form, form.text([[*header, "x_more"], *rows]))

    assert (answer["rows_accepted"], answer["warnings"]["rows_short"]) == (len(rows), 1)


@pytest.mark.parametrize("mark", [BROKEN, b"\0"], ids=["no text", "NUL"])
@pytest.mark.parametrize("part", ["cost", "start", "currency", "resource"])
@each(FORMS)
def test_bytes_that_are_no_text_reject_a_row_by_its_amount_time_or_id(
    form: Form, source: Source, part: str, mark: bytes
) -> None:
    if not getattr(form, part):
        pytest.skip(f"{form.sample} has no column for the {part}")
    content = marked(form, part, mark)
    if mark == b"\0":
        content = beyond_the_head(form, content)

    answer = deliver(source, form, content)

    assert answer["rows_rejected"] == 1, answer
    assert RejectedRow.objects.get().column == getattr(form, part).strip()


@pytest.mark.parametrize("mark", [BROKEN, b"\0"], ids=["no text", "NUL"])
@each(having("free"))
def test_bytes_that_are_no_text_are_replaced_in_words_and_said(form: Form, source: Source, mark: bytes) -> None:
    content = marked(form, "free", mark)
    if mark == b"\0":
        content = beyond_the_head(form, content)

    answer = deliver(source, form, content)

    assert (answer["rows_rejected"], answer["warnings"]["bytes_replaced"]) == (0, 1)


def beyond_the_head(form: Form, content: bytes) -> bytes:
    """The rows behind so many others that no look at the beginning meets them."""
    header, _, rows = content.partition(b"\n")
    _header, _, plain = form.text().encode().partition(b"\n")
    return header + b"\n" + plain * (1 + (1 << 17) // len(plain)) + rows


@each(FORMS)
def test_nul_at_the_beginning_is_no_table(form: Form, source: Source) -> None:
    answer = deliver(source, form, form.text().replace("\n", "\n\0", 1))

    assert "NUL" in answer["errors"][0]["reason"]


@each(FORMS)
def test_a_header_alone_is_an_empty_delivery(form: Form, source: Source) -> None:
    answer = deliver(source, form, form.text(form.table()[:1]))

    assert (answer["rows_read"], answer["errors"], live()) == (0, [], 0)


@each([form for form in FORMS if not form.has_keys])
def test_an_empty_delivery_where_something_was_waits_for_a_person(form: Form) -> None:
    careful = factories.source()
    deliver(careful, form, form.text())
    before = live()

    answer = deliver(careful, form, form.text(form.table()[:1]))

    assert (answer["status"], live()) == ("waiting", before)


@each(FORMS)
def test_i12_a_strict_source_refuses_the_file_for_one_bad_row(form: Form) -> None:
    answer = deliver(factories.source(strict="1"), form, form.with_cells(start="soon"))

    assert (answer["status"], live()) == ("refused", 0)
