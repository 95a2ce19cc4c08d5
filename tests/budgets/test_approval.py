"""Deciding proposals: the good way, each refusal, and who may not."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from budgets.funding import LineDecision
from budgets.models import ApprovalRule, ApprovalStep, BudgetLine, Decision, Delegation, Entry, Proposal
from budgets.queries import line_status, proposals_waiting_for
from budgets.services import approval, escalation, lines, proposals
from core.errors import DomainError
from core.months import Period
from teams.models import Activity, ExchangeRate, Notification, Role
from tests import factories as people
from tests.budgets import factories
from tests.letters import letters

ASK = {
    ("compute", "2027-02"): 600,
    ("compute", "2027-03"): 200,
    ("data", "2027-02"): 100,
    ("contingency", "2027-02"): 90,
}


def decide(category, amount, new_money=None, reason=""):
    money = None if new_money is None else Decimal(new_money)
    return LineDecision(category, Decimal(amount), money, reason)


def test_the_whole_ask_opens_missing_lines_grants_the_shortfall_and_commits(stage):
    stage.project.starts_on, stage.project.ends_on = date(2027, 1, 1), date(2027, 7, 1)
    stage.project.save()
    compute = factories.line(stage.project, granted=300)
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)

    approval.approve_proposal(step, by=stage.manager)

    status = line_status(compute)
    # 300 was there, 800 is asked: 500 of new money
    assert (status.budget, status.committed, status.headroom) == (800, 800, 0)
    opened = BudgetLine.objects.get(category="data")
    assert opened.period == Period(date(2027, 1, 1), date(2027, 7, 1))
    assert opened.thresholds.count() == 3
    assert line_status(BudgetLine.objects.get(category="contingency")).committed == 90
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.APPROVED
    assert proposal.versions.get().state == "approved"
    assert Activity.objects.get(verb="proposal.approved").facts["amount"] == "990"


def test_the_requester_hears_of_the_decision_once_in_the_product_and_once_by_mail(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, ASK)

    approval.approve_proposal(step, by=stage.manager)

    told = Notification.objects.filter(kind="proposal_decided")
    assert [row.user for row in told] == [stage.alice]
    (letter,) = letters(stage.alice)
    assert "approved, 990 USD" in letter.subject
    assert f"headroom_proposal={proposal.reference}" in letter.text


def test_part_of_the_ask_is_approved_with_a_reason(stage):
    line = factories.line(stage.project, granted=1000)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    approval.approve_proposal(step, by=stage.manager, lines=[decide("compute", 500)], reason="Begin smaller")

    assert line_status(line).committed == 500
    assert Entry.objects.filter(kind="grant", decision__isnull=False).count() == 0
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.PARTLY_APPROVED
    assert Decision.objects.get().lines.get().amount == 500


def test_more_new_money_than_the_shortfall_stays_as_headroom(stage):
    line = factories.line(stage.project)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    approval.approve_proposal(step, by=stage.manager, lines=[decide("compute", 800, 1000)])

    status = line_status(line)
    assert (status.budget, status.committed, status.headroom) == (1000, 800, 200)


@pytest.mark.parametrize(
    ("lines_", "reason", "message"),
    [
        ([decide("compute", 801)], "why", "at most what is asked"),
        ([decide("compute", -1)], "why", "at most what is asked"),
        ([decide("storage", 1)], "why", "is not asked for"),
        ([decide("compute", "1.001")], "why", "no smaller unit"),
        ([decide("compute", 1, -1)], "why", "must not be negative"),
        ([decide("compute", 1), decide("compute", 2)], "why", "decided once"),
        ([decide("compute", 0)], "why", "Reject the proposal instead"),
        ([decide("compute", 500)], " ", "Say why"),
        ([decide("compute", 800, 10)], "", "short by 490 USD: grant or transfer"),
    ],
)
def test_a_decision_is_refused_with_what_is_wrong_and_changes_nothing(stage, lines_, reason, message):
    line = factories.line(stage.project, granted=300)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    with pytest.raises(DomainError, match=message):
        approval.approve_proposal(step, by=stage.manager, lines=lines_, reason=reason)

    assert line_status(line).committed == 0
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.SUBMITTED
    assert not Decision.objects.exists()


def test_cutting_a_protected_cost_needs_its_own_reason(stage):
    _proposal, step = factories.submitted(stage.project, stage.alice, {("data", "2027-02"): 100})

    with pytest.raises(DomainError, match="protected cost"):
        approval.approve_proposal(step, by=stage.manager, lines=[decide("data", 50)], reason="Less")
    approval.approve_proposal(
        step, by=stage.manager, lines=[decide("data", 50, reason="Licence shared with Search")], reason="Less"
    )

    assert Decision.objects.get().lines.get().reason == "Licence shared with Search"


@pytest.mark.parametrize("who", ["bob", "charlie", "other_manager", "finance", "operator", "auditor", "director"])
def test_others_do_not_decide_a_managers_step(stage, who):
    _proposal, step = factories.submitted(stage.project, stage.alice, ASK)

    for act in (
        lambda by: approval.approve_proposal(step, by=by),
        lambda by: approval.reject_proposal(step, by=by, reason="no"),
        lambda by: approval.request_changes(step, by=by, reason="no"),
    ):
        with pytest.raises(DomainError, match="decided by: Manager"):
            act(getattr(stage, who))


def test_who_asks_does_not_decide(stage):
    people.member(stage.alice, stage.team, Role.MANAGER)
    _proposal, step = factories.submitted(stage.project, stage.alice, ASK)

    with pytest.raises(DomainError, match="does not decide"):
        approval.approve_proposal(step, by=stage.alice)


def test_above_the_amount_the_director_decides_too_and_only_then_money_moves(stage):
    line = factories.line(stage.project)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 640_000})

    assert list(proposals_waiting_for(stage.manager)) == [proposal]
    assert list(proposals_waiting_for(stage.director)) == []
    approval.approve_proposal(step, by=stage.manager, lines=[decide("compute", 600_000)], reason="A little less")
    assert line_status(line).committed == 0
    assert list(proposals_waiting_for(stage.manager)) == []
    assert list(proposals_waiting_for(stage.director)) == [proposal]
    second = proposal.versions.get().steps.get(number=2)
    approval.approve_proposal(second, by=stage.director, reason="Agreed")

    # the director approved what the manager had left of it
    assert line_status(line).committed == 600_000
    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.PARTLY_APPROVED


def test_a_later_step_is_not_decided_before_its_turn_and_none_twice(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 640_000})
    second = proposal.versions.get().steps.get(number=2)

    with pytest.raises(DomainError, match="not to be decided yet"):
        approval.approve_proposal(second, by=stage.director)
    approval.approve_proposal(step, by=stage.manager)
    with pytest.raises(DomainError, match="decided already"):
        approval.approve_proposal(step, by=stage.manager)


def test_what_the_project_was_approved_before_counts_for_the_amount(stage):
    line = factories.line(stage.project, granted=400_000)
    earlier, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 400_000})
    factories.entry(line, "commit", 400_000, proposal=earlier, at=factories.NOON)
    other = factories.line(stage.other_project, granted=900_000)
    factories.entry(other, "commit", 900_000, proposal=earlier, at=factories.NOON)

    small, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100_000})
    large, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100_001})

    assert [step.role for step in small.versions.get().steps.all()] == ["manager"]
    assert [step.role for step in large.versions.get().steps.all()] == ["manager", "director"]


def test_the_amount_is_judged_in_the_reporting_currency(stage):
    stage.project.currency = "CNY"
    stage.project.save()
    ExchangeRate.objects.create(month=date(2027, 1, 1), base="CNY", quote="USD", rate=Decimal("0.14"))

    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 3_600_000})

    version = proposal.versions.get()
    assert version.judged_total == 504_000
    assert [step.role for step in version.steps.all()] == ["manager", "director"]


def test_rejection_gives_a_reason_and_commits_nothing(stage):
    line = factories.line(stage.project, granted=1000)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    with pytest.raises(DomainError, match="Say why"):
        approval.reject_proposal(step, by=stage.manager, reason="")
    approval.reject_proposal(step, by=stage.manager, reason="A public model does it")

    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.REJECTED
    assert line_status(line).committed == 0
    assert (
        Notification.objects.get(user=stage.alice, kind="proposal_decided").facts["reason"] == "A public model does it"
    )


def test_changes_are_asked_for_with_comments_on_inputs(stage):
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 640_000})

    decision = approval.request_changes(
        step, by=stage.manager, reason="Smaller first", comments={"data.tokens": "2T is a lot", "compute.mfu": " "}
    )

    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.CHANGES_REQUESTED
    assert [(comment.path, comment.text) for comment in decision.comments.all()] == [("data.tokens", "2T is a lot")]
    assert not ApprovalStep.objects.filter(state="waiting").exists()


def test_a_frozen_line_takes_no_new_commitments(stage):
    line = factories.line(stage.project, granted=1000)
    lines.freeze_line(line, by=None, reason="limit")
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    with pytest.raises(DomainError, match="is frozen"):
        approval.approve_proposal(step, by=stage.manager)


def test_a_line_whose_rate_is_missing_takes_no_new_commitments(stage):
    factories.line(stage.project, granted=1000, period=Period(date(2026, 1, 1), date(2028, 1, 1)))
    factories.cost(stage.project, 5, currency="EUR", day=date(2026, 2, 1))
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    with pytest.raises(DomainError, match="has to store the rate EUR→USD 2026-02"):
        approval.approve_proposal(step, by=stage.manager)


def test_the_ask_is_spread_over_the_quarters_by_its_months(stage):
    first = factories.line(
        stage.project, granted=700, period_kind="quarter", period=Period(date(2027, 1, 1), date(2027, 4, 1))
    )
    _proposal, step = factories.submitted(
        stage.project, stage.alice, {("compute", "2027-03"): 600, ("compute", "2027-04"): 200}
    )

    approval.approve_proposal(step, by=stage.manager, lines=[decide("compute", 400)], reason="Half")

    second = BudgetLine.objects.get(category="compute", start=date(2027, 4, 1))
    assert second.period_kind == "quarter"
    assert (line_status(first).committed, line_status(first).headroom) == (300, 400)
    assert (line_status(second).committed, line_status(second).budget) == (100, 100)


def test_while_someone_is_away_another_decides_in_their_place(stage):
    today = timezone.now().date()
    Delegation.objects.create(
        giver=stage.manager,
        receiver=stage.bob,
        role="manager",
        team=stage.team,
        starts_on=today,
        ends_on=today + timedelta(1),
    )
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})

    assert list(proposals_waiting_for(stage.bob)) == [proposal]
    decision = approval.approve_proposal(step, by=stage.bob)

    assert decision.delegation.giver == stage.manager
    assert line_status(BudgetLine.objects.get()).committed == 800


def test_a_deputy_of_another_team_sees_what_waits_for_them_and_nothing_else(stage, client):
    today = timezone.now().date()
    days = {"starts_on": today, "ends_on": today + timedelta(1)}
    Delegation.objects.create(giver=stage.manager, receiver=stage.charlie, role="manager", **days)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})
    third = people.team("Third")
    people.member(stage.bob, third, Role.MEMBER)
    foreign, _foreign_step = factories.submitted(
        people.project(third, "Third"), stage.bob, {("compute", "2027-02"): 800}
    )
    client.force_login(stage.charlie)

    assert list(proposals_waiting_for(stage.charlie)) == [proposal]
    assert client.get(reverse("proposal", args=[proposal.pk])).status_code == 200
    assert client.get(reverse("proposal", args=[foreign.pk])).status_code == 404
    approval.approve_proposal(step, by=stage.charlie)
    Delegation.objects.update(ends_on=today, starts_on=today - timedelta(2))
    assert client.get(reverse("proposal", args=[proposal.pk])).status_code == 404


def test_a_delegation_that_is_over_or_given_by_who_asks_does_not_count(stage):
    today = timezone.now().date()
    Delegation.objects.create(
        giver=stage.manager, receiver=stage.bob, role="manager", starts_on=today - timedelta(2), ends_on=today
    )
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})
    with pytest.raises(DomainError, match="decided by"):
        approval.approve_proposal(step, by=stage.bob)
    Delegation.objects.create(
        giver=stage.manager, receiver=stage.bob, role="manager", starts_on=today, ends_on=today + timedelta(2)
    )
    own, step = factories.submitted(stage.project, stage.manager, {("compute", "2027-02"): 800})

    assert own not in proposals_waiting_for(stage.bob)
    with pytest.raises(DomainError, match="decided by"):
        approval.approve_proposal(step, by=stage.bob)


def test_an_ask_cut_in_parts_reaches_the_director_all_the_same(stage):
    part = {("compute", "2027-02"): 400_000}
    first, first_step = factories.submitted(stage.project, stage.alice, part, title="Part one")
    second, second_step = factories.submitted(stage.project, stage.alice, part, title="Part two")

    approval.approve_proposal(first_step, by=stage.manager)
    approval.approve_proposal(second_step, by=stage.manager)

    # 400,000 alone is the manager's; with what was approved since it is 800,000, above 500,000
    second.refresh_from_db()
    assert (Proposal.objects.get(pk=first.pk).state, second.state) == ("approved", "submitted")
    assert [step.role for step in second.versions.get().steps.order_by("number")] == ["manager", "director"]
    assert list(proposals_waiting_for(stage.director)) == [second]
    assert sum(each.amount for each in Entry.objects.filter(kind="commit")) == 400_000

    approval.approve_proposal(second.versions.get().steps.get(role="director"), by=stage.director)

    second.refresh_from_db()
    assert second.state == "approved"


def test_a_request_of_the_only_manager_is_decided_by_the_director(stage):
    proposal, step = factories.submitted(stage.project, stage.manager, {("compute", "2027-02"): 800})

    assert step.escalated_at is not None
    assert list(proposals_waiting_for(stage.director)) == [proposal]
    approval.approve_proposal(step, by=stage.director)

    proposal.refresh_from_db()
    assert proposal.state == Proposal.State.APPROVED


def test_the_default_matrix_is_a_manager_and_above_half_a_million_a_director(stage):
    rules = [(rule.step, rule.role, rule.above) for rule in ApprovalRule.objects.all()]

    assert rules == [(1, "manager", None), (2, "director", 500_000)]


def test_a_band_is_approved_by_itself_from_what_the_lines_have_left(stage):
    line = factories.line(stage.project, granted=1000)
    ApprovalRule.objects.create(step=1, role="nobody", up_to=500)
    small = factories.draft(stage.project, stage.alice, {("compute", "2027-02"): 500})

    proposals.submit_proposal(small, by=stage.alice)

    small.refresh_from_db()
    assert small.state == Proposal.State.APPROVED
    assert line_status(line).committed == 500
    decision = Decision.objects.get()
    assert (decision.by, decision.step.role) == (None, "nobody")

    # together with the first this is above the band
    more = factories.draft(stage.project, stage.alice, {("compute", "2027-02"): 100})
    proposals.submit_proposal(more, by=stage.alice)
    more.refresh_from_db()
    assert more.state == Proposal.State.SUBMITTED


def test_new_money_is_never_granted_by_itself(stage):
    factories.line(stage.project, granted=10)
    ApprovalRule.objects.create(step=1, role="nobody", up_to=500)
    proposal = factories.draft(stage.project, stage.alice, {("compute", "2027-02"): 100})

    proposals.submit_proposal(proposal, by=stage.alice)

    assert list(proposals_waiting_for(stage.manager)) == [proposal]


def test_a_late_decision_is_raised_to_the_next_role_once_and_never_rejected(stage):
    ApprovalRule.objects.filter(role="manager").update(deadline_days=3)
    proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 800})
    assert step.due_at == factories.NOON + timedelta(days=3)

    assert escalation.escalate_late_steps(now=factories.NOON + timedelta(days=2)) == 0
    assert escalation.escalate_late_steps(now=factories.NOON + timedelta(days=3)) == 1
    assert escalation.escalate_late_steps(now=factories.NOON + timedelta(days=4)) == 0

    told = Notification.objects.filter(kind="proposal_waiting")
    assert {row.user for row in told} == {stage.manager, stage.director}
    assert list(proposals_waiting_for(stage.director)) == [proposal]
    approval.approve_proposal(step, by=stage.director)


def test_new_money_that_the_manager_stated_reaches_the_ledger_at_the_directors_step(stage):
    line = factories.line(stage.project, granted=300)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 600_000})

    first = approval.approve_proposal(step, by=stage.manager, lines=[decide("compute", 600_000, 650_000)])
    approval.approve_proposal(first.step.version.steps.get(number=2), by=stage.director)

    status = line_status(line)
    assert (status.budget, status.committed, status.headroom) == (650_300, 600_000, 50_300)


def test_new_money_that_nobody_stated_follows_the_line_until_the_last_step(stage):
    line = factories.line(stage.project)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 600_000})

    first = approval.approve_proposal(step, by=stage.manager)
    assert first.lines.get().stated_money is None
    factories.entry(line, "grant", 100_000)
    approval.approve_proposal(first.step.version.steps.get(number=2), by=stage.director)

    status = line_status(line)
    assert (status.budget, status.committed, status.headroom) == (600_000, 600_000, 0)
