"""Whatever happens, in whatever order: the line is the sum of its entries, headroom is what the identity says, and only
cost can make it negative. Every example runs on the real database and is taken back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Sum
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from budgets.funding import LineDecision
from budgets.models import BudgetLine, Entry, Proposal
from budgets.queries import line_statuses
from budgets.services import approval, ledger, proposals
from core.errors import DomainError
from overruns import services as overruns
from overruns.models import Crossing
from tests.budgets import factories

CATEGORIES = ("compute", "data")
amounts = st.integers(1, 500)
lines = st.integers(0, 1)
which = st.integers(0, 5)
acts = st.one_of(
    st.tuples(st.just("approve"), lines, amounts, st.one_of(st.none(), st.integers(0, 500))),
    st.tuples(st.just("grant"), lines, st.integers(-500, 500).filter(bool)),
    st.tuples(st.just("transfer"), lines, amounts),
    st.tuples(st.just("release"), which, amounts),
    st.tuples(st.just("close"), which),
    st.tuples(st.just("cost"), lines, st.integers(-200, 300).filter(bool)),
    st.tuples(st.just("own cost"), which, lines, st.integers(-200, 300).filter(bool)),
    st.tuples(st.just("judge")),
)


class TakenBack(Exception):
    """Ends an example and undoes it."""


@dataclass
class World:
    """One project with two lines, and what happens to it."""

    stage: object
    lines: list[BudgetLine]
    approved: list[Proposal] = field(default_factory=list)

    def act(self, kind: str, *how) -> None:
        try:
            with transaction.atomic():
                getattr(self, kind.replace(" ", "_"))(*how)
        except DomainError:
            pass  # a refusal changes nothing, which the checks see

    def approve(self, line: int, amount: int, new_money: int | None) -> None:
        category = CATEGORIES[line]
        proposal, step = factories.submitted(self.stage.project, self.stage.alice, {(category, "2027-02"): amount})
        money = None if new_money is None else Decimal(new_money)
        approval.approve_proposal(step, by=self.stage.manager, lines=[LineDecision(category, Decimal(amount), money)])
        self.approved.append(proposal)

    def grant(self, line: int, amount: int) -> None:
        ledger.grant(self.lines[line], by=self.stage.finance, amount=Decimal(amount), reason="why")

    def transfer(self, line: int, amount: int) -> None:
        source, target = self.lines[line], self.lines[1 - line]
        ledger.transfer(source, target, by=self.stage.finance, amount=Decimal(amount), reason="why")

    def release(self, number: int, amount: int) -> None:
        if self.approved:
            proposal = self.approved[number % len(self.approved)]
            line = proposal.entries.filter(kind="commit")[0].line
            ledger.release(line, proposal, by=self.stage.finance, amount=Decimal(amount), reason="why")

    def close(self, number: int) -> None:
        if self.approved:
            proposals.close_proposal(self.approved[number % len(self.approved)], by=self.stage.manager)

    def cost(self, line: int, amount: int) -> None:
        factories.cost(self.stage.project, amount, category=CATEGORIES[line])

    def own_cost(self, number: int, line: int, amount: int) -> None:
        reference = self.approved[number % len(self.approved)].reference if self.approved else "P-999999"
        factories.cost(self.stage.project, amount, category=CATEGORIES[line], reference=reference)

    def judge(self) -> None:
        now = factories.NOON + timedelta(hours=Crossing.objects.count())
        overruns.judge_lines([line.pk for line in self.lines], now=now)
        again = overruns.judge_lines([line.pk for line in self.lines], now=now)
        assert (again.crossed, again.uncrossed, again.notifications) == ([], [], 0)

    def check(self, before, kind: str):
        """The identity holds on every line, and nothing but cost lowered headroom below zero."""
        after = line_statuses(self.lines)
        for line in self.lines:
            status = after[line.pk]
            entries = Entry.objects.filter(line=line)
            budget = entries.filter(kind__in=Entry.BUDGET).aggregate(sum=Sum("amount"))["sum"] or 0
            assert status.budget == budget
            assert status.headroom == status.budget - status.actual - status.committed
            assert status.committed == sum(promise.remaining for promise in status.promises.values()) >= 0
            was = before[line.pk].headroom
            if "cost" not in kind:
                assert status.actual == before[line.pk].actual
                assert status.headroom >= min(was, 0)
            else:
                spent = status.actual - before[line.pk].actual
                assert min(-spent, 0) <= status.headroom - was <= max(-spent, 0)
        return after


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(happens=st.lists(acts, min_size=1, max_size=14))
def test_any_sequence_keeps_the_ledger_whole(stage, happens):
    try:
        with transaction.atomic():
            world = World(stage, [factories.line(stage.project, category, granted=300) for category in CATEGORIES])
            statuses = line_statuses(world.lines)
            for kind, *how in happens:
                world.act(kind, *how)
                statuses = world.check(statuses, kind)
            transfers = Entry.objects.filter(kind="transfer").aggregate(sum=Sum("amount"))["sum"] or 0
            assert transfers == 0
            assert not Entry.objects.exclude(at__isnull=False).exists()
            raise TakenBack
    except TakenBack:
        pass


def test_the_table_of_the_documentation_holds(stage):
    """The worked example of docs/loop.md, step by step."""
    line = factories.line(stage.project, granted=1000)
    day = date(2027, 1, 20)

    def figures():
        status = line_statuses([line])[line.pk]
        return status.budget, status.actual, status.committed, status.headroom

    def approved(amount):
        proposal, step = factories.submitted(stage.project, stage.alice, {("compute", "2027-02"): amount})
        approval.approve_proposal(step, by=stage.manager)
        return proposal

    assert figures() == (1000, 0, 0, 1000)
    factories.cost(stage.project, 200, day=day)
    assert figures() == (1000, 200, 0, 800)
    first = approved(500)
    assert figures() == (1000, 200, 500, 300)
    factories.cost(stage.project, 150, day=day, reference=first.reference)
    assert figures() == (1000, 350, 350, 300)
    factories.cost(stage.project, 50, day=day)
    assert figures() == (1000, 400, 300, 300)
    second = approved(300)
    assert figures() == (1000, 400, 600, 0)
    factories.cost(stage.project, 320, day=day, reference=second.reference)
    assert figures() == (1000, 720, 300, -20)
    proposals.close_proposal(first, by=stage.alice)
    assert figures() == (1000, 720, 0, 280)
