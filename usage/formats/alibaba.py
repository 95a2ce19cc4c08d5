"""Alibaba Cloud: settlement details by instance or by billing item, English or Chinese headers."""

from __future__ import annotations

from collections.abc import Mapping

from core.vocabulary import ChargeCategory

from ..accelerators import NOTHING, Accelerators
from ..reading.notes import Notes
from .chinese import ChineseBill, cards_of_words, format_of

INSTANCE_ITEMS = ("实例", "配置", "规格", "instance", "configuration")


def cards_of(values: Mapping[str, str], notes: Notes) -> Accelerators:
    """`GPU:8*NVIDIA A100` of an instance's configuration, which other services and the instance's disks repeat."""
    item = values.get("sku", "").casefold()
    if not values.get("spec") or (item and not any(word in item for word in INSTANCE_ITEMS)):
        return NOTHING
    return cards_of_words(values.get("config", ""))


BILL = ChineseBill(
    slug="alibaba",
    name="Alibaba Cloud",
    provider="Alibaba Cloud",
    columns={
        "month": ("BillingCycle", "账期"),
        "payer": ("AccountID", "资源购买账号ID", "账号ID", "账号"),
        "payer_name": ("AccountName", "资源购买账号", "账号名称", "账号"),
        "account": ("OwnerID", "Owner账号ID", "资源归属账号ID", "Owner账号"),
        "account_name": ("OwnerAccountName", "资源归属账号", "Owner账号名称"),
        "product_code": ("ProductCode", "产品Code"),
        "product": ("ProductName", "产品"),
        "sku": ("BillingItem", "计费项", "计费项名称"),
        "kind": ("Item", "账单类型", "费用类型"),
        "mode": ("SubscriptionType", "消费类型", "付费方式"),
        "start": ("UsageStartTime", "服务开始时间", "账单开始时间", "费用开始时间"),
        "end": ("UsageEndTime", "服务结束时间", "账单结束时间", "费用结束时间"),
        "duration": ("ServicePeriod", "服务时长"),
        "duration_unit": ("ServicePeriodUnit", "时长单位"),
        "record": ("RecordID", "订单号/账单号", "订单号", "账单ID"),
        "resource": ("InstanceID", "实例ID", "资产/资源实例ID"),
        "resource_name": ("NickName", "实例昵称", "实例名称"),
        "group": ("CostUnit", "财务单元", "成本单元", "财务核算单元"),
        "tags": ("Tag", "实例标签", "标签"),
        "config": ("InstanceConfig", "实例配置"),
        "spec": ("InstanceSpec", "实例规格"),
        "region": ("Region", "地域"),
        "zone": ("Zone", "可用区"),
        "quantity": ("Usage", "用量"),
        "unit": ("UsageUnit", "用量单位"),
        "list": ("PretaxGrossAmount", "官网价", "目录总价", "原价"),
        "discount": ("InvoiceDiscount", "优惠金额"),
        "coupon": ("DeductedByCoupons", "优惠券抵扣"),
        "cost": ("PretaxAmount", "应付金额"),
        "voucher": ("DeductedByCashCoupons", "代金券抵扣"),
        "currency": ("Currency", "币种"),
    },
    required=("payer", "product", "cost"),
    marks=("BillingCycle|账期", "PretaxAmount|应付金额", "SubscriptionType|消费类型|付费方式", "ProductCode|产品Code"),
    charges={
        "PayAsYouGoBill": ChargeCategory.USAGE,
        "SubscriptionOrder": ChargeCategory.PURCHASE,
        "Adjustment": ChargeCategory.ADJUSTMENT,
    },
    cards=cards_of,
)

FORMAT = format_of(BILL)
