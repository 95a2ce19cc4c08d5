"""Deciding proposals, step by step. The last approval writes the money into the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text
from core.vocabulary import Category
from teams import activity, labels, permissions
from teams.models import Organisation, Role, User

from .. import approvers, messages
from ..approvers import Authority
from ..funding import Funding, LineDecision, asked_by_category, fundings
from ..locks import lock_lines, lock_project, lock_proposal
from ..models import (
    ApprovalStep,
    Decision,
    DecisionLine,
    Entry,
    InputComment,
    Proposal,
    ProposalVersion,
)
from ..models.approval import NOBODY
from .hours import promise_hours
from .ledger import add_release, check_amount, check_rates, check_reason
from .lines import add_line, check_open, touch
from .states import move
from .steps import add_steps_needed_since

PROTECTED = (Category.DATA, Category.STORAGE)
"""Data assets, compliance and checkpoints: asking them to be cheaper needs a reason the team sees."""


@transaction.atomic
def approve_proposal(
    step: ApprovalStep,
    *,
    by: User,
    lines: Sequence[LineDecision] | None = None,
    reason: str = "",
    now: datetime | None = None,
) -> Decision:
    """Approve the whole ask (no lines given: as asked, or as the step before decided), or part of it, per category.

    The last step grants the new money and commits the amounts, and refuses where a line would be short.
    """
    moment = now or timezone.now()
    proposal, current = lock_step(step)
    ground = check_may_decide(current, by, moment)
    asked = {
        category: sum(months.values(), Decimal(0)) for category, months in asked_by_category(current.version).items()
    }
    decided = with_every_category(lines, asked) if lines is not None else earlier_decision(current, asked)
    check_lines(decided, asked, current.version.currency)
    is_whole = {line.category: line.amount for line in decided if line.amount} == asked
    if not is_whole:
        check_reason(reason)
    amounts = {line.category: line.amount for line in decided}
    is_last = not current.version.steps.filter(number__gt=current.number).exists()
    if is_last:
        lock_project(proposal.project_id)
        is_last = not add_steps_needed_since(proposal, current.version, amounts, now=moment)
    plan = (
        open_and_lock(proposal, current.version, decided, moment)
        if is_last
        else fundings(current.version, decided, now=now)
    )
    decision = write_decision(
        current,
        Decision.Outcome.APPROVE if is_whole else Decision.Outcome.APPROVE_PART,
        by=by,
        ground=ground,
        reason=reason,
        now=moment,
    )
    DecisionLine.objects.bulk_create(
        DecisionLine(
            decision=decision,
            category=line.category,
            asked=asked[line.category],
            amount=line.amount,
            new_money=sum((each.new_money for each in plan if each.category == line.category), Decimal(0)),
            stated_money=line.new_money,
            reason=line.reason,
        )
        for line in decided
    )
    if is_last:
        write_money(proposal, decision, plan, by=by, ground=ground, now=moment)
        promise_hours(current.version, decision, plan, by=by, now=moment)
        settle(proposal, current.version, is_whole=is_whole, now=moment)
    record_decision(proposal, decision, decided, is_last=is_last)
    return decision


def approve_by_itself(version: ProposalVersion, *, now: datetime) -> bool:
    """Approve what the matrix leaves to nobody, if the lines have enough left: new money is never granted by itself.

    Else a manager decides. Part of the submission, which holds the lock.
    """
    step = version.steps.filter(role=NOBODY).first()
    if step is None:
        return False
    proposal = version.proposal
    asked = {category: sum(months.values(), Decimal(0)) for category, months in asked_by_category(version).items()}
    decided = [LineDecision(category, amount) for category, amount in asked.items()]
    wanted = fundings(version, decided, now=now)
    if any(each.new_money or each.line is None or each.line.frozen_at or each.before.rates_missing for each in wanted):
        step.role = Role.MANAGER
        step.save(update_fields=["role"])
        return False
    step.version = version
    plan = open_and_lock(proposal, version, decided, now)
    if any(each.new_money for each in plan):
        step.role = Role.MANAGER
        step.save(update_fields=["role"])
        return False
    decision = write_decision(step, Decision.Outcome.APPROVE, by=None, ground=Authority(), reason="", now=now)
    DecisionLine.objects.bulk_create(
        DecisionLine(decision=decision, category=line.category, asked=line.amount, amount=line.amount, new_money=0)
        for line in decided
    )
    write_money(proposal, decision, plan, by=None, ground=Authority(), now=now)
    promise_hours(version, decision, plan, by=None, now=now)
    settle(proposal, version, is_whole=True, now=now)
    record_decision(proposal, decision, decided, is_last=True)
    return True


@transaction.atomic
def reject_proposal(step: ApprovalStep, *, by: User, reason: str, now: datetime | None = None) -> Decision:
    """Say no, with a reason. A rejected amendment leaves the approved version as it is."""
    return refuse(step, Decision.Outcome.REJECT, by=by, reason=reason, now=now)


@transaction.atomic
def request_changes(
    step: ApprovalStep,
    *,
    by: User,
    reason: str,
    comments: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Decision:
    """Send the proposal back to be changed and submitted again; comments say what about single inputs of the plan."""
    decision = refuse(step, Decision.Outcome.REQUEST_CHANGES, by=by, reason=reason, now=now)
    InputComment.objects.bulk_create(
        InputComment(decision=decision, path=path, text=text.strip())
        for path, text in (comments or {}).items()
        if text.strip()
    )
    return decision


REFUSED = {
    Decision.Outcome.REJECT: (Proposal.State.REJECTED, ProposalVersion.State.REJECTED, ApprovalStep.State.REJECTED),
    Decision.Outcome.REQUEST_CHANGES: (
        Proposal.State.CHANGES_REQUESTED,
        ProposalVersion.State.CHANGES_REQUESTED,
        ApprovalStep.State.CHANGES_REQUESTED,
    ),
}


def refuse(step: ApprovalStep, outcome: Decision.Outcome, *, by: User, reason: str, now: datetime | None) -> Decision:
    """What rejection and a request for changes have in common."""
    moment = now or timezone.now()
    proposal, current = lock_step(step)
    ground = check_may_decide(current, by, moment)
    check_reason(reason)
    proposal_state, version_state, _step_state = REFUSED[outcome]
    decision = write_decision(current, outcome, by=by, ground=ground, reason=reason, now=moment)
    current.version.steps.filter(state=ApprovalStep.State.WAITING).update(state=ApprovalStep.State.DROPPED)
    current.version.state = version_state
    current.version.decided_at = moment
    current.version.save(update_fields=["state", "decided_at"])
    if proposal.state == Proposal.State.SUBMITTED:
        move(proposal, proposal_state)
    record_decision(proposal, decision, [], is_last=True)
    return decision


def lock_step(step: ApprovalStep) -> tuple[Proposal, ApprovalStep]:
    """The proposal, locked, and the step as it is now; refused when it is not the step's turn."""
    proposal = lock_proposal(ApprovalStep.objects.values_list("version__proposal", flat=True).get(pk=step.pk))
    current = ApprovalStep.objects.select_related("version__estimate").get(pk=step.pk)
    current.version.proposal = proposal
    if not approvers.current_steps().filter(pk=step.pk).exists():
        raise DomainError(
            _("This was decided already, or is not to be decided yet. Open the proposal again."), code="wrong_state"
        )
    return proposal, current


def check_may_decide(step: ApprovalStep, by: User, now: datetime) -> Authority:
    version = step.version
    if by.pk in approvers.requesters(version):
        raise NotAllowed(_("Who asks for money does not decide on it."), code="own_request")
    ground = approvers.authority(step, by, Organisation.current().today(now))
    if ground is None:
        raise NotAllowed(
            _("This step is decided by: %(role)s of %(team)s.")
            % {"role": step.get_role_display(), "team": version.proposal.project.team}
        )
    return ground


def earlier_decision(step: ApprovalStep, asked: Mapping[str, Decimal]) -> list[LineDecision]:
    """What the step before decided; at the first step, all that is asked."""
    before = (
        Decision.objects.filter(step__version=step.version, step__number__lt=step.number)
        .order_by("-step__number")
        .first()
    )
    if before is None:
        return [LineDecision(category, amount) for category, amount in asked.items()]
    return [LineDecision(line.category, line.amount, line.stated_money, line.reason) for line in before.lines.all()]


def with_every_category(lines: Sequence[LineDecision], asked: Mapping[str, Decimal]) -> list[LineDecision]:
    """The decisions, and nothing approved for each category that is asked for and left out of them."""
    stated = {line.category for line in lines}
    return [*lines, *(LineDecision(category, Decimal(0)) for category in asked if category not in stated)]


def check_lines(decided: Sequence[LineDecision], asked: Mapping[str, Decimal], currency: str) -> None:
    """Every amount is between nothing and what is asked, once per category; a cut of a protected cost says why."""
    faults = []
    if len({line.category for line in decided}) != len(decided):
        raise DomainError(_("Each category is decided once."))
    for line in decided:
        name = labels.CATEGORIES[Category(line.category)]
        most = asked.get(line.category)
        if most is None:
            faults.append(Fault(f"{line.category}.amount", exact_text(line.amount), _("is not asked for"), "0"))
        elif not 0 <= line.amount <= most:
            faults.append(
                Fault(
                    f"{line.category}.amount",
                    exact_text(line.amount),
                    _("%(line)s: approve at most what is asked") % {"line": name},
                    f"0 – {exact_text(most)}",
                )
            )
        elif line.amount:
            check_amount(line.amount, currency)
        if line.new_money is not None and line.new_money < 0:
            faults.append(
                Fault(f"{line.category}.new_money", exact_text(line.new_money), _("must not be negative"), "0")
            )
        elif line.new_money:
            check_amount(line.new_money, currency)
        if most is not None and line.amount < most and line.category in PROTECTED and not line.reason.strip():
            faults.append(
                Fault(
                    f"{line.category}.reason",
                    "",
                    _("%(line)s is a protected cost; say why it is cut") % {"line": name},
                    _("a sentence for the team"),
                )
            )
    if faults:
        raise DomainError(faults[0].message, code="decision_refused", faults=faults)
    if not any(line.amount for line in decided):
        raise DomainError(_("Nothing is approved. Reject the proposal instead, and say why."), code="nothing_approved")


def open_and_lock(
    proposal: Proposal, version: ProposalVersion, decided: Sequence[LineDecision], now: datetime
) -> list[Funding]:
    """Open the lines that are missing, lock all that carry the amounts, and read again what stands on them."""
    project = lock_project(proposal.project_id)
    plan = fundings(version, decided, now=now)
    for each in plan:
        if each.missing is not None and each.amount:
            line = add_line(project, each.category, each.missing.period_kind, each.missing.period)
            activity.record(
                "line.opened",
                by=None,
                project=project,
                subject=line,
                line=line.pk,
                category=line.category,
                why=proposal.reference,
            )
    lock_lines(
        proposal.project.lines.filter(category__in={each.category for each in plan}).values_list("pk", flat=True)
    )
    return [each for each in fundings(version, decided, now=now) if each.line is not None]


def write_money(
    proposal: Proposal,
    decision: Decision,
    plan: Sequence[Funding],
    *,
    by: User | None,
    ground: Authority,
    now: datetime,
) -> None:
    """Grants, commitments and, of an amendment that asks for less, releases. Refused where a line would be short."""
    for each in plan:
        check_funding(each, by, ground)
    entries = []
    for each in plan:
        common = {"line": each.line, "proposal": proposal, "decision": decision, "by": by, "at": now}
        if each.new_money:
            entries.append(Entry(kind=Entry.Kind.GRANT, amount=each.new_money, reason=decision.reason, **common))
        if each.change > 0:
            entries.append(
                Entry(kind=Entry.Kind.COMMIT, amount=each.change, others_spent=each.before.others_spent, **common)
            )
    Entry.objects.bulk_create(entries)
    for each in plan:
        held = each.before.promises.get(proposal.reference)
        if each.change < 0 and held is not None and held.remaining and each.line:
            rest = min(-each.change, held.remaining)
            add_release(each.line, proposal, rest, by=by, reason=decision.reason, now=now)
    touch(each.line for each in plan if each.line)


def check_funding(funding: Funding, by: User | None, ground: Authority) -> None:
    line = funding.line
    if line is None or not (funding.change > 0 or funding.new_money):
        return
    check_open(line)
    check_rates(line, funding.before)
    if line.frozen_at and funding.change > 0:
        raise DomainError(
            _("%(line)s is frozen since its limit was reached; open it again first.") % {"line": line},
            code="line_frozen",
        )
    funder = ground.delegation.giver if ground.delegation else by
    if funding.new_money and (funder is None or not permissions.may_fund(funder, line.project.team)):
        raise NotAllowed(_("New money comes from managers of the team, directors and finance."))
    if funding.short > 0:
        raise DomainError(
            _("%(line)s is short by %(short)s %(currency)s: grant or transfer.")
            % {"line": line, "short": exact_text(funding.short), "currency": line.currency},
            code="short",
            faults=[
                Fault(
                    f"{funding.category}.new_money",
                    exact_text(funding.new_money),
                    _("the line is short by %(short)s") % {"short": exact_text(funding.short)},
                    exact_text(funding.new_money + funding.short),
                )
            ],
        )


def write_decision(
    step: ApprovalStep, outcome: Decision.Outcome, *, by: User | None, ground: Authority, reason: str, now: datetime
) -> Decision:
    step.state = REFUSED[outcome][2] if outcome in REFUSED else ApprovalStep.State.APPROVED
    step.save(update_fields=["state"])
    return Decision.objects.create(
        step=step, outcome=outcome, by=by, delegation=ground.delegation, at=now, reason=reason.strip()
    )


def settle(proposal: Proposal, version: ProposalVersion, *, is_whole: bool, now: datetime) -> None:
    """The version, and with it the proposal, is approved."""
    version.state = ProposalVersion.State.APPROVED if is_whole else ProposalVersion.State.PARTLY_APPROVED
    version.decided_at = now
    version.save(update_fields=["state", "decided_at"])
    move(proposal, Proposal.State.APPROVED if is_whole else Proposal.State.PARTLY_APPROVED)


def record_decision(proposal: Proposal, decision: Decision, decided: Sequence[LineDecision], *, is_last: bool) -> None:
    """The activity row, and word to who waits for it: the next approvers, or those who asked."""
    version = decision.step.version
    verb = {
        Decision.Outcome.APPROVE: "proposal.approved" if is_last else "proposal.step_approved",
        Decision.Outcome.APPROVE_PART: "proposal.partly_approved" if is_last else "proposal.step_approved",
        Decision.Outcome.REJECT: "proposal.rejected",
        Decision.Outcome.REQUEST_CHANGES: "proposal.changes_requested",
    }[Decision.Outcome(decision.outcome)]
    activity.record(
        verb,
        by=decision.by,
        project=proposal.project,
        subject=proposal,
        title=proposal.title,
        version=version.number,
        step=decision.step.number,
        amount=sum((line.amount for line in decided), Decimal(0)),
        ask=version.ask_total,
        currency=version.currency,
        reason=decision.reason,
        in_place_of=decision.delegation.giver_id if decision.delegation else None,
    )
    if is_last:
        messages.tell_requesters(decision)
    else:
        messages.tell_approvers(version)
