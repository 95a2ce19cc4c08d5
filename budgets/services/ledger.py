"""Money on lines: granted, moved between lines, given back by a proposal."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from core.errors import DomainError, Fault, NotAllowed
from core.money import exact_text, round_money
from core.vocabulary import Category
from teams import activity, permissions
from teams.models import User

from ..locks import lock_lines
from ..models import BudgetLine, Entry, Proposal
from ..queries import line_status
from ..status import LineStatus
from .lines import check_open, facts_of, touch

LARGEST = Decimal(10) ** 18


@transaction.atomic
def grant(line: BudgetLine, *, by: User, amount: Decimal, reason: str, now: datetime | None = None) -> Entry:
    """New money on a line; a negative amount takes back what is still free."""
    locked = lock_lines([line.pk])[line.pk]
    if not permissions.may_fund(by, locked.project.team):
        raise NotAllowed(_("New money comes from managers of the team, directors and finance."))
    check_open(locked)
    check_amount(amount, locked.currency, may_be_negative=True)
    check_reason(reason)
    if amount < 0:
        check_headroom(locked, line_status(locked, now=now), -amount)
    entry = Entry.objects.create(
        line=locked, kind=Entry.Kind.GRANT, amount=amount, by=by, at=now or timezone.now(), reason=reason
    )
    touch([locked])
    activity.record(
        "line.granted", by=by, project=locked.project, subject=locked, amount=amount, reason=reason, **facts_of(locked)
    )
    return entry


@transaction.atomic
def transfer(
    source: BudgetLine, target: BudgetLine, *, by: User, amount: Decimal, reason: str, now: datetime | None = None
) -> uuid.UUID:
    """Move free money from one line to another. What contingency holds for proposals is freed as it is moved."""
    if source.pk == target.pk:
        raise DomainError(_("Choose two different lines."))
    locked = lock_lines([source.pk, target.pk])
    giver, taker = locked[source.pk], locked[target.pk]
    check_may_transfer(giver, taker, by)
    check_open(giver)
    check_open(taker)
    check_amount(amount, giver.currency)
    check_reason(reason)
    moment = now or timezone.now()
    if giver.category == Category.CONTINGENCY:
        free_contingency(giver, amount, by=by, reason=reason, now=moment)
    check_headroom(giver, line_status(giver, now=now), amount)
    number = uuid.uuid4()
    Entry.objects.bulk_create(
        Entry(line=line, kind=Entry.Kind.TRANSFER, amount=part, transfer=number, by=by, at=moment, reason=reason)
        for line, part in ((giver, -amount), (taker, amount))
    )
    touch([giver, taker])
    for project in dict.fromkeys([giver.project, taker.project]):
        activity.record(
            "money.transferred",
            by=by,
            project=project,
            subject=giver,
            amount=amount,
            currency=giver.currency,
            source=giver.category,
            target=taker.category,
            source_line=giver.pk,
            target_line=taker.pk,
            reason=reason,
        )
    return number


def check_may_transfer(giver: BudgetLine, taker: BudgetLine, by: User) -> None:
    for team in {giver.project.team, taker.project.team}:
        if not permissions.may_transfer(by, team):
            raise NotAllowed(_("Money of %(team)s is moved by its managers and finance.") % {"team": team})
    if giver.currency != taker.currency:
        raise DomainError(
            _("A transfer stays in one currency: %(from)s is not %(to)s. Grant on the one, take back on the other.")
            % {"from": giver.currency, "to": taker.currency}
        )
    if taker.category == Category.CONTINGENCY:
        raise DomainError(_("Contingency only gives; it is never a target."))


def free_contingency(line: BudgetLine, amount: Decimal, *, by: User, reason: str, now: datetime) -> None:
    """Contingency is held for proposals; what is moved to where it is needed is released first, oldest first."""
    status = line_status(line, now=now)
    missing = amount - status.headroom
    for reference, promise in status.promises.items():
        part = round_money(min(missing, promise.remaining), line.currency)
        if part > 0:
            Entry.objects.create(
                line=line,
                kind=Entry.Kind.RELEASE,
                amount=part,
                proposal_id=int(reference.removeprefix("P-")),
                by=by,
                at=now,
                reason=reason,
            )
            missing -= part


@transaction.atomic
def release(
    line: BudgetLine,
    proposal: Proposal,
    *,
    by: User,
    amount: Decimal,
    reason: str,
    now: datetime | None = None,
) -> Entry:
    """Give back part of what a proposal holds on a line and will not need."""
    locked = lock_lines([line.pk])[line.pk]
    team = locked.project.team
    if by != proposal.requester and not permissions.may_fund(by, team):
        raise NotAllowed(_("Money is released by who asked for it, managers of the team, directors and finance."))
    check_open(locked)
    check_amount(amount, locked.currency)
    check_reason(reason)
    held = line_status(locked, now=now).promises.get(proposal.reference)
    if held is None or held.remaining < amount:
        raise DomainError(
            _("%(proposal)s holds only %(held)s %(currency)s on this line.")
            % {
                "proposal": proposal.reference,
                "held": exact_text(held.remaining if held else Decimal(0)),
                "currency": locked.currency,
            },
            code="more_than_held",
        )
    entry = add_release(locked, proposal, amount, by=by, reason=reason, now=now or timezone.now())
    touch([locked])
    activity.record(
        "money.released",
        by=by,
        project=locked.project,
        subject=proposal,
        amount=amount,
        currency=locked.currency,
        category=locked.category,
        line=locked.pk,
        reason=reason,
    )
    return entry


def add_release(
    line: BudgetLine, proposal: Proposal, amount: Decimal, *, by: User | None, reason: str, now: datetime
) -> Entry:
    return Entry.objects.create(
        line=line, kind=Entry.Kind.RELEASE, amount=amount, proposal=proposal, by=by, at=now, reason=reason
    )


def check_amount(amount: Decimal, currency: str, *, may_be_negative: bool = False) -> None:
    """Above zero, payable in the currency's smallest unit, and no greater than any budget could be."""
    if not amount.is_finite() or abs(amount) >= LARGEST:
        raise DomainError(
            _("This is no amount of money."),
            faults=[Fault("amount", str(amount), _("is not an amount that can be kept"), "0.01 – 1e18")],
        )
    if amount == 0 or (amount < 0 and not may_be_negative):
        raise DomainError(
            _("The amount must be above zero."),
            faults=[Fault("amount", exact_text(amount), _("must be above zero"), "0.01")],
        )
    if round_money(amount, currency) != amount:
        raise DomainError(
            _("%(currency)s has no smaller unit for this amount.") % {"currency": currency},
            faults=[
                Fault(
                    "amount",
                    exact_text(amount),
                    _("has too many digits for %(currency)s") % {"currency": currency},
                    exact_text(round_money(amount, currency)),
                )
            ],
        )


def check_reason(reason: str) -> None:
    if not reason.strip():
        raise DomainError(
            _("Say why."), faults=[Fault("reason", reason, _("is missing"), _("a sentence that others understand"))]
        )


def check_headroom(line: BudgetLine, status: LineStatus, needed: Decimal) -> None:
    """Is that much free? Where a rate is missing nobody can say, so nothing is promised."""
    check_rates(line, status)
    if status.free < needed:
        raise DomainError(
            _("%(line)s has a headroom of %(headroom)s %(currency)s, less than %(needed)s.")
            % {
                "line": line,
                "headroom": exact_text(status.free),
                "currency": line.currency,
                "needed": exact_text(needed),
            },
            code="headroom_too_small",
        )


def check_rates(line: BudgetLine, status: LineStatus) -> None:
    if status.rates_missing:
        raise DomainError(
            _("The headroom of %(line)s is not known: finance has to store the rate %(rates)s.")
            % {"line": line, "rates": rates_text(line, status.rates_missing)},
            code="rate_missing",
        )


def rates_text(line: BudgetLine, missing: Sequence[tuple[object, str]]) -> str:
    return ", ".join(f"{currency}→{line.currency} {month}" for month, currency in missing)
