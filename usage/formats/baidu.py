"""Baidu AI Cloud: bills by resource and month, with the names of the console or of the API, whose times are UTC.

Baidu also exports FOCUS, which says more: prefer it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..accelerators import Accelerators
from ..reading.notes import Notes
from .chinese import ChineseBill, cards_of_words, format_of


def cards_of(values: Mapping[str, str], notes: Notes) -> Accelerators:
    """`GPU:8*A800` of a resource's configuration."""
    return cards_of_words(values.get("config", ""))


BILL = ChineseBill(
    slug="baidu",
    name="Baidu AI Cloud",
    provider="Baidu AI Cloud",
    columns={
        "month": ("账期", "账单月份", "month", "billMonth"),
        "payer": ("账号ID", "账户ID", "accountId"),
        "account": ("归属账号ID", "subAccountId"),
        "product_code": ("产品类型", "serviceType"),
        "product": ("产品名称", "产品", "serviceTypeName"),
        "mode": ("计费方式", "付费类型", "productType"),
        "kind": ("订单类型", "账单类型", "orderTypeDesc", "orderType"),
        "region": ("地域", "区域", "region"),
        "resource": ("实例ID", "资源ID", "instanceId"),
        "record": ("订单号", "订单ID", "orderId"),
        "start": ("开始时间", "使用开始时间", "startTime"),
        "end": ("结束时间", "使用结束时间", "endTime"),
        "config": ("配置", "产品配置", "configurationCH"),
        "tags": ("标签", "资源标签", "tag"),
        "duration": ("时长", "服务时长", "duration"),
        "sku": ("计费项", "计费项名称", "chargeItemDesc", "chargeItem"),
        "quantity": ("用量", "使用量", "amount"),
        "unit": ("用量单位", "使用量单位", "amountUnit"),
        "list": ("原价", "catalogPrice"),
        "cost": ("应付金额", "financePrice"),
        "voucher": ("代金券金额", "代金券", "couponPrice", "voucherPrice"),
        "currency": ("币种", "currency"),
    },
    required=("payer", "product", "cost"),
    marks=(
        "账号ID|账户ID|accountId",
        "应付金额|financePrice",
        "原价|catalogPrice|originPrice",
        "计费方式|付费类型|productType",
    ),
    cards=cards_of,
    utc_mark="startTime",
)

FORMAT = format_of(BILL)
