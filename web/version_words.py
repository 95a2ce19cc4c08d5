"""What moved between two versions of a proposal, in words: `+93,000 USD, +6 %: tokens +41 %, price −12 %`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from budgets.models import ProposalVersion
from budgets.versions import CauseChange, InputChange, VersionDifference, version_difference
from estimates.engine.numbers import NotANumber, parse_number
from web import figures
from web.templatetags.proposal_words import input_name

CAUSE_WORDS = {
    "scope": gettext_lazy("Scope"),
    "volume": gettext_lazy("Volume"),
    "efficiency": gettext_lazy("Efficiency"),
    "price": gettext_lazy("Prices"),
    "rest": gettext_lazy("Contingency, level and later figures"),
}
MOST_NAMED = 5
"""Inputs that a headline names; the table below it has them all."""


def difference_words(before: ProposalVersion | None, version: ProposalVersion) -> dict[str, Any] | None:
    """The difference to what was there before, cause by cause, with names."""
    if before is None:
        return None
    found: VersionDifference = version_difference(before, version)
    return {
        "found": found,
        "headline": headline(found, version.currency),
        "is_approved": before.state in (ProposalVersion.State.APPROVED, ProposalVersion.State.PARTLY_APPROVED),
        "is_other": before.proposal_id != version.proposal_id,
        "rows": [{"name": CAUSE_WORDS[each.cause], "change": each} for each in found.causes],
    }


def headline(found: VersionDifference, currency: str) -> str:
    """The money that moved, its share, and the inputs that moved it, the costliest cause first."""
    money = f"{plus(found.amount)}{figures.money_text(found.amount, currency)}"
    share = signed_percent(found.share) if found.share is not None else ""
    moved = list(movements(found.causes, currency))
    named, more = moved[:MOST_NAMED], len(moved) - MOST_NAMED
    if more > 0:
        named.append(_("%(number)s more") % {"number": more})
    said = ", ".join(filter(None, [money, share]))
    return f"{said}: {', '.join(named)}" if named else said


def movements(causes: Iterable[CauseChange], currency: str) -> Iterator[str]:
    """Each input with how far it moved; what moved without an input (the price list, contingency) with its money."""
    for cause in sorted(causes, key=lambda each: -abs(each.amount)):
        yield from map(movement, cause.inputs)
        if not cause.inputs and cause.amount:
            yield f"{CAUSE_WORDS[cause.cause]} {plus(cause.amount)}{figures.money_text(cause.amount, currency)}"


def movement(change: InputChange) -> str:
    """`Tokens +41 %`; of what is no number, or was nothing, that it changed."""
    name = input_name(change.path)
    before, after = amount_of(change.before), amount_of(change.after)
    if before is None or after is None or not before:
        return _("%(input)s changed") % {"input": name}
    return f"{name} {signed_percent(after / before - 1)}"


def amount_of(value: Any) -> Decimal | None:
    """The number of an input; of a range its most likely one."""
    if isinstance(value, dict):
        value = value.get("mode", value.get("p50", value.get("value")))
    try:
        return parse_number(value).amount
    except NotANumber:
        return None


def signed_percent(share: Decimal) -> str:
    return plus(share) + figures.percent_text(share, 1 if abs(share) < Decimal("0.1") else 0)


def plus(amount: Decimal) -> str:
    """Of a growth; a fall has its sign in the number."""
    return "+" if amount > 0 else ""
