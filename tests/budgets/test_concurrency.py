"""Decisions, transfers and imports at the same moment, on real connections: nothing is promised twice, nobody waits
for ever."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from threading import Barrier

import pytest
from django.db import connection

from budgets.funding import LineDecision
from budgets.models import ApprovalStep, BudgetLine
from budgets.queries import line_status
from budgets.services import approval, ledger
from core.errors import DomainError
from core.months import Period
from overruns import services as overruns
from tests.budgets import factories
from tests.usage import factories as usage
from usage import rules
from usage.services import receive_file, run_import

pytestmark = pytest.mark.django_db(transaction=True)
NO_NEW_MONEY = Decimal(0)


def at_once(*acts: Callable[[], object]) -> list[str]:
    """Run every act on a connection of its own, all from the same moment; "done", or why it was refused."""
    barrier = Barrier(len(acts))

    def run(act: Callable[[], object]) -> str:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '20s'")
            barrier.wait()
            act()
        except DomainError as refused:
            return refused.code
        else:
            return "done"
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))


def approve(step: ApprovalStep, by, amount: int) -> Callable[[], object]:
    lines = [LineDecision("compute", Decimal(amount), NO_NEW_MONEY)]
    return lambda: approval.approve_proposal(step, by=by, lines=lines)


def test_two_decisions_at_once_never_promise_the_same_money(stage):
    line = factories.line(stage.project, granted=1000)
    steps = [factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 600})[1] for _number in range(4)]

    outcomes = at_once(*(approve(step, stage.manager, 600) for step in steps))

    assert sorted(outcomes) == ["done", "short", "short", "short"]
    status = line_status(line)
    assert (status.committed, status.headroom) == (600, 400)


def test_one_step_is_decided_once_however_often_it_is_clicked(stage):
    line = factories.line(stage.project, granted=1000)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})

    outcomes = at_once(*(approve(step, stage.manager, 100) for _number in range(3)))

    assert sorted(outcomes) == ["done", "wrong_state", "wrong_state"]
    assert line_status(line).committed == 100


def test_two_approvals_open_a_missing_line_once(stage):
    steps = [factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 100})[1] for _number in range(3)]

    outcomes = at_once(*(lambda step=step: approval.approve_proposal(step, by=stage.manager) for step in steps))

    assert outcomes == ["done"] * 3
    line = BudgetLine.objects.get(category="compute")
    assert line_status(line).committed == 300


def test_a_transfer_and_an_approval_share_what_is_free(stage):
    line, other = factories.line(stage.project, granted=1000), factories.line(stage.project, "data", granted=1000)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 700})

    outcomes = at_once(
        approve(step, stage.manager, 700),
        lambda: ledger.transfer(line, other, by=stage.finance, amount=Decimal(700), reason="why"),
    )

    assert sorted(outcomes) in (["done", "headroom_too_small"], ["done", "short"])
    assert line_status(line).headroom >= 0


def test_transfers_both_ways_approvals_and_the_judge_never_wait_for_each_other_in_a_circle(stage):
    first, second = factories.line(stage.project, granted=5000), factories.line(stage.project, "data", granted=5000)
    both = {("compute", "2027-02"): 100, ("data", "2027-02"): 100}
    steps = [factories.submitted(stage.project, stage.alice, both)[1] for _number in range(4)]
    acts: list[Callable[[], object]] = [
        lambda step=step: approval.approve_proposal(step, by=stage.manager) for step in steps
    ]
    for source, target in [(first, second), (second, first)] * 2:
        acts.append(
            lambda source=source, target=target: ledger.transfer(
                source, target, by=stage.finance, amount=Decimal(10), reason="why"
            )
        )
    acts += [lambda: overruns.judge_touched(now=factories.NOON) for _number in range(2)]

    outcomes = at_once(*acts)

    assert outcomes == ["done"] * 10
    for line in (first, second):
        status = line_status(line)
        assert (status.budget, status.committed, status.headroom) == (5000, 400, 4600)


@pytest.mark.parametrize("attempt", range(3))
def test_two_approvals_a_transfer_and_an_import_at_one_moment(stage, settings, tmp_path, attempt):
    """1000 on the line: 600 and 600 are asked for, 300 would move, and a real bill of 100 arrives."""
    settings.MEDIA_ROOT = tmp_path / "files"
    year = Period(date(2026, 1, 1), date(2027, 1, 1))
    line = factories.line(stage.project, granted=1000, period=year)
    other = factories.line(stage.project, "data", granted=50, period=year)
    steps = [factories.submitted(stage.project, stage.alice, {("compute", "2026-03"): 600})[1] for _number in range(2)]
    rules.add_rule(by=stage.operator, name="All", conditions=[], project=stage.project)
    bill = usage.focus({"BilledCost": "100", "EffectiveCost": "100"})
    delivery = receive_file(source=usage.source(), by=None, name="bill.csv", stream=io.BytesIO(bill))

    first, second, moved, imported = at_once(
        *(approve(step, stage.manager, 600) for step in steps),
        lambda: ledger.transfer(line, other, by=stage.finance, amount=Decimal(300), reason="why"),
        lambda: run_import(delivery.pk),
    )

    # 600 fit once; beside them the 300 fit as well, unless the bill had come before and both would be too much
    assert imported == "done"
    assert [first, second].count("done") <= 1 and "done" in (first, second, moved)
    status = line_status(line)
    assert status.actual == 100
    assert status.budget == 1000 - (300 if moved == "done" else 0)
    promised = sum(promise.committed for promise in status.promises.values())
    assert promised == 600 * [first, second].count("done")
    assert promised + (1000 - status.budget) <= 1000
    assert status.headroom == status.budget - status.actual - status.committed >= 0


def test_cost_that_arrives_while_money_is_promised_is_counted_by_one_or_the_other(stage):
    line = factories.line(stage.project, granted=1000)
    _proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): 1000})

    at_once(approve(step, stage.manager, 1000), lambda: factories.cost(stage.project, 100))

    status = line_status(line)
    # either the cost came first, and the approval was short; or it came later, and consumes what was promised
    assert (status.actual, status.committed) in [(100, 0), (100, 900)]
    assert status.headroom in (900, 0)


def test_lines_are_judged_once_however_many_workers_judge_them(stage):
    line = factories.line(stage.project, granted=100)
    factories.cost(stage.project, 101)

    at_once(*(lambda: overruns.judge_lines([line.pk], now=factories.NOON) for _number in range(3)))

    assert line.flags.count() == 2
    assert sum(flag.crossings.count() for flag in line.flags.all()) == 2
