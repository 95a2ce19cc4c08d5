"""Huawei Cloud: the detailed bill by price factor (PriceFactorBillDetail), as exported or pushed to a bucket.

The daily push only adds, and is not meant for reconciliation: import it with `meaning=append`, or wait for the file of
the month, which comes on the third day after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.vocabulary import ChargeCategory

from ..accelerators import Accelerators, accelerators_of
from ..reading.notes import Notes
from .chinese import ChineseBill, format_of

ACCELERATED = ("GPU", "AI")


def cards_of(values: Mapping[str, str], notes: Notes) -> Accelerators:
    """Cards of a flavour such as `GPU加速型|pi2.8xlarge.4|32vCPUs|…`, by the catalogue of instance types."""
    parts = values.get("spec", "").split("|")
    if len(parts) < 2:
        return accelerators_of("", unit="", charge_category=ChargeCategory.USAGE, notes=notes)
    cards = accelerators_of(parts[1], unit="hour", charge_category=ChargeCategory.USAGE, notes=notes)
    if not cards.count and parts[0].startswith(ACCELERATED):
        notes.warn("instance_type_unknown", detail=parts[1])
    return cards


BILL = ChineseBill(
    slug="huawei",
    name="Huawei Cloud",
    provider="Huawei Cloud",
    columns={
        "month": ("账期", "Billing Cycle"),
        "payer": ("账号", "交易账号", "Account", "Account Name"),
        "account": ("关联账号", "Associated Account"),
        "group": ("企业项目", "Enterprise Project"),
        "product_code": ("产品类型编码", "Service Type Code"),
        "product": ("产品类型", "Service Type"),
        "sku": ("产品", "Product"),
        "mode": ("计费模式", "Billing Mode"),
        "start": ("使用开始时间", "Usage Start Time"),
        "end": ("使用结束时间", "Usage End Time"),
        "record": ("订单号/交易号", "订单号", "Order No./Transaction ID"),
        "kind": ("账单类型", "Bill Type"),
        "resource": ("资源ID", "Resource ID"),
        "resource_name": ("资源名称", "Resource Name"),
        "tags": ("资源标签", "Resource Tag"),
        "spec": ("规格", "Specifications"),
        "region": ("区域", "Region"),
        "quantity": ("使用量", "Usage"),
        "unit": ("使用量单位", "Usage Unit"),
        "list": ("官网价", "List Price"),
        "discount": ("优惠金额", "Discounted Amount"),
        "rounding": ("抹零金额", "Truncated Amount"),
        "cost": ("应付金额", "Amount Due"),
        "voucher": ("代金券抵扣", "代金券", "Cash Coupon"),
        "currency": ("币种", "Currency"),
    },
    required=("month", "payer", "product", "cost"),
    marks=("账期|Billing Cycle", "应付金额|Amount Due", "官网价|List Price", "企业项目|Enterprise Project"),
    charges={
        "消费-新购": ChargeCategory.PURCHASE,
        "消费-续订": ChargeCategory.PURCHASE,
        "消费-变更": ChargeCategory.PURCHASE,
        "消费-使用": ChargeCategory.USAGE,
    },
    cards=cards_of,
)

FORMAT = format_of(BILL)
