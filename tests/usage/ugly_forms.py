"""One sample of every tabular format, and which of its columns plays which part: what the tables of ugly cases need."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
TOTALS = "合计"


@dataclass(frozen=True)
class Form:
    """A sample and its columns by the part they play; "" where the format has no such column."""

    sample: str
    cost: str = ""
    """Must be a number."""
    optional: str = ""
    """A number that may be missing."""
    start: str = ""
    end: str = ""
    currency: str = ""
    resource: str = ""
    """An id, which must be text that decodes."""
    free: str = ""
    """Words for people, which may be broken."""
    required: tuple[str, ...] = ()
    """What the header cannot do without."""
    settings: dict[str, str] = field(default_factory=dict)
    separator: str = ","
    plain: dict[str, str] = field(default_factory=dict)
    """Cells that would move the first row's cost, and what they are without that."""
    native: bool = False
    """Written by programs that print 1.2E+3."""
    has_keys: bool = False
    """A log or an append: two rows with one key are one."""
    adds_parts: bool = False
    """A cost that is missing is the sum of its parts."""
    knows_its_month: bool = False
    """A row without times has those of its month."""
    slashed: bool = False
    """Days with slashes have an order of their own."""

    def table(self) -> list[list[str]]:
        """The header and the rows, without a totals row."""
        text = (SAMPLES / self.sample).read_text(encoding="utf-8")
        found = list(csv.reader(io.StringIO(text), delimiter=self.separator))
        rows = [row for row in found if row and row[0] != TOTALS]
        for name, text in self.plain.items():
            rows[1][rows[0].index(name)] = text
        return rows

    def at(self, part: str) -> int:
        """Where a part's column stands."""
        return self.table()[0].index(getattr(self, part))

    def text(self, rows: list[list[str]] | None = None) -> str:
        out = io.StringIO()
        csv.writer(out, delimiter=self.separator, lineterminator="\n").writerows(rows or self.table())
        return out.getvalue()

    def with_cells(self, **cells: str) -> str:
        """The sample with other texts in the first row, by the part of their column."""
        rows = self.table()
        for part, text in cells.items():
            rows[1][rows[0].index(getattr(self, part))] = text
        return self.text(rows)

    def without(self, *columns: str) -> str:
        rows = self.table()
        kept = [at for at, name in enumerate(rows[0]) if name not in columns]
        return self.text([[row[at] for at in kept] for row in rows])

    def called(self, part: str) -> str:
        """The file's own name of a column, by which a fault names it."""
        return getattr(self, part)


FORMS = [
    Form(
        "aws_cur_legacy.csv",
        cost="lineItem/UnblendedCost",
        optional="pricing/publicOnDemandCost",
        start="lineItem/UsageStartDate",
        end="lineItem/UsageEndDate",
        currency="lineItem/CurrencyCode",
        resource="lineItem/ResourceId",
        free="resourceTags/user:team",
        required=(
            "lineItem/UnblendedCost",
            "lineItem/UsageStartDate",
            "lineItem/LineItemType",
            "lineItem/UsageAccountId",
        ),
        native=True,
    ),
    Form(
        "aws_cur_2.csv",
        cost="line_item_unblended_cost",
        optional="pricing_public_on_demand_cost",
        start="line_item_usage_start_date",
        end="line_item_usage_end_date",
        currency="line_item_currency_code",
        resource="line_item_resource_id",
        free="resource_tags",
        required=("line_item_unblended_cost", "line_item_usage_end_date", "bill_billing_period_start_date"),
        native=True,
    ),
    Form(
        "azure.csv",
        cost="CostInBillingCurrency",
        optional="PayGPrice",
        start="Date",
        currency="BillingCurrencyCode",
        resource="ResourceId",
        free="MeterName",
        required=("BillingCurrencyCode",),
        slashed=True,
        native=True,
    ),
    Form(
        "azure_german.csv",
        cost="Kosten (CostInBillingCurrency)",
        optional="Menge (Quantity)",
        start="Datum (Date)",
        currency="Abrechnungswährung (BillingCurrencyCode)",
        resource="Abonnement-ID (SubscriptionId)",
        free="Maßeinheit (UnitOfMeasure)",
        required=("Abrechnungswährung (BillingCurrencyCode)",),
        slashed=True,
        native=True,
    ),
    Form(
        "gcp.csv",
        cost="cost",
        optional="usage.amount",
        start="usage_start_time",
        end="usage_end_time",
        currency="currency",
        resource="project.id",
        free="project.name",
        required=("cost", "currency", "credits"),
        plain={"credits": "[]"},
        native=True,
    ),
    Form(
        "oci.csv",
        cost="cost/myCost",
        optional="usage/billedQuantity",
        start="lineItem/intervalUsageStart",
        end="lineItem/intervalUsageEnd",
        currency="cost/currencyCode",
        resource="product/resourceId",
        free="product/Description",
        required=("cost/myCost", "cost/currencyCode", "lineItem/intervalUsageEnd"),
        native=True,
        has_keys=True,
    ),
    Form(
        "alibaba.csv",
        cost="PretaxAmount",
        optional="PretaxGrossAmount",
        start="UsageStartTime",
        end="UsageEndTime",
        currency="Currency",
        resource="InstanceID",
        free="NickName",
        required=("AccountID", "ProductName", "PretaxAmount", "Currency"),
        knows_its_month=True,
    ),
    Form(
        "huawei.csv",
        cost="应付金额",
        optional="官网价",
        start="使用开始时间",
        end="使用结束时间",
        currency="币种",
        resource="资源ID",
        free="资源名称",
        required=("账期", "账号", "产品类型", "应付金额", "币种"),
        knows_its_month=True,
    ),
    Form(
        "tencent.csv",
        cost="Total Amount After Discount (Excluding Tax)",
        optional="Original Cost",
        start="Usage Start Time",
        end="Usage End Time",
        currency="Currency",
        resource="Instance ID",
        free="Subproduct Name",
        required=("Payer Account ID", "Product Name", "Usage Start Time", "Usage End Time", "Currency"),
        knows_its_month=True,
    ),
    Form(
        "tencent_zh.csv",
        cost="优惠后总价",
        optional="组件原价",
        start="使用开始时间",
        end="使用结束时间",
        currency="币种",
        resource="资源ID",
        free="子产品名称",
        required=("支付者UIN", "产品名称", "使用开始时间", "使用结束时间", "币种"),
        knows_its_month=True,
    ),
    Form(
        "baidu.csv",
        cost="应付金额",
        optional="原价",
        start="开始时间",
        end="结束时间",
        currency="币种",
        resource="实例ID",
        free="地域",
        required=("账号ID", "产品名称", "应付金额", "币种"),
        knows_its_month=True,
    ),
    Form(
        "opencost.csv",
        cost="TotalCost",
        optional="GPUs",
        start="Date",
        resource="Pod",
        free="ControllerName",
        required=("Date", "Namespace", "Pod", "TotalCost"),
        adds_parts=True,
        settings={"currency": "USD"},
        native=True,
    ),
    Form(
        "openshift_pods.csv",
        optional="pod_request_cpu_core_seconds",
        start="interval_start",
        end="interval_end",
        resource="pod",
        free="pod_labels",
        required=("interval_start", "interval_end", "namespace", "pod"),
        native=True,
        has_keys=True,
    ),
    Form(
        "openshift_gpu.csv",
        start="interval_start",
        end="interval_end",
        resource="pod",
        required=("interval_start", "interval_end", "namespace", "pod"),
        native=True,
        has_keys=True,
    ),
    Form(
        "ledger.csv",
        cost="Amount",
        optional="Hours",
        start="Day",
        end="Until",
        resource="Account",
        free="Note",
        required=("Day", "Amount", "Account"),
        settings={
            "currency": "EUR",
            "columns": "start=Day,end=Until,cost=Amount,quantity=Hours,account=Account,charge_category=Kind,tags=Tags",
        },
        separator=";",
        native=True,
    ),
]


def having(*parts: str) -> list[Form]:
    """The forms that have columns for all of some parts."""
    return [form for form in FORMS if all(getattr(form, part) for part in parts)]


def bills_of_china() -> list[Form]:
    return [form for form in FORMS if form.knows_its_month]
