"""Parquet is read as the table it holds: exact numbers, times, tags, nested rows; broken files change nothing."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as arrow
import pyarrow.parquet
import pytest
import zstandard

from tests.shared import shared
from tests.usage import factories
from tests.usage.factories import ROW, deliver
from tests.usage.records import read
from usage.models import KeySet, Record
from usage.reading.faults import FileRefused
from usage.reading.pages import Compact, PageFault
from usage.reading.parquet import ParquetText
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

MONTH, NEXT = datetime(2026, 3, 1), datetime(2026, 4, 1)
DAY, DAY_AFTER = datetime(2026, 3, 5), datetime(2026, 3, 6)


def parquet(columns: dict[str, arrow.Array | list], **how) -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(arrow.table(columns), out, **how)
    return out.getvalue()


def focus(costs: arrow.Array, **other: arrow.Array | list) -> bytes:
    """A FOCUS file of Parquet: a row for every cost, otherwise as `factories.ROW`."""
    count = len(costs)
    how = {name: other.pop(name) for name in ("compression", "row_group_size", "use_dictionary") if name in other}
    times = {
        "BillingPeriodStart": MONTH,
        "BillingPeriodEnd": NEXT,
        "ChargePeriodStart": DAY,
        "ChargePeriodEnd": DAY_AFTER,
    }
    columns: dict[str, arrow.Array | list] = {name: [text] * count for name, text in ROW.items()}
    columns |= {name: arrow.array([moment] * count, arrow.timestamp("us")) for name, moment in times.items()}
    columns |= {"BilledCost": costs, "EffectiveCost": costs, "ResourceId": [f"node-{at}" for at in range(count)]}
    return parquet(columns | other, **how)


def text_of(content: bytes) -> str:
    return ParquetText(io.BytesIO(content)).read().decode()


def refused(answer: dict) -> str:
    assert answer["status"] == "refused", answer
    assert Record.objects.count() == 0
    return " ".join(error["reason"] for error in answer["errors"])


def test_the_published_file_gives_its_totals():
    path = shared("usage/focus/DERIVED_focus_aws_oracle.double_map.parquet")

    answer = factories.deliver_file(factories.source(), path)

    assert (answer["status"], answer["rows_read"], answer["rows_accepted"]) == ("live", 949, 949)
    assert answer["totals"] == {
        "USD": {"billed": "18.54371254313", "effective": "13", "list": "18.41439156533", "contracted": "13"}
    }
    assert answer["by_charge_category"]["Adjustment"] == {"rows": 2, "billed": "0.272", "effective": "0"}
    assert answer["by_charge_category"]["Credit"] == {"rows": 1, "billed": "-2.6137", "effective": "-3"}
    whole, days = usage_totals(Question(source="cloud", by=["day"]))
    rows = {str(group.key["day"]): group.rows for group in days}
    assert (whole.rows, rows["2024-09-01"], rows["2024-09-24"], rows["2024-09-30"]) == (949, 19, 47, 39)


def test_the_published_file_and_its_csv_hold_the_same_rows_and_tags():
    deliver_both = factories.source()
    factories.deliver_file(deliver_both, shared("usage/focus/focus_sample_aws_oracle.csv"))
    sums = usage_totals(Question(source="cloud", by=["service", "resource"]))

    factories.deliver_file(deliver_both, shared("usage/focus/DERIVED_focus_aws_oracle.double_map.parquet"))

    assert usage_totals(Question(source="cloud", by=["service", "resource"])) == sums


@pytest.mark.parametrize(
    ("double", "kept"),
    [
        (0.1, "0.1"),
        (1e-10, "0.0000000001"),
        (1.5e22, "15000000000000000000000"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.30000000000000004, "0.30000000000000004"),
        (5e-324, None),
    ],
)
def test_a_double_is_the_shortest_text_that_reads_back_as_it(double, kept):
    answer = deliver(factories.source(), focus(arrow.array([double, 1.0], arrow.float64())))

    billed = answer["totals"]["USD"]["billed"]
    if kept is None:
        assert (answer["rows_rejected"], billed) == (1, "1")
    else:
        assert Decimal(billed) == Decimal(kept) + 1


def test_a_single_is_the_shortest_text_that_reads_back_as_it():
    answer = deliver(factories.source(), focus(arrow.array([0.1], arrow.float32())))

    assert answer["totals"]["USD"]["billed"] == "0.1"


def test_a_decimal_keeps_all_its_digits():
    costs = arrow.array(
        [Decimal("12345678901234567890.123456789012345678"), Decimal("1E-18")], arrow.decimal128(38, 18)
    )

    answer = deliver(factories.source(), focus(costs))

    assert answer["totals"]["USD"]["billed"] == "12345678901234567890.123456789012345679"


def test_not_a_number_rejects_its_row_and_nothing_is_zero():
    costs = arrow.array([float("nan"), float("inf"), None, 2.0], arrow.float64())

    answer = deliver(factories.source(), focus(costs, ListCost=arrow.array([None] * 4, arrow.float64())))

    assert (answer["rows_rejected"], answer["totals"]["USD"]["billed"]) == (3, "2")
    assert Record.objects.get().list_cost is None


@pytest.mark.parametrize(
    "tags",
    [
        arrow.array([[("team", "foundation"), ("gpu", None)]], arrow.map_(arrow.string(), arrow.string())),
        arrow.array([[{"key": "team", "value": "foundation"}, {"key": "gpu", "value": ""}]]),
        arrow.array([{"team": "foundation", "gpu": ""}]),
        arrow.array(['{"team": "foundation", "gpu": null}']),
        arrow.array([b'{"team": "foundation", "gpu": ""}'], arrow.binary()),
    ],
    ids=["map", "list of pairs", "group", "JSON", "bytes"],
)
def test_tags_come_in_any_shape(tags):
    deliver(factories.source(), focus(arrow.array([1.0]), Tags=tags))

    assert KeySet.objects.get().tags == {"team": "foundation", "gpu": ""}


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        (arrow.timestamp("ms", "UTC"), "2026-03-05T00:00:00+00:00"),
        (arrow.timestamp("ns", "Asia/Shanghai"), "2026-03-05T00:00:00+00:00"),
        (arrow.timestamp("ns"), "2026-03-04T16:00:00+00:00"),
        (arrow.date32(), "2026-03-04T16:00:00+00:00"),
    ],
)
def test_a_moment_of_utc_is_one_and_a_bare_time_is_on_the_clock_of_the_source(kind, start):
    moment = DAY.date() if kind == arrow.date32() else DAY.replace(tzinfo=UTC) if kind.tz else DAY
    starts = arrow.array([moment], kind)

    deliver(factories.source(timezone="Asia/Shanghai"), focus(arrow.array([1.0]), ChargePeriodStart=starts))

    assert Record.objects.get().usage_start.isoformat() == start


def test_fractions_of_seconds_are_kept_and_the_rest_of_a_nanosecond_goes():
    start = arrow.array([1_772_668_800_123_456_789], arrow.timestamp("ns", "UTC"))

    assert "2026-03-05 00:00:00.123456Z" in text_of(parquet({"at": start}))


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip", "lz4", "brotli"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_every_way_to_pack_pages_is_read(compression, use_dictionary):
    content = focus(arrow.array([0.1] * 30), compression=compression, use_dictionary=use_dictionary, row_group_size=7)

    answer = deliver(factories.source(), content)

    assert (answer["rows_accepted"], answer["totals"]["USD"]["billed"]) == (30, "3")


def test_a_file_with_another_name_or_packed_once_more_is_known_by_its_bytes():
    content = focus(arrow.array([1.0, 2.0]))

    answers = [
        deliver(factories.source(f"s{at}"), packed, name="bill.csv")["totals"]
        for at, packed in enumerate([content, gzip.compress(content), zstandard.compress(content)])
    ]

    assert [answer["USD"]["billed"] for answer in answers] == ["3", "3", "3"]


def test_a_zip_of_parts_is_one_delivery_whatever_the_parts_are():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("part-00002.snappy.parquet", focus(arrow.array([4.0])))
        archive.writestr("part-00001.snappy.parquet", focus(arrow.array([1.0, 2.0])))
        archive.writestr("part-00003.csv", factories.focus({"BilledCost": "8"}))
        archive.writestr("manifest.json", "{}")

    answer = deliver(factories.source(), out.getvalue())

    assert (answer["rows_accepted"], answer["totals"]["USD"]["billed"]) == (4, "15")


def test_the_encoding_and_the_delimiter_of_the_sources_tables_do_not_touch_parquet():
    source = factories.source(encoding="gb18030", delimiter=";")

    answer = deliver(source, focus(arrow.array([1.0]), ServiceName=["云服务器"]))

    assert answer["status"] == "live", answer
    assert KeySet.objects.get().meter.service == "云服务器"


def test_delivered_again_in_other_row_groups_it_is_unchanged():
    source = factories.source()
    deliver(source, focus(arrow.array([1.0, 2.0, 3.0])))

    again = deliver(source, focus(arrow.array([1.0, 2.0, 3.0]), row_group_size=1, compression="zstd"))

    assert (again["status"], again["rows_written"]) == ("unchanged", 0)


def test_a_rejected_row_says_its_line_and_its_text():
    answer = deliver(factories.source(), focus(arrow.array([1.0, 2.0]), ChargeCategory=["Usage", "Gift"]))

    [error] = answer["errors"]
    assert (error["line"], error["column"], error["value"]) == (3, "ChargeCategory", "Gift")


# ---- other vendors


def test_a_report_of_aws_is_read_with_its_maps():
    texts = arrow.map_(arrow.string(), arrow.string())
    content = parquet(
        {
            "bill_payer_account_id": ["0099"],
            "bill_billing_period_start_date": arrow.array([MONTH], arrow.timestamp("ms")),
            "line_item_usage_account_id": ["0042"],
            "line_item_line_item_type": ["Usage"],
            "line_item_usage_start_date": arrow.array([DAY], arrow.timestamp("ms")),
            "line_item_usage_end_date": arrow.array([DAY_AFTER], arrow.timestamp("ms")),
            "line_item_product_code": ["AmazonEC2"],
            "line_item_usage_type": ["BoxUsage:p5.48xlarge"],
            "line_item_usage_amount": [24.0],
            "line_item_unblended_cost": [2359.2960001],
            "line_item_currency_code": ["USD"],
            "pricing_unit": ["Hrs"],
            "product": arrow.array([[("instance_type", "p5.48xlarge"), ("region_code", "us-east-1")]], texts),
            "resource_tags": arrow.array([[("user_team", "foundation")]], texts),
        }
    )

    [(row, keys)] = read(text_of(content)).rows

    assert (row.billed, row.scope.payer, keys.account) == ("2359.2960001", "0099", "0042")
    assert (keys.region, keys.tags["team"], keys.hours_per_quantity) == ("us-east-1", "foundation", 8)


def test_nested_rows_of_google_are_taken_apart():
    content = parquet(
        {
            "billing_account_id": ["01-A"],
            "service": arrow.array([{"id": "6F81", "description": "Compute Engine"}]),
            "sku": arrow.array([{"id": "ABC", "description": "Nvidia H100 80GB GPU running in Iowa"}]),
            "usage_start_time": arrow.array([DAY], arrow.timestamp("us", "UTC")),
            "usage_end_time": arrow.array([DAY_AFTER], arrow.timestamp("us", "UTC")),
            "project": arrow.array([{"id": "train", "labels": [{"key": "team", "value": "foundation"}]}]),
            "location": arrow.array([{"region": "us-central1"}]),
            "cost": [100.1],
            "currency": ["USD"],
            "usage": arrow.array([{"amount": 691200.0, "unit": "seconds"}]),
            "credits": arrow.array([[{"name": "discount", "amount": Decimal("-0.1000000001"), "type": "DISCOUNT"}]]),
            "invoice": arrow.array([{"month": "202603"}]),
        }
    )

    [(row, keys)] = read(text_of(content)).rows

    assert (row.billed, row.list_cost, row.accelerator_hours) == ("99.9999999999", "100.1", "192")
    assert (keys.service, keys.account, keys.region) == ("Compute Engine", "train", "us-central1")
    assert keys.tags == {"team": "foundation"}


def test_a_cost_export_of_azure_is_read():
    content = parquet(
        {
            "BillingAccountId": ["1"],
            "BillingProfileId": ["2"],
            "SubscriptionId": ["sub-1"],
            "Date": arrow.array([DAY.date()], arrow.date32()),
            "MeterCategory": ["Virtual Machines"],
            "MeterName": ["ND96isr H100 v5"],
            "Quantity": arrow.array([Decimal("24.00")], arrow.decimal128(28, 2)),
            "UnitOfMeasure": ["1 Hour"],
            "CostInBillingCurrency": arrow.array([Decimal("2359.290000000000000001")], arrow.decimal128(38, 18)),
            "BillingCurrency": ["USD"],
            "ChargeType": ["Usage"],
            "Tags": ['"team": "foundation"'],
        }
    )

    [(row, keys)] = read(text_of(content)).rows

    assert (row.billed, row.usage_start, keys.tags) == (
        "2359.290000000000000001",
        "2026-03-05T00:00:00+00:00",
        {"team": "foundation"},
    )


# ---- what is refused


@pytest.mark.parametrize("kept", [4, 11, 100, -1, -4, -8])
def test_a_file_without_its_end_is_truncated(kept):
    assert "truncated" in refused(deliver(factories.source(), focus(arrow.array([1.0]))[:kept]))


def test_bytes_lost_in_the_middle_damage_the_file():
    content = focus(arrow.array([float(at) for at in range(500)]), compression="snappy")
    middle = len(content) // 3

    answer = deliver(factories.source(), content[:middle] + content[middle + 400 :])

    assert "damaged" in refused(answer)


def test_an_encrypted_file_says_so():
    assert "encrypted" in refused(deliver(factories.source(), b"PARE" + bytes(40) + b"PARE"))


def test_a_page_that_unpacks_to_more_than_any_page_is_a_bomb():
    content = focus(arrow.array([1.0]), ResourceName=["x" * (1 << 28)], compression="zstd", use_dictionary=False)
    assert len(content) < 1 << 20

    answer = deliver(factories.source(), content)

    assert "larger than any bill" in refused(answer)
    assert answer["errors"][0]["column"] == "ResourceName"


def test_a_dictionary_that_is_larger_than_any_is_a_bomb():
    names = arrow.array(["x" * (1 << 25)] * 3)
    content = parquet({"name": names}, dictionary_pagesize_limit=1 << 30)

    with pytest.raises(FileRefused, match="larger than any bill"):
        ParquetText(io.BytesIO(content))


def test_a_row_with_more_values_than_any_is_a_bomb():
    content = focus(arrow.array([1.0]), labels=arrow.array([[1] * 20_000]))

    assert "more values than any bill" in refused(deliver(factories.source(), content))


def test_a_table_of_another_kind_is_refused_with_its_columns():
    answer = deliver(factories.source(), parquet({"prompt": ["a"], "answer": ["b"]}))

    assert "No format knows these columns" in refused(answer)
    assert json.dumps(answer)


def test_a_table_without_rows_is_an_empty_delivery_and_no_damage():
    source = factories.source()
    deliver(source, focus(arrow.array([1.0])))

    empty = deliver(source, focus(arrow.array([], arrow.float64())))

    assert (empty["status"], empty["rows_read"]) == ("waiting", 0)


def test_every_row_of_many_groups_is_read_once():
    content = focus(arrow.array([Decimal("0.01")] * 4_500, arrow.decimal128(10, 2)), row_group_size=1_999)

    answer = deliver(factories.source(), content)

    assert (answer["rows_accepted"], answer["totals"]["USD"]["billed"]) == (4_500, "45")


@pytest.mark.parametrize(
    "header", [b"\x19" * 20_000, b"\x1c" * 20_000, b"\x19\x1c" * 9_000], ids=["lists", "structs", "both"]
)
def test_a_header_of_a_page_that_is_nested_without_end_is_a_fault(header):
    with pytest.raises(PageFault, match="nested"):
        Compact(header).struct()
