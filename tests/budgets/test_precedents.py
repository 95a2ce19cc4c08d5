"""What an approver is shown of the past: like plans, like runs, what could be used instead, and how long it takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from budgets.decision_times import decision_times, waiting_steps
from budgets.models import Proposal, ProposalVersion
from budgets.precedents import Why, fingerprint, likeness, precedents, reusable_assets, size_of
from budgets.services import approval, assets
from core.months import Month
from tests.budgets import factories
from usage.models import Run

PLAN = {"name": "base", "task": "pretrain", "model": {"parameters": "7B", "layers": 32}, "data": {"tokens": "1T"}}
ASK = {("compute", "2027-01"): 100}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"name": "another", "start": "2027-06-01"}, Why.PLAN),
        ({"data": {"tokens": "2T"}}, Why.NAME),
        ({"name": " BASE ", "model": {"parameters": "70B"}}, Why.NAME),
        ({"name": "other", "model": {"parameters": 8_000_000_000}}, Why.SIZE),
        ({"name": "other", "model": {"parameters": "9B"}}, None),
        ({"name": "other", "model": {"parameters": {"low": "6B", "mode": "7B", "high": "8B"}}}, None),
        ({"name": "other", "model": {}}, None),
    ],
)
def test_plans_are_alike_in_what_they_do_in_name_or_in_size(changes, why):
    assert likeness(PLAN, {**PLAN, **changes}) == why


def test_a_plan_without_a_name_is_not_like_every_other_without_one():
    assert likeness({"name": "", "a": 1}, {"name": "", "a": 2}) is None


def test_the_fingerprint_leaves_out_what_is_wanted_around_the_experiment():
    assert fingerprint(PLAN) == fingerprint({**PLAN, "justification": "We need it", "deadline": "2027-09-01"})
    assert fingerprint(PLAN) != fingerprint({**PLAN, "data": {"tokens": "1.5T"}})


@pytest.mark.parametrize(("stated", "size"), [("7B", 7e9), (7e9, 7e9), ("many", None), (None, None)])
def test_the_size_is_read_as_it_was_written(stated, size):
    assert size_of({"model": {"parameters": stated}}) == size


def version_of(proposal: Proposal) -> ProposalVersion:
    return proposal.versions.select_related("estimate", "proposal__project").get()


def test_an_approver_sees_what_is_like_it_and_nothing_of_other_teams(stage):
    earlier, _step = factories.submitted(stage.project, stage.alice, ASK, title="Earlier")
    hidden, _step = factories.submitted(stage.other_project, stage.charlie, ASK, title="Theirs")
    draft = factories.draft(stage.project, stage.alice, ASK)
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)

    seen = precedents(version_of(proposal), stage.manager)
    all_seen = precedents(version_of(proposal), stage.auditor)

    assert [(each.proposal, each.why) for each in seen] == [(earlier, Why.PLAN)]
    assert [each.proposal for each in all_seen] == [hidden, earlier]
    assert draft not in [each.proposal for each in all_seen]


def test_runs_of_the_team_that_are_called_like_the_plan_are_named(stage):
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)
    same = Run.objects.create(slug="one", name="Small", project=stage.project)
    Run.objects.create(slug="own", name="small", project=stage.project, reference=proposal.reference)
    Run.objects.create(slug="other", name="small", project=stage.other_project)
    Run.objects.create(slug="unlike", name="large", project=stage.project)

    assert [each.run for each in precedents(version_of(proposal), stage.auditor)] == [same]


def test_a_pretraining_is_shown_the_models_there_are_and_what_a_task_of_them_costs(stage):
    said = {"owner": stage.alice, "starts_on": Month(2027, 1)}
    model = assets.add_asset(
        stage.project,
        assets.NewAsset("Base v1", kind="model", cost=Decimal(900), life_in="tasks", life=6, **said),
        by=stage.manager,
    )
    assets.add_asset(
        stage.project,
        assets.NewAsset("Text", kind="data_set", cost=Decimal(9), life_in="months", life=3, **said),
        by=stage.manager,
    )
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)

    (shown,) = reusable_assets(proposal, stage.manager)

    assert (shown.asset, shown.part) == (model, 150)
    assert reusable_assets(proposal, stage.charlie) == []


def test_time_to_decision_is_the_median_of_a_team_and_month(stage):
    for days in (1, 2, 9):
        _proposal, step = factories.submitted(stage.project, stage.alice, ASK)
        approval.approve_proposal(step, by=stage.manager, now=factories.NOON + timedelta(days=days))
    _proposal, step = factories.submitted(stage.project, stage.alice, ASK)
    approval.reject_proposal(step, by=stage.manager, reason="no", now=factories.NOON + timedelta(days=30))
    factories.submitted(stage.other_project, stage.charlie, ASK)
    now = datetime(2027, 3, 1, tzinfo=UTC)

    (row,) = decision_times(stage.bob, now=now)

    assert row.team == stage.team
    assert [(each.count, each.days) if each else None for each in row.months[-3:]] == [(3, 2), (1, 30), None]
    assert decision_times(stage.charlie, now=now) == []


def test_what_waits_is_listed_the_oldest_first_for_those_who_see_it(stage):
    _young, young_step = factories.submitted(stage.project, stage.alice, ASK)
    old, old_step = factories.submitted(stage.project, stage.alice, ASK)
    ProposalVersion.objects.filter(proposal=old).update(submitted_at=factories.NOON - timedelta(days=3))
    factories.submitted(stage.other_project, stage.charlie, ASK)

    assert waiting_steps(stage.bob) == [old_step, young_step]
    assert len(waiting_steps(stage.finance)) == 3
