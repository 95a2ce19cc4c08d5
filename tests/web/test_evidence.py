"""The evidence beside a decision, and the page of how long decisions take."""

from __future__ import annotations

from decimal import Decimal

from django.urls import reverse
from django.utils import timezone

from retrospectives.models import Measurement, Retrospective
from tests.budgets import factories

ASK = {("compute", "2027-01"): 100}


def page(client, who, name, *arguments):
    client.force_login(who)
    return client.get(reverse(name, args=arguments)).content.decode()


def looked_back(project, proposal=None, *, hours=2000, price="2.5"):
    closed = {"state": "closed", "cause": "why", "acceptance": "met", "closed_at": timezone.now()}
    found = Retrospective.objects.create(
        project=project, proposal=proposal, due_on=timezone.now(), currency="USD", difference=0, **closed
    )
    Measurement.objects.create(
        retrospective=found,
        accelerator_hours=hours,
        price_per_accelerator_hour=Decimal(price),
        mfu=Decimal("0.41"),
    )
    return found


def test_the_approver_reads_what_is_missing_and_what_is_known(stage, client):
    earlier, _step = factories.submitted(stage.project, stage.alice, ASK, title="Earlier")
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)
    back = looked_back(stage.project, earlier)

    said = page(client, stage.manager, "proposal", proposal.pk)

    assert "not stated" in said  # no acceptance criterion, no justification
    assert "the same plan" in said and reverse("proposal", args=[earlier.pk]) in said
    assert reverse("retrospective", args=[back.pk]) in said and "5,000 USD" in said and "MFU 41.0" in said


def test_measurements_of_other_teams_and_other_tasks_are_not_shown(stage, client):
    theirs, _step = factories.submitted(stage.other_project, stage.charlie, ASK)
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)
    looked_back(stage.other_project, theirs)
    tuning, _step = factories.submitted(stage.project, stage.alice, ASK)
    type(tuning).objects.filter(pk=tuning.pk).update(task_type="finetune")
    looked_back(stage.project, tuning)

    assert "Measured of finished work" not in page(client, stage.manager, "proposal", proposal.pk)


def test_nothing_like_it_is_said_too(stage, client):
    proposal, _step = factories.submitted(stage.project, stage.alice, ASK)

    assert "nothing like it is known" in page(client, stage.manager, "proposal", proposal.pk)


def test_the_team_sees_why_a_protected_cost_was_cut(stage, client):
    proposal, step = factories.submitted(stage.project, stage.alice, {**ASK, ("data", "2027-01"): 50})
    client.force_login(stage.manager)
    sent = {"step": step.pk, "outcome": "part", "reason": "Cheaper", "compute_amount": 100, "data_amount": 40}
    refused = client.post(reverse("proposal-decide", args=[proposal.pk]), sent)
    client.post(reverse("proposal-decide", args=[proposal.pk]), {**sent, "data_reason": "The audit is paid already"})

    assert refused.status_code == 422 and "protected cost" in refused.content.decode()
    assert "The audit is paid already" in page(client, stage.bob, "proposal", proposal.pk)


def test_time_to_decision_shows_ones_own_teams(stage, client):
    factories.submitted(stage.project, stage.alice, ASK, title="Ours")
    factories.submitted(stage.other_project, stage.charlie, ASK, title="Theirs")

    said = page(client, stage.bob, "proposal-times")

    assert "Ours" in said and "Theirs" not in said
    assert "Theirs" in page(client, stage.auditor, "proposal-times")


def test_the_page_of_times_asks_as_often_for_many_as_for_one(stage, client, django_assert_num_queries):
    factories.submitted(stage.project, stage.alice, ASK)
    page(client, stage.bob, "proposal-times")
    with django_assert_num_queries(14):
        page(client, stage.bob, "proposal-times")
    for _number in range(4):
        factories.submitted(stage.project, stage.alice, ASK)
    with django_assert_num_queries(14):
        page(client, stage.bob, "proposal-times")
