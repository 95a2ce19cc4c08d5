"""Granting, moving and releasing money: the good way, each refusal, and what the database itself refuses."""

from __future__ import annotations

import uuid
from datetime import date
from decimal import Decimal

import pytest
from django.db import DatabaseError, transaction

from budgets.models import Entry, TouchedLine
from budgets.queries import line_status
from budgets.services import ledger, lines
from core.errors import DomainError
from core.months import Period
from teams.models import Activity
from tests.budgets import factories


def test_a_manager_grants_new_money(stage):
    line = factories.line(stage.project)

    ledger.grant(line, by=stage.manager, amount=Decimal(1000), reason="Plan of the year")

    assert line_status(line).budget == 1000
    assert Activity.objects.get(verb="line.granted").by == stage.manager
    assert TouchedLine.objects.filter(line=line).count() == 2  # opened, then granted


def test_a_grant_may_be_taken_back_as_far_as_it_is_free(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 40)

    ledger.grant(line, by=stage.finance, amount=Decimal(-60), reason="Cut")

    assert line_status(line).headroom == 0
    with pytest.raises(DomainError, match="headroom of 0 USD"):
        ledger.grant(line, by=stage.finance, amount=Decimal(-1), reason="Cut")


@pytest.mark.parametrize("who", ["alice", "charlie", "other_manager", "operator", "auditor", "keeper"])
def test_others_grant_nothing(stage, who):
    line = factories.line(stage.project)

    with pytest.raises(DomainError, match="managers of the team, directors and finance"):
        ledger.grant(line, by=getattr(stage, who), amount=Decimal(1), reason="why")


@pytest.mark.parametrize(
    ("amount", "reason", "message"),
    [
        ("1e26", "why", "no amount of money"),
        ("NaN", "why", "no amount of money"),
        ("-Infinity", "why", "no amount of money"),
        ("0", "why", "above zero"),
        ("1.005", "why", "no smaller unit"),
        ("1", "  ", "Say why"),
    ],
)
def test_a_grant_is_refused_with_what_is_wrong(stage, amount, reason, message):
    with pytest.raises(DomainError, match=message):
        ledger.grant(factories.line(stage.project), by=stage.manager, amount=Decimal(amount), reason=reason)


def test_a_closed_line_takes_no_money(stage):
    line = factories.line(stage.project, closed_at=factories.NOON)

    with pytest.raises(DomainError, match="is closed"):
        ledger.grant(line, by=stage.manager, amount=Decimal(1), reason="why")


def test_free_money_moves_between_lines(stage):
    source, target = factories.line(stage.project, granted=100), factories.line(stage.project, "data")

    number = ledger.transfer(source, target, by=stage.manager, amount=Decimal(30), reason="More licences")

    assert line_status(source).headroom == 70
    assert line_status(target).headroom == 30
    assert sorted(Entry.objects.filter(transfer=number).values_list("amount", flat=True)) == [-30, 30]
    assert Activity.objects.get(verb="money.transferred").facts["amount"] == "30"


def test_more_than_the_headroom_does_not_move(stage):
    source, target = factories.line(stage.project, granted=100), factories.line(stage.project, "data")
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 80})
    factories.entry(source, "commit", 80, proposal=proposal)

    with pytest.raises(DomainError, match="headroom of 20 USD, less than 21"):
        ledger.transfer(source, target, by=stage.manager, amount=Decimal(21), reason="why")


def test_contingency_gives_what_it_holds_for_proposals_and_takes_nothing(stage):
    reserve, target = factories.line(stage.project, "contingency", granted=100), factories.line(stage.project)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("contingency", "2027-01"): 100})
    factories.entry(reserve, "commit", 100, proposal=proposal)

    ledger.transfer(reserve, target, by=stage.manager, amount=Decimal(40), reason="Node failures")

    status = line_status(reserve)
    assert (status.budget, status.committed, status.headroom) == (60, 60, 0)
    assert line_status(target).headroom == 40
    with pytest.raises(DomainError, match="only gives"):
        ledger.transfer(target, reserve, by=stage.manager, amount=Decimal(1), reason="why")


@pytest.mark.parametrize("who", ["alice", "charlie", "director", "other_manager"])
def test_others_move_nothing(stage, who):
    source, target = factories.line(stage.project, granted=100), factories.line(stage.project, "data")

    with pytest.raises(DomainError, match="moved by its managers and finance"):
        ledger.transfer(source, target, by=getattr(stage, who), amount=Decimal(1), reason="why")


def test_a_manager_moves_nothing_out_of_another_team(stage):
    source, target = factories.line(stage.other_project, granted=100), factories.line(stage.project)

    with pytest.raises(DomainError, match="Search"):
        ledger.transfer(source, target, by=stage.manager, amount=Decimal(1), reason="why")
    ledger.transfer(source, target, by=stage.finance, amount=Decimal(1), reason="why")


def test_a_transfer_stays_in_one_currency(stage):
    stage.other_project.currency = "EUR"
    stage.other_project.save()
    source, target = factories.line(stage.other_project, granted=100), factories.line(stage.project)

    with pytest.raises(DomainError, match="EUR is not USD"):
        ledger.transfer(source, target, by=stage.finance, amount=Decimal(1), reason="why")


def test_a_line_gives_nothing_to_itself(stage):
    line = factories.line(stage.project, granted=100)

    with pytest.raises(DomainError, match="two different lines"):
        ledger.transfer(line, line, by=stage.finance, amount=Decimal(1), reason="why")


def test_a_proposal_gives_back_what_it_does_not_need(stage):
    line = factories.line(stage.project, granted=100)
    proposal, _step = factories.submitted(stage.project, stage.alice, {("compute", "2027-01"): 100})
    factories.entry(line, "commit", 100, proposal=proposal)
    factories.cost(stage.project, 30, reference=proposal.reference)

    ledger.release(line, proposal, by=stage.alice, amount=Decimal(50), reason="Fewer tokens")

    assert line_status(line).committed == 20
    with pytest.raises(DomainError, match="holds only 20 USD"):
        ledger.release(line, proposal, by=stage.alice, amount=Decimal(21), reason="why")
    with pytest.raises(DomainError, match="released by who asked"):
        ledger.release(line, proposal, by=stage.bob, amount=Decimal(1), reason="why")


def test_the_database_refuses_to_change_or_remove_an_entry(stage):
    entry = factories.entry(factories.line(stage.project), "grant", 100)

    for change in (lambda: Entry.objects.update(amount=1), lambda: entry.delete()):
        with pytest.raises(DatabaseError, match="Cannot"), transaction.atomic():
            change()


@pytest.mark.django_db(transaction=True)
def test_the_database_refuses_a_transfer_that_does_not_balance(stage):
    source, target = factories.line(stage.project, granted=100), factories.line(stage.project, "data")
    number = uuid.uuid4()

    with pytest.raises(DatabaseError, match="does not balance"), transaction.atomic():
        factories.entry(source, "transfer", -10, transfer=number)
        factories.entry(target, "transfer", 9, transfer=number)
    assert not Entry.objects.filter(transfer=number).exists()


def test_lines_of_one_kind_do_not_overlap(stage):
    factories.line(stage.project)

    with pytest.raises(DomainError, match="must not overlap") as refused:
        lines.open_line(
            by=stage.manager,
            project=stage.project,
            category="compute",
            period_kind="month",
            period=Period(date(2027, 12, 1), date(2028, 1, 1)),
        )
    assert refused.value.faults[0].path == "start"
    lines.open_line(
        by=stage.manager,
        project=stage.project,
        category="compute",
        period_kind="month",
        period=Period(date(2028, 1, 1), date(2028, 2, 1)),
    )


def test_a_new_line_is_watched_at_eighty_and_a_hundred_per_cent_and_by_forecast(stage):
    line = factories.line(stage.project)

    watched = [(each.basis, each.share, each.quantile) for each in line.thresholds.all()]

    assert watched == [
        ("actual", Decimal("0.8"), ""),
        ("actual", Decimal("1"), ""),
        ("forecast", Decimal("1"), "p50"),
    ]


def test_a_threshold_is_added_given_up_and_taken_up_again(stage):
    line = factories.line(stage.project)

    half = lines.add_threshold(line, by=stage.manager, basis="actual", share=Decimal("0.5"))
    lines.stop_threshold(half, by=stage.manager)
    half.refresh_from_db()
    assert not half.active
    again = lines.add_threshold(line, by=stage.manager, basis="actual", share=Decimal("0.5"))
    assert again == half
    assert again.active


def test_the_limit_is_always_watched(stage):
    limit = factories.line(stage.project).thresholds.get(basis="actual", share=1)

    with pytest.raises(DomainError, match="always watched"):
        lines.stop_threshold(limit, by=stage.manager)


def test_thresholds_are_not_set_by_members(stage):
    with pytest.raises(DomainError, match="set by its managers"):
        lines.add_threshold(factories.line(stage.project), by=stage.alice, basis="actual", share=Decimal("0.5"))


def test_a_frozen_line_is_opened_again_with_a_reason(stage):
    line = factories.line(stage.project)
    lines.freeze_line(line, by=None, reason="limit reached")
    line.refresh_from_db()
    assert line.frozen_at

    with pytest.raises(DomainError, match="Say why"):
        lines.unfreeze_line(line, by=stage.manager, reason="")
    with pytest.raises(DomainError, match="managers"):
        lines.unfreeze_line(line, by=stage.alice, reason="please")
    lines.unfreeze_line(line, by=stage.manager, reason="New money came")

    line.refresh_from_db()
    assert line.frozen_at is None
