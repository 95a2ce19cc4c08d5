"""What the engine says, in the language of the moment."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext

from core.errors import Fault
from estimates.engine.messages import PlanFault


def fault_in_language(fault: Fault) -> Fault:
    """A fault of a plan in the language of the moment; its code stays, so that a door can tell what is missing."""
    if not isinstance(fault, PlanFault):
        return fault
    said = fault.translated(gettext)
    return replace(fault, message=said.message, accepted=said.accepted)
