"""Bills of Alibaba, Huawei, Tencent and Baidu Cloud: mappings, encodings, totals rows, refunds, vouchers, hours."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.shared import shared
from usage.formats.chinese import agrees, clean, line_of
from usage.models import Record

from .bills import SAMPLES, amount, days, deliver, records, sums_by, table, total


@pytest.fixture
def bills(stage, kept_files) -> None:
    """The stage, and a folder for originals."""


def kind(row: Record) -> str:
    return row.key_set.extra.get("Item") or row.key_set.extra.get("账单类型", "")


def sum_of_extra(rows: list[Record], column: str) -> Decimal:
    return sum((Decimal(row.extra.get(column, "0")) for row in rows), Decimal(0))


def alibaba(cost: str = "80", **more: str) -> dict[str, str]:
    """One hour of an instance with eight cards, in February of the bill."""
    return {
        "账期": "2025-02",
        "账号ID": "'1234567890123456",
        "产品Code": "ecs",
        "产品": "云服务器ECS",
        "消费类型": "按量付费",
        "账单类型": "PayAsYouGoBill",
        "服务开始时间": "2025-02-28 23:00:00",
        "服务结束时间": "2025-03-01 00:00:00",
        "服务时长": "3600秒",
        "实例ID": "\ti-train-1",
        "实例标签": "key:team value:预训练; key:headroom_proposal value:P-3; ",
        "实例配置": "CPU:128核;GPU:8*NVIDIA A800;内存:1024",
        "实例规格": "ecs.example.32xlarge",
        "官网价": "100",
        "优惠金额": "20",
        "应付金额": cost,
        "代金券抵扣": "5",
        "币种": "CNY",
    } | more


def huawei(cost: str = "9.99", **more: str) -> dict[str, str]:
    return {
        "账期": "2025-02",
        "企业项目": "default",
        "账号": "lab-train",
        "产品类型": "弹性云服务器",
        "产品": "云主机",
        "计费模式": "按需",
        "使用开始时间": "2025-02-28 23:00:00 GMT+08:00",
        "使用结束时间": "2025-03-01 00:00:00 GMT+08:00",
        "账单类型": "消费-使用",
        "资源ID": "res-1",
        "规格": "GPU加速型|example.8xlarge|32vCPUs",
        "使用量": "3600",
        "使用量单位": "秒",
        "官网价": "12.5",
        "优惠金额": "2.5",
        "抹零金额": "0.01",
        "应付金额": cost,
        "币种": "CNY",
    } | more


def total_row(first: str, **amounts: str) -> dict[str, str]:
    return {"账期": first, **amounts}


def test_the_synthetic_bill_of_alibaba_has_its_right_totals(bills) -> None:
    answer = deliver(shared("usage/cn/SYNTHETIC_aliyun_instance_detail_utf8bom.csv"))

    assert (answer["format"], answer["status"], answer["errors"]) == ("alibaba", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_skipped"]) == (7, 7, 0)
    assert answer["totals"]["CNY"]["billed"] == "118806.902"
    assert answer["totals"]["CNY"]["list"] == "148517.27000123"
    rows = records()
    assert sum_of_extra(rows, "InvoiceDiscount") == Decimal("29703.456")
    assert sum_of_extra(rows, "DeductedByCoupons") == Decimal("6.912")
    assert sums_by(rows, kind) == {
        "Adjustment": (1, "-0.01"),
        "PayAsYouGoBill": (4, "438.412"),
        "Refund": (1, "-31.5"),
        "SubscriptionOrder": (1, "118400"),
    }
    assert days(rows) == "2025-02-13:1, 2025-02-27:3, 2025-02-28:3"
    assert {row.billing_month.isoformat() for row in rows} == {"2025-02-01"}


def test_charges_of_alibaba_are_usage_purchases_and_adjustments(bills) -> None:
    answer = deliver(shared("usage/cn/SYNTHETIC_aliyun_instance_detail_utf8bom.csv"))

    assert answer["by_charge_category"] == {
        "Usage": {"rows": 5, "billed": "406.912", "effective": "406.912"},
        "Purchase": {"rows": 1, "billed": "118400", "effective": "118400"},
        "Adjustment": {"rows": 1, "billed": "-0.01", "effective": "-0.01"},
    }
    assert {kind(row) for row in records() if row.key_set.is_correction} == {"Refund", "Adjustment"}


def test_the_synthetic_bill_of_huawei_has_its_right_totals(bills) -> None:
    answer = deliver(shared("usage/cn/SYNTHETIC_huawei_pricefactor_utf8.csv"))

    assert (answer["format"], answer["status"], answer["errors"]) == ("huawei", "live", [])
    assert (answer["rows_read"], answer["rows_accepted"], answer["rows_skipped"]) == (4, 4, 0)
    assert answer["totals"]["CNY"]["billed"] == "59.774"
    assert answer["totals"]["CNY"]["list"] == "66.42"
    rows = records()
    assert sum_of_extra(rows, "优惠金额") == Decimal("6.642")
    assert sum_of_extra(rows, "抹零金额") == Decimal("0.004")
    assert sums_by(rows, kind) == {"消费-使用": (3, "79.7"), "退款-变更": (1, "-19.926")}
    assert days(rows) == "2025-02-28:4"
    assert "amounts_disagree" not in answer["warnings"]


def test_a_gbk_bill_is_read_where_the_source_names_its_encoding(bills) -> None:
    text = table(alibaba(), alibaba("40"), total_row("合计", 官网价="200", 应付金额="120")).encode("gb18030")

    answer = deliver(text, encoding="gbk")

    assert (answer["format"], answer["rows_read"], answer["rows_accepted"], answer["rows_skipped"]) == (
        "alibaba",
        3,
        2,
        1,
    )
    assert answer["totals"]["CNY"]["billed"] == "120"
    assert records()[0].key_set.tags["team"] == "预训练"


def test_a_gbk_bill_without_its_encoding_is_refused_with_what_to_set(bills) -> None:
    answer = deliver(table(alibaba()).encode("gb18030"))

    assert answer["status"] == "refused"
    assert "encoding=gb18030" in answer["errors"][0]["reason"]


def test_a_totals_row_that_says_something_else_refuses_the_file(bills) -> None:
    answer = deliver(table(alibaba(), total_row("合计", 应付金额="160")))

    assert (answer["status"], answer["errors"][0]["column"]) == ("refused", "应付金额")
    assert records() == []


def test_a_totals_row_is_checked_when_the_bill_comes_again_with_a_row_less(bills) -> None:
    deliver(table(alibaba(), alibaba("40"), total_row("合计", 应付金额="120")))

    answer = deliver(table(alibaba(), total_row("合计", 应付金额="120")))

    assert answer["status"] == "refused"
    assert total(records(), "billed") == "120"


def test_a_totals_row_is_checked_when_the_bill_comes_again_with_new_rows(bills) -> None:
    deliver(table(alibaba(), alibaba("40"), total_row("合计", 应付金额="120")))

    answer = deliver(table(alibaba(), alibaba("40"), alibaba("1"), total_row("合计", 应付金额="121")))

    assert (answer["status"], answer["rows_written"]) == ("live", 1)


def test_rows_below_the_totals_row_refuse_the_file(bills) -> None:
    answer = deliver(table(alibaba(), total_row("合计", 应付金额="80"), alibaba()))

    assert answer["status"] == "refused"


@pytest.mark.parametrize(
    ("said", "total", "is_equal"),
    [
        ("59.774", "59.774", True),
        ("59.77", "59.774", True),
        ("59.78", "59.774", False),
        ("59.7740", "59.774", True),
        ("59.7741", "59.774", False),
        ("60", "59.774", False),
        ("60", "60", True),
    ],
)
def test_a_total_agrees_at_the_digits_it_shows(said: str, total: str, is_equal: bool) -> None:
    assert agrees(Decimal(said), Decimal(total)) is is_equal


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("-", ""),
        ("--", ""),
        (" -- ", ""),
        ("\t123", "123"),
        ("'0012", "0012"),
        ("NULL", ""),
        ("-5", "-5"),
        ("a-b", "a-b"),
    ],
)
def test_cells_lose_placeholders_and_what_spreadsheets_need(cell: str, text: str) -> None:
    assert clean(cell) == text


def test_ids_lose_a_tab_and_an_apostrophe_and_keep_their_digits(bills) -> None:
    deliver(table(alibaba()))

    (row,) = records()
    assert (row.key_set.meter.payer, row.key_set.resource) == ("1234567890123456", "i-train-1")
    assert row.key_set.reference == "P-3"


def test_a_header_with_blanks_before_its_names_is_read(bills) -> None:
    padded = {f" {name}": value for name, value in alibaba().items()}

    assert deliver(table(padded))["rows_accepted"] == 1


def test_an_hour_before_midnight_in_shanghai_belongs_to_the_month_of_the_bill(bills) -> None:
    deliver(table(alibaba()))

    (row,) = records()
    assert (row.usage_start.isoformat(), row.usage_end.isoformat(), row.billing_month.isoformat()) == (
        "2025-02-28T15:00:00+00:00",
        "2025-02-28T16:00:00+00:00",
        "2025-02-01",
    )


def test_a_refund_without_times_has_those_of_its_month(bills) -> None:
    deliver(table(alibaba("-8", 账单类型="Refund", 服务开始时间="--", 服务结束时间="--")))

    (row,) = records()
    assert (row.usage_start.isoformat(), row.usage_end.isoformat()) == (
        "2025-01-31T16:00:00+00:00",
        "2025-02-28T16:00:00+00:00",
    )
    assert row.key_set.is_correction


def test_vouchers_are_a_way_to_pay_unless_the_source_says_they_are_a_discount(bills) -> None:
    deliver(table(alibaba()), source="consumption")
    deliver(table(alibaba()), source="cash", vouchers="discount")

    assert [total(records(source), "billed") for source in ("consumption", "cash")] == ["80", "75"]


def test_cards_of_a_configuration_count_for_metered_hours_of_the_instance_only(bills) -> None:
    deliver(
        table(
            alibaba(),
            alibaba(服务时长="1800秒"),
            alibaba("-80", 账单类型="Refund"),
            alibaba("9000", 账单类型="SubscriptionOrder", 消费类型="包年包月"),
            alibaba("1", 产品="对象存储OSS", 产品Code="oss", 实例规格=""),
        )
    )

    assert [amount(row.accelerator_hours) for row in records()] == ["8", "4", None, None, None]
    assert records()[0].key_set.meter.accelerator == "nvidia-a800"


def test_the_console_bill_of_alibaba_has_no_currency_and_needs_one_of_the_source(bills) -> None:
    row = alibaba(账号="lab", 计费项="云服务器配置", 消费类型="后付费", 账单类型="云资源按量费用")
    del row["币种"]

    assert deliver(table(row), source="without")["status"] == "refused"

    answer = deliver(table(row), source="with", currency="CNY")
    (found,) = records("with")
    assert answer["totals"]["CNY"]["billed"] == "80"
    assert found.key_set.meter.charge_category == "Usage"
    assert (found.key_set.meter.account_name, amount(found.accelerator_hours)) == ("lab", "8")


def test_a_currency_by_its_chinese_name_is_known_and_an_unknown_code_is_not(bills) -> None:
    answer = deliver(table(alibaba(币种="人民币"), alibaba(币种="RMB")))

    assert (answer["rows_accepted"], answer["rows_rejected"]) == (1, 1)
    assert deliver(table(alibaba(币种="RMB")), source="mapped", currency_map="RMB=CNY")["rows_accepted"] == 1


def test_amounts_of_huawei_that_do_not_add_up_are_warned_of(bills) -> None:
    answer = deliver(table(huawei(), huawei("9.9")))

    assert (answer["rows_accepted"], answer["warnings"]["amounts_disagree"]) == (2, 1)


def test_an_accelerated_flavour_that_the_catalogue_lacks_is_named(bills) -> None:
    answer = deliver(table(huawei()))

    assert answer["warning_details"]["instance_type_unknown"] == ["example.8xlarge"]
    assert records()[0].accelerator_hours is None


@pytest.mark.parametrize(
    ("kind", "mode", "charge", "is_correction"),
    [
        ("消费-使用", "按需", "Usage", False),
        ("消费-新购", "包年/包月", "Purchase", False),
        ("消费-续订", "包年/包月", "Purchase", False),
        ("消费-变更", "包年/包月", "Purchase", False),
        ("退款-退订", "包年/包月", "Purchase", True),
        ("退款-变更", "按需", "Usage", True),
        ("调账-扣费", "按需", "Adjustment", True),
    ],
)
def test_kinds_of_huawei_have_their_charge_categories(bills, kind, mode, charge, is_correction) -> None:
    deliver(table(huawei(账单类型=kind, 计费模式=mode)))

    (row,) = records()
    assert (row.key_set.meter.charge_category, row.key_set.is_correction) == (charge, is_correction)


def test_times_with_slashes_and_without_seconds_are_read(bills) -> None:
    deliver(table(huawei(使用开始时间="2025/02/28 22:00", 使用结束时间="2025/02/28 23:00")))

    assert records()[0].usage_start.isoformat() == "2025-02-28T14:00:00+00:00"


def test_the_month_file_replaces_the_month(bills) -> None:
    deliver(table(huawei(), huawei("5")))

    answer = deliver(table(huawei(), huawei("5.5")))

    assert (answer["rows_written"], answer["rows_closed"]) == (1, 1)
    assert answer["scopes"] == ["Huawei Cloud|lab-train|2025-02"]


@pytest.mark.parametrize("sample", ["tencent.csv", "tencent_zh.csv"])
def test_a_bill_of_tencent_is_read_in_both_languages(bills, sample: str) -> None:
    answer = deliver(SAMPLES / sample)

    assert (answer["format"], answer["status"], answer["errors"]) == ("tencent", "live", [])
    assert answer["totals"]["CNY"] == {"billed": "296.5", "effective": "296.5", "list": "400", "contracted": "0"}
    rows = records()
    assert [row.key_set.meter.charge_category for row in rows] == ["Usage", "Purchase", "Purchase"]
    assert [row.key_set.is_correction for row in rows] == [False, False, True]
    assert rows[0].usage_end.isoformat() == "2025-02-28T16:00:00+00:00"
    assert rows[2].list_cost is None


def test_a_bill_of_baidu_is_read_with_the_names_of_the_console_in_shanghais_time(bills) -> None:
    answer = deliver(SAMPLES / "baidu.csv")

    assert (answer["format"], answer["rows_accepted"], answer["rows_skipped"]) == ("baidu", 2, 1)
    assert answer["totals"]["CNY"]["billed"] == "92"
    rows = records()
    assert rows[0].usage_start.isoformat() == "2025-02-28T14:00:00+00:00"
    assert amount(rows[0].accelerator_hours) == "8"


def test_a_bill_of_baidus_api_has_times_in_utc_and_the_settings_currency(bills) -> None:
    row = {
        "accountId": "a-1",
        "serviceType": "BCC",
        "serviceTypeName": "云服务器 BCC",
        "productType": "postpay",
        "startTime": "2025-02-28T22:00:00Z",
        "endTime": "2025-02-28T23:00:00Z",
        "amount": "60",
        "amountUnit": "分钟",
        "catalogPrice": "10",
        "financePrice": "8",
    }

    answer = deliver(table(row), currency="CNY", billing_period="2025-02")

    assert (answer["format"], answer["totals"]["CNY"]["billed"]) == ("baidu", "8")
    assert records()[0].usage_start.isoformat() == "2025-02-28T22:00:00+00:00"


@pytest.mark.parametrize(
    ("service", "line"),
    [
        ("云服务器ECS", "compute"),
        ("对象存储OSS", "storage"),
        ("云硬盘", "storage"),
        ("公网带宽", "network"),
        ("弹性云服务器", "compute"),
        ("大数据开发 DataWorks", "data"),
        ("工单服务", "people_platform"),
        ("cost explorer", "people_platform"),
    ],
)
def test_a_service_falls_on_its_budget_line_by_its_words(service: str, line: str) -> None:
    assert line_of(service) == line
