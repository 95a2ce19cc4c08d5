"""Our attributed cost as FOCUS, imported again to the same totals; and statements of teams."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse

from core.months import Month
from teams.models import ClosedMonth, ExchangeRate, Project
from tests import factories as organisation_factories
from tests.usage import factories
from tests.usage.factories import deliver, focus
from usage import focus_export, rules, statements
from usage.focus_export import Slice
from usage.pipeline.swap import known_now
from usage.totals import Question, usage_totals

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept_files")]

TAGGED = [{"field": "tag", "operator": "equals", "values": ["foundation"], "tag": "team"}]
FEBRUARY = {
    "BillingPeriodStart": "2026-02-01T00:00:00Z",
    "BillingPeriodEnd": "2026-03-01T00:00:00Z",
    "ChargePeriodStart": "2026-02-05T00:00:00Z",
    "ChargePeriodEnd": "2026-02-06T00:00:00Z",
}
MANDATORY = [
    "BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd",
    "BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodEnd", "ChargePeriodStart",
    "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit",
    "ProviderName", "PublisherName", "ServiceCategory", "ServiceName",
]  # fmt: skip
NEVER_NULL = [name for name in MANDATORY if name not in ("ChargeClass", "PricingQuantity", "PricingUnit")]
ALL = Slice(date(2026, 1, 1), date(2027, 1, 1))
MIXED = [
    {"BilledCost": "0.1234567890123456789", "EffectiveCost": "1E-10"},
    {"Tags": "", "BilledCost": "-3.5", "EffectiveCost": "-3.5", "ChargeCategory": "Credit"},
    {"ResourceId": "long", "EffectiveCost": "10", "ChargePeriodEnd": "2026-03-08T07:00:00Z", "Tags": ""},
    {"BillingCurrency": "CNY", "BilledCost": "0", "EffectiveCost": "7", "ChargeCategory": "Purchase"},
    {"SubAccountId": "=cmd", "ServiceName": "Storage", "ServiceCategory": "Storage"},
]


def exported(asked: Slice = ALL) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(focus_export.lines(asked)))))


def totals(source: str, basis: str) -> dict[str, Decimal]:
    return usage_totals(Question(source=source, basis=basis))[0].totals


def test_the_export_imports_back_to_the_same_totals(stage):
    rules.add_rule(
        by=stage.operator,
        name="Split",
        conditions=TAGGED,
        shares=[(stage.project, Decimal(1)), (stage.other_project, Decimal(2))],
    )
    deliver(factories.source(), focus(*MIXED))
    content = "".join(focus_export.lines(ALL)).encode()

    again = deliver(factories.source("again"), content, "export.csv")

    assert (again["status"], again["format"], again["rows_rejected"]) == ("live", "focus", 0)
    for basis in ("billed", "effective"):
        assert totals("again", basis) == totals("cloud", basis)
    assert totals("again", "billed")["USD"] == Decimal("16.6234567890123456789")


def test_mandatory_columns_are_filled_as_the_specification_wants(stage):
    deliver(factories.source(), focus(*MIXED))

    rows = exported()

    assert set(MANDATORY) <= set(rows[0])
    for row in rows:
        assert all(row[name] for name in NEVER_NULL)
        assert row["ChargeCategory"] in ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
        assert bool(row["PricingQuantity"]) == (row["ChargeCategory"] in ("Usage", "Purchase"))
        assert row["ChargePeriodStart"] < row["ChargePeriodEnd"]
        assert row["BillingPeriodStart"].endswith("-01T00:00:00Z")
    assert {row["SubAccountId"] for row in rows if row["ServiceName"] == "Storage"} == {"'=cmd"}


def test_tags_say_whose_the_cost_is(stage):
    rules.add_rule(by=stage.operator, name="One", conditions=TAGGED, project=stage.project, reference="P-7")
    deliver(factories.source(), focus({}, {"Tags": ""}))

    placed = {row["x_Place"]: row for row in exported()}

    assert json.loads(placed["project"]["Tags"]) == {
        "team": "foundation",
        "project": stage.project.slug,
        "category": "compute",
        "task_type": "pretrain",
        "headroom_proposal": "P-7",
    }
    assert json.loads(placed["unallocated"]["Tags"]) == {"category": "compute"}


def test_people_export_what_they_may_see(stage, client):
    rules.add_rule(by=stage.operator, name="One", conditions=TAGGED, project=stage.project)
    deliver(factories.source(), focus({}, {"Tags": "", "EffectiveCost": "777"}))
    days = {"start": "2026-03-01", "end": "2026-04-01"}

    found = {}
    for person in (stage.finance, stage.bob, stage.charlie):
        client.force_login(person)
        answer = client.get(reverse("focus-export"), days)
        found[person.email] = b"".join(answer.streaming_content).decode()

    assert "777" in found[stage.finance.email]
    assert "777" not in found[stage.bob.email] and stage.project.slug in found[stage.bob.email]
    assert found[stage.charlie.email].count("\n") == 1
    assert client.get(reverse("focus-export"), {**days, "team": "foundation"}).status_code == 422


def test_a_statement_tells_own_cost_and_the_share_of_what_is_shared(stage):
    centre = organisation_factories.cost_centre("CC-9")
    Project.objects.filter(pk=stage.project.pk).update(cost_centre=centre)
    rules.add_rule(by=stage.operator, name="Own", conditions=TAGGED, project=stage.project)
    rules.add_rule(
        by=stage.operator,
        name="Rest",
        conditions=[],
        shares=[(stage.project, Decimal(1)), (stage.other_project, Decimal(3))],
    )
    rows = [
        {"EffectiveCost": "30"},
        {"Tags": "", "EffectiveCost": "8"},
        {**FEBRUARY, "EffectiveCost": "5"},
        {"BillingCurrency": "CNY", "EffectiveCost": "70"},
    ]
    deliver(factories.source(), focus(*rows))
    ExchangeRate.objects.create(month=date(2026, 3, 1), base="CNY", quote="USD", rate=Decimal("0.14"))

    found = statements.statement(stage.team, Month(2026, 3), this_month=Month(2026, 5))

    by_currency = {line.currency: line for line in found.lines}
    line = by_currency["USD"]
    assert (line.own, line.shared, line.total, line.before) == (30, 2, 32, 5)
    assert (by_currency["CNY"].own, by_currency["CNY"].rate) == (70, Decimal("0.14"))
    assert found.reported == Decimal("41.80")
    table = [row for row in statements.csv_rows(found) if row[6] == "USD"]
    assert table[0][3:10] == ["CC-9", stage.project.slug, "compute", "USD", "30", "2", "32"]


def test_a_missing_rate_leaves_the_whole_unknown_and_says_so(stage):
    rules.add_rule(by=stage.operator, name="Own", conditions=TAGGED, project=stage.project)
    deliver(factories.source(), focus({"BillingCurrency": "CNY"}))

    found = statements.statement(stage.team, Month(2026, 3), this_month=Month(2026, 5))

    assert (found.reported, found.rates_missing) == (None, ["CNY"])


def test_a_closed_month_is_told_as_at_closing_with_the_restated_part_apart(stage):
    rules.add_rule(by=stage.operator, name="Own", conditions=TAGGED, project=stage.project)
    source = factories.source()
    deliver(source, focus({"EffectiveCost": "10"}))
    ClosedMonth.objects.create(month=date(2026, 3, 1), closed_at=known_now(), by=stage.finance)
    deliver(source, focus({"EffectiveCost": "13"}))

    march = statements.statement(stage.team, Month(2026, 3), this_month=Month(2026, 5))
    april = statements.statement(stage.team, Month(2026, 4), this_month=Month(2026, 5))

    assert [(each.total, each.restated) for each in march.sums] == [(10, 3)]
    assert [(each.total, each.before, each.restated) for each in april.sums] == [(0, 10, 3)]


def test_statements_are_for_the_people_of_the_team(stage, client):
    rules.add_rule(by=stage.operator, name="Own", conditions=TAGGED, project=stage.project)
    deliver(factories.source(), focus({"EffectiveCost": "30"}))
    address = reverse("statement", args=["foundation", "2026-03"])
    table = reverse("statement-csv", args=["foundation", "2026-03"])

    client.force_login(stage.charlie)
    assert client.get(address).status_code == 404
    assert client.get(table).status_code == 404
    client.force_login(stage.bob)

    assert "30.00 USD" in client.get(address).content.decode()
    assert "foundation,2026-03" in b"".join(client.get(table).streaming_content).decode()
    assert client.get(reverse("statement", args=["foundation", "2026-13"])).status_code == 404
    assert "foundation/2026-03" in client.get(reverse("statement-list")).content.decode()
