"""Amendments: a later version of an approved proposal, decided beside it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from budgets.funding import LineDecision, fundings
from budgets.models import BudgetLine
from budgets.queries import line_status
from budgets.services import approval
from core.errors import DomainError
from tests.budgets import factories

NOW = datetime(2027, 2, 1, 9, tzinfo=UTC)
ASK = {("compute", "2027-02"): 800, ("network", "2027-02"): 50}


def committed(category):
    return line_status(BudgetLine.objects.get(category=category), now=NOW).committed


def test_what_an_amendment_no_longer_asks_for_is_released(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)
    approval.approve_proposal(step, by=stage.manager, now=NOW)
    assert committed("network") == 50

    approval.approve_proposal(
        factories.amended(proposal, stage.alice, {("compute", "2027-02"): 700}), by=stage.manager, now=NOW
    )

    assert (committed("compute"), committed("network")) == (700, 0)


def test_a_category_left_out_of_the_decision_on_an_amendment_is_approved_with_nothing(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)
    approval.approve_proposal(step, by=stage.manager, now=NOW)

    approval.approve_proposal(
        factories.amended(proposal, stage.alice, ASK),
        by=stage.manager,
        lines=[LineDecision("compute", Decimal(800))],
        reason="No transfers between regions",
        now=NOW,
    )

    assert (committed("compute"), committed("network")) == (800, 0)


def test_leaving_a_protected_cost_out_of_the_decision_needs_its_reason_too(stage):
    _proposal, step = factories.submitted(
        stage.project, stage.alice, {("compute", "2027-02"): 800, ("data", "2027-02"): 100}
    )

    with pytest.raises(DomainError, match="protected cost"):
        approval.approve_proposal(
            step, by=stage.manager, lines=[LineDecision("compute", Decimal(800))], reason="Too dear", now=NOW
        )


def test_an_amendment_that_covers_an_overrun_needs_new_money_for_the_overrun_and_the_rest_only(stage):
    line = factories.line(stage.project)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})
    approval.approve_proposal(step, by=stage.manager, now=NOW)
    factories.cost(stage.project, 150, day=date(2027, 2, 3), reference=proposal.reference)

    step = factories.amended(proposal, stage.alice, {("compute", "2027-02"): 200})
    shown = fundings(step.version, [LineDecision("compute", Decimal(200))], now=NOW)[0].after
    approval.approve_proposal(step, by=stage.manager, now=NOW)

    # 200 is asked, 150 of it is spent: 50 stays committed, and the line holds the 200 and no more
    status = line_status(line, now=NOW)
    assert (status.budget, status.actual, status.committed, status.headroom) == (200, 150, 50, 0)
    assert (shown.budget, shown.committed, shown.headroom) == (200, 50, 0)


def test_a_release_of_last_year_does_not_lessen_what_was_approved_this_year(stage):
    line = factories.line(stage.project)
    for approved_at, released_at in ((datetime(2026, 5, 1, tzinfo=UTC), NOW), (datetime(2027, 1, 5, tzinfo=UTC), None)):
        proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 400_000})
        factories.entry(line, "commit", 400_000, proposal=proposal, at=approved_at)
        if released_at:
            factories.entry(line, "release", 400_000, proposal=proposal, at=released_at)

    asking, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 200_000})

    # 200,000 with the 400,000 of this year is above the director's 500,000
    assert [step.role for step in asking.versions.get().steps.order_by("number")] == ["manager", "director"]
