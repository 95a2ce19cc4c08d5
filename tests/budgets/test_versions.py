"""What changed between two versions, and what a version would ask for today."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from django.utils import timezone

from budgets.services import approval, proposals
from budgets.versions import ask_at_todays_prices, input_changes, version_before, version_difference
from estimates import services as estimates
from tests.budgets import factories
from tests.budgets.factories import PLAN

LISTED = {
    **PLAN,
    "compute": {key: value for key, value in PLAN["compute"].items() if key != "price_per_accelerator_hour"},
}


def add_price(amount: str, valid_from: date) -> None:
    estimates.add_price(
        by=None,
        kind="accelerator",
        item="own-card",
        provider="cloud",
        mode="on_demand",
        amount=amount,
        currency="USD",
        valid_from=str(valid_from),
        source="list",
        verified=True,
    )


def test_the_inputs_that_differ_are_named_by_their_paths():
    changed = {**PLAN, "data": {"tokens": "30B"}, "evaluation": {"times": 3}}

    found = {change.path: (change.before, change.after) for change in input_changes(PLAN, changed)}

    assert found == {
        "data.tokens": ("20B", "30B"),
        "evaluation.times": (None, 3),
        "data.licence_cost": (1000, None),
    }


def test_a_range_is_one_input():
    wider = {**PLAN, "compute": {**PLAN["compute"], "mfu": {"low": 0.3, "mode": 0.4, "high": 0.5}}}

    assert [change.path for change in input_changes(PLAN, wider)] == ["compute.mfu"]


def test_the_causes_add_up_to_the_difference_of_the_two_asks(stage):
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=PLAN)
    first = proposals.submit_proposal(proposal, by=stage.alice)
    approval.request_changes(first.steps.get(), by=stage.manager, reason="Longer")
    longer = {**PLAN, "data": {"tokens": "40B", "licence_cost": 3000}}
    proposals.save_plan(proposal, by=stage.alice, plan=longer)
    second = proposals.submit_proposal(proposal, by=stage.alice)

    assert version_before(second) == first
    found = version_difference(first, second)

    assert sum(cause.amount for cause in found.causes) == found.amount == second.ask_total - first.ask_total
    causes = {cause.cause: cause for cause in found.causes}
    # the licences cost 2,000 more; twice the tokens are volume; contingency is 10 % of both
    assert causes["price"].amount == 2000
    assert causes["volume"].amount > 0
    contingency = (causes["price"].amount + causes["volume"].amount) / 10
    assert abs(causes["rest"].amount - contingency) <= Decimal("0.01")
    assert [change.path for change in causes["volume"].inputs] == ["data.tokens"]


def test_a_clone_is_compared_with_what_it_was_cloned_from(stage):
    origin, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})
    clone = proposals.clone_proposal(origin, by=stage.bob)

    assert version_before(clone.versions.get()) == origin.versions.get()
    assert version_before(origin.versions.get()) is None


def test_todays_prices_say_what_it_would_cost_now(stage):
    today = timezone.now().date()
    add_price("2", today - timedelta(days=10))
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=LISTED)
    version = proposals.submit_proposal(proposal, by=stage.alice)
    assert ask_at_todays_prices(version, today=today) is None

    add_price("3", today)

    now = ask_at_todays_prices(version, today=today)
    compute = version.ask_lines.filter(category="compute")
    before = sum((line.amount for line in compute), Decimal(0))
    # compute costs half as much again, and so does its share of the contingency
    assert abs(now - version.ask_total - before / 2 * Decimal("1.1")) < Decimal("0.05")
