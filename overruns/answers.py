"""What people answer to a warning, of a line or of a guard: a written cause, or a day until which it is quiet."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from django.utils.translation import gettext as _

from core.errors import DomainError, Fault
from teams.models import Organisation

LONGEST = timedelta(days=92)
"""Nothing is kept quiet for longer at once."""


LONGEST_CAUSE = 4000
"""Characters: a page or so."""


def written_cause(cause: str) -> str:
    """The cause as it is kept."""
    if not cause.strip():
        raise DomainError(
            _("Say why the threshold was reached."),
            faults=[Fault("cause", cause, _("is missing"), _("a sentence that others understand"))],
        )
    if len(cause.strip()) > LONGEST_CAUSE:
        raise DomainError(
            _("Say it in fewer words."),
            faults=[Fault("cause", len(cause.strip()), _("characters are too many"), str(LONGEST_CAUSE))],
        )
    return cause.strip()


def quiet_until(until: date, *, now: datetime) -> date:
    """The day, if it is one of the next three months."""
    today = Organisation.current().today(now)
    if not today < until <= today + LONGEST:
        raise DomainError(
            _("Choose a day within the next three months."),
            faults=[
                Fault("until", str(until), _("is not within the next three months"), str(today + timedelta(days=14)))
            ],
        )
    return until
