"""Tencent Cloud: bill details and consumption bill by component, English or Chinese headers.

Tencent also exports FOCUS, which says more: prefer it.
"""

from __future__ import annotations

from .chinese import ChineseBill, format_of

BILL = ChineseBill(
    slug="tencent",
    name="Tencent Cloud",
    provider="Tencent Cloud",
    columns={
        "month": ("Bill Month", "Consumption Month", "账单月份", "消耗月份", "BillMonth"),
        "payer": ("Payer Account ID", "支付者UIN", "支付者账号ID", "PayerUin"),
        "account": ("Owner Account ID", "使用者UIN", "使用者账号ID", "OwnerUin"),
        "product": ("Product Name", "产品名称", "ProductName"),
        "sku": ("Component Name", "组件名称", "ComponentName"),
        "spec": ("Subproduct Name", "子产品名称", "SubproductName"),
        "mode": ("Billing Mode", "计费模式", "BillingMode"),
        "group": ("Project Name", "项目名称", "ProjectName"),
        "region": ("Region", "地域"),
        "zone": ("Availability Zone", "可用区"),
        "resource": ("Instance ID", "资源ID", "InstanceID"),
        "resource_name": ("Instance Name", "资源别名", "InstanceName"),
        "kind": ("Transaction Type", "Consumption Type", "交易类型", "消耗类型", "TransactionType"),
        "record": ("Transaction ID", "交易ID", "Order ID", "订单ID", "TransactionID"),
        "start": ("Usage Start Time", "使用开始时间", "开始使用时间"),
        "end": ("Usage End Time", "使用结束时间", "结束使用时间"),
        "quantity": ("Component Usage", "组件用量"),
        "unit": ("Component Usage Unit", "组件用量单位"),
        "duration": ("Usage Duration", "使用时长"),
        "duration_unit": ("Duration Unit", "时长单位"),
        "config": ("Component Type", "组件类型", "ComponentType"),
        "tags": ("Tag", "标签", "Tag Keys"),
        "list": ("Original Cost", "原价", "组件原价", "OriginalCost"),
        "cost": (
            "Total Amount After Discount (Excluding Tax)",
            "Total Cost After Discount",
            "Total Amount After Discount",
            "优惠后总价",
        ),
        "voucher": ("Voucher Deduction", "代金券支付", "优惠券支出"),
        "currency": ("Currency", "币种"),
    },
    required=("payer", "product", "start", "end", "cost"),
    marks=(
        "Payer Account ID|支付者UIN|支付者账号ID|PayerUin",
        "Component Name|组件名称|ComponentName",
        "Usage Start Time|使用开始时间|开始使用时间",
    ),
)

FORMAT = format_of(BILL)
