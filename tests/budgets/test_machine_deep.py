"""Whatever happens to a project, in whatever order: lines are the sum of their entries, no cost and no cent is lost or
counted twice, only cost makes headroom negative, and every change says who, when and why.

A machine plays approvals, amendments, transfers, cost, restatements of closed months, closings and reopenings on the
real database, in money and in accelerator-hours; every game is taken back.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Q, Sum
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from budgets.funding import LineDecision
from budgets.hours import hours_of_lines
from budgets.models import BudgetLine, Entry, HoursEntry, LineClosing, Proposal
from budgets.queries import line_statuses
from budgets.services import approval, closing, ledger, proposals
from budgets.services.hours import grant_hours
from budgets.status import LineStatus
from core.errors import DomainError
from core.months import Month, Period
from overruns import services as overruns
from teams.models import Activity, ClosedMonth
from tests.budgets import factories
from usage.models import DailyUsage

CATEGORIES = ("compute", "data")
MONTHS = [Month(2027, number) for number in (1, 2, 3, 4)]
amounts = st.integers(1, 400)
categories = st.sampled_from(CATEGORIES)
which = st.integers(0, 5)
policies = st.sampled_from(
    [
        {"rollover": "none"},
        {"rollover": "all"},
        {"rollover": "all", "carries_overspend": True},
        {"rollover": "capped", "rollover_amount": Decimal(50)},
        {"rollover": "capped", "rollover_share": Decimal("0.25"), "carries_overspend": True},
    ]
)


def headrooms(statuses: dict[int, LineStatus]) -> dict[int, Decimal]:
    return {key: status.headroom for key, status in statuses.items()}


class Ledger(RuleBasedStateMachine):
    """One project with two kinds of lines in four months, of which all but the last may be closed."""

    def __init__(self, stage) -> None:
        super().__init__()
        self.stage = stage
        self.approved: list[Proposal] = []
        self.transaction = transaction.atomic()
        self.transaction.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    @initialize(compute=policies, data=policies)
    def lines_are_opened(self, compute, data) -> None:
        for category, policy in zip(CATEGORIES, (compute, data), strict=True):
            for month in MONTHS:
                factories.line(
                    self.stage.project,
                    category,
                    period=Period(month.start, month.end),
                    period_kind="month",
                    granted=300,
                    **policy,
                )
        for line in BudgetLine.objects.filter(project=self.stage.project, category="compute"):
            grant_hours(line, by=self.stage.manager, hours=Decimal(100), unit="real", reason="why", now=factories.NOON)
        factories.cost(self.stage.other_project, 999)

    # ---- what the play can ask

    @property
    def closed(self) -> int:
        return ClosedMonth.objects.count()

    @property
    def month(self) -> Month:
        """The first open month."""
        return MONTHS[self.closed]

    @property
    def now(self) -> datetime:
        return datetime(2027, 5, 2, 12, tzinfo=UTC) + timedelta(seconds=Activity.objects.count())

    def meter(self, amount: int, *, category: str, **facts) -> None:
        hours = amount // 4 if category == "compute" else 0
        factories.cost(self.stage.project, amount, category=category, hours=hours, **facts)

    def line(self, category: str) -> BudgetLine:
        return BudgetLine.objects.get(project=self.stage.project, category=category, start=self.month.start)

    def statuses(self) -> dict:
        return line_statuses(list(BudgetLine.objects.filter(project=self.stage.project)), now=self.now)

    def hours(self) -> dict[int, LineStatus]:
        """What stands in accelerator-hours."""
        found = hours_of_lines(list(BudgetLine.objects.filter(project=self.stage.project)), now=self.now)
        return {key: hours.status for key, hours in found.items()}

    def change(self, act, *, only_cost: bool = False, moves_periods: bool = False) -> None:
        """Do it, or be refused and find nothing changed; and see that only cost pushed a line below zero."""
        before, hours, acts = self.statuses(), self.hours(), Activity.objects.count()
        try:
            with transaction.atomic():
                act()
        except DomainError:
            assert headrooms(self.statuses()) == headrooms(before)
            assert headrooms(self.hours()) == headrooms(hours)
            return
        if only_cost:
            return
        assert Activity.objects.count() > acts
        self.only_cost_makes_headroom_negative(before, self.statuses(), moves_periods=moves_periods)
        self.only_cost_makes_headroom_negative(hours, self.hours(), moves_periods=moves_periods)

    def only_cost_makes_headroom_negative(self, before, after, *, moves_periods: bool) -> None:
        assert sum(status.actual for status in after.values()) == sum(status.actual for status in before.values())
        if moves_periods:
            for category in CATEGORIES:
                keys = BudgetLine.objects.filter(category=category, pk__in=before).values_list("pk", flat=True)
                assert sum(after[key].headroom for key in keys) >= sum(min(before[key].headroom, 0) for key in keys)
        else:
            for key, status in after.items():
                assert key not in before or status.actual == before[key].actual
                assert status.headroom >= min(before[key].headroom if key in before else 0, 0)

    # ---- what happens

    @rule(category=categories, amount=amounts, new_money=st.none() | st.integers(0, 400), late=st.booleans())
    def a_proposal_is_approved(self, category, amount, new_money, late) -> None:
        month = MONTHS[0] if late else self.month

        def act() -> None:
            asks = {(category, str(month)): amount}
            proposal, step = factories.submitted(self.stage.project, self.stage.alice, asks, hours=amount // 3)
            money = None if new_money is None else Decimal(new_money)
            approval.approve_proposal(
                step, by=self.stage.manager, lines=[LineDecision(category, Decimal(amount), money)], reason="why"
            )
            self.approved.append(proposal)

        self.change(act)

    @rule(number=which, category=categories, asked=amounts, part=st.integers(1, 100), later=st.booleans())
    def an_amendment_is_approved(self, number, category, asked, part, later) -> None:
        """Of the same proposal, in the same category or another, for an open month or a closed one."""
        if not self.approved:
            return
        proposal = self.approved[number % len(self.approved)]
        month = MONTHS[-1] if later else MONTHS[0]
        amount = max(1, asked * part // 100)

        def act() -> None:
            proposal.refresh_from_db()
            if proposal.state not in ("approved", "partly_approved"):
                raise DomainError("It is closed.")
            step = factories.amended(proposal, self.stage.alice, {(category, str(month)): asked}, hours=asked // 3)
            approval.approve_proposal(
                step, by=self.stage.manager, lines=[LineDecision(category, Decimal(amount))], reason="why"
            )

        self.change(act)

    @rule(category=categories, amount=st.integers(-300, 300).filter(bool))
    def money_is_granted_or_taken_back(self, category, amount) -> None:
        self.change(
            lambda: ledger.grant(self.line(category), by=self.stage.finance, amount=Decimal(amount), reason="why")
        )

    @rule(category=categories, amount=amounts)
    def money_is_transferred(self, category, amount) -> None:
        other = CATEGORIES[1 - CATEGORIES.index(category)]
        self.change(
            lambda: ledger.transfer(
                self.line(category), self.line(other), by=self.stage.finance, amount=Decimal(amount), reason="why"
            )
        )

    @rule(number=which, amount=amounts)
    def a_part_is_given_back(self, number, amount) -> None:
        if self.approved:
            proposal = self.approved[number % len(self.approved)]
            line = proposal.entries.filter(kind="commit").order_by("-pk")[0].line
            self.change(
                lambda: ledger.release(line, proposal, by=self.stage.finance, amount=Decimal(amount), reason="why")
            )

    @rule(number=which)
    def a_proposal_is_closed(self, number) -> None:
        if self.approved:
            proposal = self.approved[number % len(self.approved)]
            self.change(lambda: proposals.close_proposal(proposal, by=self.stage.manager))

    @rule(amount=st.integers(-150, 150).filter(bool))
    def hours_are_granted_or_taken_back(self, amount) -> None:
        self.change(
            lambda: grant_hours(
                self.line("compute"), by=self.stage.manager, hours=Decimal(amount), unit="real", reason="why"
            )
        )

    @rule(category=categories, month=st.sampled_from(MONTHS), amount=st.integers(-200, 300).filter(bool))
    def cost_becomes_known(self, category, month, amount) -> None:
        """Of a closed month this is a restatement."""
        self.change(lambda: self.meter(amount, category=category, day=month.start), only_cost=True)

    @rule(number=which, category=categories, month=st.sampled_from(MONTHS), amount=st.integers(-200, 300).filter(bool))
    def own_cost_of_a_proposal_becomes_known(self, number, category, month, amount) -> None:
        if self.approved:
            reference = self.approved[number % len(self.approved)].reference
            self.change(
                lambda: self.meter(amount, category=category, day=month.start, reference=reference), only_cost=True
            )

    @rule()
    def a_month_is_closed(self) -> None:
        if self.closed < 3:
            self.change(
                lambda: closing.close_month(self.month, by=self.stage.finance, now=self.now), moves_periods=True
            )

    @rule()
    def a_month_is_opened_again(self) -> None:
        if self.closed:
            last = MONTHS[self.closed - 1]
            self.change(
                lambda: closing.reopen_month(last, by=self.stage.finance, reason="why", now=self.now),
                moves_periods=True,
            )

    @rule()
    def the_lines_are_judged(self) -> None:
        ids = list(BudgetLine.objects.values_list("pk", flat=True))
        overruns.judge_lines(ids, now=self.now)
        again = overruns.judge_lines(ids, now=self.now)
        assert (again.crossed, again.uncrossed, again.notifications) == ([], [], 0)

    # ---- what always holds

    @invariant()
    def a_line_is_the_sum_of_its_entries(self) -> None:
        statuses = self.statuses()
        sums = dict(
            Entry.objects.filter(line__in=statuses, kind__in=Entry.BUDGET)
            .values_list("line")
            .annotate(sum=Sum("amount"))
            .order_by()
        )
        for key, status in statuses.items():
            assert status.budget == sums.get(key, 0)
            assert status.headroom == status.budget - status.actual - status.committed
            assert status.committed == sum(promise.remaining for promise in status.promises.values()) >= 0

    @invariant()
    def no_cost_is_lost_or_counted_twice(self) -> None:
        known = DailyUsage.objects.filter(project=self.stage.project).aggregate(sum=Sum("effective"))["sum"] or 0
        assert sum(status.actual for status in self.statuses().values()) == known

    @invariant()
    def hours_are_the_sum_of_their_entries_and_none_is_lost(self) -> None:
        hours = self.hours()
        sums = dict(
            HoursEntry.objects.filter(line__in=hours, kind__in=HoursEntry.BUDGET)
            .values_list("line")
            .annotate(sum=Sum("hours"))
            .order_by()
        )
        for key, status in hours.items():
            assert status.budget == sums.get(key, 0)
            assert status.headroom == status.budget - status.actual - status.committed
            assert status.committed == sum(promise.remaining for promise in status.promises.values()) >= 0
        known = DailyUsage.objects.filter(project=self.stage.project).aggregate(sum=Sum("accelerator_hours"))["sum"]
        assert sum(status.actual for status in hours.values()) == (known or 0)
        assert (HoursEntry.objects.filter(kind="rollover").aggregate(sum=Sum("hours"))["sum"] or 0) == 0

    @invariant()
    def what_moves_between_lines_balances(self) -> None:
        for kind in (Entry.Kind.TRANSFER, Entry.Kind.ROLLOVER):
            assert (Entry.objects.filter(kind=kind).aggregate(sum=Sum("amount"))["sum"] or 0) == 0

    @invariant()
    def nothing_is_held_on_a_closed_line(self) -> None:
        statuses = self.statuses()
        closed = BudgetLine.objects.filter(pk__in=statuses, closed_at__isnull=False).values_list("pk", flat=True)
        assert len(closed) == 2 * self.closed
        assert [statuses[key].committed for key in closed] == [0] * len(closed)
        assert not any(status.committed for key, status in self.hours().items() if key in closed)
        assert LineClosing.objects.filter(reopened_at__isnull=True).count() == len(closed)

    @invariant()
    def every_change_has_who_when_and_why(self) -> None:
        played = Entry.objects.exclude(kind="grant", by=None)
        assert not played.filter(Q(by=None) | Q(at=None)).exists()
        assert not HoursEntry.objects.filter(Q(by=None) | Q(at=None)).exists()
        assert not played.filter(reason="", decision=None).exists()
        assert not Activity.objects.filter(by=None).exclude(verb__in=["flag.crossed", "flag.uncrossed"]).exists()


def test_any_play_keeps_the_ledger_whole(stage):
    run_state_machine_as_test(
        lambda: Ledger(stage),
        settings=settings(
            max_examples=250,
            stateful_step_count=22,
            deadline=None,
            suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        ),
    )
