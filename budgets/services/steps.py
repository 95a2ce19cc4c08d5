"""Who has to decide a version: its steps, laid out by the matrix when it is submitted, and added to since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.utils.translation import gettext as _

from core.errors import DomainError
from core.money import EXACT, round_money
from core.months import Month
from teams.models import Organisation, User
from teams.rates import conversion_rate

from .. import approvers
from ..matrix import Needed, Rule, decisions_needed
from ..models import ApprovalRule, ApprovalStep, Proposal, ProposalVersion
from ..models.approval import NOBODY
from ..queries import approved_before


def lay_out_steps(
    proposal: Proposal, version: ProposalVersion, asked: Mapping[str, Decimal], *, by: User, now: datetime
) -> None:
    """The decisions the matrix asks for: for this ask with what the project was approved in the fiscal year."""
    organisation = Organisation.current()
    month = Month.of(organisation.today(now))
    rate = conversion_rate(version.currency, organisation.currency, month, this_month=month)
    if rate is None:
        raise DomainError(
            _("No rate from %(from)s to %(to)s is stored, so nobody can say who has to decide. Ask finance for it.")
            % {"from": version.currency, "to": organisation.currency},
            code="rate_missing",
        )
    amounts = judged_amounts(proposal, asked, rate, organisation.today(now))
    version.reporting_currency = organisation.currency
    version.reporting_rate = rate.quantize(Decimal("1e-10"))
    version.judged_total = round_money(sum(amounts.values(), Decimal(0)), organisation.currency)
    add_steps(version, decisions_of_the_matrix(proposal, amounts), by=by, now=now)


def add_steps_needed_since(
    proposal: Proposal, version: ProposalVersion, decided: Mapping[str, Decimal], *, now: datetime
) -> bool:
    """Steps of roles that have to decide too because of what the project was approved since the submission.

    Else an ask could be cut into parts that are each too small for the director. The project is locked.
    """
    today = Organisation.current().today(now)
    amounts = judged_amounts(proposal, decided, version.reporting_rate or Decimal(1), today)
    known = set(version.steps.values_list("role", flat=True))
    missing = [
        needed
        for needed in decisions_of_the_matrix(proposal, amounts)
        if needed.role not in known and needed.role != NOBODY and needed.above is not None
    ]
    add_steps(version, missing, by=version.submitted_by or proposal.requester, now=now)
    return bool(missing)


def judged_amounts(proposal: Proposal, asked: Mapping[str, Decimal], rate: Decimal, today: date) -> dict[str, Decimal]:
    """This ask and what the project's other proposals were approved in the fiscal year, in the reporting currency."""
    before = approved_before(proposal, today)
    return {
        category: EXACT.multiply(asked.get(category, Decimal(0)) + before.get(category, Decimal(0)), rate)
        for category in asked.keys() | before.keys()
    }


def decisions_of_the_matrix(proposal: Proposal, amounts: Mapping[str, Decimal]) -> list[Needed]:
    rules = [
        Rule(rule.step, rule.role, rule.above, rule.task_type, rule.category, rule.deadline_days, rule.up_to)
        for rule in ApprovalRule.objects.filter(active=True)
    ]
    return decisions_needed(rules, proposal.task_type, amounts)


def add_steps(version: ProposalVersion, decisions: Sequence[Needed], *, by: User, now: datetime) -> None:
    """The steps behind those the version has already."""
    first = version.steps.count() + 1
    for number, needed in enumerate(decisions, start=first):
        ApprovalStep.objects.create(
            version=version,
            number=number,
            role=needed.role,
            above=needed.above,
            due_at=now + timedelta(days=needed.deadline_days) if needed.deadline_days else None,
            escalated_at=None if approvers.can_anyone_decide(needed.role, version.proposal, by) else now,
        )
