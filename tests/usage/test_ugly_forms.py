"""Ugly but legal, and illegal, in every tabular format: one table of cases for each part that a column plays.

The cases are those of FOCUS in `test_ugly.py`; each runs against every format that has such a column.
"""

from __future__ import annotations

from decimal import Decimal

import pytest

from core.money import exact_sum, exact_text
from usage.reading.faults import FileRefused

from .records import Found, read
from .ugly_forms import FORMS, Form, bills_of_china, having

EXACT = {
    "1E-10": "0.0000000001",
    "35.2E-7": "0.00000352",
    "1.222170173446659532": "1.222170173446659532",
    "-0": "0",
    "0E-10": "0",
    ".5": "0.5",
    "5.": "5",
    "-4.250": "-4.25",
    "4.6000000000000005": "4.6000000000000005",
    "12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
}
OF_PROGRAMS = {"1e-05": "0.00001", "1.2E+3": "1200"}
"""What programs print and no bill for people holds."""
NO_NUMBERS = (
    "+333", "3,432,342", "$32", "1 1/2", "NaN", "Infinity", "-Infinity", "inf", "1_000", "１２", "(5.00)", "0x1F",
    "1E-999", "1E999", "9" * 200, "=1+1", "N/A", "1.234,56",
)  # fmt: skip
NOTHING = ("", "NULL", "null", "(null)", "None", "-", "--")
NO_TIMES = (
    "2025-02-29 00:00:00", "2025-02-01 30:00:00", "2025-03-05 24:00:00", "2025-13-01 00:00:00", "2025-03-05 23:59:60",
    "0001-01-01 00:00:00", "9999-12-31 23:59:59", "2025-03-05T00:00:00+99:00", "soon", "20250305", "-1", "=NOW()",
)  # fmt: skip
NO_CURRENCIES = ("MC", "US$", "RMB", "dollar", "", "NULL")
FORMULAS = ("=1+1", "@SUM(A1)", "-cmd|' /C calc'!A0", '=HYPERLINK("http://x","y")')
BOM = b"\xef\xbb\xbf"


def each(forms: list[Form]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("form", forms, ids=[form.sample for form in forms])


def taken(form: Form, text: str | bytes, **settings: str) -> Found:
    return read(text, **{**form.settings, **settings})


def first_row(form: Form, **cells: str):
    """The first row with other cells; nothing of the sample may be refused."""
    found = taken(form, form.with_cells(**cells))
    assert found.faults == []
    return found.rows[0]


def assert_refuses_its_row_alone(form: Form, part: str, text: str) -> None:
    found = taken(form, form.with_cells(**{part: text}))

    assert len(found.rows) == len(form.table()) - 2
    [(_line, column, value, reason)] = found.faults
    assert column == form.called(part)
    assert value.strip()[:50] == text.strip()[:50] or text in NOTHING
    assert reason


# ---- U3, U4, I6: numbers


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:20])
@each(having("cost"))
def test_what_is_no_number_rejects_its_row_in_a_cost(form: Form, text: str) -> None:
    assert_refuses_its_row_alone(form, "cost", text)


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:20])
@each(having("optional"))
def test_what_is_no_number_rejects_its_row_where_none_is_needed_too(form: Form, text: str) -> None:
    assert_refuses_its_row_alone(form, "optional", text)


@pytest.mark.parametrize("text", NOTHING)
@each(having("cost"))
def test_nothing_in_a_cost_rejects_its_row(form: Form, text: str) -> None:
    if form.adds_parts:
        assert taken(form, form.with_cells(cost=text)).notes.counts == {"total_from_parts": 1}
    else:
        assert_refuses_its_row_alone(form, "cost", text)


@pytest.mark.parametrize("text", NOTHING)
@each(having("optional"))
def test_nothing_where_no_number_is_needed_is_null(form: Form, text: str) -> None:
    plain, (row, _keys) = first_row(form)[0], first_row(form, optional=text)

    lost = [name for name in row._fields if getattr(plain, name) is not None and getattr(row, name) is None]
    assert lost and (row.billed, row.usage_start) == (plain.billed, plain.usage_start)


@pytest.mark.parametrize("text", EXACT)
@each(having("cost"))
def test_numbers_keep_every_digit_and_their_sign(form: Form, text: str) -> None:
    assert first_row(form, cost=text)[0].billed == EXACT[text]


@pytest.mark.parametrize("text", OF_PROGRAMS)
@each(having("cost"))
def test_exponents_as_programs_print_them_are_read_from_programs_alone(form: Form, text: str) -> None:
    if form.native:
        assert first_row(form, cost=text)[0].billed == OF_PROGRAMS[text]
    else:
        assert_refuses_its_row_alone(form, "cost", text)


# ---- U8, I2, I3, I4: times


@pytest.mark.parametrize("text", NO_TIMES)
@each(having("start"))
def test_a_start_that_does_not_exist_rejects_its_row(form: Form, text: str) -> None:
    assert_refuses_its_row_alone(form, "start", text)


@pytest.mark.parametrize("text", NO_TIMES)
@each(having("end"))
def test_an_end_that_does_not_exist_rejects_its_row(form: Form, text: str) -> None:
    assert_refuses_its_row_alone(form, "end", text)


@pytest.mark.parametrize("text", NOTHING)
@each(having("start"))
def test_nothing_for_a_start_rejects_its_row_unless_the_bill_knows_the_month(form: Form, text: str) -> None:
    if form.knows_its_month:
        assert first_row(form, start=text)[0].usage_start.endswith("T16:00:00+00:00")
    else:
        assert_refuses_its_row_alone(form, "start", text)


@each([form for form in having("start") if not form.slashed])
def test_a_day_whose_order_nobody_knows_rejects_its_row(form: Form) -> None:
    assert_refuses_its_row_alone(form, "start", "5/1/25")


@each(having("start", "end"))
def test_an_end_not_after_its_start_rejects_its_row(form: Form) -> None:
    start = form.table()[1][form.at("start")]
    for end in (start, "1999-01-01 00:00:00"):
        found = taken(form, form.with_cells(end=end))
        assert [column for _line, column, *_more in found.faults] == [form.called("end")]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2025-03-05T08:00:00Z", "2025-03-05T08:00:00+00:00"),
        ("2025-03-05 08:00:00 +0000 UTC", "2025-03-05T08:00:00+00:00"),
        ("2025-03-05t08:00:00.5z", "2025-03-05T08:00:00.500000+00:00"),
        ("2025-03-05 08:00:00 GMT+08:00", "2025-03-05T00:00:00+00:00"),
        ("2025-03-05T08:00+08", "2025-03-05T00:00:00+00:00"),
    ],
)
@each(having("start"))
def test_a_time_that_says_its_zone_is_that_instant_on_every_clock(form: Form, text: str, utc: str) -> None:
    end = {"end": "2025-03-06 00:00:00"} if form.end else {}
    found = taken(form, form.with_cells(start=text, **end), timezone="Asia/Tokyo")

    assert found.rows[0][0].usage_start == utc


@each(having("start"))
def test_a_time_without_a_zone_is_on_the_sources_clock(form: Form) -> None:
    end = {"end": "2025-03-06 00:00:00"} if form.end else {}
    found = taken(form, form.with_cells(start="2025-03-05 00:00:00", **end), timezone="Asia/Tokyo")

    assert found.rows[0][0].usage_start == "2025-03-04T15:00:00+00:00"


# ---- I5: currencies


@pytest.mark.parametrize("code", NO_CURRENCIES)
@each(having("currency"))
def test_a_currency_that_is_none_rejects_its_row(form: Form, code: str) -> None:
    assert_refuses_its_row_alone(form, "currency", code)


@each(having("currency"))
def test_settings_map_a_code_and_fill_an_empty_one(form: Form) -> None:
    mapped = taken(form, form.with_cells(currency="MC"), currency_map="MC=CHF")
    filled = taken(form, form.with_cells(currency=""), currency="CHF")

    assert (mapped.rows[0][0].currency, filled.rows[0][0].currency) == ("CHF", "CHF")


@each(having("currency"))
def test_currencies_of_one_file_stay_apart(form: Form) -> None:
    found = taken(form, form.with_cells(currency="JPY"))

    assert [row.currency == "JPY" for row, _keys in found.rows] == [True] + [False] * (len(found.rows) - 1)


# ---- U1, U2, I1, I10: the header, and what stands around the rows


@each(FORMS)
def test_marks_line_ends_and_blank_lines_change_nothing(form: Form) -> None:
    header, _, body = form.text().encode().replace(b"\n", b"\r\n").partition(b"\r\n")

    ugly = BOM + header + b"\r\n" + BOM + body + b"\r\n  \r\n\n"

    assert taken(form, ugly).rows == taken(form, form.text()).rows


@each(FORMS)
def test_names_in_other_letters_and_with_blanks_around_are_the_same(form: Form) -> None:
    rows = form.table()
    rows[0] = [f" {name.upper()} " for name in rows[0]]

    plain = [row._replace(extra=None) for row, _keys in taken(form, form.text()).rows]
    assert [row._replace(extra=None) for row, _keys in taken(form, form.text(rows)).rows] == plain


@each([form for form in FORMS if form.required])
def test_all_missing_columns_are_named_at_once(form: Form) -> None:
    with pytest.raises(FileRefused) as refused:
        read(form.without(*form.required), taken(form, form.text()).format, **form.settings)

    assert len(refused.value.faults) == len(form.required)


@pytest.mark.parametrize("part", ["cost", "start", "currency"])
@each(FORMS)
def test_a_used_column_that_stands_twice_refuses_the_file(form: Form, part: str) -> None:
    if not getattr(form, part):
        pytest.skip(f"{form.sample} has no column for the {part}")
    rows = form.table()
    twins = [rows[0] + [getattr(form, part)], *([*row, "1"] for row in rows[1:])]

    with pytest.raises(FileRefused) as refused:
        taken(form, form.text(twins))

    assert "twice" in refused.value.faults[0].message


@each(FORMS)
def test_twins_that_nobody_uses_are_both_kept(form: Form) -> None:
    rows = form.table()
    found = taken(form, form.text([rows[0] + ["x_a", "x_a"], *([*row, "=1", "2"] for row in rows[1:])]))

    assert found.faults == []
    kept = (found.rows[0][0].extra or "") + str(dict(found.rows[0][1].extra))
    assert '"x_a": "=1"' in kept and '"x_a 2": "2"' in kept


@pytest.mark.parametrize("text", FORMULAS)
@each(having("resource"))
def test_what_looks_like_a_formula_is_kept_as_it_stands(form: Form, text: str) -> None:
    _row, keys = first_row(form, resource=text)

    assert text in (keys.resource, keys.account, keys.pod, keys.resource_name)


@each(having("free"))
def test_a_text_of_two_hundred_kilobytes_is_read(form: Form) -> None:
    assert first_row(form, free="x" * 200_000)


@each(FORMS)
def test_a_header_without_rows_holds_none(form: Form) -> None:
    found = taken(form, form.text(form.table()[:1]))

    assert (found.rows, found.faults) == ([], [])


# ---- U11, I12: bills of China


def with_totals(form: Form, label: str, *, off_by: str = "0") -> list[list[str]]:
    """The sample with a row of totals, which may be off."""
    rows = form.table()
    total = [""] * len(rows[0])
    total[0] = label
    for part in ("cost", "optional"):
        amounts = [Decimal(row[form.at(part)]) for row in rows[1:] if row[form.at(part)] not in NOTHING]
        total[form.at(part)] = exact_text(exact_sum([*amounts, Decimal(off_by if part == "cost" else 0)]))
    return [*rows, total]


@pytest.mark.parametrize("label", ["合计", "总计", "Total", "合计："])
@each(bills_of_china())
def test_a_totals_row_is_checked_and_is_no_row(form: Form, label: str) -> None:
    found = taken(form, form.text(with_totals(form, label)))

    assert (len(found.rows), found.skipped) == (len(form.table()) - 1, ["total"])


@each(bills_of_china())
def test_a_totals_row_that_differs_refuses_the_file(form: Form) -> None:
    with pytest.raises(FileRefused, match="rows are missing"):
        taken(form, form.text(with_totals(form, "合计", off_by="0.01")))


@each(bills_of_china())
def test_rows_below_the_totals_row_refuse_the_file(form: Form) -> None:
    with pytest.raises(FileRefused, match="below the totals row"):
        taken(form, form.text([*with_totals(form, "合计"), form.table()[1]]))


@each(bills_of_china())
def test_a_subtotal_is_passed_over(form: Form) -> None:
    rows = with_totals(form, "小计")
    found = taken(form, form.text([*rows, form.table()[1]]))

    assert (len(found.rows), found.skipped) == (len(form.table()), ["subtotal"])


@each(bills_of_china())
def test_a_refund_without_times_has_those_of_its_month(form: Form) -> None:
    row, _keys = first_row(form, start="--", end="--", cost="-8")

    assert (row.usage_start[8:], row.usage_end[8:], row.billed) == (
        "31T16:00:00+00:00" if row.billing_month.month == 2 else "28T16:00:00+00:00",
        "28T16:00:00+00:00" if row.billing_month.month == 2 else "31T16:00:00+00:00",
        "-8",
    )


@each(bills_of_china())
def test_an_id_loses_what_spreadsheets_need_in_front_of_it(form: Form) -> None:
    for text in ("\t000123456789012345678", "'000123456789012345678"):
        assert first_row(form, resource=text)[1].resource == "000123456789012345678"


@each([form for form in bills_of_china() if not form.cost.isascii()])
def test_a_bill_in_gb18030_is_read_where_the_source_says_so_and_refused_where_not(form: Form) -> None:
    content = form.text().encode("gb18030")

    assert taken(form, content, encoding="gbk").rows == taken(form, form.text()).rows
    with pytest.raises(FileRefused, match="gb18030"):
        taken(form, content)
