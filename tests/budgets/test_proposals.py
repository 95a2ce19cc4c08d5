"""Writing, submitting, amending, withdrawing, closing and cloning proposals."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from budgets.models import BudgetLine, Proposal
from budgets.queries import line_status
from budgets.services import approval, ledger, proposals
from core.errors import DomainError
from estimates.engine.plan import PlanRefused
from estimates.models import Estimate
from teams.models import ExchangeRate, Notification
from tests.budgets import factories
from tests.budgets.factories import PLAN

ASK = {("compute", "2027-02"): 600, ("compute", "2027-03"): 200, ("data", "2027-02"): 100}


def test_a_member_writes_a_draft_with_its_estimate(stage):
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=PLAN, title=" Small run ")

    version = proposal.versions.get()
    assert (proposal.title, proposal.state, proposal.task_type) == ("Small run", "draft", "pretrain")
    assert proposal.reference == f"P-{proposal.pk}"
    assert (version.number, version.state, version.estimate.state) == (1, "draft", "draft")
    assert version.ask_total is None


def test_a_plan_that_cannot_be_read_makes_no_proposal(stage):
    with pytest.raises(PlanRefused):
        proposals.create_proposal(by=stage.alice, project=stage.project, plan={**PLAN, "mfu": 2})

    assert not Proposal.objects.exists()
    assert not Estimate.objects.exists()


@pytest.mark.parametrize("who", ["charlie", "other_manager", "finance", "director", "auditor", "operator", "keeper"])
def test_others_write_nothing(stage, who):
    draft = factories.draft(stage.project, stage.alice, ASK)
    by = getattr(stage, who)

    for act in (
        lambda: proposals.create_proposal(by=by, project=stage.project, plan=PLAN),
        lambda: proposals.save_plan(draft, by=by, plan=PLAN),
        lambda: proposals.submit_proposal(draft, by=by),
        lambda: proposals.withdraw_proposal(draft, by=by),
    ):
        with pytest.raises(DomainError, match="written by its members and managers"):
            act()


def test_nothing_is_asked_for_a_closed_project(stage):
    stage.project.state = "closed"
    stage.project.save()

    with pytest.raises(DomainError, match="is closed"):
        proposals.create_proposal(by=stage.alice, project=stage.project, plan=PLAN)


def test_submitting_freezes_the_estimate_and_writes_the_ask_by_line_and_month(stage):
    proposal = factories.draft(stage.project, stage.alice, ASK)

    version = proposals.submit_proposal(proposal, by=stage.alice, now=factories.NOON)

    assert version.estimate.state == "frozen"
    assert (version.ask_total, version.state, version.submitted_by) == (900, "submitted", stage.alice)
    asked = {(line.category, f"{line.month:%Y-%m}"): line.amount for line in version.ask_lines.all()}
    assert asked == ASK
    assert (version.reporting_currency, version.judged_total) == ("USD", 900)
    proposal.refresh_from_db()
    assert proposal.state == "submitted"
    assert {row.user for row in Notification.objects.filter(kind="proposal_waiting")} == {stage.manager}


def test_another_level_scales_every_line_by_largest_remainder(stage):
    proposal = factories.draft(stage.project, stage.alice, ASK)
    proposal.versions.update(ask_level="p80")

    version = proposals.submit_proposal(proposal, by=stage.alice, now=factories.NOON)

    # P80 of the factory's estimate is 10 % above the mean
    assert version.ask_total == 990
    assert [line.amount for line in version.ask_lines.all()] == [660, 220, 110]


def test_a_plan_in_another_currency_than_the_project_is_not_submitted(stage):
    proposal = factories.draft(stage.project, stage.alice, ASK)
    proposal.versions.update(currency="EUR")

    with pytest.raises(DomainError, match="Plan in the project's currency"):
        proposals.submit_proposal(proposal, by=stage.alice)


def test_without_a_rate_nobody_can_say_who_decides(stage):
    stage.project.currency = "CNY"
    stage.project.save()
    proposal = factories.draft(stage.project, stage.alice, ASK)

    with pytest.raises(DomainError, match="No rate from CNY to USD"):
        proposals.submit_proposal(proposal, by=stage.alice, now=factories.NOON)
    proposal.refresh_from_db()
    assert proposal.state == "draft"
    ExchangeRate.objects.create(month="2027-01-01", base="CNY", quote="USD", rate=Decimal("0.14"))
    assert proposals.submit_proposal(proposal, by=stage.alice, now=factories.NOON).judged_total == 126


def test_what_was_submitted_is_neither_edited_nor_submitted_twice(stage):
    proposal = factories.draft(stage.project, stage.alice, ASK)
    proposals.submit_proposal(proposal, by=stage.alice)

    with pytest.raises(DomainError, match="Nothing was changed since version 1"):
        proposals.submit_proposal(proposal, by=stage.alice)
    with pytest.raises(DomainError, match="cannot be edited"):
        proposals.save_plan(proposal, by=stage.alice, plan=PLAN)


def test_after_changes_were_asked_for_the_next_version_starts_from_the_last(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)
    approval.request_changes(step, by=stage.manager, reason="Smaller first")

    version = proposals.save_plan(proposal, by=stage.bob, plan=PLAN, note="As you asked")

    assert (version.number, version.state, version.note) == (2, "draft", "As you asked")
    assert version.estimate.state == "draft"
    submitted = proposals.submit_proposal(proposal, by=stage.bob)
    assert submitted.number == 2
    # neither who asked first nor who submitted decides
    with pytest.raises(DomainError, match="does not decide"):
        approval.approve_proposal(submitted.steps.get(), by=stage.bob)


def test_withdrawing_ends_it_and_nobody_waits_any_more(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)

    proposals.withdraw_proposal(proposal, by=stage.bob, reason="Not needed")

    proposal.refresh_from_db()
    step.refresh_from_db()
    assert (proposal.state, step.state) == ("withdrawn", "dropped")
    with pytest.raises(DomainError, match="is withdrawn"):
        proposals.withdraw_proposal(proposal, by=stage.bob)


def test_closing_releases_what_is_left_on_every_line(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)
    approval.approve_proposal(step, by=stage.manager)
    factories.cost(stage.project, "250.555", day=date(2027, 2, 10), reference=proposal.reference)
    compute = BudgetLine.objects.get(category="compute")

    with pytest.raises(DomainError, match="closed by who asked"):
        proposals.close_proposal(proposal, by=stage.bob)
    released = proposals.close_proposal(proposal, by=stage.alice, reason="Done")

    # 800 less 250.555 is 549.445: released in whole cents, never too little
    assert released == Decimal("549.45") + 100
    assert line_status(compute).committed == 0
    proposal.refresh_from_db()
    assert proposal.state == "closed"
    with pytest.raises(DomainError, match="is closed"):
        proposals.close_proposal(proposal, by=stage.alice)


def test_an_amendment_is_decided_beside_the_approved_version_and_commits_the_difference(stage):
    proposal, step = factories.submitted(
        stage.project, stage.alice, {("compute", "2027-02"): 600, ("data", "2027-02"): 100}
    )
    approval.approve_proposal(step, by=stage.manager)
    compute, data = BudgetLine.objects.get(category="compute"), BudgetLine.objects.get(category="data")
    proposals.save_plan(proposal, by=stage.alice, plan=PLAN)
    version = proposal.versions.get(number=2)
    version.estimate = factories.estimate(
        stage.project, stage.alice, {("compute", "2027-02"): 900, ("data", "2027-02"): 40}
    )
    version.save()

    proposals.submit_proposal(proposal, by=stage.alice)
    proposal.refresh_from_db()
    assert proposal.state == "approved"
    assert line_status(compute).committed == 600
    approval.approve_proposal(version.steps.get(), by=stage.manager)

    assert (line_status(compute).budget, line_status(compute).committed) == (900, 900)
    # 60 of data were given back, and stay on the line
    assert (line_status(data).budget, line_status(data).committed, line_status(data).headroom) == (100, 40, 60)


def test_a_rejected_amendment_leaves_the_approved_version_as_it_is(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 600})
    approval.approve_proposal(step, by=stage.manager)
    proposals.save_plan(proposal, by=stage.alice, plan=PLAN)
    version = proposals.submit_proposal(proposal, by=stage.alice)

    approval.reject_proposal(version.steps.get(), by=stage.manager, reason="Enough")

    proposal.refresh_from_db()
    assert proposal.state == "approved"
    assert line_status(BudgetLine.objects.get(category="compute")).committed == 600
    with pytest.raises(DomainError, match="is approved"):
        proposals.withdraw_proposal(proposal, by=stage.alice)


def test_cloning_starts_a_new_draft_from_the_same_plan(stage):
    proposal = proposals.create_proposal(by=stage.alice, project=stage.project, plan=PLAN, title="Small run")

    clone = proposals.clone_proposal(proposal, by=stage.bob)

    assert (clone.title, clone.requester, clone.cloned_from) == ("Small run (copy)", stage.bob, proposal)
    assert clone.versions.get().estimate.plan == proposal.versions.get().estimate.plan
    with pytest.raises(DomainError, match="no such proposal"):
        proposals.clone_proposal(proposal, by=stage.charlie)


def test_money_that_was_transferred_is_enough_without_new_money(stage):
    source, target = factories.line(stage.project, "data", granted=900), factories.line(stage.project)
    ledger.transfer(source, target, by=stage.manager, amount=Decimal(800), reason="Compute first")
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    approval.approve_proposal(step, by=stage.manager)

    assert line_status(target).budget == 800
    assert line_status(target).headroom == 0


def test_a_closed_proposal_restated_downwards_takes_nothing_that_others_paid_for(stage):
    line = factories.line(stage.project, granted=1000)
    first, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})
    approval.approve_proposal(step, by=stage.manager)
    _second, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 50})
    approval.approve_proposal(step, by=stage.manager)
    factories.cost(stage.project, 80, reference=first.reference)
    factories.cost(stage.project, 50)
    proposals.close_proposal(first, by=stage.alice)
    before = line_status(line)
    assert (before.committed, before.headroom) == (20, 850)

    factories.cost(stage.project, -70, reference=first.reference)

    after = line_status(line)
    # 70 less was spent; what the second proposal holds has not moved
    assert (after.actual, after.committed, after.headroom) == (60, 20, 920)
