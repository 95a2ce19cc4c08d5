"""Price files: every bad row is named, and then nothing is written; a good file says what it changes."""

from __future__ import annotations

import io
from decimal import Decimal

import pytest
from openpyxl import Workbook, load_workbook

from core.errors import DomainError
from estimates import price_files, queries, services
from estimates.models import Price
from tests.estimates import factories

HEADER = "kind,item,provider,mode,amount,currency,valid_from,source,verification,reason\n"


def file_of(*lines: str, header: str = HEADER) -> bytes:
    return (header + "".join(f"{line}\n" for line in lines)).encode()


GOOD = "accelerator,h100-sxm-80gb,nebius,on_demand,2.95,USD,2026-01-01,https://example.com,verified,"


def test_a_good_file_adds_its_rows(stage):
    added = services.import_prices(file_of(GOOD, GOOD.replace("nebius", "lambda")), by=stage.keeper)

    assert [(row.provider, row.amount) for row in added] == [("nebius", Decimal("2.95")), ("lambda", Decimal("2.95"))]


def test_the_same_file_again_changes_nothing(stage):
    services.import_prices(file_of(GOOD), by=stage.keeper)

    assert services.import_prices(file_of(GOOD), by=stage.keeper) == []
    assert Price.objects.count() == 1


def test_every_bad_row_is_named_and_nothing_is_added(stage):
    bad = [
        GOOD,
        GOOD.replace("2.95", "abc"),
        GOOD.replace("USD", "usdollar").replace("accelerator,", "gpu,"),
        GOOD.replace("2026-01-01", "01/02/2026"),
    ]

    with pytest.raises(DomainError) as refused:
        services.import_prices(file_of(*bad), by=stage.keeper)

    named = [(fault.path, fault.value) for fault in refused.value.faults]
    assert named == [
        ("line 3, amount", "abc"),
        ("line 4, kind", "gpu"),
        ("line 4, currency", "usdollar"),
        ("line 5, valid_from", "01/02/2026"),
    ]
    assert all(fault.accepted for fault in refused.value.faults)
    assert not Price.objects.exists()


def test_a_quoted_cell_over_two_lines_does_not_shift_the_line_numbers(db):
    read = price_files.read_price_file(file_of(GOOD.replace("https://example.com", '"two\nlines"'), GOOD + "x,y"))

    assert [fault.path for fault in read.faults] == ["line 4"]


def test_two_prices_of_one_offer_and_day_are_a_fault(db):
    read = price_files.read_price_file(file_of(GOOD, GOOD.replace("2.95", "3")))

    assert [fault.path for fault in read.faults] == ["line 3, valid_from"]
    assert "line 2" in read.faults[0].message


def test_a_correction_in_a_file_needs_a_reason(stage):
    services.import_prices(file_of(GOOD), by=stage.keeper)

    with pytest.raises(DomainError) as refused:
        services.import_prices(file_of(GOOD.replace("2.95", "3")), by=stage.keeper)

    assert [fault.path for fault in refused.value.faults] == ["line 2, reason"]


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (b"", "line 1, kind"),
        (b"\xff\xfe\x00", "line 1"),
        (HEADER.encode(), "line 2"),
        (b"kind,item,amount,currency,valid_from,colour\n", "line 1, colour"),
        (b"kind,item,amount,currency\n", "line 1, valid_from"),
        (b"kind,kind,item,amount,currency,valid_from\n", "line 1, kind"),
        (b"PK\x03\x04 not a spreadsheet", "line 1"),
        (file_of('accelerator,"open'), "line 2"),
        (file_of("accelerator,\0"), "line 2"),
    ],
)
def test_a_file_that_is_no_price_file_is_refused_with_the_place(db, content, path):
    read = price_files.read_price_file(content)

    assert path in [fault.path for fault in read.faults]
    assert read.rows == ()


def test_semicolons_and_a_byte_order_mark_are_understood(db):
    content = b"\xef\xbb\xbf" + file_of(GOOD).replace(b",", b";")

    assert price_files.read_price_file(content).rows[0].amount == Decimal("2.95")


def test_a_spreadsheet_is_read_like_a_csv_file(db):
    book = Workbook()
    for line in file_of(GOOD).decode().splitlines():
        book.active.append(line.split(","))
    book.active.cell(2, 5).value = 2.95
    written = io.BytesIO()
    book.save(written)

    read = price_files.read_price_file(written.getvalue())

    assert (read.faults, read.rows[0].amount, read.lines) == ((), Decimal("2.95"), (2,))


def test_what_is_exported_can_be_imported_again(db):
    factories.price(source="=1+1")
    factories.price(withdrawn=True, valid_from="2026-07-01", reason="gone", amount="0")

    text = price_files.csv_text(Price.objects.all())
    preview = queries.preview_import(text.encode())

    assert "'=1+1" in text
    assert preview.counts == {"unchanged": 2}
    cells = list(load_workbook(io.BytesIO(price_files.spreadsheet(Price.objects.all()))).active.values)
    assert cells[0] == price_files.COLUMNS


def test_the_preview_says_what_each_row_would_do(db):
    factories.accelerator()
    factories.price(amount="2.95", source="https://example.com")
    rows = [
        GOOD,
        GOOD.replace("2.95", "2.5").replace("2026-01-01", "2026-06-01"),
        GOOD.replace("nebius", "lambda"),
        GOOD.replace("h100-sxm-80gb", "h900"),
    ]

    preview = queries.preview_import(file_of(*rows))

    assert [change.kind for _line, change in preview.changes] == ["unchanged", "changed", "new", "new"]
    assert [change.known_item for _line, change in preview.changes] == [True, True, True, False]
    assert Price.objects.count() == 1
