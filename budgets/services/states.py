"""Where a proposal may go from where it is."""

from __future__ import annotations

from django.utils.translation import gettext as _

from core.errors import DomainError

from ..models import Proposal


def move(proposal: Proposal, state: str) -> None:
    """Put the proposal into a state that the table of moves allows from where it is."""
    if state not in Proposal.MOVES[proposal.state]:
        raise DomainError(
            _("%(proposal)s is %(state)s; that is not possible any more.")
            % {"proposal": proposal.reference, "state": proposal.get_state_display()},
            code="wrong_state",
        )
    proposal.state = state
    proposal.save(update_fields=["state"])
