"""Ugly but legal, and illegal: what a FOCUS file may look like, and what it may not (importing-ugly.md)."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile

import pytest
import zstandard

from tests.shared import shared
from tests.usage import factories
from tests.usage.factories import ROW, deliver, focus
from usage.models import KeySet, Record, RejectedRow
from usage.reading.unpack import ZstdBytes
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]


def only() -> Record:
    return Record.objects.select_related("key_set__meter").get()


def refused(answer: dict) -> str:
    assert answer["status"] == "refused", answer
    assert Record.objects.count() == 0
    return " ".join(f"{error['column']} {error['reason']}" for error in answer["errors"])


# ---- U1 to U12


def test_u1_marks_line_ends_blank_lines_and_line_breaks_in_fields_change_nothing():
    source = factories.source()
    rows = [{"ResourceId": "a", "Tags": '{"note": "two\\nlines"}'}, {"ResourceId": 'say "b"\nand more'}]
    deliver(source, focus(*rows))
    header, _, body = focus(*rows, newline="\r\n").partition(b"\r\n")

    ugly = b"\xef\xbb\xbf" + header + b"\r\n\xef\xbb\xbf" + body + b"\r\n\r\n"
    again = deliver(source, ugly)

    assert (again["status"], again["rows_read"], again["rows_written"]) == ("unchanged", 2, 0)
    assert 'say "b"\nand more' in KeySet.objects.values_list("resource", flat=True)


def test_u2_names_are_matched_without_case_and_order_and_the_rest_is_kept():
    names = {name.upper() if index % 2 else f" {name} ": name for index, name in enumerate(reversed(ROW))}
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*names, "Id", "x_Export"])
    writer.writerow([*(ROW[name] for name in names.values()), "=1+1", "2025-07-5T00:00:00Z"])

    answer = deliver(factories.source(), text.getvalue().encode())

    assert (answer["status"], answer["totals"]["USD"]["billed"]) == ("live", "10")
    assert only().extra == {"Id": "=1+1", "x_Export": "2025-07-5T00:00:00Z"}


@pytest.mark.parametrize("null", ["", "NULL", "null", "(null)", "None", "-", "--"])
def test_u3_words_for_nothing_are_null_where_null_is_allowed(null):
    deliver(factories.source(), focus({"ListCost": null, "ResourceId": null}))

    assert only().list_cost is None
    assert only().key_set.resource == ""


@pytest.mark.parametrize("null", ["", "NULL", "None", "-"])
def test_u3_words_for_nothing_reject_a_row_without_a_cost(null):
    answer = deliver(factories.source(), focus({}, {"BilledCost": null}))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert RejectedRow.objects.get().column == "BilledCost"


@pytest.mark.parametrize(
    ("text", "start", "settings_of", "warned"),
    [
        ("2026-03-05 00:00:00", "2026-03-05T00:00:00+00:00", {}, {}),
        ("2026-03-05 00:00:00", "2026-03-04T16:00:00+00:00", {"timezone": "Asia/Shanghai"}, {}),
        ("2026-03-05T08:00:00+08:00", "2026-03-05T00:00:00+00:00", {}, {"offset_in_time": 1}),
        ("2026-03-05T08:00:00+08", "2026-03-05T00:00:00+00:00", {}, {"offset_in_time": 1}),
        ("2026-03-05t00:00:00z", "2026-03-05T00:00:00+00:00", {}, {}),
        ("2026-03-05T00:00:00.250Z", "2026-03-05T00:00:00.250000+00:00", {}, {}),
        ("2026-03-05T00:00Z", "2026-03-05T00:00:00+00:00", {}, {}),
        ("2026-03-05 00:00:00 +0000 UTC", "2026-03-05T00:00:00+00:00", {}, {}),
    ],
)
def test_u3_times_without_zone_are_on_the_sources_clock(text, start, settings_of, warned):
    answer = deliver(factories.source(), focus({"ChargePeriodStart": text}), **settings_of)

    assert only().usage_start.isoformat() == start
    assert answer["warnings"] == warned


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("1E-10", "0.0000000001"),
        ("35.2E-7", "0.00000352"),
        ("1.222170173446659532", "1.222170173446659532"),
        ("-0", "0"),
        ("0E-10", "0"),
        (".5", "0.5"),
        ("5.", "5"),
        ("4.6000000000000005", "4.6000000000000005"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ],
)
def test_u4_numbers_keep_every_digit(text, exact):
    answer = deliver(factories.source(), focus({"BilledCost": text}))

    assert answer["totals"]["USD"]["billed"] == exact


def test_u6_negative_usage_is_added_with_its_sign():
    answer = deliver(factories.source(), focus({}, {"BilledCost": "-4", "EffectiveCost": "-4"}))

    assert answer["totals"]["USD"]["billed"] == "6"
    assert answer["by_charge_category"]["Usage"]["rows"] == 2


def test_u7_billed_and_effective_are_never_added():
    deliver(
        factories.source(),
        focus(
            {"ChargeCategory": "Purchase", "BilledCost": "100", "EffectiveCost": "0"},
            {"BilledCost": "0", "EffectiveCost": "30"},
        ),
    )

    assert usage_totals(Question())[0].totals["USD"] == 100
    assert usage_totals(Question(basis="effective"))[0].totals["USD"] == 30


def test_u8_a_year_paid_in_march_is_cash_of_march():
    year = {"ChargeCategory": "Purchase", "ChargePeriodEnd": "2027-03-05T00:00:00Z", "EffectiveCost": "0"}
    deliver(factories.source(), focus(year))

    _whole, months = usage_totals(Question(by=["month"]))
    assert {group.key["month"]: group.totals["USD"] for group in months} == {"2026-03": 10}


def test_u8_the_evening_in_utc_is_the_next_day_in_china():
    deliver(factories.source(), focus({"ChargePeriodStart": "2026-03-05T16:00:00Z"}))

    _whole, days = usage_totals(Question(by=["day"], zone="Asia/Shanghai"))
    assert [str(group.key["day"]) for group in days] == ["2026-03-06"]


@pytest.mark.parametrize(
    ("text", "tags", "warned"),
    [
        ('{"a": "b", "n": true}', {"a": "b", "n": "true"}, {}),
        ('"a": "b"', {"a": "b"}, {}),
        ("{'a': 'b', 'c': None}", {"a": "b", "c": ""}, {}),
        ('[{"key": "a", "value": "b"}]', {"a": "b"}, {}),
        ("a:b|c:d", {"a": "b", "c": "d"}, {}),
        ("key:a value:b; key:c value:d;", {"a": "b", "c": "d"}, {}),
        ('{"a": "1", "a": "2"}', {"a": "2"}, {"tag_repeated": 1}),
        ("{broken", {"(unreadable)": "{broken"}, {"tags_unreadable": 1}),
        ("__import__('os')", {"(unreadable)": "__import__('os')"}, {"tags_unreadable": 1}),
        (r'{"a": "\u0000", "\ud800": "b"}', {"a": "\u2400", "?": "b"}, {}),
        (r"{'a': '\x00'}", {"a": "\u2400"}, {}),
    ],
)
def test_u9_a_bill_is_never_lost_for_its_tags(text, tags, warned):
    answer = deliver(factories.source(), focus({"Tags": text}))

    assert answer["rows_accepted"] == 1
    assert only().key_set.tags == tags
    assert answer["warnings"] == warned


def test_u9_tags_of_two_hundred_kilobytes_are_read():
    answer = deliver(factories.source(), focus({"Tags": '{"a": "' + "x" * 200_000 + '"}'}))

    assert answer["rows_accepted"] == 1


def test_u9_rows_that_all_lack_the_last_field_are_taken_with_one_warning():
    header = focus().decode()

    answer = deliver(factories.source(), (header + _short_rows()).encode())

    assert (answer["rows_accepted"], answer["warnings"]) == (2, {"rows_short": 1})
    assert all(keys.tags == {} for keys in KeySet.objects.all())


def _short_rows() -> str:
    values = [ROW[name] for name in list(ROW)[:-1]]
    return ",".join(values) + "\n" + ",".join(values).replace("node-1", "node-2") + "\n"


def test_u9_a_single_short_row_is_rejected_alone():
    content = focus({}, {"ResourceId": "b"}) + b"1,2,3\n"

    answer = deliver(factories.source(), content)

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (2, 1)


def test_hours_of_our_own_export_come_back_as_hours():
    ours = {"x_AcceleratorHours": "192", "x_CpuCoreHours": "1.5", "x_Accelerator": "h100", "x_State": "unused"}

    answer = deliver(factories.source(), focus({}, ours, columns=[*ROW, *ours]))

    assert (answer["accelerator_hours"], answer["cpu_core_hours"]) == ("192", "1.5")
    meters = Record.objects.values_list("key_set__meter__accelerator", "key_set__meter__state", "extra")
    assert set(meters) == {("", "", None), ("h100", "unused", None)}


def test_u12_the_name_may_lie():
    assert deliver(factories.source(), gzip.compress(focus({})), "bill.csv")["status"] == "live"


def test_invalid_bytes_in_free_text_are_replaced_and_said():
    answer = deliver(factories.source(), focus({"ServiceName": "Caf?"}).replace(b"Caf?", b"Caf\xe9"))

    assert (answer["rows_accepted"], answer["warnings"]) == (1, {"bytes_replaced": 1})


def test_invalid_bytes_in_an_id_reject_the_row():
    answer = deliver(factories.source(), focus({}, {"ResourceId": "n?"}).replace(b"n?", b"n\xe9"))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert RejectedRow.objects.get().column == "ResourceId"


# ---- I1 to I12


def test_i1_every_missing_column_is_named_at_once_with_near_matches():
    names = [name for name in ROW if name not in ("BilledCost", "BillingCurrency", "ChargePeriodEnd")]
    content = focus({}, columns=[*names, "BilledCurrency"])

    said = refused(deliver(factories.source(), content))

    assert "BilledCost" in said and "ChargePeriodEnd" in said
    assert "BillingCurrency is missing from the header; found BilledCurrency" in said


@pytest.mark.parametrize(
    ("column", "text"),
    [("ChargePeriodStart", "5/1/25"), ("BilledCost", "$10,100.00 "), ("BilledCost", "1.234,56")],
)
def test_i2_local_dates_and_money_text_need_a_setting(column, text):
    assert column in refused(deliver(factories.source(), focus({column: text})))


def test_i2_settings_fix_the_order_and_the_money():
    row = {"ChargePeriodStart": "3/5/26", "ChargePeriodEnd": "3/6/26", "BilledCost": "1.234,56 €"}

    answer = deliver(factories.source(), focus(row), date_order="mdy", money_text="eu")

    assert answer["totals"]["USD"]["billed"] == "1234.56"


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-01T30:00:00Z",
        "2025-02-29T00:00:00Z",
        "2026-03-05T24:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-03-05T23:59:60Z",
        "2026-03-05T00:00:00+99:99",
        "2026-03-05T00:00:00+99",
        "2026-03-05T00:00:00+8",
        "soon",
    ],
)
def test_i3_times_that_do_not_exist_reject_the_row(text):
    answer = deliver(factories.source(), focus({}, {"ChargePeriodStart": text}))

    assert answer["rows_rejected"] == 1
    row = RejectedRow.objects.get()
    assert (row.column, row.value) == ("ChargePeriodStart", text)


@pytest.mark.parametrize("end", ["2026-03-05T00:00:00Z", "2026-03-04T00:00:00Z"])
def test_i4_an_end_not_after_its_start_rejects_the_row(end):
    answer = deliver(factories.source(), focus({}, {"ChargePeriodEnd": end}))

    assert answer["rows_rejected"] == 1


@pytest.mark.parametrize("code", ["", "MC", "US$", "RMB"])
def test_i5_a_currency_that_is_none_rejects_the_row(code):
    answer = deliver(factories.source(), focus({}, {"BillingCurrency": code}))

    assert answer["rows_rejected"] == 1


def test_i5_a_map_makes_it_one_and_currencies_stay_apart():
    content = focus({}, {"BillingCurrency": "RMB", "BilledCost": "7"})

    answer = deliver(factories.source(), content, currency_map="RMB=CNY")

    assert {code: sums["billed"] for code, sums in answer["totals"].items()} == {"USD": "10", "CNY": "7"}


@pytest.mark.parametrize(
    "text",
    [
        "+333",
        "35.2E+7",
        "3,432,342",
        "$32",
        "1 1/2",
        "NaN",
        "Infinity",
        "1_000",
        "１２",
        "(5.00)",
        "",
        "1E-999",
        "9" * 200,
    ],
)
def test_i6_what_is_no_focus_number_rejects_the_row_with_its_text(text):
    answer = deliver(factories.source(), focus({}, {"BilledCost": text}))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert RejectedRow.objects.get().value.startswith(text[:50])


def test_i7_a_wrong_dataset_is_named():
    said = refused(deliver(factories.source(), b"InvoiceDetailId,InvoiceId,InvoiceDetailCost\n1,2,3\n"))

    assert "Invoice Detail" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfeB\x00i\x00l\x00l\x00", "UTF-16"),
        (b"BilledCost,\x00\n1,2\n", "NUL"),
        (b'{"manifest": []}', "JSON"),
        (b"<html>not found</html>", "web page"),
        (b"just words\n", "no table"),
        (b"PAR1\x00\x00", "Parquet"),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n", mtime=0), mtime=0), "packed twice"),
        (b"\n\r\n\n", "blank lines"),
        (focus({}, newline="\r"), "CR alone"),
    ],
)
def test_i7_what_is_no_table_is_refused_by_what_it_is(content, said):
    assert said.lower() in refused(deliver(factories.source(), content)).lower()


def test_i7_an_invoice_detail_with_costs_is_no_bill_either():
    content = (
        b"InvoiceDetailId,BilledCost,BillingCurrency,BillingPeriodStart,ChargeCategory\n1,2,USD,2026-03-01,Usage\n"
    )

    assert "Invoice Detail" in refused(deliver(factories.source(), content))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_i8_a_damaged_member_of_an_archive_refuses_it(name):
    content = gzip.compress(focus({})) if name.endswith("gz") else focus({})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    begin = 30 + len(name)

    damaged = packed.getvalue()[:begin] + b"\xff" * 5 + packed.getvalue()[begin + 5 :]

    assert "damaged" in refused(deliver(factories.source(), damaged))


def test_i8_an_open_quote_at_the_end_is_a_truncated_file():
    assert "quoted" in refused(deliver(factories.source(), focus({})[:-3]))


def test_i10_two_columns_with_one_name_that_we_use_are_refused():
    header, _, row = focus({}).partition(b"\n")

    assert "BilledCost" in refused(deliver(factories.source(), header + b",billedcost\n" + row.strip() + b",99\n"))


def test_i10_twins_that_we_do_not_use_are_both_kept():
    header, _, row = focus({}).partition(b"\n")

    deliver(factories.source(), header + b",x_a,x_a\n" + row.strip() + b",1,2\n")

    assert only().extra == {"x_a": "1", "x_a 2": "2"}


def test_nul_bytes_in_a_row_reject_or_replace_but_never_break():
    rows = [{"ResourceId": f"r{number}"} for number in range(900)]
    content = focus(*rows, {"ServiceName": "Q?Z"}).replace(b"Q?Z", b"Q\x00Z")

    answer = deliver(factories.source(), content)

    assert answer["status"] == "live"
    assert answer["rows_accepted"] == 901


def test_a_decompression_bomb_is_refused_in_bounded_time(settings):
    settings.USAGE_MOST_BYTES = 10_000_000
    bomb = gzip.compress(focus({}) + b"x" * 50_000_000)

    assert "larger" in refused(deliver(factories.source(), bomb))


def test_a_piece_of_zstd_never_unpacks_to_more_than_memory_holds():
    """A hundred thousand bytes may hold three gigabytes: they are unpacked little by little."""
    bomb = zstandard.ZstdCompressor(19).compress(b"x" * (1 << 28)) * 4
    unpacked, largest = ZstdBytes(io.BytesIO(bomb)), 0

    while block := unpacked.peek():
        largest = max(largest, len(block))
        unpacked.read(len(block))

    assert 0 < largest <= 1 << 26


def test_a_bomb_of_blank_lines_is_refused():
    bomb = gzip.compress(focus({}) + b"\n" * 1_000_001)

    assert "blank lines" in refused(deliver(factories.source(), bomb))


def test_a_bomb_of_brackets_is_refused():
    bomb = b'{"jobs": [{"job_id": 1, "association": {}, "allocation_nodes": ' + b"[" * 100_000

    assert "too deep" in refused(deliver(factories.source(), bomb))


def test_tags_that_never_end_are_given_up_at_once():
    answer = deliver(factories.source(), focus({"Tags": "key:" * 50_000}))

    assert (answer["rows_accepted"], answer["warnings"]) == (1, {})


def test_an_endless_record_is_refused():
    bomb = gzip.compress(focus({}) + b'"' + b"x" * 20_000_000)

    assert "longer" in refused(deliver(factories.source(), bomb))


@pytest.mark.parametrize("name", ["../../etc/passwd.csv", "/tmp/evil.csv", "..\\evil.csv"])
def test_path_tricks_in_an_archive_write_nothing(name, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, focus({}))

    assert deliver(factories.source(), packed.getvalue())["status"] == "live"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_in_an_archive_are_refused():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bill.csv", focus({}))
        archive.writestr("bill.csv", focus({}))

    assert "two files of one name" in refused(deliver(factories.source(), packed.getvalue()))


@pytest.mark.parametrize("manifest", ['{"reportKeys": ["x/a.csv", "x/b.csv"]}', '{"blobs": [{"blobName": "b.csv"}]}'])
def test_i8_fewer_parts_than_the_manifest_lists_are_refused(manifest):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("march-manifest.json", manifest)
        archive.writestr("a.csv", focus({}))

    assert "b.csv" in refused(deliver(factories.source(), packed.getvalue()))


def test_a_spreadsheet_is_refused_by_name():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")

    assert "CSV" in refused(deliver(factories.source(), packed.getvalue()))


def test_effective_cost_far_from_billed_without_a_commitment_is_noticed():
    answer = factories.deliver_file(factories.source(), shared("usage/focus/focus_sample_aws_oracle.csv"))

    assert answer["warnings"].get("effective_far_from_billed") == 1
