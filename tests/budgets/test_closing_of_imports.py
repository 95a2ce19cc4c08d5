"""Closing a month of real deliveries: what is kept is what the records say was known at that moment."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from budgets.closed import costs_from_records, restatements
from budgets.models import BudgetLine, LineClosing
from budgets.queries import line_status
from budgets.services import closing
from core.months import Month, Period
from teams.models import ExchangeRate
from tests.budgets import factories
from tests.usage import factories as usage
from usage import rules
from usage.models import AllocationRule

MARCH, APRIL = Month(2026, 3), Month(2026, 4)


def test_a_restated_bill_leaves_the_closed_month_and_moves_the_open_one(stage):
    AllocationRule.objects.create(position=1, name="all", conditions=[], project=stage.project, category="compute")
    march, april = (
        factories.line(stage.project, period=Period(month.start, month.end), period_kind="month", granted=100)
        for month in (MARCH, APRIL)
    )
    cloud = usage.source()
    usage.deliver(cloud, usage.focus({}, {"ResourceId": "node-2", "BillingCurrency": "EUR", "EffectiveCost": "3"}))
    ExchangeRate.objects.create(month=date(2026, 3, 1), base="EUR", quote="USD", rate=Decimal(2))
    closing.close_month(MARCH, by=stage.finance, accepted=["scopes"], reason="The provider never says final")
    closed = LineClosing.objects.get()

    usage.deliver(
        cloud,
        usage.focus({"EffectiveCost": "14"}, {"ResourceId": "node-2", "BillingCurrency": "EUR", "EffectiveCost": "3"}),
        name="again.csv",
    )

    # 10 USD and 3 EUR at 2 were known; then 4 USD more
    march.refresh_from_db()
    assert (line_status(march).actual, line_status(april).actual) == (16, 4)
    assert [(late.currency, late.amount) for late in restatements(march)] == [("USD", 4)]
    kept = {(cost.currency, cost.month, cost.amount) for cost in closed.costs.all()}
    assert kept == {("USD", date(2026, 3, 1), 10), ("EUR", date(2026, 3, 1), 3)}
    assert {(cost.currency, cost.month, cost.amount) for cost in costs_from_records(closed)} == kept
    assert line_status(march, known_at=closed.at).actual == 16
    assert line_status(april, known_at=closed.at + timedelta(microseconds=1)).actual == 0
    assert line_status(april, known_at=closed.at + timedelta(days=1)).actual == 4


def test_allocation_of_a_closed_month_stays(stage):
    rule = AllocationRule.objects.create(
        position=1, name="all", conditions=[], project=stage.project, category="compute"
    )
    factories.line(stage.project, period=Period(MARCH.start, MARCH.end), period_kind="month", granted=100)
    usage.deliver(usage.source(), usage.focus({}))
    closing.close_month(MARCH, by=stage.finance, accepted=["scopes"], reason="why")
    rule.project = stage.other_project
    rule.save()

    rules.apply_rules(by=stage.operator)

    assert line_status(BudgetLine.objects.get(project=stage.project)).actual == 10
